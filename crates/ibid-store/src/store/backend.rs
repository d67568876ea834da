//! The store on either database: statements that read, and writes handed to a writer task.
use async_trait::async_trait;

use super::error::{RECONNECT, StoreError};
use super::page_objects::PageObjects;
use super::statement::{AnyRow, DbSession, SqlStatement};
use super::write::{OwnerScope, WriteOp, WriteOutcome};
use ibid_core::domain::RunId;
use ibid_core::{Error, ErrorKind, Result};

/// One kind of database: its connections, its writers and its errors.
#[async_trait]
pub trait Backend: Clone + Send + Sync + 'static {
    /// The SQL that turns a column of JSON into text.
    const JSON_TO_TEXT: &'static str;
    /// The SQL that orders pages, the last stored first.
    const LATEST_PAGE_FIRST: &'static str;

    /// A session that sees the rows within `scope`.
    async fn reader(&self, scope: &OwnerScope) -> sqlx::Result<DbSession>;

    /// A session for small writes that no run waits for, within `scope`.
    async fn direct_writer(&self, scope: &OwnerScope) -> sqlx::Result<DbSession>;

    /// Hands `write` to the writer and waits until it is committed.
    async fn submit(&self, scope: &OwnerScope, write: WriteOp) -> Result<WriteOutcome>;

    /// Hands `write`, which concerns an account, to the writer and does not wait. Drops it when the queue is full.
    fn submit_later(&self, scope: &OwnerScope, write: WriteOp);

    /// Waits for every write submitted before, also those whose caller went away.
    async fn drain(&self) -> Result<()>;

    /// Checks the database for damage.
    async fn check_integrity(&self) -> Result<()>;

    /// Drops the events of past months in which every run has ended and changed last before `before`, where the database has them by
    /// month. Returns the number of months.
    async fn drop_event_months(&self, _before: &str) -> Result<u64> {
        Ok(0)
    }

    /// Where the database is, without a password.
    fn location(&self) -> String;

    /// Describes `cause` for the operator; `doing` is "reading" or "writing to".
    fn store_error(&self, doing: &str, cause: &sqlx::Error) -> StoreError;

    /// Whether to try a read again after `cause`.
    fn is_transient(&self, cause: &sqlx::Error) -> bool;

    /// The same database for the holder of the lease of `run` with this epoch: once another process takes the run, writes
    /// to it fail. `None` if a process cannot lose a lease.
    fn fenced(&self, run: &RunId, epoch: u64) -> Option<Self>;
}

/// A store on the database `B`, limited to the rows within a scope.
#[derive(Clone)]
pub struct SqlStore<B> {
    pub(super) backend: B,
    pub(super) scope: OwnerScope,
    /// Where the bodies of pages are stored; `None` if in the database.
    pub(super) objects: Option<PageObjects>,
}

impl<B: Backend> SqlStore<B> {
    /// The store without limit to an owner.
    pub(super) fn unscoped(backend: B) -> SqlStore<B> {
        SqlStore { backend, scope: OwnerScope::default(), objects: None }
    }

    /// Runs `statement` and returns its rows. Tries again while the connection is broken.
    pub(super) async fn fetch_all<T: AnyRow>(&self, statement: SqlStatement) -> Result<Vec<T>> {
        let mut backoff = RECONNECT.begin();
        loop {
            let attempt = async {
                let mut session = self.backend.reader(&self.scope).await?;
                let rows = statement.fetch_all(&mut session.connection()).await?;
                session.finish().await?;
                Ok(rows)
            };
            match attempt.await {
                Ok(rows) => return Ok(rows),
                Err(fault) if self.backend.is_transient(&fault) && backoff.wait().await => {}
                Err(fault) => return Err(self.read_error(&fault)),
            }
        }
    }

    /// Runs `statement` and returns its first row, if there is one.
    pub(super) async fn fetch_optional<T: AnyRow>(
        &self,
        statement: SqlStatement,
    ) -> Result<Option<T>> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// Runs `statement` and returns its only row.
    pub(super) async fn fetch_one<T: AnyRow>(&self, statement: SqlStatement) -> Result<T> {
        let row = self.fetch_optional(statement).await?;
        row.ok_or_else(|| self.read_error(&sqlx::Error::RowNotFound))
    }

    /// Runs a statement that writes, once, and returns the number of rows that it changed.
    pub(super) async fn execute(&self, statement: SqlStatement) -> sqlx::Result<u64> {
        let mut session = self.backend.direct_writer(&self.scope).await?;
        let changed = statement.execute(&mut session.connection()).await?;
        session.finish().await?;
        Ok(changed)
    }

    /// Submits `write` and waits until it is committed.
    pub(super) async fn submit(&self, write: WriteOp) -> Result<WriteOutcome> {
        self.backend.submit(&self.scope, write).await
    }

    /// As [`SqlStore::submit`], for a write without a result.
    pub(super) async fn write(&self, write: WriteOp) -> Result<()> {
        self.submit(write).await.map(drop)
    }

    pub(super) fn read_error(&self, cause: &sqlx::Error) -> Error {
        self.backend.store_error("reading", cause).error()
    }

    pub(super) fn write_error(&self, cause: &sqlx::Error) -> Error {
        self.backend.store_error("writing to", cause).error()
    }

    /// The error for stored JSON that cannot be read; `what` names it.
    pub(super) fn decode_error(
        &self,
        what: String,
    ) -> impl FnOnce(serde_json::Error) -> Error + use<B> {
        let location = self.backend.location();
        move |cause| {
            Error::new(ErrorKind::Setup, format!("{what} in {location} cannot be read"))
                .with_source(cause)
                .with_hint("it was written by another version of Ibid, or is damaged")
        }
    }
}
