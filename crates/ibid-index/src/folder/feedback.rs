//! Pseudo-relevance feedback: adds words that the best passages share to the query, with a lower weight.
//!
//! After RM3 (Abdul-Jaleel and others 2004), but restrained, so that a query which the folder does not answer does not drift:
//! few passages, a small share, and only passages with a word of the query itself gain.
use super::postings::{PassagePostings, ScoredRow};
use super::snapshot::IndexSnapshot;
use super::term_index::{TermId, TermIndex};

/// Passages that words are taken from.
const FEEDBACK_PASSAGES: usize = 5;
/// Words taken from them.
const MAX_EXPANSION_WORDS: usize = 60;
/// The weight of these words together, as a share of the query's.
const EXPANSION_WEIGHT: f32 = 0.3;
/// A word in a larger share of the passages is too common.
const MAX_DOCUMENT_SHARE: f32 = 0.1;

/// The postings of the words that the `best` passages share (best first), with their weights. `weight` is that of the whole
/// query.
pub(super) fn feedback<'a>(
    view: &IndexSnapshot,
    lexicon: &'a dyn TermIndex,
    best: &[ScoredRow],
    weight: f32,
) -> tantivy::Result<Vec<(f32, PassagePostings<'a>)>> {
    let Some(top) = best.first().map(|it| it.score) else {
        return Ok(Vec::new());
    };
    let mut all: Vec<(TermId, f32)> = Vec::new();
    for at in best.iter().take(FEEDBACK_PASSAGES) {
        let passage = lexicon.passage_terms(at.row)?;
        let share = (at.score / top).powi(2) / passage.words.max(1) as f32;
        all.extend(passage.terms.iter().map(|term| (term.0, share * term.1 as f32)));
    }
    // A stable sort: the shares of a term are added in the order of the passages, for both term indexes.
    all.sort_by_key(|pair| pair.0);
    let mut weighted = Vec::with_capacity(all.len());
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let term = same[0].0;
        let having = lexicon.passage_count(term)?;
        if having >= 2 && (having as f32) < MAX_DOCUMENT_SHARE * view.passages {
            let share: f32 = same.iter().map(|pair| pair.1).sum();
            weighted.push((share * view.idf(having), term));
        }
    }
    weighted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| lexicon.order(a.1, b.1)));
    weighted.truncate(MAX_EXPANSION_WORDS);
    let sum: f32 = weighted.iter().map(|pair| pair.0).sum();
    weighted
        .into_iter()
        .map(|(share, term)| Ok((EXPANSION_WEIGHT * weight * share / sum, lexicon.postings(term)?)))
        .collect()
}
