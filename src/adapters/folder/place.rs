//! Where an index lies: one directory a folder, below the cache directory.
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tantivy::Index;

use super::disk::Disk;
use super::schema::{Fields, VERSION, register, schema, settings};
use super::walk::short_hash;
use crate::adapters::files::{private_options, tightened_dir, write_private};
use crate::error::{Error, Kind, Result};

/// An index up to this many bytes is checked byte for byte when it is opened (some 10 ms).
const CHECKED_WHOLE: u64 = 32 << 20;
/// How often a taken lock is tried again.
const AGAIN: Duration = Duration::from_millis(20);

/// What is written beside an index, so that it can be listed without being opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Label {
    /// Of our rows and terms.
    pub(super) version: String,
    /// The folder.
    pub(super) path: PathBuf,
    /// Documents in it.
    pub(super) documents: u64,
    /// Bytes of its files.
    pub(super) bytes: u64,
}

/// The directory of one index.
#[derive(Debug, Clone)]
pub(super) struct Place {
    dir: PathBuf,
}

/// The right to write to an index, over all processes; it ends with the value or the process.
pub(super) struct Turn {
    _lock: File,
}

impl Place {
    /// The place for the index of `folder`, a canonical path.
    pub(super) fn of(cache_dir: &Path, folder: &Path) -> Place {
        let name = short_hash(&[folder.as_os_str().as_encoded_bytes()]);
        Place {
            dir: shelf(cache_dir).join(format!("{name:016x}")),
        }
    }

    fn rows(&self) -> PathBuf {
        self.dir.join("rows")
    }

    fn label_file(&self) -> PathBuf {
        self.dir.join("folder.json")
    }

    /// Makes the directory, for its owner alone: an index holds what private documents say.
    pub(super) fn prepare(&self) -> Result<()> {
        let shelf = self.dir.parent().unwrap_or(&self.dir);
        tightened_dir(shelf)
            .and_then(|()| tightened_dir(&self.dir))
            .map_err(|why| self.unwritable(why))
    }

    fn unwritable(&self, why: std::io::Error) -> Error {
        Error::new(
            Kind::Setup,
            format!("writing the index in {}", self.dir.display()),
        )
        .because(why)
        .hint("make the cache directory writable, or name another with `cache_dir`")
    }

    /// The right to write, or `None` if another process keeps it longer than `patience`.
    pub(super) fn turn(&self, patience: Duration) -> Result<Option<Turn>> {
        let file = private_options()
            .truncate(false)
            .open(self.dir.join("lock"))
            .map_err(|why| self.unwritable(why))?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Turn { _lock: file })),
                Err(TryLockError::WouldBlock) if since.elapsed() < patience => {
                    std::thread::sleep(AGAIN);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(why)) => return Err(self.unwritable(why)),
            }
        }
    }

    /// What stands on the label, if there is one that can be read.
    pub(super) fn label(&self) -> Option<Label> {
        serde_json::from_slice(&fs::read(self.label_file()).ok()?).ok()
    }

    /// Writes the label; whole or not at all.
    pub(super) fn write_label(&self, label: &Label) -> Result<()> {
        let draft = self.dir.join("folder.json.new");
        let written = serde_json::to_vec(label)
            .map_err(std::io::Error::from)
            .and_then(|it| write_private(&draft, &it))
            .and_then(|()| fs::rename(&draft, self.label_file()));
        written.map_err(|why| self.unwritable(why))
    }

    /// Marks the index as not to be trusted: the next to open it builds it anew.
    pub(super) fn condemn(&self) {
        // An index that cannot be marked is found damaged again; nothing is lost.
        let _ = fs::remove_file(self.label_file());
    }

    /// Opens the index as it lies there. The error says what is wrong with it.
    pub(super) fn open(&self) -> std::result::Result<(Index, Fields), String> {
        let label = self.label().ok_or("it was not finished")?;
        if label.version != VERSION {
            return Err(format!("it is of version {}", label.version));
        }
        let (schema, fields) = schema();
        let index = Disk::open(&self.rows())
            .and_then(Index::open)
            .map_err(|why| why.to_string())?;
        if index.schema() != schema {
            return Err("its columns are others".to_owned());
        }
        if bytes_below(&self.rows()) <= CHECKED_WHOLE {
            let damaged = index.validate_checksum().map_err(|why| why.to_string())?;
            if !damaged.is_empty() {
                return Err("its checksums do not match".to_owned());
            }
        }
        register(&index);
        Ok((index, fields))
    }

    /// Begins an empty index in place of what lies there. Needs the turn.
    pub(super) fn begin(&self, folder: &Path, _turn: &Turn) -> Result<(Index, Fields)> {
        self.condemn();
        if let Err(why) = fs::remove_dir_all(self.rows())
            && why.kind() != std::io::ErrorKind::NotFound
        {
            return Err(self.unwritable(why));
        }
        tightened_dir(&self.rows()).map_err(|why| self.unwritable(why))?;
        let (schema, fields) = schema();
        let index = Disk::open(&self.rows())
            .and_then(|it| Index::create(it, schema, settings()))
            .map_err(|why| failed("beginning an index", why))?;
        register(&index);
        self.write_label(&Label {
            version: VERSION.to_owned(),
            path: folder.to_owned(),
            documents: 0,
            bytes: 0,
        })?;
        Ok((index, fields))
    }
}

/// An error of the index library in our terms: a full or closed disk is the operator's to mend.
pub(super) fn failed(doing: &str, why: tantivy::TantivyError) -> Error {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    use tantivy::TantivyError as T;
    // A file that ends too early, or cannot be unpacked, is damaged; the disk is well.
    let damaged =
        matches!(&why, T::IoError(it) if matches!(it.kind(), InvalidData | UnexpectedEof));
    let of_disk = !damaged
        && matches!(
            why,
            T::IoError(_) | T::OpenWriteError(_) | T::OpenDirectoryError(_) | T::LockFailure(..)
        );
    // The library keeps what the disk said beside the chain, not in it.
    let said = match &why {
        T::IoError(it) => disk_advice(&**it),
        _ => disk_advice(&why),
    };
    let advice = said.or(of_disk.then_some(LOOK_AT_THE_DISK));
    match advice {
        Some(hint) => Error::new(Kind::Setup, doing).because(why).hint(hint),
        None => Error::new(Kind::Internal, doing)
            .because(why)
            .hint("remove the index with `ibid index rm`; it is built anew from the folder"),
    }
}

const LOOK_AT_THE_DISK: &str = "look for free space and write permission in the cache directory";

/// What to do about the disk, where something in the chain of `why` says that the disk is why. The index library passes
/// some faults of its threads on as words, and of others says only that they were most likely of the disk.
fn disk_advice(why: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    use std::io::ErrorKind as Io;
    const FULL: &str = "free some disk space, or name another cache directory with `cache_dir`; what is indexed so far is kept";
    const CLOSED: &str = "make the cache directory writable, or name another with `cache_dir`";
    let mut next = Some(why);
    while let Some(it) = next {
        let io = it
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind);
        let words = it.to_string();
        let says = |all: &[&str]| all.iter().any(|one| words.contains(one));
        if matches!(io, Some(Io::StorageFull | Io::QuotaExceeded))
            || says(&[
                "No space left on device",
                "StorageFull",
                "Disk quota exceeded",
            ])
        {
            return Some(FULL);
        }
        if matches!(io, Some(Io::ReadOnlyFilesystem | Io::PermissionDenied))
            || says(&[
                "Read-only file system",
                "Permission denied",
                "PermissionDenied",
            ])
        {
            return Some(CLOSED);
        }
        if says(&["io::Error most likely"]) {
            return Some(LOOK_AT_THE_DISK);
        }
        next = it.source();
    }
    None
}

fn shelf(cache_dir: &Path) -> PathBuf {
    cache_dir.join("index")
}

fn bytes_below(dir: &Path) -> u64 {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|it| it.metadata().ok())
        .map(|it| it.len())
        .sum()
}

/// The folders that have an index below `cache_dir`, by path: path, documents, bytes of their files.
pub fn indexed(cache_dir: &Path) -> Result<Vec<(PathBuf, u64, u64)>> {
    let entries = match fs::read_dir(shelf(cache_dir)) {
        Ok(it) => it,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => {
            let dir = shelf(cache_dir);
            return Err(Error::new(
                Kind::Setup,
                format!("listing the indexes in {}", dir.display()),
            )
            .because(why));
        }
    };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|it| Place { dir: it.path() }.label())
        .map(|it| (it.path, it.documents, it.bytes))
        .collect();
    found.sort();
    Ok(found)
}

/// Removes the index of the folder at `path`, which may be gone itself. The folder is not touched.
/// Says whether there was one.
pub fn forget(cache_dir: &Path, path: &Path) -> Result<bool> {
    let folder = path
        .canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned());
    let place = Place::of(cache_dir, &folder);
    if !place.dir.exists() {
        return Ok(false);
    }
    let Some(_turn) = place.turn(Duration::from_secs(2))? else {
        return Err(Error::new(
            Kind::Transient,
            format!("removing the index of {}", folder.display()),
        )
        .because("another process is writing it")
        .hint("try again when it has finished"));
    };
    fs::remove_dir_all(&place.dir).map_err(|why| place.unwritable(why))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::{Error as IoError, ErrorKind};
    use std::sync::Arc;

    use tantivy::TantivyError;

    use super::*;

    #[test]
    fn a_full_or_closed_disk_is_the_operator_s_to_mend_however_it_is_said() {
        let thread = |words: &str| TantivyError::ErrorInThread(words.to_owned());
        let io = |kind: ErrorKind| TantivyError::IoError(Arc::new(IoError::from(kind)));
        let cases = [
            (
                thread("IoError(Os { code: 28, message: \"No space left on device\" })"),
                "free some",
            ),
            (io(ErrorKind::StorageFull), "free some"),
            (
                TantivyError::SystemError("No space left on device (os error 28)".to_owned()),
                "free some",
            ),
            (io(ErrorKind::ReadOnlyFilesystem), "writable"),
            (io(ErrorKind::PermissionDenied), "writable"),
            (
                thread("A worker thread encountered an error (io::Error most likely) or panicked."),
                "free space",
            ),
        ];
        for (why, hint) in cases {
            let words = why.to_string();
            let error = failed("writing the index", why);
            assert_eq!(error.kind(), Kind::Setup, "{words}");
            assert!(
                error.help().unwrap().contains(hint),
                "{words}: {:?}",
                error.help()
            );
        }
        let error = failed("writing the index", thread("index out of bounds"));
        assert_eq!(error.kind(), Kind::Internal);
        assert!(error.help().unwrap().contains("index rm"));
        let error = failed("reading the index", io(ErrorKind::UnexpectedEof));
        assert_eq!(error.kind(), Kind::Internal);
    }
}
