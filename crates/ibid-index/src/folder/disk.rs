//! The files of an index as a tantivy directory.
//!
//! Postings and rows are read by offset and not mapped: the kernel counts the neighbours of every touched page of a mapped
//! file as memory of the process, so after a hundred searches the process seemed to use twice as much as after one.
//!
//! New files are synced to the disk in parallel before a commit, and not one after the other as each is closed. What a power
//! cut leaves of an uncommitted file is not part of the index.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ibid_core::files::{private_options, write_private};
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

/// Extensions of the files of which a search reads small parts.
const BY_OFFSET: [&str; 3] = ["store", "idx", "pos"];
/// Threads that sync files.
const SYNC_THREADS: usize = 8;

/// The directory of an index.
#[derive(Debug, Clone)]
pub(super) struct DiskDirectory {
    root: PathBuf,
    mapped: MmapDirectory,
    /// Files written since the last commit.
    unsynced: Arc<Mutex<Vec<PathBuf>>>,
}

impl DiskDirectory {
    /// The directory at `root`.
    pub(super) fn open(root: &Path) -> tantivy::Result<DiskDirectory> {
        Ok(DiskDirectory {
            root: root.to_owned(),
            mapped: MmapDirectory::open(root)?,
            unsynced: Arc::default(),
        })
    }

    fn take_unsynced(&self) -> Vec<PathBuf> {
        let mut all = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut all)
    }
}

/// Syncs a file to the disk. A file that has been deleted is skipped.
fn sync(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => file.sync_data(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(why),
    }
}

impl Directory for DiskDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let by_offset = path
            .extension()
            .is_some_and(|extension| BY_OFFSET.iter().any(|known| extension == *known));
        if !by_offset {
            return self.mapped.get_file_handle(path);
        }
        let opened = File::open(self.root.join(path))
            .and_then(|file| Ok((file.metadata()?.len() as usize, file)));
        match opened {
            Ok((len, file)) => Ok(Arc::new(OffsetFile { file, len })),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(why) => Err(OpenReadError::wrap_io_error(why, path.to_owned())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full = self.root.join(path);
        let opened = private_options().create_new(true).open(&full);
        let file = opened.map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(why, path.to_owned()),
        })?;
        let mut all = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(full);
        Ok(BufWriter::new(Box::new(IndexFileWriter(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path.extension().is_some_and(|extension| extension == "json") && !is_hidden(path) {
            return self.mapped.atomic_write(path, data);
        }
        // The list of files to delete is rewritten for each new file, so it is not synced.
        let full = self.root.join(path);
        let draft = full.with_extension("new");
        write_private(&draft, data)?;
        std::fs::rename(&draft, full)
    }

    fn sync_directory(&self) -> io::Result<()> {
        let files = self.take_unsynced();
        let share = files.len().div_ceil(SYNC_THREADS).max(1);
        std::thread::scope(|scope| {
            let sync_all = |some: &[PathBuf]| some.iter().try_for_each(|path| sync(path));
            let threads: Vec<_> =
                files.chunks(share).map(|some| scope.spawn(move || sync_all(some))).collect();
            threads.into_iter().try_for_each(|thread| {
                let done = thread.join();
                done.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
            })
        })?;
        self.mapped.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(watch_callback)
    }
}

fn is_hidden(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(b".")
}

/// A file that is read by offset.
#[derive(Debug)]
struct OffsetFile {
    file: File,
    len: usize,
}

impl HasLen for OffsetFile {
    fn len(&self) -> usize {
        self.len
    }
}

impl FileHandle for OffsetFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let mut bytes = vec![0; range.len()];
        self.file.read_exact_at(&mut bytes, range.start as u64)?;
        Ok(OwnedBytes::new(bytes))
    }
}

/// A new file. The commit syncs it.
struct IndexFileWriter(File);

impl Write for IndexFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for IndexFileWriter {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
