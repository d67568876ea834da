//! Who works on a run, told by a locked file beside the store.
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::private_dir;
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::seams::{Hold, Locks};

/// Locks of the processes of one machine: a file for each run, in `locks` below the data directory. The system lets go of
/// them when a process ends, however it ends.
pub struct FileLocks {
    dir: PathBuf,
}

struct FileHold {
    path: PathBuf,
    _file: File,
}

impl FileLocks {
    /// Those of the store in `data_dir`.
    pub fn of(data_dir: &Path) -> FileLocks {
        FileLocks {
            dir: data_dir.join("locks"),
        }
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.lock"))
    }
}

#[async_trait]
impl Locks for FileLocks {
    async fn take(&self, run: &RunId) -> Result<Option<Box<dyn Hold>>> {
        let path = self.path(run);
        let broken = |it: std::io::Error| {
            Error::new(Kind::Setup, format!("locking {}", path.display()))
                .because(it)
                .hint("make the data directory writable, or name another with `IBID_DATA_DIR`")
        };
        private_dir(&self.dir).map_err(broken)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(broken)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(FileHold { path, _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(it)) => Err(broken(it)),
        }
    }

    async fn held(&self, run: &RunId) -> Result<bool> {
        // No lock file: nobody ever began, or it ended.
        let taken = |it: File| matches!(it.try_lock(), Err(TryLockError::WouldBlock));
        Ok(File::open(self.path(run)).is_ok_and(taken))
    }
}

impl Hold for FileHold {
    /// Takes the lock file away. Whoever locks a new file of that name finds the run ended, so two holders do no harm.
    fn retire(self: Box<Self>) {
        let _ = std::fs::remove_file(&self.path);
    }
}
