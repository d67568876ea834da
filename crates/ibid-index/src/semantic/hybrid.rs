//! The ranker by words and meaning.
use std::sync::Arc;

use async_trait::async_trait;

use super::vector::cosine;
use crate::ranker::LexicalRanker;
use ibid_core::Result;
use ibid_core::ports::{Embedder, Ranker};

/// The weight of meaning relative to words. Nearly all texts that a search has found contain the words.
const VECTOR_WEIGHT: f32 = 2.0;

/// Combines [`LexicalRanker`] and the similarity of vectors: each is scaled to at most 1 among the given texts, and the two
/// are added (a convex combination, which Bruch and others 2023 find better than fusion by rank).
pub struct HybridRanker {
    name: String,
    embedder: Arc<dyn Embedder>,
}

impl HybridRanker {
    /// A ranker by words and by the vectors of `embedder`.
    pub fn new(embedder: Arc<dyn Embedder>) -> HybridRanker {
        HybridRanker { name: format!("lexical+{}", embedder.name()), embedder }
    }
}

#[async_trait]
impl Ranker for HybridRanker {
    fn name(&self) -> &str {
        &self.name
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let words = LexicalRanker.rank(query, texts).await?;
        let all: Vec<&str> = std::iter::once(query).chain(texts.iter().copied()).collect();
        let vectors = self.embedder.embed(&all).await?;
        let similarity: Vec<f32> =
            vectors[1..].iter().map(|vector| cosine(vector, &vectors[0])).collect();
        let best = words.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let scaled = scale_to_unit(&similarity);
        let score = |at: usize| words[at] / best + VECTOR_WEIGHT * scaled[at];
        Ok((0..texts.len())
            .map(|at| if texts[at].trim().is_empty() { 0.0 } else { score(at) })
            .collect())
    }
}

/// `values` scaled to the range from 0 to 1.
fn scale_to_unit(values: &[f32]) -> Vec<f32> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let width = (most - least).max(f32::MIN_POSITIVE);
    values.iter().map(|value| (value - least) / width).collect()
}
