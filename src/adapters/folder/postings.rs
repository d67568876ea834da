//! Postings of the living rows: which passages have a term, and how much of it.
use std::borrow::Cow;

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::view::{Row, TITLE, View};

/// Saturation of repeated terms, the usual value.
const K1: f32 = 1.2;
/// How far length counts, the usual value.
const B: f32 = 0.75;

/// The postings of `text` in `field`, if it is there.
pub(super) fn postings(
    segment: &SegmentReader,
    field: Field,
    text: &str,
    option: IndexRecordOption,
) -> tantivy::Result<Option<SegmentPostings>> {
    let term = Term::from_field_text(field, text);
    Ok(segment
        .inverted_index(field)?
        .read_postings(&term, option)?)
}

/// How many living rows have `text` in `field`.
pub(super) fn having(view: &View, field: Field, text: &str) -> tantivy::Result<usize> {
    let mut sum = 0;
    for (_, segment) in view.segments() {
        // Where nothing is deleted the dictionary knows, and no postings are read.
        let Some(alive) = segment.alive_bitset() else {
            let term = Term::from_field_text(field, text);
            sum += segment.inverted_index(field)?.doc_freq(&term)? as usize;
            continue;
        };
        if let Some(mut it) = postings(segment, field, text, IndexRecordOption::Basic)? {
            sum += it.count(alive) as usize;
        }
    }
    Ok(sum)
}

/// The living passages with one term, in order, and the saturated count of it in each, from 0 to `K1 + 1`: BM25 over
/// title and body as one text in which a word of the title counts more.
pub(super) struct Occurrences<'a> {
    pub(super) rows: Cow<'a, [Row]>,
    pub(super) counts: Cow<'a, [f32]>,
}

impl Occurrences<'_> {
    /// Looks `text` up in the index.
    pub(super) fn of(view: &View, text: &str) -> tantivy::Result<Occurrences<'static>> {
        let mut all = Vec::new();
        for (base, segment) in view.segments() {
            let mut found = counts(segment, view.fields.body, text, 1.0)?;
            let titles = counts(segment, view.fields.title, text, TITLE)?;
            if !titles.is_empty() {
                found.extend(titles);
                found.sort_by_key(|it| it.0);
                found.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0.0 };
                    same
                });
            }
            all.extend(found.into_iter().map(|it| (base + it.0, it.1)));
        }
        let counts = all.iter().map(|it| saturated(it.1, view.length(it.0)));
        Ok(Occurrences {
            counts: counts.collect(),
            rows: all.iter().map(|it| it.0).collect(),
        })
    }

    /// Adds `weight` times the counts to the scores of rows that `wanted` says by their score so far.
    pub(super) fn add(&self, weight: f32, scores: &mut [f32], wanted: impl Fn(f32) -> bool) {
        for (row, count) in self.rows.iter().zip(self.counts.iter()) {
            let sum = &mut scores[*row as usize];
            if wanted(*sum) {
                *sum += weight * count;
            }
        }
    }

    /// Where among the passages with the term this one is.
    pub(super) fn nth(&self, row: Row) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }
}

/// A passage and its score.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) row: Row,
    pub(super) score: f32,
}

/// `count` occurrences in a passage `length` times as long as the mean.
pub(super) fn saturated(count: f32, length: f32) -> f32 {
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
}

fn counts(
    segment: &SegmentReader,
    field: Field,
    text: &str,
    weight: f32,
) -> tantivy::Result<Vec<(u32, f32)>> {
    let Some(mut it) = postings(segment, field, text, IndexRecordOption::WithFreqs)? else {
        return Ok(Vec::new());
    };
    let alive = segment.alive_bitset();
    let mut found = Vec::with_capacity(it.doc_freq() as usize);
    while it.doc() != TERMINATED {
        if alive.is_none_or(|alive| alive.is_alive(it.doc())) {
            found.push((it.doc(), weight * it.term_freq() as f32));
        }
        it.advance();
    }
    Ok(found)
}
