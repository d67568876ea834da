//! One process works on a run at a time.
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::adapters::store::private_dir;
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};

/// A run held by this process: released when dropped, also when the process is killed.
pub(super) struct RunLock {
    path: PathBuf,
    _file: File,
}

impl RunLock {
    /// Takes `run`; `None` when it is worked on already.
    pub(super) fn take(data_dir: &Path, run: &RunId) -> Result<Option<RunLock>> {
        let dir = data_dir.join("locks");
        let path = dir.join(format!("{run}.lock"));
        let broken = |it: std::io::Error| {
            Error::new(Kind::Setup, format!("locking {}", path.display()))
                .because(it)
                .hint("make the data directory writable, or name another with `IBID_DATA_DIR`")
        };
        private_dir(&dir).map_err(broken)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(broken)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(RunLock { path, _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(it)) => Err(broken(it)),
        }
    }

    /// Whether some process works on `run`.
    pub(super) fn held(data_dir: &Path, run: &RunId) -> bool {
        let path = data_dir.join("locks").join(format!("{run}.lock"));
        // No lock file: nobody ever began, or it ended.
        File::open(path).is_ok_and(|it| matches!(it.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Takes `run`, or says that it is worked on already.
    pub(super) fn need(data_dir: &Path, run: &RunId) -> Result<RunLock> {
        RunLock::take(data_dir, run)?.ok_or_else(|| {
            Error::new(
                Kind::Transient,
                format!("run {run} is being worked on by another process"),
            )
            .hint(format!(
                "wait for its end, or let it write now with `ibid finish {run}`"
            ))
        })
    }

    /// Releases a run that has ended and takes its lock file away. Whoever locks a new file of that
    /// name finds the run ended, so two holders do no harm.
    pub(super) fn retire(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
