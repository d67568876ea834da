//! Search by meaning: vectors of a folder's passages, stored beside its index.
//!
//! A vector is stored under a hash of the passage's words. It outlives an index that is rebuilt, and equal passages share one.
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::field_values::vector_text;
use super::postings::ScoredRow;
use super::rows::stored_hit;
use super::snapshot::IndexSnapshot;
use crate::semantic::vector::cosine;
use ibid_core::Result;
use ibid_core::ports::{Embedder, PassageVector, VectorIndex, unit_length};

/// Number of passages whose similarity counts; beyond it, passages are hardly similar.
const MAX_NEAREST: usize = 1_000;
/// The weight of similarity relative to words, both scaled to at most 1: of the query itself, and of the query moved towards the best
/// passages. The best on the development halves of three collections together (abstracts, aerodynamics, biomedicine), of 0.7 to 2 with
/// 100 to 1,000 passages; all beat words alone.
const QUERY_WEIGHT: f32 = 1.2;
const MOVED_QUERY_WEIGHT: f32 = 2.0;
/// The passages that a query is moved towards.
pub(super) const FEEDBACK_PASSAGES: usize = 5;
/// How far it is moved: the weight of their mean relative to the query's own vector.
const FEEDBACK_WEIGHT: f32 = 0.5;
/// How much less a passage counts in that mean than the best one: the power of its score as a share of the best.
const FEEDBACK_POWER: i32 = 16;

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
    /// The vector of `query`.
    pub(super) async fn embed_query(&self, query: &str) -> Result<Option<Vec<f32>>> {
        Ok(self.embedder.embed(&[query]).await?.pop())
    }

    /// The keys of the passages most similar to `query`, with their similarity.
    pub(super) async fn nearest(&self, query: &[f32]) -> Result<Vec<(u64, f32)>> {
        self.vectors.nearest(query, MAX_NEAREST).await
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

/// Passages similar to a query, and what their similarity weighs.
#[derive(Default)]
pub(super) struct SimilarPassages {
    /// The keys of their vectors and their similarity, the most similar first.
    passages: Vec<(u64, f32)>,
    /// The weight relative to words.
    weight: f32,
    /// Those that are found without a word of the query.
    alone: HashSet<u64>,
}

impl SimilarPassages {
    /// Those similar to the query itself, the most similar first.
    pub(super) fn of_query(passages: Vec<(u64, f32)>) -> SimilarPassages {
        let near = passages.iter().take_while(|it| it.1 >= MIN_ALONE);
        SimilarPassages { alone: near.map(|it| it.0).collect(), weight: QUERY_WEIGHT, passages }
    }

    /// Those similar to the moved query instead. What is found without a word of the query must be similar to the query itself.
    #[must_use]
    pub(super) fn moved_to(self, passages: Vec<(u64, f32)>) -> SimilarPassages {
        SimilarPassages { passages, weight: MOVED_QUERY_WEIGHT, ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// What similarity adds to a score: from 0 for the least similar of them to the weight for the most similar.
    fn gains(&self) -> impl Iterator<Item = (u64, f32)> {
        let most = self.passages.first().map_or(0.0, |it| it.1);
        let least = self.passages.last().map_or(0.0, |it| it.1);
        let width = (most - least).max(f32::MIN_POSITIVE);
        self.passages.iter().map(move |(key, it)| (*key, self.weight * (it - least) / width))
    }

    /// Scales the scores of passages to at most 1 and adds their weighted similarity (a convex combination, which Bruch and
    /// others 2023 find better than fusion by rank).
    pub(super) fn add(&self, view: &IndexSnapshot, scores: &mut [f32]) -> tantivy::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let best = scores.iter().copied().fold(0.0, f32::max);
        if best > 0.0 {
            scores.iter_mut().for_each(|score| *score /= best);
        }
        let rows = view.vector_rows()?;
        for (key, gain) in self.gains() {
            let from = rows.partition_point(|row| row.0 < key);
            for (_, row) in rows[from..].iter().take_while(|row| row.0 == key) {
                let score = &mut scores[*row as usize];
                if *score > 0.0 || self.alone.contains(&key) {
                    *score += gain;
                }
            }
        }
        Ok(())
    }

    /// The same for some passages.
    pub(super) fn add_to(
        &self,
        view: &IndexSnapshot,
        passages: &mut [ScoredRow],
    ) -> tantivy::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let gains: HashMap<u64, f32> = self.gains().collect();
        let best = passages.iter().map(|it| it.score).fold(f32::MIN_POSITIVE, f32::max);
        for passage in passages {
            let key = view.vector_key(passage.row)?;
            let gain = key.and_then(|key| gains.get(&key).copied()).unwrap_or_default();
            passage.score = passage.score / best + gain;
        }
        Ok(())
    }
}

/// The vector of a query moved towards the mean of the `best` passages, of which the scores are given, best first (Rocchio 1971). The
/// closer a score is to the best one, the more its passage counts: one clear answer alone moves the query.
pub(super) fn moved_query(
    query: &[f32],
    best: &[(u64, f32)],
    vectors: &[(u64, Vec<f32>)],
) -> Vec<f32> {
    let top = best.first().map_or(1.0, |it| it.1);
    let weight = |key: u64| {
        let score = best.iter().find(|it| it.0 == key).map_or(0.0, |it| it.1);
        (score / top).powi(FEEDBACK_POWER)
    };
    let sum: f32 = vectors.iter().map(|it| weight(it.0)).sum();
    let mut moved = query.to_vec();
    for (key, vector) in vectors {
        let share = FEEDBACK_WEIGHT * weight(*key) / sum.max(f32::MIN_POSITIVE);
        moved.iter_mut().zip(vector).for_each(|(own, other)| *own += share * other);
    }
    unit_length(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_clear_answer_moves_the_query_and_equal_ones_move_it_to_their_middle() {
        let query = [0.0, 0.0, 1.0];
        let vectors = [(1, vec![1.0, 0.0, 0.0]), (2, vec![0.0, 1.0, 0.0])];
        let clear = moved_query(&query, &[(1, 3.0), (2, 1.5)], &vectors);
        assert!(clear[0] > 0.4 && clear[1] < 1e-4, "{clear:?}");
        let equal = moved_query(&query, &[(1, 3.0), (2, 3.0)], &vectors);
        assert!((equal[0] - equal[1]).abs() < 1e-6 && equal[0] > 0.2, "{equal:?}");
        assert!(equal[2] > equal[0], "the query itself weighs more: {equal:?}");
        assert_eq!(moved_query(&query, &[], &[]), query);
    }

    #[test]
    fn the_moved_query_finds_nothing_alone_that_the_query_itself_does_not() {
        let near = SimilarPassages::of_query(vec![(1, 0.6), (2, 0.1)]);
        let moved = near.moved_to(vec![(2, 0.9), (3, 0.8), (1, 0.5)]);
        assert_eq!(moved.alone, HashSet::from([1]));
        let gains: Vec<(u64, f32)> = moved.gains().collect();
        assert_eq!((gains[0], gains[2]), ((2, MOVED_QUERY_WEIGHT), (1, 0.0)));
    }
}
