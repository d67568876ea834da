//! The store in one SQLite file.
//!
//! WAL with `synchronous=FULL`: when a call has returned, its write survives a power cut. One connection does the writes
//! of all callers, in group commits; a few others read.
mod commit;
mod error;
mod open;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::SqlitePool;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::backend::{Backend, SqlStore};
use super::error::StoreError;
use super::queue::{self, QUEUE_LENGTH, WriteQueue};
use super::statement::DbSession;
use super::write::{OwnerScope, ScopedWrite, WriteOp, WriteOutcome};
use ibid_core::domain::RunId;
use ibid_core::{Error, ErrorKind, Result};

pub use open::database;

/// The store in one file, `ibid.db` in the data directory.
pub type SqliteStore = SqlStore<SqliteBackend>;

/// An open SQLite database.
#[derive(Clone)]
pub struct SqliteBackend {
    path: PathBuf,
    requests: WriteQueue,
    readers: SqlitePool,
    direct_writers: SqlitePool,
    // Owned so that the writer ends when the last clone of the store is dropped.
    writer: Arc<Mutex<JoinSet<()>>>,
}

impl SqlStore<SqliteBackend> {
    /// Opens the store in `data_dir`. Creates the directory and the file if they do not exist.
    ///
    /// # Errors
    /// `Setup` when the directory or file cannot be used or was written by a newer Ibid, `Transient` when another process
    /// is writing to it; each names the path.
    pub async fn open(data_dir: &Path) -> Result<SqliteStore> {
        SqliteStore::open_up_to(data_dir, None).await
    }

    /// As [`SqliteStore::open`], but the file may not grow beyond `max_pages` pages of 4 KiB.
    async fn open_up_to(data_dir: &Path, max_pages: Option<u32>) -> Result<SqliteStore> {
        let path = open::prepare(data_dir)?;
        let db = open::writer(&path, max_pages).await?;
        let (requests, inbox) = mpsc::channel(QUEUE_LENGTH);
        let mut writer = JoinSet::new();
        writer.spawn(commit::serve(db, path.clone(), inbox));
        Ok(SqlStore::unscoped(SqliteBackend {
            readers: open::readers(&path),
            direct_writers: open::direct_writers(&path),
            path,
            requests,
            writer: Arc::new(Mutex::new(writer)),
        }))
    }

    /// Waits until the writer has done what is queued and has copied the log file into the database. Other clones of the
    /// store must be dropped before.
    pub async fn close(self) {
        let SqliteBackend { requests, readers, direct_writers, writer, .. } = self.backend;
        readers.close().await;
        direct_writers.close().await;
        drop(requests);
        let mut writer = writer.lock().await;
        while writer.join_next().await.is_some() {}
    }
}

impl SqliteBackend {
    fn scoped(scope: &OwnerScope, write: WriteOp) -> ScopedWrite {
        ScopedWrite {
            scope: scope.clone(),
            // A lock file is lost only with its process.
            fence: None,
            write,
        }
    }
}

#[async_trait]
impl Backend for SqliteBackend {
    const JSON_TO_TEXT: &'static str = "";
    const LATEST_PAGE_FIRST: &'static str = "rowid desc";

    async fn reader(&self, _: &OwnerScope) -> sqlx::Result<DbSession> {
        self.readers.acquire().await.map(DbSession::Sqlite)
    }

    async fn direct_writer(&self, _: &OwnerScope) -> sqlx::Result<DbSession> {
        self.direct_writers.acquire().await.map(DbSession::Sqlite)
    }

    async fn submit(&self, scope: &OwnerScope, write: WriteOp) -> Result<WriteOutcome> {
        let write = SqliteBackend::scoped(scope, write);
        queue::submit(&self.requests, write, &self.location()).await
    }

    fn submit_later(&self, scope: &OwnerScope, write: WriteOp) {
        queue::submit_later(&self.requests, SqliteBackend::scoped(scope, write));
    }

    async fn drain(&self) -> Result<()> {
        let scope = OwnerScope::default();
        self.submit(&scope, WriteOp::Barrier).await.map(drop)
    }

    async fn check_integrity(&self) -> Result<()> {
        let found: Vec<String> = sqlx::query_scalar("pragma integrity_check")
            .fetch_all(&self.readers)
            .await
            .map_err(|cause| self.store_error("reading", &cause).error())?;
        if found == ["ok"] {
            return Ok(());
        }
        let what = format!("{} is damaged: {}", self.location(), found.join("; "));
        Err(Error::new(ErrorKind::Setup, what)
            .with_hint("move the file away, or restore it from a backup"))
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn store_error(&self, doing: &str, cause: &sqlx::Error) -> StoreError {
        error::store_error(&self.path, doing, cause)
    }

    /// A file does not go away for a moment.
    fn is_transient(&self, _: &sqlx::Error) -> bool {
        false
    }

    fn fenced(&self, _: &RunId, _: u64) -> Option<SqliteBackend> {
        None
    }
}

#[cfg(test)]
mod tests;
