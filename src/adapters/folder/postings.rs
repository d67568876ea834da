//! Postings of the living rows: which passages have a term, and how much of it.
use tantivy::columnar::Column;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::schema::Fields;

/// Saturation of repeated terms, the usual value.
const K1: f32 = 1.2;
/// How far length counts, the usual value.
const B: f32 = 0.75;
/// What a word of the title is worth beside one of the body.
const TITLE: f32 = 1.5;

/// Numbers over all living passages of one state of the index. Deleted rows do not count, so that
/// the same folder gives the same scores whatever the history of its index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Statistics {
    /// How many passages.
    pub(super) passages: f32,
    /// Their mean length, in weighed words.
    mean: f32,
    /// How many documents.
    pub(super) documents: u64,
}

impl Statistics {
    /// Counts the living rows.
    pub(super) fn of(searcher: &Searcher, fields: Fields) -> tantivy::Result<Statistics> {
        let (mut passages, mut words, mut documents) = (0u64, 0.0f64, 0u64);
        for segment in searcher.segment_readers() {
            let Some(nth) = column(segment, "nth")? else {
                continue;
            };
            let length = length(segment, fields)?;
            for doc in segment.doc_ids_alive() {
                if let Some(nth) = nth.first(doc) {
                    passages += 1;
                    words += f64::from(length(doc));
                    documents += u64::from(nth == 0);
                }
            }
        }
        Ok(Statistics {
            passages: passages as f32,
            mean: ((words / passages.max(1) as f64) as f32).max(1.0),
            documents,
        })
    }

    /// How telling a term is that `having` passages have.
    pub(super) fn idf(&self, having: usize) -> f32 {
        let having = having as f32;
        (1.0 + (self.passages - having + 0.5) / (having + 0.5)).ln()
    }
}

/// A column of numbers; `None` where no row of the segment has it.
pub(super) fn column(segment: &SegmentReader, name: &str) -> tantivy::Result<Option<Column<u64>>> {
    segment.fast_fields().column_opt::<u64>(name)
}

/// The weighed length of a passage and its title.
fn length(
    segment: &SegmentReader,
    fields: Fields,
) -> tantivy::Result<impl Fn(DocId) -> f32 + use<>> {
    let titles = segment.get_fieldnorms_reader(fields.title)?;
    let bodies = segment.get_fieldnorms_reader(fields.body)?;
    Ok(move |doc| bodies.fieldnorm(doc) as f32 + TITLE * titles.fieldnorm(doc) as f32)
}

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
pub(super) fn having(searcher: &Searcher, field: Field, text: &str) -> tantivy::Result<usize> {
    let mut sum = 0;
    for segment in searcher.segment_readers() {
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

/// Per segment, the living passages with one term and the saturated count of it, from 0 to
/// `K1 + 1`: BM25 over title and body as one text in which a word of the title counts more.
pub(super) struct Occurrences(pub(super) Vec<Vec<(DocId, f32)>>);

impl Occurrences {
    /// Looks `text` up.
    pub(super) fn of(
        searcher: &Searcher,
        fields: Fields,
        statistics: &Statistics,
        text: &str,
    ) -> tantivy::Result<Occurrences> {
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        for segment in searcher.segment_readers() {
            let mut found = counts(segment, fields.body, text, 1.0)?;
            let titles = counts(segment, fields.title, text, TITLE)?;
            if !titles.is_empty() {
                found.extend(titles);
                found.sort_by_key(|it| it.0);
                found.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0.0 };
                    same
                });
            }
            let length = length(segment, fields)?;
            for (doc, count) in &mut found {
                *count = saturated(*count, length(*doc) / statistics.mean);
            }
            segments.push(found);
        }
        Ok(Occurrences(segments))
    }

    /// How many passages have it.
    pub(super) fn passages(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Whether the passage has it.
    pub(super) fn has(&self, segment: usize, doc: DocId) -> bool {
        self.0[segment]
            .binary_search_by_key(&doc, |it| it.0)
            .is_ok()
    }
}

/// A word of the query.
pub(super) struct Wanted {
    pub(super) text: String,
    /// Its weight.
    pub(super) idf: f32,
    pub(super) found: Occurrences,
}

/// A passage and its score.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) segment: usize,
    pub(super) doc: DocId,
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
) -> tantivy::Result<Vec<(DocId, f32)>> {
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
