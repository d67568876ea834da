//! Postings: the passages that contain a term, with its saturated count in each.
use std::borrow::Cow;

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::snapshot::{IndexSnapshot, RowId, TITLE_WEIGHT};
use crate::bm25;

/// The postings of `text` in `field`, if the term occurs there. They include deleted rows.
pub(super) fn segment_postings(
    segment: &SegmentReader,
    field: Field,
    text: &str,
    option: IndexRecordOption,
) -> tantivy::Result<Option<SegmentPostings>> {
    let term = Term::from_field_text(field, text);
    Ok(segment.inverted_index(field)?.read_postings(&term, option)?)
}

/// The number of rows with `text` in `field` that are not deleted.
pub(super) fn passage_count(
    view: &IndexSnapshot,
    field: Field,
    text: &str,
) -> tantivy::Result<usize> {
    let mut sum = 0;
    for (_, segment) in view.segments() {
        // If nothing is deleted, the dictionary has the number and no postings are read.
        let Some(alive) = segment.alive_bitset() else {
            let term = Term::from_field_text(field, text);
            sum += segment.inverted_index(field)?.doc_freq(&term)? as usize;
            continue;
        };
        let postings = segment_postings(segment, field, text, IndexRecordOption::Basic)?;
        if let Some(mut postings) = postings {
            sum += postings.count(alive) as usize;
        }
    }
    Ok(sum)
}

/// The passages with one term, in order, and its saturated count in each, from 0 to `K1 + 1`: BM25 over title and body as one
/// text in which a word of the title counts more.
pub(super) struct PassagePostings<'a> {
    pub(super) rows: Cow<'a, [RowId]>,
    pub(super) counts: Cow<'a, [f32]>,
}

impl PassagePostings<'_> {
    /// Reads the postings of `text` from the index.
    pub(super) fn load(
        view: &IndexSnapshot,
        text: &str,
    ) -> tantivy::Result<PassagePostings<'static>> {
        let mut all = Vec::new();
        for (base, segment) in view.segments() {
            let mut found = counts(segment, view.fields.body, text, 1.0)?;
            let titles = counts(segment, view.fields.title, text, TITLE_WEIGHT)?;
            if !titles.is_empty() {
                found.extend(titles);
                found.sort_by_key(|pair| pair.0);
                found.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0.0 };
                    same
                });
            }
            all.extend(found.into_iter().map(|pair| (base + pair.0, pair.1)));
        }
        let counts = all.iter().map(|pair| saturate(pair.1, view.length(pair.0)));
        Ok(PassagePostings {
            counts: counts.collect(),
            rows: all.iter().map(|pair| pair.0).collect(),
        })
    }

    /// Adds `weight` times the counts to the scores of rows whose score so far passes `accept`.
    pub(super) fn add(&self, weight: f32, scores: &mut [f32], accept: impl Fn(f32) -> bool) {
        for (row, count) in self.rows.iter().zip(self.counts.iter()) {
            let sum = &mut scores[*row as usize];
            if accept(*sum) {
                *sum += weight * count;
            }
        }
    }

    /// The index of a passage among those with the term.
    pub(super) fn position_of(&self, row: RowId) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }
}

/// A passage and its score.
#[derive(Clone, Copy)]
pub(super) struct ScoredRow {
    pub(super) row: RowId,
    pub(super) score: f32,
}

/// The saturated count of `count` occurrences in a passage `length` times as long as the mean.
pub(super) fn saturate(count: f32, length: f32) -> f32 {
    const K1: f32 = bm25::K1 as f32;
    const B: f32 = bm25::B as f32;
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
}

/// The documents of `segment` with `text` in `field` that are not deleted, and `weight` times its count in each.
fn counts(
    segment: &SegmentReader,
    field: Field,
    text: &str,
    weight: f32,
) -> tantivy::Result<Vec<(u32, f32)>> {
    let option = IndexRecordOption::WithFreqs;
    let Some(mut postings) = segment_postings(segment, field, text, option)? else {
        return Ok(Vec::new());
    };
    let alive = segment.alive_bitset();
    let mut found = Vec::with_capacity(postings.doc_freq() as usize);
    while postings.doc() != TERMINATED {
        if alive.is_none_or(|alive| alive.is_alive(postings.doc())) {
            found.push((postings.doc(), weight * postings.term_freq() as f32));
        }
        postings.advance();
    }
    Ok(found)
}
