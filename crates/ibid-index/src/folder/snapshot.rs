//! One committed state of the index, with the document and length of every row in memory.
use std::sync::OnceLock;

use tantivy::columnar::Column;
use tantivy::{DocAddress, Searcher, SegmentReader};

use super::schema::IndexFields;

/// The weight of a word of the title relative to one of the body.
pub(super) const TITLE_WEIGHT: f32 = 1.5;

/// A rare word counts more than by its idf alone: questions are wordy, and their rare words name their subject.
const IDF_POWER: f32 = 1.3;

/// The number of a row, counted through all segments.
pub(super) type RowId = u32;

/// One committed state of the index. Deleted rows do not count, so the scores of a folder do not depend on the history of its
/// index.
pub(super) struct IndexSnapshot {
    pub(super) searcher: Searcher,
    pub(super) fields: IndexFields,
    /// The number of passages.
    pub(super) passages: f32,
    /// The number of documents.
    pub(super) documents: u64,
    /// Words in all passages, weighted by field.
    pub(super) words: f64,
    /// The first row of each segment.
    bases: Vec<RowId>,
    /// By row: its document and its position there; `None` for a deleted row or one that is not a passage.
    places: Vec<Option<(u64, u32)>>,
    /// By row: its weighted length as a multiple of the mean.
    lengths: Vec<f32>,
    /// The vector keys of all passages with their rows, in order; filled on first use.
    by_vector: OnceLock<Vec<(u64, RowId)>>,
}

impl IndexSnapshot {
    /// Reads the columns of all rows that are not deleted.
    pub(super) fn new(searcher: Searcher, fields: IndexFields) -> tantivy::Result<IndexSnapshot> {
        let mut bases = Vec::new();
        let mut places: Vec<Option<(u64, u32)>> = Vec::new();
        let mut lengths = Vec::new();
        let (mut passages, mut words, mut documents) = (0u64, 0.0f64, 0u64);
        for segment in searcher.segment_readers() {
            let base = places.len();
            bases.push(base as RowId);
            places.resize(base + segment.max_doc() as usize, None);
            lengths.resize(places.len(), 1.0);
            let (Some(document), Some(nth)) =
                (column(segment, "document")?, column(segment, "nth")?)
            else {
                continue;
            };
            let titles = segment.get_fieldnorms_reader(fields.title)?;
            let bodies = segment.get_fieldnorms_reader(fields.body)?;
            for doc in segment.doc_ids_alive() {
                let (Some(document), Some(nth)) = (document.first(doc), nth.first(doc)) else {
                    continue;
                };
                let length =
                    bodies.fieldnorm(doc) as f32 + TITLE_WEIGHT * titles.fieldnorm(doc) as f32;
                let row = base + doc as usize;
                places[row] = Some((document, nth as u32));
                lengths[row] = length;
                passages += 1;
                words += f64::from(length);
                documents += u64::from(nth == 0);
            }
        }
        let mean = ((words / passages.max(1) as f64) as f32).max(1.0);
        lengths.iter_mut().for_each(|length| *length /= mean);
        Ok(IndexSnapshot {
            searcher,
            fields,
            passages: passages as f32,
            documents,
            words,
            bases,
            places,
            lengths,
            by_vector: OnceLock::new(),
        })
    }

    /// The number of rows, including deleted ones and those that are not passages.
    pub(super) fn rows(&self) -> usize {
        self.places.len()
    }

    /// The document of a passage and its position there.
    pub(super) fn document_position(&self, row: RowId) -> Option<(u64, u32)> {
        self.places.get(row as usize).copied().flatten()
    }

    /// The length of a passage, as a multiple of the mean.
    pub(super) fn length(&self, row: RowId) -> f32 {
        self.lengths[row as usize]
    }

    /// The inverse document frequency of a term that occurs in `having` passages.
    pub(super) fn idf(&self, having: usize) -> f32 {
        let having = having as f32;
        (1.0 + (self.passages - having + 0.5) / (having + 0.5)).ln()
    }

    /// The weight in a query of a term that occurs in `having` passages: its idf to the power of [`IDF_POWER`].
    pub(super) fn idf_weight(&self, having: usize) -> f32 {
        self.idf(having).powf(IDF_POWER)
    }

    /// The segments, each with its first row.
    pub(super) fn segments(&self) -> impl Iterator<Item = (RowId, &SegmentReader)> {
        let bases = self.bases.iter().copied();
        bases.zip(self.searcher.segment_readers())
    }

    /// The address of a row.
    pub(super) fn address(&self, row: RowId) -> DocAddress {
        let ord = self.bases.partition_point(|base| *base <= row).max(1) - 1;
        DocAddress::new(ord as u32, row - self.bases[ord])
    }

    /// The key of the vector of a passage.
    pub(super) fn vector_key(&self, row: RowId) -> tantivy::Result<Option<u64>> {
        let at = self.address(row);
        let segment = self.searcher.segment_reader(at.segment_ord);
        Ok(column(segment, "vector")?.and_then(|keys| keys.first(at.doc_id)))
    }

    /// The vector keys of all passages with their rows, in the order of keys.
    pub(super) fn vector_rows(&self) -> tantivy::Result<&[(u64, RowId)]> {
        if let Some(rows) = self.by_vector.get() {
            return Ok(rows);
        }
        let mut found = Vec::new();
        for (base, segment) in self.segments() {
            let Some(keys) = column(segment, "vector")? else {
                continue;
            };
            let alive = segment.doc_ids_alive();
            found.extend(alive.filter_map(|doc| Some((keys.first(doc)?, base + doc))));
        }
        found.sort_unstable();
        Ok(self.by_vector.get_or_init(|| found))
    }
}

/// A column of numbers; `None` if no row of the segment has it.
pub(super) fn column(segment: &SegmentReader, name: &str) -> tantivy::Result<Option<Column<u64>>> {
    segment.fast_fields().column_opt::<u64>(name)
}
