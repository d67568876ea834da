//! The index brought up to the folder as it is now: only what changed is read.
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tantivy::indexer::IndexWriterOptions;
use tantivy::schema::Value as _;
use tantivy::{DocAddress, Index, IndexWriter, Searcher, TantivyDocument, Term};

use super::FolderOptions;
use super::intake::{Outcome, fault, intake};
use super::place::failed;
use super::rows::origin;
use super::schema::Fields;
use super::walk::{Seen, files, short_hash};
use crate::adapters::documents::{Fault, Unread};
use crate::error::Result;
use crate::seams::crash_point;

/// A round ends, and what it read is committed, after this many files or bytes: what a kill can cost.
const ROUND_FILES: usize = 4_000;
const ROUND_BYTES: u64 = 128 << 20;

/// How far a refresh has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files looked at.
    pub files: u64,
    /// Files that have to be looked at.
    pub of: u64,
    /// Documents read so far.
    pub documents: u64,
    /// Whether it is passages that are counted as files here, on their way to vectors.
    pub embedding: bool,
}

/// What a refresh found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Refreshed {
    /// Files that are new.
    pub added: u64,
    /// Files whose bytes are others.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that are as they were.
    pub unchanged: u64,
    /// Documents in the index now.
    pub documents: u64,
    /// Bytes of all files in the index.
    pub bytes: u64,
    /// What could not be read, file by file; those of unchanged files are told again.
    pub faults: Vec<Fault>,
    /// Files of kinds that nobody here reads, summed up instead.
    pub unread: Unread,
    /// Why the index had to be built anew, if one of before could not be used.
    pub rebuilt: Option<String>,
    /// Somebody asked to stop: what was read so far is kept, and the next refresh reads the rest.
    pub stopped: bool,
    /// Another process is writing the index; the state it last committed is searched.
    pub busy: bool,
}

/// What the index knows of a file.
#[derive(Debug, Clone, Copy)]
struct Known {
    size: u64,
    mtime: i64,
    hash: u64,
    limits: u64,
    documents: u64,
    at: DocAddress,
}

/// Compares the folder with the index and commits what is new, round by round. Each commit covers
/// whole files, so a kill at any moment leaves some files old and the others new, and none torn.
#[allow(clippy::too_many_arguments, reason = "what a refresh works on")]
pub(super) fn refresh(
    root: &Path,
    options: &FolderOptions,
    cache_dir: &Path,
    index: &Index,
    searcher: &Searcher,
    fields: Fields,
    stop: &AtomicBool,
    on: &mut dyn FnMut(Progress),
) -> Result<Refreshed> {
    let doing = |why| failed("reading what the index knows of its files", why);
    let known = known(searcher).map_err(doing)?;
    let (seen, closed) = files(root, &options.globs, cache_dir)?;
    let mut told = Refreshed {
        bytes: seen.iter().map(|it| it.size).sum(),
        ..Refreshed::default()
    };
    for (path, why) in closed {
        told.faults.push(fault(&path, "looking into it", &why));
    }
    let limits = short_hash(&[options.salt.as_bytes()]);
    let mut todo = Vec::new();
    let mut left = known.clone();
    for it in seen {
        match left.remove(&it.id) {
            Some(was)
                if (was.size, was.mtime, was.limits) == (it.size, it.mtime, limits)
                    && it.mtime != 0 =>
            {
                told.unchanged += 1;
                told.faults.extend(faults_of(searcher, fields, was.at));
            }
            Some(was) => todo.push((it, Some(was.hash))),
            None => todo.push((it, None)),
        }
    }
    told.removed = left.len() as u64;
    let gone: Vec<u64> = left.iter().map(|it| origin(*it.0, it.1.hash)).collect();
    if !todo.is_empty() || !gone.is_empty() {
        let mut work = Work {
            options,
            searcher,
            index,
            fields,
            limits,
            known: &known,
            told: &mut told,
            stop,
            progress: Progress {
                files: 0,
                of: todo.len() as u64,
                ..Progress::default()
            },
        };
        work.rounds(todo, gone, on)
            .map_err(|why| failed("writing the index", why))?;
    }
    let unread = &mut told.unread;
    told.faults.retain(|it| !unread.takes(it));
    told.faults
        .sort_by(|a, b| (&a.path, &a.place).cmp(&(&b.path, &b.place)));
    Ok(told)
}

struct Work<'a> {
    options: &'a FolderOptions,
    searcher: &'a Searcher,
    index: &'a Index,
    fields: Fields,
    limits: u64,
    known: &'a HashMap<u64, Known>,
    told: &'a mut Refreshed,
    stop: &'a AtomicBool,
    progress: Progress,
}

impl Work<'_> {
    fn rounds(
        &mut self,
        todo: Vec<(Seen, Option<u64>)>,
        gone: Vec<u64>,
        on: &mut dyn FnMut(Progress),
    ) -> tantivy::Result<()> {
        // The rows are written by our own workers; tantivy's one thread writes file rows alone.
        let options = IndexWriterOptions::builder().num_worker_threads(1).build();
        let mut writer: IndexWriter = self.index.writer_with_options(options)?;
        for from in gone {
            writer.delete_term(Term::from_field_u64(self.fields.from, from));
        }
        let mut rest = todo.as_slice();
        loop {
            let (round, later) = rest.split_at(round_length(rest));
            self.round(&mut writer, round, on)?;
            crash_point("index.before_commit");
            writer.commit()?;
            crash_point("index.after_commit");
            rest = later;
            if self.stop.load(Ordering::Relaxed) {
                self.told.stopped = true;
                break;
            }
            if rest.is_empty() {
                break;
            }
        }
        writer.wait_merging_threads()
    }

    fn round(
        &mut self,
        writer: &mut IndexWriter,
        round: &[(Seen, Option<u64>)],
        on: &mut dyn FnMut(Progress),
    ) -> tantivy::Result<()> {
        let fields = self.fields;
        let mut outcomes = Vec::new();
        let progress = &mut self.progress;
        let before = progress.documents;
        let salt = &self.options.salt;
        let segments = intake(
            self.index,
            fields,
            round,
            salt,
            &*self.options.read,
            self.stop,
            &mut |it| {
                match it {
                    Outcome::Going(documents) => progress.documents = before + documents,
                    Outcome::Lost(_) => outcomes.push(it),
                    _ => {
                        progress.files += 1;
                        outcomes.push(it);
                    }
                }
                on(*progress);
            },
        )?;
        for outcome in &outcomes {
            let (Outcome::Same { nth } | Outcome::Read { nth, .. } | Outcome::Closed { nth, .. }) =
                outcome
            else {
                continue;
            };
            let (seen, before) = &round[*nth];
            let Some(before) = before else { continue };
            writer.delete_term(match outcome {
                Outcome::Same { .. } => Term::from_field_u64(fields.file, seen.id),
                _ => Term::from_field_u64(fields.from, origin(seen.id, *before)),
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
        round: &[(Seen, Option<u64>)],
        outcome: Outcome,
    ) -> tantivy::Result<()> {
        let (seen, hash, documents, faults) = match outcome {
            Outcome::Going(_) => return Ok(()),
            Outcome::Lost(fault) | Outcome::Closed { fault, .. } => {
                self.told.faults.push(fault);
                return Ok(());
            }
            Outcome::Same { nth } => {
                let seen = &round[nth].0;
                let Some(was) = self.known.get(&seen.id) else {
                    return Ok(());
                };
                self.told.unchanged += 1;
                let faults = faults_of(self.searcher, self.fields, was.at);
                (seen, was.hash, was.documents, faults)
            }
            Outcome::Read {
                nth,
                hash,
                documents,
                faults,
            } => {
                let (seen, before) = &round[nth];
                match before {
                    Some(_) => self.told.changed += 1,
                    None => self.told.added += 1,
                }
                (seen, hash, documents, faults)
            }
        };
        let fields = self.fields;
        let mut row = TantivyDocument::new();
        row.add_u64(fields.from, origin(seen.id, hash));
        row.add_u64(fields.file, seen.id);
        row.add_u64(fields.size, seen.size);
        row.add_i64(fields.mtime, seen.mtime);
        row.add_u64(fields.hash, hash);
        row.add_u64(fields.limits, self.limits);
        row.add_u64(fields.documents, documents);
        if !faults.is_empty() {
            row.add_bytes(
                fields.faults,
                &serde_json::to_vec(&faults).unwrap_or_default(),
            );
        }
        writer.add_document(row)?;
        self.told.faults.extend(faults);
        Ok(())
    }
}

fn round_length(rest: &[(Seen, Option<u64>)]) -> usize {
    let mut bytes = 0;
    rest.iter()
        .take(ROUND_FILES)
        .take_while(|it| {
            let fits = bytes < ROUND_BYTES;
            bytes += it.0.size;
            fits
        })
        .count()
}

/// The file rows.
fn known(searcher: &Searcher) -> tantivy::Result<HashMap<u64, Known>> {
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
                let row = Known {
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

fn faults_of(searcher: &Searcher, fields: Fields, at: DocAddress) -> Vec<Fault> {
    searcher
        .doc::<TantivyDocument>(at)
        .ok()
        .and_then(|row| {
            let bytes = row.get_first(fields.faults)?.as_bytes()?;
            serde_json::from_slice(bytes).ok()
        })
        .unwrap_or_default()
}
