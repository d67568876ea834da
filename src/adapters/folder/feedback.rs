//! Words that the best passages share and the query lacks, as a further, weaker query.
//!
//! Pseudo-relevance feedback after RM3 (Abdul-Jaleel and others 2004), held back so that a query the
//! folder does not answer is not led astray: few passages, a small share, and only passages that
//! have a word of the query itself gain.
use std::collections::HashMap;

use super::lexicon::{Lexicon, TermId};
use super::postings::{At, Occurrences};
use super::view::View;

/// Passages that are asked for words.
const PASSAGES: usize = 5;
/// Words taken from them.
const WORDS: usize = 60;
/// What they weigh together, as a share of the query.
const SHARE: f32 = 0.3;
/// Words in a larger share of the passages say too little.
const COMMON: f32 = 0.1;

/// Words and their weights, by what `best` passages (with their scores, best first) speak of.
/// `weight` is the weight of the whole query.
pub(super) fn feedback<'a>(
    view: &View,
    lexicon: &'a dyn Lexicon,
    best: &[At],
    weight: f32,
) -> tantivy::Result<Vec<(f32, Occurrences<'a>)>> {
    let Some(top) = best.first().map(|it| it.score) else {
        return Ok(Vec::new());
    };
    let mut nth: HashMap<TermId, usize> = HashMap::new();
    let mut words: Vec<(f32, TermId)> = Vec::new();
    for at in best.iter().take(PASSAGES) {
        let said = lexicon.said(at.row)?;
        let share = (at.score / top).powi(2) / said.words.max(1) as f32;
        for (term, count) in said.terms.iter() {
            let nth = *nth.entry(*term).or_insert_with(|| {
                words.push((0.0, *term));
                words.len() - 1
            });
            words[nth].0 += share * *count as f32;
        }
    }
    let mut telling = Vec::with_capacity(words.len());
    for (share, term) in words {
        let having = lexicon.having(term)?;
        if having >= 2 && (having as f32) < COMMON * view.passages {
            telling.push((share * view.idf(having), term));
        }
    }
    telling.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| lexicon.order(a.1, b.1)));
    telling.truncate(WORDS);
    let sum: f32 = telling.iter().map(|it| it.0).sum();
    telling
        .into_iter()
        .map(|(share, term)| Ok((SHARE * weight * share / sum, lexicon.occurrences(term)?)))
        .collect()
}
