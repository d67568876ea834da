//! The ranker that knows words and meaning.
use std::sync::Arc;

use async_trait::async_trait;

use super::cosine;
use crate::adapters::ranker::Lexical;
use crate::error::Result;
use crate::seams::{Embedder, Ranker};

/// How much meaning counts beside words. Among texts that a search has found, nearly all have the words.
const MEANING: f32 = 2.0;

/// [`Lexical`] and the likeness of vectors together: each is scaled to at most 1 among the texts given, and added
/// (a convex combination, which Bruch and others 2023 find better than fusion by rank).
pub struct Hybrid {
    name: String,
    embedder: Arc<dyn Embedder>,
}

impl Hybrid {
    /// Ranks by words, and by the vectors of `embedder`.
    pub fn new(embedder: Arc<dyn Embedder>) -> Hybrid {
        Hybrid {
            name: format!("lexical+{}", embedder.name()),
            embedder,
        }
    }
}

#[async_trait]
impl Ranker for Hybrid {
    fn name(&self) -> &str {
        &self.name
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let words = Lexical.rank(query, texts).await?;
        let asked: Vec<&str> = std::iter::once(query)
            .chain(texts.iter().copied())
            .collect();
        let vectors = self.embedder.embed(&asked).await?;
        let likeness: Vec<f32> = vectors[1..]
            .iter()
            .map(|it| cosine(it, &vectors[0]))
            .collect();
        let best = words.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let scaled = scaled(&likeness);
        let score = |at: usize| words[at] / best + MEANING * scaled[at];
        Ok((0..texts.len())
            .map(|at| {
                if texts[at].trim().is_empty() {
                    0.0
                } else {
                    score(at)
                }
            })
            .collect())
    }
}

/// `values` from 0, the least, to 1, the greatest.
fn scaled(values: &[f32]) -> Vec<f32> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let width = (most - least).max(f32::MIN_POSITIVE);
    values.iter().map(|it| (it - least) / width).collect()
}
