//! The postings of a small index, decoded once and kept in memory.
//!
//! A query looks up about seventy terms, most of them words that its best passages share ([`super::feedback`]). In the files
//! each lookup searches a dictionary and unpacks a list, and the terms of a passage must be computed from its text. Here each
//! is an offset. A hundred thousand words take about two megabytes.
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use super::postings::{PassagePostings, saturate};
use super::snapshot::{IndexSnapshot, RowId, TITLE_WEIGHT};
use super::term_index::{PassageTerms, TermId, TermIndex, TermPositions};
use ibid_core::domain::words::is_stop_word;

/// Words of an index that is kept in memory: about 40 MB.
const MAX_WORDS: f64 = 2e6;

/// Postings and terms in memory. The lists of all terms are concatenated, and so are those of all rows.
pub(super) struct MemoryTermIndex {
    numbers: HashMap<Box<str>, TermId>,
    /// By term: the end of its postings, and the number of bodies that have it.
    terms: Vec<(usize, u32)>,
    rows: Vec<RowId>,
    counts: Vec<f32>,
    /// By posting: the end of its positions.
    position_ends: Vec<u32>,
    positions: Vec<u32>,
    /// By row: the end of its terms, and its number of words.
    row_ends: Vec<(usize, u32)>,
    row_terms: Vec<(TermId, u32)>,
}

/// The terms of one field of a segment.
struct FieldTerms<'a> {
    base: RowId,
    segment: &'a SegmentReader,
    title: bool,
    index: Arc<InvertedIndexReader>,
}

/// A term of a field of a segment.
struct FieldTerm<'a> {
    field: &'a FieldTerms<'a>,
    info: TermInfo,
}

impl MemoryTermIndex {
    /// Reads the postings of `view`; `None` if there are too many.
    pub(super) fn load(view: &IndexSnapshot) -> tantivy::Result<Option<MemoryTermIndex>> {
        if view.words > MAX_WORDS {
            return Ok(None);
        }
        let mut fields = Vec::new();
        for (base, segment) in view.segments() {
            for (title, field) in [(false, view.fields.body), (true, view.fields.title)] {
                let index = segment.inverted_index(field)?;
                fields.push(FieldTerms { base, segment, title, index });
            }
        }
        let terms = fields.iter().map(|field| field.index.terms().num_terms()).sum();
        // No more postings than words: a list that never grows touches no page twice.
        let words = view.words as usize;
        let mut index = MemoryTermIndex {
            numbers: HashMap::with_capacity(terms),
            terms: Vec::with_capacity(terms),
            rows: Vec::with_capacity(words),
            counts: Vec::with_capacity(words),
            position_ends: Vec::with_capacity(words),
            positions: Vec::with_capacity(words),
            row_ends: vec![(0, 0); view.rows()],
            row_terms: Vec::new(),
        };
        let mut frequencies = Vec::with_capacity(words);
        let mut streams = Vec::new();
        for field in &fields {
            let mut stream = field.index.terms().stream()?;
            if stream.advance() {
                streams.push((field, stream));
            }
        }
        // The dictionaries are merged: the segments of one term stay in order, and in each segment the body comes before the title.
        while let Some(text) = streams.iter().map(|it| it.1.key()).min().map(<[u8]>::to_vec) {
            let mut entries = Vec::new();
            streams.retain_mut(|(field, stream)| {
                if stream.key() != text.as_slice() {
                    return true;
                }
                entries.push(FieldTerm { field, info: stream.value().clone() });
                stream.advance()
            });
            index.add_term(view, &text, &entries, &mut frequencies)?;
        }
        index.index_by_row(&frequencies);
        Ok(Some(index))
    }

    /// Adds the postings of one term, and its count in each row to `frequencies`; 0 for a stop word. Terms are added in
    /// alphabetical order.
    fn add_term(
        &mut self,
        view: &IndexSnapshot,
        text: &[u8],
        entries: &[FieldTerm<'_>],
        frequencies: &mut Vec<u32>,
    ) -> tantivy::Result<()> {
        let text = String::from_utf8_lossy(text);
        let (stop, term) = (is_stop_word(&text), self.terms.len() as TermId);
        let first = self.rows.len();
        let mut bodies = 0;
        let mut at = Vec::new();
        // The postings in one segment: row, weighted count, count, range of its positions.
        let mut found: Vec<(RowId, f32, u32, std::ops::Range<usize>)> = Vec::new();
        let mut positions: Vec<u32> = Vec::new();
        for same in entries.chunk_by(|a, b| a.field.base == b.field.base) {
            found.clear();
            positions.clear();
            for FieldTerm { field, info } in same {
                let (option, weight) = if field.title {
                    (IndexRecordOption::WithFreqs, TITLE_WEIGHT)
                } else {
                    (IndexRecordOption::WithFreqsAndPositions, 1.0)
                };
                let mut postings = field.index.read_postings_from_terminfo(info, option)?;
                let alive = field.segment.alive_bitset();
                while postings.doc() != TERMINATED {
                    let doc = postings.doc();
                    if alive.is_none_or(|it| it.is_alive(doc)) {
                        let many = postings.term_freq();
                        let start = positions.len();
                        if !field.title {
                            bodies += 1;
                            postings.positions(&mut at);
                            positions.extend(&at);
                        }
                        let row = field.base + doc;
                        found.push((row, weight * many as f32, many, start..positions.len()));
                    }
                    postings.advance();
                }
            }
            if same.len() > 1 {
                found.sort_by_key(|pair| pair.0);
                found.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                        kept.2 += next.2;
                    }
                    same
                });
            }
            for (row, count, many, span) in found.drain(..) {
                self.rows.push(row);
                self.counts.push(saturate(count, view.length(row)));
                self.positions.extend(&positions[span]);
                self.position_ends.push(self.positions.len() as u32);
                self.row_ends[row as usize].1 += many;
                frequencies.push(if stop { 0 } else { many });
            }
        }
        if self.rows.len() > first {
            self.numbers.insert(text.into(), term);
            self.terms.push((self.rows.len(), bodies));
        }
        Ok(())
    }

    /// Fills the lists of terms by row from those by term (a counting sort), and leaves stop words out.
    fn index_by_row(&mut self, frequencies: &[u32]) {
        let mut starts = vec![0usize; self.row_ends.len() + 1];
        for (row, _) in self.rows.iter().zip(frequencies).filter(|it| *it.1 > 0) {
            starts[*row as usize + 1] += 1;
        }
        for nth in 1..starts.len() {
            starts[nth] += starts[nth - 1];
        }
        self.row_terms = vec![(0, 0); starts.last().copied().unwrap_or_default()];
        let mut at = 0;
        for (term, (end, _)) in self.terms.iter().enumerate() {
            for (row, count) in self.rows[at..*end].iter().zip(&frequencies[at..*end]) {
                if *count > 0 {
                    let next = &mut starts[*row as usize];
                    self.row_terms[*next] = (term as TermId, *count);
                    *next += 1;
                }
            }
            at = *end;
        }
        // Each start has been moved to the end of its row.
        for (row, end) in self.row_ends.iter_mut().zip(starts) {
            row.0 = end;
        }
    }

    /// The start of a term's postings.
    fn start(&self, term: TermId) -> usize {
        term.checked_sub(1).map_or(0, |index| self.terms[index as usize].0)
    }
}

impl TermIndex for MemoryTermIndex {
    fn term(&self, text: &str) -> Option<TermId> {
        self.numbers.get(text).copied()
    }

    fn order(&self, a: TermId, b: TermId) -> Ordering {
        a.cmp(&b)
    }

    fn passage_count(&self, term: TermId) -> tantivy::Result<usize> {
        Ok(self.terms[term as usize].1 as usize)
    }

    fn postings(&self, term: TermId) -> tantivy::Result<PassagePostings<'_>> {
        let span = self.start(term)..self.terms[term as usize].0;
        Ok(PassagePostings {
            rows: Cow::Borrowed(&self.rows[span.clone()]),
            counts: Cow::Borrowed(&self.counts[span]),
        })
    }

    fn passage_terms(&self, row: RowId) -> tantivy::Result<PassageTerms<'_>> {
        let start = (row as usize).checked_sub(1).map_or(0, |index| self.row_ends[index].0);
        let (end, words) = self.row_ends[row as usize];
        Ok(PassageTerms {
            terms: Cow::Borrowed(&self.row_terms[start..end]),
            words: words as usize,
        })
    }

    fn positions(
        &self,
        terms: &[(TermId, &PassagePostings<'_>)],
        passages: &[RowId],
    ) -> tantivy::Result<TermPositions> {
        let mut positions = TermPositions::with_capacity(terms.len(), passages.len());
        for row in passages {
            for (term, postings) in terms {
                let Some(nth) = postings.position_of(*row) else {
                    positions.push(&[]);
                    continue;
                };
                let posting = self.start(*term) + nth;
                let end = |posting: usize| self.position_ends[posting] as usize;
                let start = posting.checked_sub(1).map_or(0, end);
                positions.push(&self.positions[start..end(posting)]);
            }
        }
        Ok(positions)
    }
}
