//! The writer of a process: writes that arrive together share one commit, and so one sync.
use std::path::{Path, PathBuf};

use sqlx::{Connection, SqliteConnection};
use tokio::sync::mpsc;

use super::super::apply::apply;
use super::super::error::StoreError;
use super::super::queue::{WriteOutcomes, WriteRequest, next_group, only_outcome, reply_all};
use super::super::statement::DbConnection;
use super::super::write::{ScopedWrite, WriteError};
use super::error::store_error;

/// Does the writes of `requests` until all senders are gone.
pub(super) async fn serve(
    mut db: SqliteConnection,
    path: PathBuf,
    mut requests: mpsc::Receiver<WriteRequest>,
) {
    let mut group = Vec::new();
    while next_group(&mut requests, &mut group).await {
        let writes: Vec<&ScopedWrite> = group.iter().map(|request| &request.write).collect();
        let outcomes = commit(&mut db, &path, &writes).await;
        reply_all(&mut group, outcomes);
    }
    // Copies the log file into the database; acknowledged writes are safe without it.
    let _ = db.close().await;
}

/// Commits `writes` together; if one of them breaks a rule of the schema, each by itself.
async fn commit(db: &mut SqliteConnection, path: &Path, writes: &[&ScopedWrite]) -> WriteOutcomes {
    let fault = match try_commit(db, path, writes).await {
        Ok(outcomes) => return outcomes,
        Err(fault) => fault,
    };
    if !fault.of_one || writes.len() == 1 {
        return writes.iter().map(|_| Err(fault.clone())).collect();
    }
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        let alone = try_commit(db, path, &[write]).await;
        outcomes.push(alone.and_then(only_outcome));
    }
    outcomes
}

/// Commits `writes` together. The statements are plain ones, not a transaction of sqlx: on a full disk SQLite rolls back by itself,
/// and sqlx, whose own rollback then fails, would take the connection to be within a transaction for good.
async fn try_commit(
    db: &mut SqliteConnection,
    path: &Path,
    writes: &[&ScopedWrite],
) -> Result<WriteOutcomes, StoreError> {
    let broken = |cause: sqlx::Error| store_error(path, "writing to", &cause);
    sqlx::query("begin immediate").execute(&mut *db).await.map_err(broken)?;
    let outcomes = match apply_all(db, writes).await {
        Ok(outcomes) => sqlx::query("commit").execute(&mut *db).await.map(|_| outcomes),
        Err(cause) => Err(cause),
    };
    if outcomes.is_err() {
        // Fails where SQLite has rolled back already; then there is nothing to undo.
        let _ = sqlx::query("rollback").execute(&mut *db).await;
    }
    outcomes.map_err(broken)
}

/// Applies `writes` in the transaction that is open. A refused write changes nothing, and the others go on.
async fn apply_all(
    db: &mut SqliteConnection,
    writes: &[&ScopedWrite],
) -> Result<WriteOutcomes, sqlx::Error> {
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        match apply(&mut DbConnection::Sqlite(&mut *db), write).await {
            Ok(outcome) => outcomes.push(Ok(outcome)),
            Err(WriteError::Refused(fault)) => outcomes.push(Err(fault)),
            Err(WriteError::Database(cause)) => return Err(cause),
        }
    }
    Ok(outcomes)
}
