//! Leases of runs, as locked files beside the store.
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use ibid_core::domain::RunId;
use ibid_core::files::private_dir;
use ibid_core::ports::{RunLease, RunLocks};
use ibid_core::{Error, ErrorKind, Result};

/// Locks of the processes of one machine: a file for each run, in `locks` below the data directory. The system releases
/// them when a process ends, however it ends.
pub struct FileLocks {
    dir: PathBuf,
}

struct FileLease {
    path: PathBuf,
    _file: File,
}

impl FileLocks {
    /// The locks of the store in `data_dir`.
    pub fn new(data_dir: &Path) -> FileLocks {
        FileLocks { dir: data_dir.join("locks") }
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.lock"))
    }
}

#[async_trait]
impl RunLocks for FileLocks {
    async fn acquire(&self, run: &RunId) -> Result<Option<Box<dyn RunLease>>> {
        let path = self.path(run);
        let broken = |cause: std::io::Error| {
            Error::new(ErrorKind::Setup, format!("locking {}", path.display()))
                .with_source(cause)
                .with_hint("make the data directory writable, or set `IBID_DATA_DIR` to another")
        };
        private_dir(&self.dir).map_err(broken)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(broken)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(FileLease { path, _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(broken(cause)),
        }
    }

    async fn is_held(&self, run: &RunId) -> Result<bool> {
        // Without a lock file the run was never begun, or has ended.
        let taken = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        Ok(File::open(self.path(run)).is_ok_and(taken))
    }
}

impl RunLease for FileLease {
    /// Removes the lock file. A process that locks a new file of that name finds that the run has ended, so two holders do no
    /// harm.
    fn release(self: Box<Self>) {
        let _ = std::fs::remove_file(&self.path);
    }
}
