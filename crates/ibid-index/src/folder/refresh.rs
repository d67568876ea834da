//! Updates the index to the current state of the folder; only changed files are read.
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tantivy::indexer::IndexWriterOptions;
use tantivy::schema::Value as _;
use tantivy::{DocAddress, Index, IndexWriter, Searcher, TantivyDocument, Term};

use super::hash::short_hash;
use super::index_dir::index_error;
use super::ingest::{IngestOutcome, Ingestion, file_failure};
use super::options::FolderOptions;
use super::rows::file_version;
use super::schema::IndexFields;
use super::walk::{FoundFile, walk};
use ibid_core::Result;
use ibid_core::ports::crash_point;
use ibid_extract::{DocumentFailure, UnsupportedFiles};

/// A round ends and is committed after this many files or bytes. A kill costs at most one round.
const ROUND_FILES: usize = 4_000;
const ROUND_BYTES: u64 = 128 << 20;

/// The progress of a refresh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Files processed.
    pub files: u64,
    /// Files to process.
    pub total: u64,
    /// Documents read so far.
    pub documents: u64,
    /// Whether `files` and `total` count passages that are being embedded.
    pub embedding: bool,
}

/// The result of a refresh.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RefreshSummary {
    /// New files.
    pub added: u64,
    /// Files whose content changed.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that did not change.
    pub unchanged: u64,
    /// Documents in the index now.
    pub documents: u64,
    /// Bytes of all files in the index.
    pub bytes: u64,
    /// The documents that could not be read, also those of unchanged files.
    pub faults: Vec<DocumentFailure>,
    /// Files of unsupported formats, which are counted and not listed in `faults`.
    pub unread: UnsupportedFiles,
    /// Why the index was rebuilt, if the existing one could not be used.
    pub rebuilt: Option<String>,
    /// Whether the refresh was stopped: what was read is kept, and the next refresh reads the rest.
    pub stopped: bool,
    /// Whether another process is writing the index; the state that it committed last is searched.
    pub busy: bool,
}

/// The row of a file in the index.
#[derive(Debug, Clone, Copy)]
struct IndexedFile {
    size: u64,
    mtime: i64,
    hash: u64,
    limits: u64,
    documents: u64,
    at: DocAddress,
}

/// A folder and its index, to be compared.
pub(super) struct RefreshJob<'a> {
    pub(super) root: &'a Path,
    pub(super) options: &'a FolderOptions,
    pub(super) cache_dir: &'a Path,
    pub(super) index: &'a Index,
    pub(super) searcher: &'a Searcher,
    pub(super) fields: IndexFields,
    pub(super) stop: &'a AtomicBool,
}

impl RefreshJob<'_> {
    /// Compares the folder with the index and commits the changes, round by round. Each commit covers whole files, so a kill
    /// leaves some files old and the others new, and none half indexed.
    pub(super) fn run(&self, on: &mut dyn FnMut(IndexProgress)) -> Result<RefreshSummary> {
        let (searcher, fields) = (self.searcher, self.fields);
        let fault = |why| index_error("reading the list of indexed files", why);
        let known = indexed_files(searcher).map_err(fault)?;
        let (found, inaccessible) = walk(self.root, &self.options.globs, self.cache_dir)?;
        let mut summary = RefreshSummary {
            bytes: found.iter().map(|file| file.size).sum(),
            ..RefreshSummary::default()
        };
        for (path, why) in inaccessible {
            summary.faults.push(file_failure(&path, "opening it", &why));
        }
        let limits = short_hash(&[self.options.salt.as_bytes()]);
        let mut todo = Vec::new();
        let mut gone = known.clone();
        for file in found {
            match gone.remove(&file.id) {
                Some(was)
                    if (was.size, was.mtime, was.limits) == (file.size, file.mtime, limits)
                        && file.mtime != 0 =>
                {
                    summary.unchanged += 1;
                    summary.faults.extend(stored_failures(searcher, fields, was.at));
                }
                Some(was) => todo.push((file, Some(was.hash))),
                None => todo.push((file, None)),
            }
        }
        summary.removed = gone.len() as u64;
        let gone: Vec<u64> = gone.iter().map(|(id, file)| file_version(*id, file.hash)).collect();
        if !todo.is_empty() || !gone.is_empty() {
            let mut run = RefreshRun {
                job: self,
                limits,
                known: &known,
                summary: &mut summary,
                progress: IndexProgress {
                    files: 0,
                    total: todo.len() as u64,
                    ..IndexProgress::default()
                },
            };
            run.rounds(todo, gone, on).map_err(|why| index_error("writing the index", why))?;
        }
        let unread = &mut summary.unread;
        summary.faults.retain(|fault| !unread.record(fault));
        summary.faults.sort_by(|a, b| (&a.path, &a.place).cmp(&(&b.path, &b.place)));
        Ok(summary)
    }
}

/// The state of a refresh that has files to read.
struct RefreshRun<'a> {
    job: &'a RefreshJob<'a>,
    /// The hash of the limits in force.
    limits: u64,
    known: &'a HashMap<u64, IndexedFile>,
    summary: &'a mut RefreshSummary,
    progress: IndexProgress,
}

impl RefreshRun<'_> {
    /// Deletes the file versions in `gone`, then reads the files in `todo`, each with the hash that is indexed.
    fn rounds(
        &mut self,
        todo: Vec<(FoundFile, Option<u64>)>,
        gone: Vec<u64>,
        on: &mut dyn FnMut(IndexProgress),
    ) -> tantivy::Result<()> {
        // Our own workers write the rows of documents; tantivy's thread writes only those of files.
        let options = IndexWriterOptions::builder().num_worker_threads(1).build();
        let mut writer: IndexWriter = self.job.index.writer_with_options(options)?;
        for from in gone {
            writer.delete_term(Term::from_field_u64(self.job.fields.from, from));
        }
        let mut rest = todo.as_slice();
        loop {
            let (round, later) = rest.split_at(round_length(rest));
            self.round(&mut writer, round, on)?;
            crash_point("index.before_commit");
            writer.commit()?;
            crash_point("index.after_commit");
            rest = later;
            if self.job.stop.load(Ordering::Relaxed) {
                self.summary.stopped = true;
                break;
            }
            if rest.is_empty() {
                break;
            }
        }
        writer.wait_merging_threads()
    }

    /// Reads the files of one round and replaces their rows.
    fn round(
        &mut self,
        writer: &mut IndexWriter,
        round: &[(FoundFile, Option<u64>)],
        on: &mut dyn FnMut(IndexProgress),
    ) -> tantivy::Result<()> {
        let fields = self.job.fields;
        let mut outcomes = Vec::new();
        let progress = &mut self.progress;
        let before = progress.documents;
        let ingestion = Ingestion {
            index: self.job.index,
            fields,
            files: round,
            salt: &self.job.options.salt,
            read: &*self.job.options.read,
            stop: self.job.stop,
        };
        let segments = ingestion.run(&mut |outcome| {
            match outcome {
                IngestOutcome::Progress(documents) => progress.documents = before + documents,
                IngestOutcome::Unreadable(_) => outcomes.push(outcome),
                _ => {
                    progress.files += 1;
                    outcomes.push(outcome);
                }
            }
            on(*progress);
        })?;
        for outcome in &outcomes {
            let (IngestOutcome::Unchanged { nth }
            | IngestOutcome::Read { nth, .. }
            | IngestOutcome::Closed { nth, .. }) = outcome
            else {
                continue;
            };
            let (file, before) = &round[*nth];
            let Some(before) = before else { continue };
            writer.delete_term(match outcome {
                IngestOutcome::Unchanged { .. } => Term::from_field_u64(fields.file, file.id),
                _ => Term::from_field_u64(fields.from, file_version(file.id, *before)),
            });
        }
        for segment in segments {
            writer.add_segment(segment)?;
        }
        for outcome in outcomes {
            self.note(writer, round, outcome)?;
        }
        Ok(())
    }

    /// Counts one outcome and writes the file's row.
    fn note(
        &mut self,
        writer: &IndexWriter,
        round: &[(FoundFile, Option<u64>)],
        outcome: IngestOutcome,
    ) -> tantivy::Result<()> {
        let (file, hash, documents, faults) = match outcome {
            IngestOutcome::Progress(_) => return Ok(()),
            IngestOutcome::Unreadable(fault) | IngestOutcome::Closed { fault, .. } => {
                self.summary.faults.push(fault);
                return Ok(());
            }
            IngestOutcome::Unchanged { nth } => {
                let file = &round[nth].0;
                let Some(was) = self.known.get(&file.id) else {
                    return Ok(());
                };
                self.summary.unchanged += 1;
                let faults = stored_failures(self.job.searcher, self.job.fields, was.at);
                (file, was.hash, was.documents, faults)
            }
            IngestOutcome::Read { nth, hash, documents, faults } => {
                let (file, before) = &round[nth];
                match before {
                    Some(_) => self.summary.changed += 1,
                    None => self.summary.added += 1,
                }
                (file, hash, documents, faults)
            }
        };
        let fields = self.job.fields;
        let mut row = TantivyDocument::new();
        row.add_u64(fields.from, file_version(file.id, hash));
        row.add_u64(fields.file, file.id);
        row.add_u64(fields.size, file.size);
        row.add_i64(fields.mtime, file.mtime);
        row.add_u64(fields.hash, hash);
        row.add_u64(fields.limits, self.limits);
        row.add_u64(fields.documents, documents);
        if !faults.is_empty() {
            row.add_bytes(fields.faults, &serde_json::to_vec(&faults).unwrap_or_default());
        }
        writer.add_document(row)?;
        self.summary.faults.extend(faults);
        Ok(())
    }
}

/// How many of the files in `rest` the next round reads.
fn round_length(rest: &[(FoundFile, Option<u64>)]) -> usize {
    let mut bytes = 0;
    rest.iter()
        .take(ROUND_FILES)
        .take_while(|(file, _)| {
            let fits = bytes < ROUND_BYTES;
            bytes += file.size;
            fits
        })
        .count()
}

/// The rows of files, by file id.
fn indexed_files(searcher: &Searcher) -> tantivy::Result<HashMap<u64, IndexedFile>> {
    let mut found = HashMap::new();
    for (ord, segment) in searcher.segment_readers().iter().enumerate() {
        let columns = segment.fast_fields();
        let (Some(file), Some(size), Some(mtime), Some(hash), Some(limits), Some(documents)) = (
            columns.column_opt::<u64>("file")?,
            columns.column_opt::<u64>("size")?,
            columns.column_opt::<i64>("mtime")?,
            columns.column_opt::<u64>("hash")?,
            columns.column_opt::<u64>("limits")?,
            columns.column_opt::<u64>("documents")?,
        ) else {
            continue;
        };
        for doc in segment.doc_ids_alive() {
            if let Some(id) = file.first(doc) {
                let row = IndexedFile {
                    size: size.first(doc).unwrap_or(0),
                    mtime: mtime.first(doc).unwrap_or(0),
                    hash: hash.first(doc).unwrap_or(0),
                    limits: limits.first(doc).unwrap_or(0),
                    documents: documents.first(doc).unwrap_or(0),
                    at: DocAddress::new(ord as u32, doc),
                };
                found.insert(id, row);
            }
        }
    }
    Ok(found)
}

/// The failures stored in the row of a file.
fn stored_failures(
    searcher: &Searcher,
    fields: IndexFields,
    at: DocAddress,
) -> Vec<DocumentFailure> {
    searcher
        .doc::<TantivyDocument>(at)
        .ok()
        .and_then(|row| {
            let bytes = row.get_first(fields.faults)?.as_bytes()?;
            serde_json::from_slice(bytes).ok()
        })
        .unwrap_or_default()
}
