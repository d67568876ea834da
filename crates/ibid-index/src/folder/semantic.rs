//! Search by meaning: vectors of a folder's passages, stored beside its index.
//!
//! A vector is stored under a hash of the passage's words. It outlives an index that is rebuilt, and equal passages share one.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::field_values::vector_text;
use super::rows::stored_hit;
use super::snapshot::IndexSnapshot;
use crate::semantic::vector::cosine;
use ibid_core::Result;
use ibid_core::ports::{Embedder, PassageVector, VectorIndex};

/// Number of passages whose similarity counts; beyond it, passages are hardly similar.
const MAX_NEAREST: usize = 1_000;
/// The weight of similarity relative to words, both scaled to at most 1. The best on the development halves of three
/// collections together (abstracts, aerodynamics, biomedicine), of 0.7 to 2 with 100 to 1,000 passages; all beat words alone.
const WEIGHT: f32 = 1.2;

/// Makes and stores the vectors of a folder's passages.
#[derive(Clone)]
pub struct SemanticIndex {
    /// Makes the vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Stores the vectors of this folder and this embedder only.
    pub vectors: Arc<dyn VectorIndex>,
    /// The most passages of a folder that get vectors; with more, meaning ranks only what the words find.
    pub max_passages: usize,
}

/// Cosine below which a passage without a word of the query is not found: all-MiniLM gives unrelated texts 0 to 0.15.
const MIN_ALONE: f32 = 0.2;

/// The words of a passage, to be embedded.
pub(super) struct PassageText {
    /// The key of its vector.
    pub(super) key: u64,
    pub(super) url: String,
    pub(super) text: String,
}

impl SemanticIndex {
    /// The keys of the passages most similar to `query`, with their similarity.
    pub(super) async fn nearest(&self, query: &str) -> Result<Vec<(u64, f32)>> {
        let vectors = self.embedder.embed(&[query]).await?;
        match vectors.first() {
            Some(vector) => self.vectors.nearest(vector, MAX_NEAREST).await,
            None => Ok(Vec::new()),
        }
    }

    /// Deletes the vectors of all passages but those under `keys`, and returns the keys that have no vector yet.
    pub(super) async fn prune(&self, keys: &[u64]) -> Result<Vec<u64>> {
        self.vectors.retain(keys).await?;
        self.vectors.missing_keys(keys).await
    }

    /// Makes and stores the vectors of `passages`.
    pub(super) async fn embed(&self, passages: Vec<PassageText>) -> Result<()> {
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
        let vectors = self.embedder.embed(&texts).await?;
        let rows: Vec<PassageVector> = passages
            .into_iter()
            .zip(vectors)
            .map(|(passage, values)| PassageVector { key: passage.key, url: passage.url, values })
            .collect();
        self.vectors.upsert(&rows).await
    }
}

/// The similarity of the passages under `keys` to `query`, the most similar first. One without a vector counts as the mean of the
/// others: nothing is known of it.
pub(super) fn similarities(
    keys: &[u64],
    vectors: &[(u64, Vec<f32>)],
    query: &[f32],
) -> Vec<(u64, f32)> {
    let known: BTreeMap<u64, f32> =
        vectors.iter().map(|(key, vector)| (*key, cosine(vector, query))).collect();
    let mean = known.values().sum::<f32>() / known.len().max(1) as f32;
    let similarity = |key: &u64| (*key, known.get(key).copied().unwrap_or(mean));
    let mut found: Vec<(u64, f32)> = keys.iter().map(similarity).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

/// The keys of the vectors of all passages, each once.
pub(super) fn vector_keys(view: &IndexSnapshot) -> tantivy::Result<Vec<u64>> {
    let mut keys: Vec<u64> = view.vector_rows()?.iter().map(|row| row.0).collect();
    keys.dedup();
    Ok(keys)
}

/// The words of the passages under `keys`, one for each key that there is.
pub(super) fn passage_texts(
    view: &IndexSnapshot,
    keys: &[u64],
) -> tantivy::Result<Vec<PassageText>> {
    let rows = view.vector_rows()?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let at = rows.partition_point(|row| row.0 < *key);
        let Some((_, row)) = rows.get(at).filter(|row| row.0 == *key) else {
            continue;
        };
        let hit = stored_hit(view, view.address(*row))?;
        found.push(PassageText {
            key: *key,
            text: vector_text(&hit.title, &hit.text),
            url: hit.url,
        });
    }
    Ok(found)
}

/// Scales the scores of passages to at most 1 and adds their weighted similarity (a convex combination, which Bruch and
/// others 2023 find better than fusion by rank). The least similar of `near` adds nothing.
pub(super) fn add_similarity(
    view: &IndexSnapshot,
    near: &[(u64, f32)],
    scores: &mut [f32],
) -> tantivy::Result<()> {
    let (Some(first), Some(last)) = (near.first(), near.last()) else {
        return Ok(());
    };
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best > 0.0 {
        scores.iter_mut().for_each(|score| *score /= best);
    }
    let width = (first.1 - last.1).max(f32::MIN_POSITIVE);
    let rows = view.vector_rows()?;
    for (key, similarity) in near {
        let from = rows.partition_point(|row| row.0 < *key);
        for (_, row) in rows[from..].iter().take_while(|row| row.0 == *key) {
            let score = &mut scores[*row as usize];
            if *score > 0.0 || *similarity >= MIN_ALONE {
                *score += WEIGHT * (similarity - last.1) / width;
            }
        }
    }
    Ok(())
}
