//! The directory of an index: one per folder, below the cache directory.
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tantivy::Index;
use tantivy::directory::MmapDirectory;

use super::disk::DiskDirectory;
use super::hash::short_hash;
use super::schema::{IndexFields, VERSION, register_tokenizer, schema, settings};
use ibid_core::files::{create_private_dir, private_options, write_private};
use ibid_core::{Error, ErrorKind, Result};

/// The checksums of an index of up to this many bytes are verified when it is opened (about 10 ms).
const MAX_VERIFIED_BYTES: u64 = 32 << 20;
/// The interval between attempts to get a lock.
const LOCK_RETRY: Duration = Duration::from_millis(20);
/// How long [`remove_index`] waits for a lock.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(2);

// Hints for the user.
const DISK_FULL: &str = "free some disk space, or name another cache directory with `cache_dir`; what is indexed so far is kept";
const NOT_WRITABLE: &str = "make the cache directory writable, or name another with `cache_dir`";
const CHECK_DISK: &str = "check the free space and the write permission of the cache directory";

/// A description stored beside an index, so that it can be listed without being opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexLabel {
    /// The version of rows and terms.
    pub(super) version: String,
    /// The folder.
    pub(super) path: PathBuf,
    /// Documents in the index.
    pub(super) documents: u64,
    /// Bytes of the folder's files.
    pub(super) bytes: u64,
}

/// The directory of one index.
#[derive(Debug, Clone)]
pub(super) struct IndexDir {
    dir: PathBuf,
}

/// The exclusive right to write to an index, across processes. It ends when the value is dropped or the process ends.
pub(super) struct IndexWriteLock {
    _lock: File,
}

impl IndexDir {
    /// The directory for the index of `folder`, a canonical path.
    pub(super) fn new(cache_dir: &Path, folder: &Path) -> IndexDir {
        let name = short_hash(&[folder.as_os_str().as_encoded_bytes()]);
        IndexDir { dir: indexes_dir(cache_dir).join(format!("{name:016x}")) }
    }

    fn rows(&self) -> PathBuf {
        self.dir.join("rows")
    }

    fn label_file(&self) -> PathBuf {
        self.dir.join("folder.json")
    }

    /// Creates the directory. Only its owner may read it: an index holds the words of private documents.
    pub(super) fn create_dir(&self) -> Result<()> {
        let parent = self.dir.parent().unwrap_or(&self.dir);
        create_private_dir(parent)
            .and_then(|()| create_private_dir(&self.dir))
            .map_err(|why| self.write_error(why))
    }

    fn write_error(&self, why: std::io::Error) -> Error {
        Error::new(ErrorKind::Setup, format!("writing the index in {}", self.dir.display()))
            .with_source(why)
            .with_hint(NOT_WRITABLE)
    }

    /// Locks the index for writing; `None` if another process holds the lock for longer than `timeout`.
    pub(super) fn lock(&self, timeout: Duration) -> Result<Option<IndexWriteLock>> {
        let file = private_options()
            .truncate(false)
            .open(self.dir.join("lock"))
            .map_err(|why| self.write_error(why))?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(IndexWriteLock { _lock: file })),
                Err(TryLockError::WouldBlock) if since.elapsed() < timeout => {
                    std::thread::sleep(LOCK_RETRY);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(why)) => return Err(self.write_error(why)),
            }
        }
    }

    /// The label, if there is one that can be read.
    pub(super) fn label(&self) -> Option<IndexLabel> {
        serde_json::from_slice(&fs::read(self.label_file()).ok()?).ok()
    }

    /// Writes the label atomically.
    pub(super) fn write_label(&self, label: &IndexLabel) -> Result<()> {
        let draft = self.dir.join("folder.json.new");
        let written = serde_json::to_vec(label)
            .map_err(std::io::Error::from)
            .and_then(|bytes| write_private(&draft, &bytes))
            .and_then(|()| fs::rename(&draft, self.label_file()));
        written.map_err(|why| self.write_error(why))
    }

    /// Marks the index as corrupt, so that it is rebuilt when it is opened next.
    pub(super) fn mark_corrupt(&self) {
        // If marking fails, the damage will be detected again.
        let _ = fs::remove_file(self.label_file());
    }

    /// Opens the index. The error says why it must be rebuilt.
    pub(super) fn open(&self) -> std::result::Result<(Index, IndexFields), String> {
        let label = self.label().ok_or("it was not finished")?;
        if label.version != VERSION {
            return Err(format!("it is of version {}", label.version));
        }
        let (schema, fields) = schema();
        let index = DiskDirectory::open(&self.rows())
            .and_then(Index::open)
            .map_err(|why| why.to_string())?;
        if index.schema() != schema {
            return Err("its schema differs".to_owned());
        }
        if bytes_below(&self.rows()) <= MAX_VERIFIED_BYTES {
            // All files are mapped for this, or whole files would be copied.
            let damaged = MmapDirectory::open(self.rows())
                .map_err(tantivy::TantivyError::from)
                .and_then(Index::open)
                .and_then(|mapped| mapped.validate_checksum())
                .map_err(|why| why.to_string())?;
            if !damaged.is_empty() {
                return Err("its checksums do not match".to_owned());
            }
        }
        register_tokenizer(&index);
        Ok((index, fields))
    }

    /// Replaces the index by an empty one. The caller must hold the lock.
    pub(super) fn create_index(
        &self,
        folder: &Path,
        _lock: &IndexWriteLock,
    ) -> Result<(Index, IndexFields)> {
        self.mark_corrupt();
        if let Err(why) = fs::remove_dir_all(self.rows())
            && why.kind() != std::io::ErrorKind::NotFound
        {
            return Err(self.write_error(why));
        }
        create_private_dir(&self.rows()).map_err(|why| self.write_error(why))?;
        let (schema, fields) = schema();
        let index = DiskDirectory::open(&self.rows())
            .and_then(|dir| Index::create(dir, schema, settings()))
            .map_err(|why| index_error("creating an index", why))?;
        register_tokenizer(&index);
        self.write_label(&IndexLabel {
            version: VERSION.to_owned(),
            path: folder.to_owned(),
            documents: 0,
            bytes: 0,
        })?;
        Ok((index, fields))
    }
}

/// Converts an error of the index library: `Setup` for a full or read-only disk, which the user can mend, else `Internal`.
pub(super) fn index_error(doing: &str, why: tantivy::TantivyError) -> Error {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    use tantivy::TantivyError as T;
    // A file that ends too early or cannot be unpacked is damaged; that is no fault of the disk.
    let damaged =
        matches!(&why, T::IoError(it) if matches!(it.kind(), InvalidData | UnexpectedEof));
    let of_disk = !damaged
        && matches!(
            why,
            T::IoError(_) | T::OpenWriteError(_) | T::OpenDirectoryError(_) | T::LockFailure(..)
        );
    // The source of the library's `IoError` is not in the chain of sources.
    let hint = match &why {
        T::IoError(cause) => disk_hint(&**cause),
        _ => disk_hint(&why),
    };
    match hint.or(of_disk.then_some(CHECK_DISK)) {
        Some(hint) => Error::new(ErrorKind::Setup, doing).with_source(why).with_hint(hint),
        None => Error::new(ErrorKind::Internal, doing)
            .with_source(why)
            .with_hint("remove the index with `ibid index rm`; it is rebuilt from the folder"),
    }
}

/// The hint for `why`, if an error in its chain is about the disk. The index library passes on some errors of its threads only
/// as text, and says of others only that they are most likely I/O errors.
fn disk_hint(why: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    use std::io::ErrorKind as Io;
    let mut next = Some(why);
    while let Some(error) = next {
        let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let words = error.to_string();
        let says = |all: &[&str]| all.iter().any(|one| words.contains(one));
        if matches!(io, Some(Io::StorageFull | Io::QuotaExceeded))
            || says(&["No space left on device", "StorageFull", "Disk quota exceeded"])
        {
            return Some(DISK_FULL);
        }
        if matches!(io, Some(Io::ReadOnlyFilesystem | Io::PermissionDenied))
            || says(&["Read-only file system", "Permission denied", "PermissionDenied"])
        {
            return Some(NOT_WRITABLE);
        }
        if says(&["io::Error most likely"]) {
            return Some(CHECK_DISK);
        }
        next = error.source();
    }
    None
}

fn indexes_dir(cache_dir: &Path) -> PathBuf {
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

/// The folders that have an index below `cache_dir`: path, number of documents, bytes of their files; in the order of paths.
///
/// # Errors
/// `Setup` if the directory cannot be read.
pub fn list_indexes(cache_dir: &Path) -> Result<Vec<(PathBuf, u64, u64)>> {
    let entries = match fs::read_dir(indexes_dir(cache_dir)) {
        Ok(it) => it,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => {
            let dir = indexes_dir(cache_dir);
            return Err(Error::new(
                ErrorKind::Setup,
                format!("listing the indexes in {}", dir.display()),
            )
            .with_source(why));
        }
    };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|entry| IndexDir { dir: entry.path() }.label())
        .map(|it| (it.path, it.documents, it.bytes))
        .collect();
    found.sort();
    Ok(found)
}

/// Removes the index of the folder at `path`, which need not exist any more. The folder is not touched. Returns whether there
/// was an index.
///
/// # Errors
/// `Transient` if another process is writing the index, `Setup` if it cannot be removed.
pub fn remove_index(cache_dir: &Path, path: &Path) -> Result<bool> {
    let folder = path
        .canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned());
    let index_dir = IndexDir::new(cache_dir, &folder);
    if !index_dir.dir.exists() {
        return Ok(false);
    }
    let Some(_lock) = index_dir.lock(REMOVE_TIMEOUT)? else {
        return Err(Error::new(
            ErrorKind::Transient,
            format!("removing the index of {}", folder.display()),
        )
        .with_source("another process is writing it")
        .with_hint("try again when it has finished"));
    };
    fs::remove_dir_all(&index_dir.dir).map_err(|why| index_dir.write_error(why))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::{Error as IoError, ErrorKind as Io};
    use std::sync::Arc;

    use tantivy::TantivyError;

    use super::*;

    #[test]
    fn a_full_or_closed_disk_is_the_operator_s_to_mend_however_it_is_said() {
        let thread = |words: &str| TantivyError::ErrorInThread(words.to_owned());
        let io = |kind: Io| TantivyError::IoError(Arc::new(IoError::from(kind)));
        let cases = [
            (thread("IoError(Os { code: 28, message: \"No space left on device\" })"), "free some"),
            (io(Io::StorageFull), "free some"),
            (
                TantivyError::SystemError("No space left on device (os error 28)".to_owned()),
                "free some",
            ),
            (io(Io::ReadOnlyFilesystem), "writable"),
            (io(Io::PermissionDenied), "writable"),
            (
                thread("A worker thread encountered an error (io::Error most likely) or panicked."),
                "free space",
            ),
        ];
        for (why, hint) in cases {
            let words = why.to_string();
            let error = index_error("writing the index", why);
            assert_eq!(error.kind(), ErrorKind::Setup, "{words}");
            assert!(error.hint().unwrap().contains(hint), "{words}: {:?}", error.hint());
        }
        let error = index_error("writing the index", thread("index out of bounds"));
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.hint().unwrap().contains("index rm"));
        let error = index_error("reading the index", io(Io::UnexpectedEof));
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
}
