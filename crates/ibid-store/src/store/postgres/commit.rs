//! The writers of a process: writes that arrive together share one commit, which happens exactly once.
//!
//! Each run has its writer, so that its writes keep their order. When a connection is lost during a commit, the writer does
//! not know whether the commit happened. Each transaction therefore leaves its number in the row of its writer, and that
//! row says afterwards which transaction was committed last. Only a transaction that was not committed is repeated.
use std::collections::BTreeSet;
use std::sync::Arc;

use sqlx::{Connection, PgConnection};
use tokio::sync::mpsc;

use super::super::apply::apply;
use super::super::error::{RECONNECT, StoreError};
use super::super::queue::{WriteOutcomes, WriteRequest, next_group, only_outcome, reply_all};
use super::super::statement::{DbConnection, query};
use super::super::write::{OwnerScope, ScopedWrite, WriteError};
use super::error::{is_transient, store_error};
use super::open::PostgresAccess;
use super::session::{ScopeLasts, check_lease, restrict_to_scope};
use super::wakeups::SharedWakeups;
use ibid_core::ports::Rng as _;
use ibid_core::retry::Backoff;
use ibid_core::system::SystemRng;

/// Adds the row of a writer, or raises the number in it. Returns the number.
const UPSERT_WRITER: &str = "insert into writers (id, last) values ($1, $2)
    on conflict (id) do update set last = greatest(writers.last, excluded.last), at = now()
    returning last";

/// How an attempt to commit ended.
enum CommitAttempt {
    Done(WriteOutcomes),
    /// Not committed; a new connection may succeed.
    CutOff(sqlx::Error),
    /// The reply to the commit was lost.
    InDoubt(WriteOutcomes, sqlx::Error),
    /// Not committed; a new connection would not help.
    Refused(sqlx::Error),
}

impl CommitAttempt {
    /// An attempt that failed with `cause` before its commit.
    fn failed(cause: sqlx::Error) -> CommitAttempt {
        if is_transient(&cause) {
            CommitAttempt::CutOff(cause)
        } else {
            CommitAttempt::Refused(cause)
        }
    }
}

/// Does the writes of `requests` until all senders are gone, and tells `wakeups` which runs have changed.
pub(super) async fn serve(
    access: PostgresAccess,
    wakeups: Arc<SharedWakeups>,
    mut requests: mpsc::Receiver<WriteRequest>,
) {
    let mut writer =
        CommitWriter { access, db: None, id: format!("{:032x}", SystemRng.next_u128()), nth: 0 };
    let mut group = Vec::new();
    while next_group(&mut requests, &mut group).await {
        let writes: Vec<&ScopedWrite> = group.iter().map(|request| &request.write).collect();
        let outcomes = writer.commit(&writes).await;
        let done = writes.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
        wakeups.announce(done.filter_map(|(write, _)| write.write.told_run()).cloned());
        reply_all(&mut group, outcomes);
    }
    let _ = writer.close().await;
}

struct CommitWriter {
    access: PostgresAccess,
    db: Option<PgConnection>,
    /// The key of its row in `writers`.
    id: String,
    /// The number of the current transaction.
    nth: i64,
}

impl CommitWriter {
    /// Commits `writes` together; if one of them breaks a rule of the schema, each by itself.
    async fn commit(&mut self, writes: &[&ScopedWrite]) -> WriteOutcomes {
        let fault = match self.commit_with_retry(writes).await {
            Ok(outcomes) => return outcomes,
            Err(fault) => fault,
        };
        if !fault.of_one || writes.len() == 1 {
            return writes.iter().map(|_| Err(fault.clone())).collect();
        }
        let mut outcomes = Vec::with_capacity(writes.len());
        for write in writes {
            let alone = self.commit_with_retry(&[write]).await;
            outcomes.push(alone.and_then(only_outcome));
        }
        outcomes
    }

    /// Tries until it is known how the commit ended, or the time for attempts is over.
    async fn commit_with_retry(
        &mut self,
        writes: &[&ScopedWrite],
    ) -> Result<WriteOutcomes, StoreError> {
        let mut backoff = RECONNECT.begin();
        loop {
            let cause = match self.try_commit(writes).await {
                CommitAttempt::Done(outcomes) => return Ok(outcomes),
                CommitAttempt::Refused(cause) => return Err(self.store_error(&cause)),
                CommitAttempt::CutOff(cause) => cause,
                CommitAttempt::InDoubt(outcomes, cause) => {
                    self.db = None;
                    match self.was_committed(&mut backoff).await {
                        Some(true) => return Ok(outcomes),
                        Some(false) => cause,
                        None => return Err(self.in_doubt_error(&cause)),
                    }
                }
            };
            self.db = None;
            if !backoff.wait().await {
                return Err(self.store_error(&cause));
            }
        }
    }

    async fn try_commit(&mut self, writes: &[&ScopedWrite]) -> CommitAttempt {
        self.nth += 1;
        let (id, nth) = (self.id.clone(), self.nth);
        let named = !self.access.is_pooled();
        let db = match self.begin().await {
            Ok(db) => db,
            Err(cause) => return CommitAttempt::failed(cause),
        };
        let mut transaction = DbConnection::Postgres { db: &mut *db, named };
        match apply_all(&mut transaction, (&id, nth), writes).await {
            Ok(outcomes) => match sqlx::raw_sql("commit").execute(db).await {
                Ok(_) => CommitAttempt::Done(outcomes),
                Err(cause) if is_transient(&cause) => CommitAttempt::InDoubt(outcomes, cause),
                Err(cause) => CommitAttempt::Refused(cause),
            },
            Err(cause) => {
                if !is_transient(&cause) && sqlx::raw_sql("rollback").execute(db).await.is_err() {
                    self.db = None;
                }
                CommitAttempt::failed(cause)
            }
        }
    }

    /// Whether the current transaction was committed; `None` when the server did not answer in time.
    async fn was_committed(&mut self, backoff: &mut Backoff) -> Option<bool> {
        let (id, nth) = (self.id.clone(), self.nth);
        loop {
            let last: sqlx::Result<i64> = async {
                let db = self.begin().await?;
                // The server may not have noticed yet that the client of that transaction is gone. Writing to the same row
                // waits until the transaction has ended, either way.
                let last = sqlx::query_scalar(UPSERT_WRITER).bind(&id).bind(0_i64);
                let last = last.persistent(false).fetch_one(&mut *db).await?;
                sqlx::raw_sql("rollback").execute(db).await?;
                Ok(last)
            }
            .await;
            match last {
                Ok(last) => return Some(last >= nth),
                Err(_) => self.db = None,
            }
            if !backoff.wait().await {
                return None;
            }
        }
    }

    /// Begins a transaction, on a new connection if there is none.
    async fn begin(&mut self) -> sqlx::Result<&mut PgConnection> {
        if self.db.is_none() {
            self.db = Some(self.access.connect_for_transactions().await?);
        }
        let db = self.db.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        sqlx::raw_sql(self.access.begin()).execute(&mut *db).await?;
        Ok(db)
    }

    /// Deletes its row, which nobody asks for any more.
    async fn close(mut self) -> sqlx::Result<()> {
        if self.db.is_some() {
            let id = self.id.clone();
            let db = self.begin().await?;
            let row = sqlx::query("delete from writers where id = $1").bind(&id);
            row.persistent(false).execute(&mut *db).await?;
            sqlx::raw_sql("commit").execute(db).await?;
        }
        match self.db {
            Some(db) => db.close().await,
            None => Ok(()),
        }
    }

    fn store_error(&self, cause: &sqlx::Error) -> StoreError {
        store_error(self.access.location(), "writing to", cause)
    }

    fn in_doubt_error(&self, cause: &sqlx::Error) -> StoreError {
        let fault = self.store_error(cause);
        StoreError {
            doing: format!("{}: cannot find out whether it was written", fault.doing),
            ..fault
        }
    }
}

/// Does `writes` in a transaction that has begun and is left open, the `nth` of the writer `id`. Returns the outcome of each.
async fn apply_all(
    db: &mut DbConnection<'_>,
    (id, nth): (&str, i64),
    writes: &[&ScopedWrite],
) -> sqlx::Result<WriteOutcomes> {
    query(UPSERT_WRITER).bind(id).bind(nth).execute(db).await?;
    let mut outcomes = Vec::with_capacity(writes.len());
    // A transaction begins with the rows of all owners visible.
    let mut visible = Some(OwnerScope::default().parameters());
    let mut checked = BTreeSet::new();
    for write in writes {
        if visible.as_ref() != Some(&write.scope.parameters()) {
            restrict_to_scope(db, &write.scope, ScopeLasts::Transaction).await?;
            visible = Some(write.scope.parameters());
        }
        // One check serves all writes to a run: no other process can take the run until this transaction ends.
        let lease = write.lease().filter(|lease| !checked.contains(lease));
        let valid = match lease {
            Some((run, epoch)) => check_lease(db, run, epoch).await,
            None => Ok(()),
        };
        let outcome = match valid {
            Ok(()) => {
                checked.extend(lease);
                apply(db, write).await
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(outcome) => outcomes.push(Ok(outcome)),
            Err(WriteError::Refused(fault)) => outcomes.push(Err(fault)),
            Err(WriteError::Database(cause)) => return Err(cause),
        }
        if write.shows_all_rows() {
            visible = None;
        }
    }
    Ok(outcomes)
}
