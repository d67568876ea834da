//! One state of the index as it is searched, with what is known of every row without reading it.
use std::sync::{Mutex, OnceLock, PoisonError};

use tantivy::columnar::Column;
use tantivy::{DocAddress, Searcher, SegmentReader};

use super::resident::Resident;
use super::schema::Fields;

/// What a word of the title is worth beside one of the body.
pub(super) const TITLE: f32 = 1.5;

/// A row of the index, counted through all segments.
pub(super) type Row = u32;

/// One state of the index. Deleted rows do not count, so that the same folder gives the same scores whatever the history
/// of its index.
pub(super) struct View {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    /// How many passages.
    pub(super) passages: f32,
    /// How many documents.
    pub(super) documents: u64,
    /// Words in all passages, weighed.
    pub(super) words: f64,
    /// The first row of each segment.
    bases: Vec<Row>,
    /// By row: its document, and its place there; `None` for what is no living passage.
    places: Vec<Option<(u64, u32)>>,
    /// By row: its weighed length as a multiple of the mean.
    lengths: Vec<f32>,
    resident: OnceLock<Option<Resident>>,
    building: Mutex<()>,
    by_vector: OnceLock<Vec<(u64, Row)>>,
}

impl View {
    /// Looks through the living rows.
    pub(super) fn of(searcher: Searcher, fields: Fields) -> tantivy::Result<View> {
        let mut bases = Vec::new();
        let mut places: Vec<Option<(u64, u32)>> = Vec::new();
        let mut lengths = Vec::new();
        let (mut passages, mut words, mut documents) = (0u64, 0.0f64, 0u64);
        for segment in searcher.segment_readers() {
            let base = places.len();
            bases.push(base as Row);
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
                let length = bodies.fieldnorm(doc) as f32 + TITLE * titles.fieldnorm(doc) as f32;
                let row = base + doc as usize;
                places[row] = Some((document, nth as u32));
                lengths[row] = length;
                passages += 1;
                words += f64::from(length);
                documents += u64::from(nth == 0);
            }
        }
        let mean = ((words / passages.max(1) as f64) as f32).max(1.0);
        lengths.iter_mut().for_each(|it| *it /= mean);
        Ok(View {
            searcher,
            fields,
            passages: passages as f32,
            documents,
            words,
            bases,
            places,
            lengths,
            resident: OnceLock::new(),
            building: Mutex::new(()),
            by_vector: OnceLock::new(),
        })
    }

    /// How many rows, deleted ones and those that are no passages included.
    pub(super) fn rows(&self) -> usize {
        self.places.len()
    }

    /// The document of a passage and its place there.
    pub(super) fn place(&self, row: Row) -> Option<(u64, u32)> {
        self.places.get(row as usize).copied().flatten()
    }

    /// The length of a passage, as a multiple of the mean.
    pub(super) fn length(&self, row: Row) -> f32 {
        self.lengths[row as usize]
    }

    /// How telling a term is that `having` passages have.
    pub(super) fn idf(&self, having: usize) -> f32 {
        let having = having as f32;
        (1.0 + (self.passages - having + 0.5) / (having + 0.5)).ln()
    }

    /// The segments, each with its first row.
    pub(super) fn segments(&self) -> impl Iterator<Item = (Row, &SegmentReader)> {
        let bases = self.bases.iter().copied();
        bases.zip(self.searcher.segment_readers())
    }

    /// Where a row lies.
    pub(super) fn address(&self, row: Row) -> DocAddress {
        let ord = self.bases.partition_point(|it| *it <= row).max(1) - 1;
        DocAddress::new(ord as u32, row - self.bases[ord])
    }

    /// Whether the postings are in memory already.
    pub(super) fn is_resident(&self) -> bool {
        self.resident.get().is_some_and(Option::is_some)
    }

    /// The postings in memory, where they are few enough.
    pub(super) fn resident(&self) -> tantivy::Result<Option<&Resident>> {
        if let Some(it) = self.resident.get() {
            return Ok(it.as_ref());
        }
        // One builds it; searches that come at the same time wait, for each building would cost its memory.
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = self.resident.get() {
            return Ok(it.as_ref());
        }
        let made = Resident::of(self)?;
        Ok(self.resident.get_or_init(|| made).as_ref())
    }
}

impl View {
    /// What the vectors of living passages are kept under, in order, and whose they are.
    pub(super) fn by_vector(&self) -> tantivy::Result<&[(u64, Row)]> {
        if let Some(it) = self.by_vector.get() {
            return Ok(it);
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

/// A column of numbers; `None` where no row of the segment has it.
pub(super) fn column(segment: &SegmentReader, name: &str) -> tantivy::Result<Option<Column<u64>>> {
    segment.fast_fields().column_opt::<u64>(name)
}
