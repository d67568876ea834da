use super::LexicalRanker;
use ibid_core::ports::Ranker;

#[tokio::test]
async fn the_text_that_speaks_of_more_and_rarer_words_comes_first() {
    let texts = [
        "Bark of the cork oak is stripped every nine years.",
        "Oak is a tree. Oak is a wood.",
        "",
        "Nothing of the kind.",
    ];
    let scores = LexicalRanker.rank("how is cork oak bark stripped?", &texts).await.unwrap();
    assert_eq!(scores.len(), 4);
    assert!(scores[0] > scores[1] && scores[1] > 0.0, "{scores:?}");
    assert_eq!(scores[2..], [0.0, 0.0]);
    assert_eq!(scores, LexicalRanker.rank("how is cork oak bark stripped?", &texts).await.unwrap());
    assert!(LexicalRanker.rank("cork", &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn words_that_stand_as_in_the_query_beat_the_same_words_apart() {
    let texts = [
        "The cork of this very old and very large tree, an oak, has thick skin.",
        "This very old and very large tree, a cork oak, has a thick skin.",
        "This very old and very large tree, an oak cork, has a thick skin.",
    ];
    let scores = LexicalRanker.rank("cork oak", &texts).await.unwrap();
    assert!(scores[1] > scores[2] && scores[2] > scores[0], "{scores:?}");
}

#[tokio::test]
async fn a_query_of_small_words_alone_still_ranks() {
    let texts = ["To be or not to be.", "Oak bark."];
    let scores = LexicalRanker.rank("to be or not to be", &texts).await.unwrap();
    assert!(scores[0] > 0.0 && scores[1] == 0.0, "{scores:?}");
}
