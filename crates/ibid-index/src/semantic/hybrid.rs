//! The ranker by words and meaning.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::vector::cosine;
use crate::ranker::LexicalRanker;
use ibid_core::Result;
use ibid_core::ports::{Embedder, Ranker, unit_length};

/// The weight of meaning relative to words. Nearly all texts that a search has found contain the words.
const VECTOR_WEIGHT: f32 = 2.0;

/// Vectors kept in memory, so that a text is embedded once in a run: 6 MB with 384 numbers each, besides the texts.
const MAX_KEPT_VECTORS: usize = 4_000;
/// The texts nearest to the query whose mean is the subject that they share, and the fewest that have one.
const SUBJECT_TEXTS: (usize, usize) = (100, 8);

/// Combines [`LexicalRanker`] and the similarity of vectors: each is scaled to at most 1 among the given texts, and the two
/// are added (a convex combination, which Bruch and others 2023 find better than fusion by rank).
pub struct HybridRanker {
    name: String,
    embedder: Arc<dyn Embedder>,
    kept: Mutex<HashMap<String, Arc<[f32]>>>,
}

impl HybridRanker {
    /// A ranker by words and by the vectors of `embedder`.
    pub fn new(embedder: Arc<dyn Embedder>) -> HybridRanker {
        let name = format!("lexical+{}", embedder.name());
        HybridRanker { name, embedder, kept: Mutex::default() }
    }

    /// The vectors of `texts`, in order.
    async fn vectors(&self, texts: &[&str]) -> Result<Vec<Arc<[f32]>>> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Option<Arc<[f32]>>> = {
            let kept = lock();
            texts.iter().map(|text| kept.get(*text).cloned()).collect()
        };
        let missing: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        if !missing.is_empty() {
            let asked: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
            let made = self.embedder.embed(&asked).await?;
            let mut kept = lock();
            if kept.len() + made.len() > MAX_KEPT_VECTORS {
                kept.clear();
            }
            for (at, vector) in missing.into_iter().zip(made) {
                let vector: Arc<[f32]> = vector.into();
                kept.insert(texts[at].to_owned(), Arc::clone(&vector));
                found[at] = Some(vector);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Ranker for HybridRanker {
    fn name(&self) -> &str {
        &self.name
    }

    fn ranks_chunks(&self) -> bool {
        false
    }

    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let words = LexicalRanker.rank(query, texts).await?;
        let all: Vec<&str> = std::iter::once(query).chain(texts.iter().copied()).collect();
        let vectors = self.vectors(&all).await?;
        let similarity: Vec<f32> =
            vectors[1..].iter().map(|vector| cosine(vector, &vectors[0])).collect();
        let best = words.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let scaled = scale_to_unit(&similarity);
        let score = |at: usize| words[at] / best + VECTOR_WEIGHT * scaled[at];
        Ok((0..texts.len())
            .map(|at| if texts[at].trim().is_empty() { 0.0 } else { score(at) })
            .collect())
    }

    async fn similarity(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.len() < SUBJECT_TEXTS.1 {
            return Ok(Vec::new());
        }
        let all: Vec<&str> = std::iter::once(query).chain(texts.iter().copied()).collect();
        let vectors = self.vectors(&all).await?;
        Ok(mean_centered_cosine(&vectors[0], &vectors[1..]))
    }
}

/// The cosine of `query` and each of `texts` after their common subject was taken away: the mean of the texts nearest to the
/// query. Rounded to thousandths, so that it does not
/// depend on the processor.
fn mean_centered_cosine(query: &[f32], texts: &[Arc<[f32]>]) -> Vec<f32> {
    let mut nearest: Vec<(f32, usize)> =
        texts.iter().enumerate().map(|(at, text)| (cosine(text, query), at)).collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    nearest.truncate(SUBJECT_TEXTS.0);
    let mut subject = vec![0.0; query.len()];
    for (_, at) in &nearest {
        subject.iter_mut().zip(&*texts[*at]).for_each(|(sum, value)| *sum += value);
    }
    subject.iter_mut().for_each(|sum| *sum /= nearest.len().max(1) as f32);
    let without = |vector: &[f32]| {
        unit_length(vector.iter().zip(&subject).map(|(value, mean)| value - mean).collect())
    };
    let query = without(query);
    texts.iter().map(|text| (cosine(&without(text), &query) * 1_000.0).round() / 1_000.0).collect()
}

/// `values` scaled to the range from 0 to 1.
fn scale_to_unit(values: &[f32]) -> Vec<f32> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let width = (most - least).max(f32::MIN_POSITIVE);
    values.iter().map(|value| (value - least) / width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_texts_share_does_not_count() {
        // The first number is the subject, the others are what is said of it.
        let text = |a: f32, b: f32| Arc::from(unit_length(vec![1.0, a, b]));
        let texts = [text(0.5, 0.0), text(0.0, 0.5), text(-0.5, 0.0), text(0.0, -0.5)];
        let found = mean_centered_cosine(&unit_length(vec![1.0, 0.4, 0.0]), &texts);
        assert!(found[0] > 0.9 && found[1].abs() < 0.3 && found[2] < -0.9, "{found:?}");
    }
}
