//! Of many sentences, only those near the question by their words are worth embedding.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ibid_core::Result;
use ibid_core::ports::{Embedder, Ranker, SentenceInContext, unit_length};
use ibid_index::semantic::HybridRanker;

/// Knows that a hound is a dog and counts what it embeds.
struct Hounds {
    embedded: AtomicUsize,
    /// Whether it has vectors of words alone, which are the same.
    words: bool,
}

impl Hounds {
    fn new(words: bool) -> Arc<Hounds> {
        Arc::new(Hounds { embedded: AtomicUsize::new(0), words })
    }

    fn vectors(texts: &[&str]) -> Vec<Vec<f32>> {
        let vector = |text: &&str| {
            let has = |word| f32::from(u8::from(text.to_lowercase().contains(word)));
            unit_length(vec![has("dog") + has("hound"), has("shower"), has("coin"), 0.1])
        };
        texts.iter().map(vector).collect()
    }
}

#[async_trait]
impl Embedder for Hounds {
    fn name(&self) -> &str {
        "hounds"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embedded.fetch_add(texts.len(), Ordering::SeqCst);
        Ok(Hounds::vectors(texts))
    }

    fn embed_words(&self, texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        self.words.then(|| Hounds::vectors(texts))
    }
}

/// 300 sentences on rain and money, and one on a hound near their end.
fn sentences() -> Vec<SentenceInContext> {
    let text = |n: usize| match n {
        290 => "A hound slept in barn 290.".to_owned(),
        n if n % 2 == 0 => format!("A shower fell on field {n}."),
        n => format!("A coin lay in well {n}."),
    };
    (0..300).map(|n| SentenceInContext { text: text(n), ..SentenceInContext::default() }).collect()
}

/// What the sentences mean, and how many texts were embedded for it.
async fn compared(embedder: Arc<Hounds>) -> (Vec<f32>, usize) {
    let ranker = HybridRanker::new(Arc::clone(&embedder) as _, Arc::new(|| Ok(None)));
    let found = ranker.similarity("where are the dogs", &sentences()).await.unwrap();
    (found, embedder.embedded.load(Ordering::SeqCst))
}

#[tokio::test]
async fn of_many_sentences_only_those_near_by_their_words_are_embedded() {
    let (found, embedded) = compared(Hounds::new(true)).await;
    let best = (0..found.len()).max_by(|a, b| found[*a].total_cmp(&found[*b]));
    assert_eq!((found.len(), best), (300, Some(290)));
    assert!(embedded < 200, "{embedded} texts were embedded");

    let (_, embedded) = compared(Hounds::new(false)).await;
    assert!(embedded > 300, "without vectors of words all are, not {embedded}");
}
