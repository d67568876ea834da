//! What the two databases do differently.
use super::postgres::session;
use super::statement::{DbConnection, query};
use ibid_core::domain::RunId;
use ibid_core::record::Envelope;

/// Held while an account is charged, so that decisions on spending are made one after the other.
const SPENDING_LOCK: i64 = 0x6962_6966;

impl DbConnection<'_> {
    /// Ends a `select` of a row that the transaction is about to change. A transaction of SQLite holds the whole file.
    pub(super) fn lock_clause(&self) -> &'static str {
        match self {
            DbConnection::Sqlite(_) => "",
            DbConnection::Postgres { .. } => " for update",
        }
    }

    /// Turns a text parameter into a column of JSON. SQLite keeps JSON as text.
    pub(super) fn to_json(&self) -> &'static str {
        match self {
            DbConnection::Sqlite(_) => "",
            DbConnection::Postgres { .. } => "::json",
        }
    }

    /// Adds `events` of `run`, whose JSON is `bodies`.
    pub(super) async fn insert_events(
        &mut self,
        run: &RunId,
        events: &[Envelope],
        bodies: &[String],
    ) -> sqlx::Result<()> {
        match self {
            DbConnection::Sqlite(_) => {
                for (event, body) in events.iter().zip(bodies) {
                    query("insert into events (run, seq, body) values ($1, $2, $3)")
                        .bind(run.as_str())
                        .bind(event.seq as i64)
                        .bind(body)
                        .execute(self)
                        .await?;
                }
                Ok(())
            }
            DbConnection::Postgres { db, named } => {
                let seqs: Vec<i64> = events.iter().map(|event| event.seq as i64).collect();
                sqlx::query(
                    "insert into events (run, seq, body)
                     select $1, seq, body from unnest($2::bigint[], $3::text[]) as it (seq, body)",
                )
                .bind(run.as_str())
                .bind(seqs)
                .bind(bodies)
                .persistent(*named)
                .execute(&mut **db)
                .await?;
                Ok(())
            }
        }
    }

    /// Shows the rows of all owners until the transaction ends. SQLite has no row-level security.
    pub(super) async fn show_all_rows(&mut self) -> sqlx::Result<()> {
        match self {
            DbConnection::Sqlite(_) => Ok(()),
            DbConnection::Postgres { .. } => session::show_all_rows(self).await,
        }
    }

    /// Waits until no other transaction decides on spending, and makes others wait until this transaction ends.
    ///
    /// The writer that takes this lock changes no row of a run that another writer may change, so it waits for no other
    /// lock. A transaction of SQLite that writes is alone from its beginning.
    pub(super) async fn lock_spending(&mut self) -> sqlx::Result<()> {
        match self {
            DbConnection::Sqlite(_) => Ok(()),
            DbConnection::Postgres { .. } => {
                query("select pg_advisory_xact_lock($1)").bind(SPENDING_LOCK).execute(self).await?;
                Ok(())
            }
        }
    }

    /// Notes the process that will work on `run`. On one machine the lock file alone says so.
    pub(super) async fn set_worker(
        &mut self,
        run: &RunId,
        worker: Option<&str>,
    ) -> sqlx::Result<()> {
        match self {
            DbConnection::Sqlite(_) => Ok(()),
            DbConnection::Postgres { .. } => {
                query("update runs set taker = $2 where id = $1")
                    .bind(run.as_str())
                    .bind(worker)
                    .execute(self)
                    .await?;
                Ok(())
            }
        }
    }
}
