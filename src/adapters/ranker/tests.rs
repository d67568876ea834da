use super::Lexical;
use crate::seams::Ranker;

#[tokio::test]
async fn the_text_that_speaks_of_more_and_rarer_words_comes_first() {
    let texts = [
        "Bark of the cork oak is stripped every nine years.",
        "Oak is a tree. Oak is a wood.",
        "",
        "Nothing of the kind.",
    ];
    let scores = Lexical
        .rank("how is cork oak bark stripped?", &texts)
        .await
        .unwrap();
    assert_eq!(scores.len(), 4);
    assert!(scores[0] > scores[1] && scores[1] > 0.0, "{scores:?}");
    assert_eq!(scores[2..], [0.0, 0.0]);
    assert_eq!(
        scores,
        Lexical
            .rank("how is cork oak bark stripped?", &texts)
            .await
            .unwrap()
    );
    assert!(Lexical.rank("cork", &[]).await.unwrap().is_empty());
}
