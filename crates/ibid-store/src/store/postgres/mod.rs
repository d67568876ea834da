//! The store on a PostgreSQL server, for any number of machines at once.
//!
//! When a call has returned, its write is committed on the server. One connection writes to runs, in group commits, and
//! one to accounts; others read. When the server goes away for a moment the store waits for
//! it, and loses or repeats nothing. Row-level security keeps the rows of owners apart, whatever a statement asks for.
mod call_places;
mod call_tokens;
mod commit;
mod error;
mod locks;
mod open;
mod partitions;
mod readers;
mod service_turns;
pub(super) mod session;
mod wakeups;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::backend::{Backend, SqlStore};
use super::error::StoreError;
use super::queue::{self, QUEUE_LENGTH, WriteQueue};
use super::statement::{DbSession, query};
use super::write::{OwnerScope, ScopedWrite, WriteOp, WriteOutcome};
use ibid_core::domain::RunId;
use ibid_core::{Error, ErrorKind, Result};

use open::PostgresAccess;
use readers::Readers;

pub use call_places::PostgresCallPlaces;
pub use locks::PostgresLocks;
pub use service_turns::PostgresServiceTurns;
pub use wakeups::PostgresWakeups;

/// The writer of runs. What waits for it is committed together, so that more connections would commit no more.
const RUN_WRITER: usize = 0;

/// The writer beside it: decisions on spending are made one after the other, and no write to a run waits for them.
const ACCOUNT_WRITER: usize = 1;

/// The store on a server, in the schema `ibid` of a database.
pub type PostgresStore = SqlStore<PostgresBackend>;

/// An open PostgreSQL database.
#[derive(Clone)]
pub struct PostgresBackend {
    /// The run whose lease is held, and the epoch of the lease.
    fence: Option<(RunId, u64)>,
    access: PostgresAccess,
    writers: Arc<WriterPool>,
    wakeups: Arc<PostgresWakeups>,
    readers: Readers,
}

struct WriterPool {
    /// Those of [`RUN_WRITER`] and [`ACCOUNT_WRITER`].
    queues: [WriteQueue; 2],
    // Owned so that the writers end when the last clone of the store is dropped.
    _tasks: JoinSet<()>,
}

impl SqlStore<PostgresBackend> {
    /// Opens the store at `url`. Creates its tables if they do not exist.
    ///
    /// # Errors
    /// `Setup` when the database cannot be used or was written by a newer Ibid, `Transient` when the server cannot be
    /// reached. Errors do not contain the password.
    pub async fn open(url: &str) -> Result<PostgresStore> {
        SqlStore::open_with(PostgresAccess::parse(url)?).await
    }

    /// Opens the store at `url`, which reads and writes through the pooler at `pooler_url`: PgBouncer or another, in transaction
    /// mode or any. Locks and notifications are of sessions, and use two connections to the server itself.
    ///
    /// # Errors
    /// As for [`PostgresStore::open`]; `Setup` too when the two lead to different databases.
    pub async fn open_pooled(url: &str, pooler_url: &str) -> Result<PostgresStore> {
        SqlStore::open_with(PostgresAccess::parse(url)?.through_pooler(pooler_url)?).await
    }

    async fn open_with(access: PostgresAccess) -> Result<PostgresStore> {
        let access = access.prepare().await?;
        let readers = Readers::new(&access);
        let wakeups = Arc::new(PostgresWakeups::new(readers.clone(), access.listener()));
        let mut tasks = JoinSet::new();
        let queues = [RUN_WRITER, ACCOUNT_WRITER].map(|_| {
            let (queue, inbox) = mpsc::channel(QUEUE_LENGTH);
            tasks.spawn(commit::serve(access.clone(), wakeups.shared(), inbox));
            queue
        });
        Ok(SqlStore::unscoped(PostgresBackend {
            fence: None,
            wakeups,
            readers,
            access,
            writers: Arc::new(WriterPool { queues, _tasks: tasks }),
        }))
    }

    /// The changes of runs, by whichever process of the database.
    pub fn wakeups(&self) -> Arc<PostgresWakeups> {
        Arc::clone(&self.backend.wakeups)
    }

    /// The locks of runs on the same server.
    pub fn locks(&self) -> PostgresLocks {
        PostgresLocks::new(self.backend.access.clone())
    }
}

impl PostgresBackend {
    fn scoped(&self, scope: &OwnerScope, write: WriteOp) -> ScopedWrite {
        ScopedWrite { scope: scope.clone(), fence: self.fence.clone(), write }
    }

    async fn submit_to(
        &self,
        writer: usize,
        scope: &OwnerScope,
        write: WriteOp,
    ) -> Result<WriteOutcome> {
        let queue = &self.writers.queues[writer];
        queue::submit(queue, self.scoped(scope, write), self.access.location()).await
    }
}

/// The writer for `write`.
fn writer_of(write: &WriteOp) -> usize {
    if write.concerns_account() {
        return ACCOUNT_WRITER;
    }
    RUN_WRITER
}

#[async_trait]
impl Backend for PostgresBackend {
    const JSON_TO_TEXT: &'static str = "::text";
    const LATEST_PAGE_FIRST: &'static str = "nth desc";

    async fn reader(&self, scope: &OwnerScope) -> sqlx::Result<DbSession> {
        if scope.is_limited() {
            return self.direct_writer(scope).await;
        }
        self.readers.unrestricted().await
    }

    /// Setting the scope also finds out whether the connection is alive, before a write is sent over it.
    async fn direct_writer(&self, scope: &OwnerScope) -> sqlx::Result<DbSession> {
        self.readers.within(scope).await
    }

    async fn submit(&self, scope: &OwnerScope, write: WriteOp) -> Result<WriteOutcome> {
        self.submit_to(writer_of(&write), scope, write).await
    }

    fn submit_later(&self, scope: &OwnerScope, write: WriteOp) {
        let queue = &self.writers.queues[writer_of(&write)];
        queue::submit_later(queue, self.scoped(scope, write));
    }

    async fn drain(&self) -> Result<()> {
        let scope = OwnerScope::default();
        for writer in [RUN_WRITER, ACCOUNT_WRITER] {
            self.submit_to(writer, &scope, WriteOp::Barrier).await?;
        }
        Ok(())
    }

    /// Checks that each run has as many events as its row counts.
    async fn check_integrity(&self) -> Result<()> {
        let statement = query(
            "select id from runs left join events on run = id group by id, runs.seq
             having runs.seq <> count(body) or runs.seq <> coalesce(max(events.seq), 0) order by id",
        );
        let store = SqlStore::unscoped(self.clone());
        let incomplete: Vec<(String,)> = store.fetch_all(statement).await?;
        if incomplete.is_empty() {
            return Ok(());
        }
        let runs: Vec<&str> = incomplete.iter().map(|(run,)| run.as_str()).collect();
        let what = format!("{} lacks events of {}", self.location(), runs.join(", "));
        Err(Error::new(ErrorKind::Setup, what).with_hint("restore the database from a backup"))
    }

    async fn drop_event_months(&self, before: &str) -> Result<u64> {
        let dropped = async {
            let mut db = self.access.connect_as_owner().await?;
            partitions::drop_months(&mut db, before).await
        };
        let doing = "dropping a month of";
        dropped.await.map_err(|cause| self.store_error(doing, &cause).error())
    }

    fn location(&self) -> String {
        self.access.location().to_owned()
    }

    fn store_error(&self, doing: &str, cause: &sqlx::Error) -> StoreError {
        error::store_error(self.access.location(), doing, cause)
    }

    fn is_transient(&self, cause: &sqlx::Error) -> bool {
        error::is_transient(cause)
    }

    fn fenced(&self, run: &RunId, epoch: u64) -> Option<PostgresBackend> {
        Some(PostgresBackend { fence: Some((run.clone(), epoch)), ..self.clone() })
    }
}
