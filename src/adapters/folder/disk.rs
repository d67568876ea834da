//! The files of an index: written together, read as each is used.
//!
//! Lists of postings and rows are read by offset and not mapped: of a mapped file the kernel counts the neighbours of
//! every page touched as memory of the process, so that a hundred searches looked as if they kept twice what one does.
//!
//! New files reach the disk side by side when a commit asks for it, before the commit is written down, and not one after
//! another as each is closed. What a power cut leaves of an uncommitted file is not part of the index.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::adapters::files::{private_options, write_private};
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

/// Files of which a search reads a little here and there.
const BY_OFFSET: [&str; 3] = ["store", "idx", "pos"];
/// Files on their way to the disk at the same time.
const AT_ONCE: usize = 8;

/// The directory of an index.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    root: PathBuf,
    mapped: MmapDirectory,
    /// Files that were written since the last commit.
    unsynced: Arc<Mutex<Vec<PathBuf>>>,
}

impl Disk {
    /// The directory at `root`.
    pub(super) fn open(root: &Path) -> tantivy::Result<Disk> {
        Ok(Disk {
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

/// Waits until all of a file is on the disk. One that is gone again need not be.
fn sync(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(it) => it.sync_data(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(why),
    }
}

impl Directory for Disk {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let by_offset = path
            .extension()
            .is_some_and(|it| BY_OFFSET.iter().any(|known| it == *known));
        if !by_offset {
            return self.mapped.get_file_handle(path);
        }
        let opened = File::open(self.root.join(path))
            .and_then(|file| Ok((file.metadata()?.len() as usize, file)));
        match opened {
            Ok((len, file)) => Ok(Arc::new(ByOffset { file, len })),
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
        Ok(BufWriter::new(Box::new(Written(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path.extension().is_some_and(|it| it == "json") && !is_hidden(path) {
            return self.mapped.atomic_write(path, data);
        }
        // The list of files to tidy up is written anew for each new file.
        let full = self.root.join(path);
        let draft = full.with_extension("new");
        write_private(&draft, data)?;
        std::fs::rename(&draft, full)
    }

    fn sync_directory(&self) -> io::Result<()> {
        let files = self.take_unsynced();
        let share = files.len().div_ceil(AT_ONCE).max(1);
        std::thread::scope(|scope| {
            let sync_all = |some: &[PathBuf]| some.iter().try_for_each(|it| sync(it));
            let parts: Vec<_> = files
                .chunks(share)
                .map(|some| scope.spawn(move || sync_all(some)))
                .collect();
            parts.into_iter().try_for_each(|it| {
                let done = it.join();
                done.unwrap_or_else(|_| Err(io::Error::other("a thread broke down")))
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

/// A file that is read where it is asked for.
#[derive(Debug)]
struct ByOffset {
    file: File,
    len: usize,
}

impl HasLen for ByOffset {
    fn len(&self) -> usize {
        self.len
    }
}

impl FileHandle for ByOffset {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let mut bytes = vec![0; range.len()];
        self.file.read_exact_at(&mut bytes, range.start as u64)?;
        Ok(OwnedBytes::new(bytes))
    }
}

/// A file on its way; the commit sees it to the disk.
struct Written(File);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Written {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
