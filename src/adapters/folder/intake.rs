//! Files read side by side into rows, in bounded memory.
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

use super::ReadFile;
use super::rows::{origin, rows};
use super::schema::Fields;
use super::walk::{Seen, first_64};
use crate::adapters::documents::{Fault, Format, Taken};
use crate::adapters::files::open_without_links;
use crate::domain::PageDraft;
use crate::record::FailReason;

/// Bundles of drafts that may wait between reading and indexing.
const WAITING: usize = 4;
/// A bundle is handed over once it has so many drafts or bytes: small ones go together, for waking another thread costs
/// as much as to index one.
const BUNDLE: usize = 32;
const BUNDLE_BYTES: usize = 64 << 10;
/// A file of unknown kind larger than this is hashed by its beginning.
const HUGE: u64 = 64 << 20;
const HUGE_HEAD: u64 = 1 << 20;
/// How often what goes on inside a large file is told.
const BEAT: Duration = Duration::from_millis(100);
/// Memory one worker fills before it writes a segment, bytes.
const WORKER_MEMORY: usize = 12 << 20;

/// What one file came to.
pub(super) enum Outcome {
    /// Not yet anything: so many documents have been read since the round began.
    Going(u64),
    /// Its bytes are those already indexed.
    Same {
        /// Which of the files.
        nth: usize,
    },
    /// Its documents are among the new rows.
    Read {
        /// Which of the files.
        nth: usize,
        /// Hash of its bytes.
        hash: u64,
        /// How many documents.
        documents: u64,
        /// What could not be read.
        faults: Vec<Fault>,
    },
    /// One document of a file could not be made into rows; the others stand.
    Lost(Fault),
    /// It could not be opened.
    Closed {
        /// Which of the files.
        nth: usize,
        /// Why.
        fault: Fault,
    },
}

enum Message {
    Outcome(Outcome),
    Segment(SegmentMeta),
    Broken(tantivy::TantivyError),
}

struct Draft {
    path: PathBuf,
    from: u64,
    nth: u64,
    draft: PageDraft,
}

/// Reads `files` and writes their rows into new segments of `index`, which the caller commits.
/// `known` is the hash of each file where it was indexed before; `salt` is part of every hash.
///
/// Tells each outcome on the calling thread as it comes. Once `stop` is set no file is begun; those
/// begun are read to their end, or not at all, for half a file would be taken for a whole one.
pub(super) fn intake(
    index: &Index,
    fields: Fields,
    files: &[(Seen, Option<u64>)],
    salt: &str,
    read: &ReadFile,
    stop: &AtomicBool,
    on: &mut dyn FnMut(Outcome),
) -> tantivy::Result<Vec<SegmentMeta>> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (tell, told) = channel();
    let (hand, drafts) = sync_channel(WAITING);
    let drafts = Mutex::new(drafts);
    let next = AtomicUsize::new(0);
    let drafted = AtomicU64::new(0);
    let mut segments = Vec::new();
    let mut broken = None;
    std::thread::scope(|scope| {
        for _ in 0..workers.min(files.len()) {
            let (tell, hand, next, drafted) = (tell.clone(), hand.clone(), &next, &drafted);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let Some((seen, known)) = files.get(nth) else {
                        break;
                    };
                    let outcome = take(nth, seen, *known, salt, read, stop, &hand, drafted);
                    if tell.send(Message::Outcome(outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        for _ in 0..workers {
            let (tell, drafts) = (tell.clone(), &drafts);
            scope.spawn(move || {
                if let Err(why) = write_rows(index, fields, drafts, &tell) {
                    // Nobody listens only when the calling thread is gone already.
                    let _ = tell.send(Message::Broken(why));
                }
            });
        }
        drop((tell, hand));
        loop {
            match told.recv_timeout(BEAT) {
                Ok(Message::Outcome(it)) => {
                    on(Outcome::Going(drafted.load(Ordering::Relaxed)));
                    on(it);
                }
                Ok(Message::Segment(it)) => segments.push(it),
                Ok(Message::Broken(why)) => broken = Some(why),
                Err(RecvTimeoutError::Timeout) => {
                    on(Outcome::Going(drafted.load(Ordering::Relaxed)));
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    broken.map_or(Ok(segments), Err)
}

/// Reads one file, unless its bytes are known.
#[allow(clippy::too_many_arguments, reason = "what a worker works with")]
fn take(
    nth: usize,
    seen: &Seen,
    known: Option<u64>,
    salt: &str,
    read: &ReadFile,
    stop: &AtomicBool,
    hand: &SyncSender<Vec<Draft>>,
    drafted: &AtomicU64,
) -> Outcome {
    let hash = match hash_file(&seen.path, salt) {
        Ok(it) => it,
        Err(why) => {
            let fault = fault(&seen.path, "opening the file", &why);
            return Outcome::Closed { nth, fault };
        }
    };
    if known == Some(hash) {
        return Outcome::Same { nth };
    }
    let mut documents = 0;
    let mut faults = Vec::new();
    let (mut bundle, mut bytes) = (Vec::new(), 0);
    let mut sink = |taken| match taken {
        Taken::Fault(it) => {
            faults.push(it);
            ControlFlow::Continue(())
        }
        Taken::Draft(draft) => {
            bytes += draft.blocks.iter().map(|it| it.text.len()).sum::<usize>();
            bundle.push(Draft {
                path: seen.path.clone(),
                from: origin(seen.id, hash),
                nth: documents,
                draft,
            });
            documents += 1;
            drafted.fetch_add(1, Ordering::Relaxed);
            if bundle.len() < BUNDLE && bytes < BUNDLE_BYTES {
                return ControlFlow::Continue(());
            }
            bytes = 0;
            match hand.send(std::mem::take(&mut bundle)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        }
    };
    // A reader that panics on one file must not take the folder with it.
    let done = catch_unwind(AssertUnwindSafe(|| read(&seen.path, stop, &mut sink)));
    match done {
        Ok(Ok(())) => {}
        Ok(Err(why)) => faults.push(fault(&seen.path, &why.chain(), &why)),
        Err(_) => faults.push(fault(
            &seen.path,
            "reading the file",
            &"the reader broke down",
        )),
    }
    if documents == 0 && !faults.is_empty() && stop.load(Ordering::Relaxed) {
        // Its reader may have been stopped: what is amiss with it, the next refresh finds out.
        return Outcome::Going(drafted.load(Ordering::Relaxed));
    }
    // Nobody takes it only when the writers have failed, which is told.
    let _ = hand.send(bundle);
    Outcome::Read {
        nth,
        hash,
        documents,
        faults,
    }
}

pub(super) fn fault(path: &Path, doing: &str, why: &dyn std::fmt::Display) -> Fault {
    Fault {
        path: path.to_owned(),
        place: None,
        reason: FailReason::Broken,
        message: format!("{}: {doing}: {why}", path.display()),
    }
}

/// Hash of a file's bytes. Of a film or a disk image, which is no document, the beginning, the size
/// and the time of change stand for all of it.
fn hash_file(path: &Path, salt: &str) -> std::io::Result<u64> {
    let file = open_without_links(path)?;
    let about = file.metadata()?;
    let mut hasher = Sha256::new();
    hasher.update(salt.as_bytes());
    let mut most = u64::MAX;
    if about.len() > HUGE && Format::of_name(path) == Format::Unknown {
        most = HUGE_HEAD;
        let changed = about.modified()?.duration_since(std::time::UNIX_EPOCH);
        hasher.update(about.len().to_le_bytes());
        hasher.update(changed.map_or(0, |it| it.as_nanos()).to_le_bytes());
    }
    let mut file = file.take(most);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(first_64(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Takes drafts until there are no more and writes their rows, a segment at a time.
fn write_rows(
    index: &Index,
    fields: Fields,
    drafts: &Mutex<Receiver<Vec<Draft>>>,
    tell: &Sender<Message>,
) -> tantivy::Result<()> {
    let mut bundle = Vec::new().into_iter();
    let mut next = || loop {
        if let Some(it) = bundle.next() {
            return Some(it);
        }
        let drafts = drafts.lock().unwrap_or_else(PoisonError::into_inner);
        bundle = drafts.recv().ok()?.into_iter();
    };
    let mut ahead = next();
    while ahead.is_some() {
        let segment = index.new_segment();
        let mut writer = SegmentWriter::for_segment(WORKER_MEMORY, segment.clone())?;
        while let Some(it) = ahead.take() {
            let (path, nth) = (it.path.clone(), it.nth + 1);
            // A document that breaks our own code must not take the folder with it.
            let Ok(rows) =
                catch_unwind(AssertUnwindSafe(|| rows(fields, it.from, it.nth, it.draft)))
            else {
                let doing = format!("indexing document {nth}");
                let lost = fault(&path, &doing, &"its text broke the indexer");
                // Nobody listens only when the calling thread is gone already.
                let _ = tell.send(Message::Outcome(Outcome::Lost(lost)));
                ahead = next();
                continue;
            };
            for document in rows? {
                writer.add_document(AddOperation {
                    opstamp: 0,
                    document,
                })?;
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
            // Nobody listens only when the calling thread is gone already.
            let _ = tell.send(Message::Segment(meta));
        }
    }
    Ok(())
}
