//! Reads files in parallel and writes their rows, in bounded memory.
use std::io::Read;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tantivy::indexer::{AddOperation, SegmentWriter};
use tantivy::{Index, SegmentMeta};

use super::hash::hash_prefix;
use super::options::ReadFile;
use super::rows::{build_rows, file_version};
use super::schema::IndexFields;
use super::walk::FoundFile;
use ibid_core::ReadFailure;
use ibid_core::domain::PageDraft;
use ibid_core::files::open_no_follow;
use ibid_extract::{DocumentFailure, Format, ReadItem};

/// Batches of documents that may wait between reading and indexing.
const QUEUED_BATCHES: usize = 4;
/// A batch is handed over once it has this many documents or bytes. Small documents go together, because waking another
/// thread costs as much as indexing one.
const BATCH_DOCUMENTS: usize = 32;
const BATCH_BYTES: usize = 64 << 10;
/// Of a larger file of unknown format only the beginning is hashed.
const HUGE_BYTES: u64 = 64 << 20;
const HUGE_HEAD_BYTES: u64 = 1 << 20;
/// How often progress inside a large file is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of memory that one worker fills before it writes a segment.
const WORKER_MEMORY: usize = 12 << 20;

/// The outcome of one file. `nth` is its index among the files.
pub(super) enum IngestOutcome {
    /// No outcome yet: this many documents have been read since the round began.
    Progress(u64),
    /// The file's bytes are already indexed.
    Unchanged { nth: usize },
    /// The file was read; its documents are among the new rows.
    Read {
        nth: usize,
        /// Hash of its bytes.
        hash: u64,
        /// The number of documents.
        documents: u64,
        /// The documents that could not be read.
        faults: Vec<DocumentFailure>,
    },
    /// One document of a file could not be indexed; the others are.
    Unreadable(DocumentFailure),
    /// The file could not be opened.
    Closed { nth: usize, fault: DocumentFailure },
}

/// A message from a worker to the calling thread.
enum IngestMessage {
    Outcome(IngestOutcome),
    Segment(SegmentMeta),
    Failed(tantivy::TantivyError),
}

/// A document to be indexed.
struct IngestDraft {
    path: PathBuf,
    /// The version of its file.
    from: u64,
    /// Its number in the file.
    nth: u64,
    draft: PageDraft,
}

/// Files to be indexed.
pub(super) struct Ingestion<'a> {
    pub(super) index: &'a Index,
    pub(super) fields: IndexFields,
    /// The files, each with its hash if it is indexed already.
    pub(super) files: &'a [(FoundFile, Option<u64>)],
    /// Part of every hash.
    pub(super) salt: &'a str,
    pub(super) read: &'a ReadFile,
    pub(super) stop: &'a AtomicBool,
}

impl Ingestion<'_> {
    /// Reads the files and writes their rows into new segments, which the caller commits.
    ///
    /// Passes each outcome to `on`, on the calling thread. Once `stop` is set, no further file is started. A started file is
    /// read completely or not at all, because half a file would be taken for a whole one.
    pub(super) fn run(
        &self,
        on: &mut dyn FnMut(IngestOutcome),
    ) -> tantivy::Result<Vec<SegmentMeta>> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let (messages, inbox) = channel();
        let (batches, queue) = sync_channel(QUEUED_BATCHES);
        let queue = Mutex::new(queue);
        let next = AtomicUsize::new(0);
        let documents_read = AtomicU64::new(0);
        let mut segments = Vec::new();
        let mut failed = None;
        std::thread::scope(|scope| {
            for _ in 0..workers.min(self.files.len()) {
                let (messages, next) = (messages.clone(), &next);
                let reader = FileReader {
                    ingestion: self,
                    batches: batches.clone(),
                    documents_read: &documents_read,
                };
                scope.spawn(move || {
                    while !self.stop.load(Ordering::Relaxed) {
                        let nth = next.fetch_add(1, Ordering::Relaxed);
                        let Some((file, known)) = self.files.get(nth) else {
                            break;
                        };
                        let outcome = reader.read(nth, file, *known);
                        if messages.send(IngestMessage::Outcome(outcome)).is_err() {
                            break;
                        }
                    }
                });
            }
            for _ in 0..workers {
                let (messages, queue) = (messages.clone(), &queue);
                scope.spawn(move || {
                    if let Err(why) = write_rows(self.index, self.fields, queue, &messages) {
                        // Sending fails only if the calling thread has panicked.
                        let _ = messages.send(IngestMessage::Failed(why));
                    }
                });
            }
            drop((messages, batches));
            let progress = || IngestOutcome::Progress(documents_read.load(Ordering::Relaxed));
            loop {
                match inbox.recv_timeout(PROGRESS_INTERVAL) {
                    Ok(IngestMessage::Outcome(outcome)) => {
                        on(progress());
                        on(outcome);
                    }
                    Ok(IngestMessage::Segment(segment)) => segments.push(segment),
                    Ok(IngestMessage::Failed(why)) => failed = Some(why),
                    Err(RecvTimeoutError::Timeout) => on(progress()),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        failed.map_or(Ok(segments), Err)
    }
}

/// Reads files on one worker thread.
struct FileReader<'a> {
    ingestion: &'a Ingestion<'a>,
    batches: SyncSender<Vec<IngestDraft>>,
    /// Documents read by all workers.
    documents_read: &'a AtomicU64,
}

impl FileReader<'_> {
    /// Reads one file, unless its hash is `known`.
    fn read(&self, nth: usize, file: &FoundFile, known: Option<u64>) -> IngestOutcome {
        let hash = match hash_file(&file.path, self.ingestion.salt) {
            Ok(hash) => hash,
            Err(why) => {
                let fault = file_failure(&file.path, "opening the file", &why);
                return IngestOutcome::Closed { nth, fault };
            }
        };
        if known == Some(hash) {
            return IngestOutcome::Unchanged { nth };
        }
        let stop = self.ingestion.stop;
        let mut documents = 0;
        let mut faults = Vec::new();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut sink = |item| match item {
            ReadItem::Fault(fault) => {
                faults.push(fault);
                ControlFlow::Continue(())
            }
            ReadItem::Draft(draft) => {
                bytes += draft.blocks.iter().map(|block| block.text.len()).sum::<usize>();
                batch.push(IngestDraft {
                    path: file.path.clone(),
                    from: file_version(file.id, hash),
                    nth: documents,
                    draft,
                });
                documents += 1;
                self.documents_read.fetch_add(1, Ordering::Relaxed);
                if batch.len() < BATCH_DOCUMENTS && bytes < BATCH_BYTES {
                    return ControlFlow::Continue(());
                }
                bytes = 0;
                match self.batches.send(std::mem::take(&mut batch)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            }
        };
        // A parser that panics on one file must not abort the refresh.
        let done =
            catch_unwind(AssertUnwindSafe(|| (self.ingestion.read)(&file.path, stop, &mut sink)));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(why)) => faults.push(file_failure(&file.path, &why.chain(), &why)),
            Err(_) => {
                faults.push(file_failure(&file.path, "reading the file", &"the parser panicked"))
            }
        }
        if documents == 0 && !faults.is_empty() && stop.load(Ordering::Relaxed) {
            // The failure may be due to the stop. The next refresh reads the file again.
            return IngestOutcome::Progress(self.documents_read.load(Ordering::Relaxed));
        }
        // Sending fails only if the writers have failed, which they report.
        let _ = self.batches.send(batch);
        IngestOutcome::Read { nth, hash, documents, faults }
    }
}

/// A failure that concerns a whole file.
pub(super) fn file_failure(
    path: &Path,
    doing: &str,
    why: &dyn std::fmt::Display,
) -> DocumentFailure {
    DocumentFailure {
        path: path.to_owned(),
        place: None,
        reason: ReadFailure::Broken,
        message: format!("{}: {doing}: {why}", path.display()),
    }
}

/// The hash of a file's bytes. Large non-documents such as videos are identified by their first bytes, size and modification
/// time.
fn hash_file(path: &Path, salt: &str) -> std::io::Result<u64> {
    let file = open_no_follow(path)?;
    let metadata = file.metadata()?;
    let mut hasher = Sha256::new();
    hasher.update(salt.as_bytes());
    let mut max_bytes = u64::MAX;
    if metadata.len() > HUGE_BYTES && Format::from_path(path) == Format::Unknown {
        max_bytes = HUGE_HEAD_BYTES;
        let changed = metadata.modified()?.duration_since(std::time::UNIX_EPOCH);
        hasher.update(metadata.len().to_le_bytes());
        hasher.update(changed.map_or(0, |age| age.as_nanos()).to_le_bytes());
    }
    let mut file = file.take(max_bytes);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash_prefix(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Writes the rows of the documents in `queue`, one segment after the other, until the queue is closed.
fn write_rows(
    index: &Index,
    fields: IndexFields,
    queue: &Mutex<Receiver<Vec<IngestDraft>>>,
    messages: &Sender<IngestMessage>,
) -> tantivy::Result<()> {
    let mut batch = Vec::new().into_iter();
    let mut next = || loop {
        if let Some(draft) = batch.next() {
            return Some(draft);
        }
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        batch = queue.recv().ok()?.into_iter();
    };
    let mut ahead = next();
    while ahead.is_some() {
        let segment = index.new_segment();
        let mut writer = SegmentWriter::for_segment(WORKER_MEMORY, segment.clone())?;
        while let Some(document) = ahead.take() {
            let (path, nth) = (document.path.clone(), document.nth + 1);
            // A document that panics our own code must not abort the refresh.
            let Ok(rows) = catch_unwind(AssertUnwindSafe(|| {
                build_rows(fields, document.from, document.nth, document.draft)
            })) else {
                let doing = format!("indexing document {nth}");
                let lost = file_failure(&path, &doing, &"the indexer panicked");
                // Sending fails only if the calling thread has panicked.
                let _ = messages.send(IngestMessage::Outcome(IngestOutcome::Unreadable(lost)));
                ahead = next();
                continue;
            };
            for document in rows? {
                writer.add_document(AddOperation { opstamp: 0, document })?;
            }
            ahead = next();
            if writer.mem_usage() > WORKER_MEMORY {
                break;
            }
        }
        let count = writer.max_doc();
        writer.finalize()?;
        if count > 0 {
            let meta = segment.with_max_doc(count).meta().clone();
            // Sending fails only if the calling thread has panicked.
            let _ = messages.send(IngestMessage::Segment(meta));
        }
    }
    Ok(())
}
