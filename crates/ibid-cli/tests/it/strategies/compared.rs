//! Sentences are compared with the question in meaning where words find nothing.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ibid_core::Result;
use ibid_core::ports::{Ranker, SentenceInContext};
use ibid_core::record::Event;

use crate::memory::{Pages, page, question, researched, world};

const COUNTS: &str = "Beetles and spiders were found on every planted roof that had deep soil.";

/// Knows which sentence means what is asked, and counts how often it is asked.
#[derive(Default)]
struct Means(AtomicUsize);

#[async_trait]
impl Ranker for Means {
    fn name(&self) -> &str {
        "means"
    }
    async fn rank(&self, _query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        Ok(vec![0.0; texts.len()])
    }
    async fn similarity(&self, _query: &str, sentences: &[SentenceInContext]) -> Result<Vec<f32>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(sentences.iter().map(|it| if it.text == COUNTS { 1.0 } else { 0.0 }).collect())
    }
}

/// The claims that were found, best first, and how often meaning was compared.
async fn found(asked: &str) -> (Vec<String>, usize) {
    let text = format!(
        "A planted roof holds half of the rain of a year. A planted roof with 10 cm of soil weighs 135 kg per square metre. {COUNTS} \
         A planted roof costs 110 euros per square metre. Care of a planted roof costs 3 euros a year."
    );
    let page = page("https://roofs.example/counts", "Planted roofs", None, &text);
    let ranker = Arc::new(Means::default());
    let mut asked = question(asked);
    asked.method.depth = 1;
    let mut world = world(Arc::new(Pages::new(vec![page])));
    world.ranker = Arc::<Means>::clone(&ranker);
    let (_, events) = researched(&world, &asked).await;
    let mut found: Vec<(f32, String)> = events
        .into_iter()
        .filter_map(|event| match event {
            Event::EvidenceAdded { evidence } => Some((evidence.score, evidence.claim)),
            _ => None,
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    (found.into_iter().map(|it| it.1).collect(), ranker.0.load(Ordering::SeqCst))
}

#[tokio::test]
async fn what_means_what_is_asked_in_other_words_leads() {
    let (claims, compared) = found("Which bugs live on planted roofs?").await;
    assert!(compared > 0);
    assert_eq!(claims.first().map(String::as_str), Some(COUNTS), "{claims:?}");
}

#[tokio::test]
async fn where_words_find_the_answer_it_leads_and_steps_are_not_compared() {
    let (claims, compared) = found("How much does a planted roof cost per square metre?").await;
    assert!(compared > 0);
    assert!(claims[0].contains("110 euros"), "{claims:?}");
    let (_, compared) = found("How do you weigh the soil of a planted roof?").await;
    assert_eq!(compared, 0);
}
