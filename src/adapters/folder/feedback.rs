//! Words that the best passages share and the query lacks, as a further, weaker query.
//!
//! Pseudo-relevance feedback after RM3 (Abdul-Jaleel and others 2004), held back so that a query the
//! folder does not answer is not led astray: few passages, a small share, and only passages that
//! have a word of the query itself gain.
use std::collections::BTreeMap;

use tantivy::{DocAddress, Searcher};

use super::postings::{At, Occurrences, Statistics, having};
use super::rows::shown;
use super::schema::Fields;
use super::terms::terms;

/// Passages that are asked for words.
pub(super) const PASSAGES: usize = 5;
/// Words taken from them.
const WORDS: usize = 60;
/// What they weigh together, as a share of the query.
const SHARE: f32 = 0.3;
/// Words in a larger share of the passages say too little.
const COMMON: f32 = 0.1;
/// Of a long passage only the beginning is asked, bytes.
const BYTES: usize = 4_000;

/// Words and their weights, by what `best` passages (with their scores, best first) speak of.
/// `weight` is the weight of the whole query.
pub(super) fn feedback(
    searcher: &Searcher,
    fields: Fields,
    statistics: &Statistics,
    best: &[At],
    weight: f32,
) -> tantivy::Result<Vec<(f32, Occurrences)>> {
    let Some(top) = best.first().map(|it| it.score) else {
        return Ok(Vec::new());
    };
    let mut words: BTreeMap<String, f32> = BTreeMap::new();
    for at in best.iter().take(PASSAGES) {
        let shown = shown(searcher, fields, DocAddress::new(at.segment as u32, at.doc))?;
        let end = shown.text.floor_char_boundary(BYTES.min(shown.text.len()));
        let mut found = terms(&shown.title);
        found.extend(terms(&shown.text[..end]));
        let share = (at.score / top).powi(2) / found.len().max(1) as f32;
        for it in found.into_iter().filter(|it| !it.stop) {
            *words.entry(it.text).or_default() += share;
        }
    }
    let mut telling = Vec::with_capacity(words.len());
    for (word, share) in words {
        let having = having(searcher, fields.body, &word)?;
        if having >= 2 && (having as f32) < COMMON * statistics.passages {
            telling.push((share * statistics.idf(having), word));
        }
    }
    telling.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    telling.truncate(WORDS);
    let sum: f32 = telling.iter().map(|it| it.0).sum();
    telling
        .into_iter()
        .map(|(share, word)| {
            let found = Occurrences::of(searcher, fields, statistics, &word)?;
            Ok((SHARE * weight * share / sum, found))
        })
        .collect()
}
