//! Runs, events, answers and pages on SQLite.
//!
//! WAL with `synchronous=FULL`: what a call has returned from survives a power cut. One connection
//! writes, for everyone, in group commits; a few others read.
mod commit;
mod fault;
mod open;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::domain::{Page, PageHash, RunId, Traffic};
use crate::error::{Error, Kind, Result};
use crate::record::Envelope;
use crate::seams::{Answered, Order, RunRow, Step, StepState, Store};

use commit::Request;
use fault::Fault;
use write::{Kept, Write, order_of, unword};

pub use open::database;
pub(crate) use open::{new_private_dir, private_dir};

/// The store in one file, `ibid.db` in the data directory.
pub struct SqliteStore {
    path: PathBuf,
    requests: mpsc::Sender<Request>,
    readers: SqlitePool,
    // Owned so that the writer ends with the store.
    writer: JoinSet<()>,
}

/// How many writes may wait before callers are held back.
const QUEUE: usize = 1024;

impl SqliteStore {
    /// Opens the store in `data_dir`, and makes both where they are not there yet.
    ///
    /// # Errors
    /// `Setup` when the directory or file cannot be used or is of a newer Ibid, `Transient` when
    /// another process holds it; each names the path.
    pub async fn open(data_dir: &Path) -> Result<SqliteStore> {
        SqliteStore::open_up_to(data_dir, None).await
    }

    /// As [`SqliteStore::open`], but the file may not grow beyond `max_pages` pages of 4 KiB.
    async fn open_up_to(data_dir: &Path, max_pages: Option<u32>) -> Result<SqliteStore> {
        let path = open::prepare(data_dir)?;
        let db = open::writer(&path, max_pages).await?;
        let readers = open::readers(&path);
        let (requests, inbox) = mpsc::channel(QUEUE);
        let mut writer = JoinSet::new();
        writer.spawn(commit::serve(db, path.clone(), inbox));
        Ok(SqliteStore {
            path,
            requests,
            readers,
            writer,
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the writer finish what is queued and folds the log file into the database.
    pub async fn close(self) {
        let SqliteStore {
            requests,
            readers,
            mut writer,
            ..
        } = self;
        readers.close().await;
        drop(requests);
        while writer.join_next().await.is_some() {}
    }

    /// Whether every page of the file is as SQLite wrote it.
    ///
    /// # Errors
    /// `Setup` with what is damaged.
    pub async fn integrity_check(&self) -> Result<()> {
        let found: Vec<String> = sqlx::query_scalar("pragma integrity_check")
            .fetch_all(&self.readers)
            .await
            .map_err(|it| self.unread(&it))?;
        if found == ["ok"] {
            return Ok(());
        }
        Err(Error::new(
            Kind::Setup,
            format!("{} is damaged: {}", self.path.display(), found.join("; ")),
        )
        .hint("move it away, or restore it from a backup"))
    }

    /// The address of every page, those kept last first.
    ///
    /// # Errors
    /// `Setup` where the file cannot be read.
    pub async fn addresses(&self) -> Result<Vec<(PageHash, String)>> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "select hash, coalesce(json_extract(body, '$.url'), '') from pages order by rowid desc",
        )
        .fetch_all(&self.readers)
        .await
        .map_err(|it| self.unread(&it))?;
        rows.into_iter()
            .map(|(hash, url)| {
                let what = format!("the name of page {hash}");
                let hash = serde_json::from_value(hash.into()).map_err(self.damaged(what))?;
                Ok((hash, url))
            })
            .collect()
    }

    /// Waits for every write that was asked for before, also those whose caller went away.
    pub async fn drain(&self) -> Result<()> {
        self.write(Write::Nothing).await
    }

    async fn write(&self, write: Write) -> Result<()> {
        let gone = || {
            Error::new(
                Kind::Internal,
                format!("the writer of {} has ended", self.path.display()),
            )
        };
        let (done, outcome) = oneshot::channel();
        self.requests
            .send(Request { write, done })
            .await
            .map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?.map_err(|it| it.error())
    }

    fn unread(&self, fault: &sqlx::Error) -> Error {
        Fault::of(&self.path, "reading", fault).error()
    }

    fn damaged(&self, what: String) -> impl FnOnce(serde_json::Error) -> Error {
        let path = self.path.display().to_string();
        move |cause| {
            Error::new(Kind::Setup, format!("{what} in {path} cannot be read"))
                .because(cause)
                .hint("it was written by another version of Ibid, or is damaged")
        }
    }

    fn step(&self, row: &SqliteRow) -> Result<Step> {
        let read = |it: sqlx::Error| self.unread(&it);
        let text = |column| row.try_get::<String, _>(column).map_err(read);
        let key = text("key")?;
        let json = |column| -> Result<serde_json::Value> {
            serde_json::from_str(&text(column)?).map_err(self.damaged(format!("call {key}")))
        };
        let state = match text("state")?.as_str() {
            "answered" => StepState::Answered(Answered {
                answer: json("answer")?,
                cost_usd: row.try_get("cost_usd").map_err(read)?,
            }),
            "failed" => StepState::Failed {
                kind: unword(&text("kind")?).unwrap_or(Kind::Internal),
                message: text("message")?,
            },
            _ => StepState::Intended,
        };
        Ok(Step {
            door: text("door")?,
            asked: json("asked")?,
            key,
            state,
        })
    }
}

fn kept(page: &Page) -> Result<Kept> {
    let body = serde_json::to_string(page)
        .map_err(|it| Error::new(Kind::Internal, "writing a page as JSON").because(it))?;
    Ok(Kept {
        hash: page.hash().clone(),
        body,
    })
}

#[async_trait]
impl Store for SqliteStore {
    async fn append(&self, run: &RunId, events: &[Envelope]) -> Result<()> {
        let bodies = events
            .iter()
            .map(serde_json::to_string)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|it| Error::new(Kind::Internal, "writing an event as JSON").because(it))?;
        self.write(Write::Append(run.clone(), events.to_vec(), bodies))
            .await
    }

    async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>> {
        let bodies: Vec<String> =
            sqlx::query_scalar("select body from events where run = $1 and seq > $2 order by seq")
                .bind(run.as_str())
                .bind(i64::try_from(after).unwrap_or(i64::MAX))
                .fetch_all(&self.readers)
                .await
                .map_err(|it| self.unread(&it))?;
        if bodies.is_empty() {
            self.row(run).await?;
        }
        bodies
            .iter()
            .map(|it| {
                serde_json::from_str(it).map_err(self.damaged(format!("an event of run {run}")))
            })
            .collect()
    }

    async fn row(&self, run: &RunId) -> Result<RunRow> {
        let row: Option<String> = sqlx::query_scalar("select row from runs where id = $1")
            .bind(run.as_str())
            .fetch_optional(&self.readers)
            .await
            .map_err(|it| self.unread(&it))?;
        let Some(row) = row else {
            return Err(Error::new(Kind::NotFound, format!("there is no run {run}"))
                .hint("see `ibid ls` for the ids of your runs"));
        };
        serde_json::from_str(&row).map_err(self.damaged(format!("run {run}")))
    }

    async fn runs(&self) -> Result<Vec<RunRow>> {
        // Ids begin with the time, so they sort by it.
        let rows: Vec<String> = sqlx::query_scalar("select row from runs order by id desc")
            .fetch_all(&self.readers)
            .await
            .map_err(|it| self.unread(&it))?;
        rows.iter()
            .map(|it| serde_json::from_str(it).map_err(self.damaged("a run".to_owned())))
            .collect()
    }

    async fn remove(&self, run: &RunId) -> Result<()> {
        self.write(Write::Remove(run.clone())).await
    }

    async fn intend(&self, run: &RunId, step: &Step) -> Result<()> {
        self.write(Write::Intend(run.clone(), step.clone())).await
    }

    async fn settle(&self, run: &RunId, key: &str, state: &StepState) -> Result<()> {
        self.write(Write::Settle(
            run.clone(),
            key.to_owned(),
            state.clone(),
            None,
        ))
        .await
    }

    async fn settle_page(
        &self,
        run: &RunId,
        key: &str,
        state: &StepState,
        page: &Page,
    ) -> Result<()> {
        self.write(Write::Settle(
            run.clone(),
            key.to_owned(),
            state.clone(),
            Some(kept(page)?),
        ))
        .await
    }

    async fn recall(&self, run: &RunId, key: &str) -> Result<Option<Step>> {
        let row = sqlx::query("select * from steps where run = $1 and key = $2")
            .bind(run.as_str())
            .bind(key)
            .fetch_optional(&self.readers)
            .await
            .map_err(|it| self.unread(&it))?;
        row.as_ref().map(|it| self.step(it)).transpose()
    }

    async fn steps(&self, run: &RunId) -> Result<Vec<Step>> {
        let rows = sqlx::query("select * from steps where run = $1 order by nth")
            .bind(run.as_str())
            .fetch_all(&self.readers)
            .await
            .map_err(|it| self.unread(&it))?;
        rows.iter().map(|it| self.step(it)).collect()
    }

    async fn keep_page(&self, run: &RunId, page: &Page) -> Result<()> {
        self.write(Write::Keep(run.clone(), kept(page)?)).await
    }

    async fn page(&self, hash: &PageHash) -> Result<Option<Page>> {
        let body: Option<String> = sqlx::query_scalar("select body from pages where hash = $1")
            .bind(hash.as_str())
            .fetch_optional(&self.readers)
            .await
            .map_err(|it| self.unread(&it))?;
        body.map(|it| serde_json::from_str(&it).map_err(self.damaged(format!("page {hash}"))))
            .transpose()
    }

    async fn note_traffic(&self, run: &RunId, traffic: &BTreeMap<String, Traffic>) -> Result<()> {
        self.write(Write::Traffic(run.clone(), traffic.clone()))
            .await
    }

    async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>> {
        let rows: Vec<(String, i64, i64, i64)> = sqlx::query_as(
            "select host, requests, sent, received from egress where run = $1 order by host",
        )
        .bind(run.as_str())
        .fetch_all(&self.readers)
        .await
        .map_err(|it| self.unread(&it))?;
        let count = |it: i64| u64::try_from(it).unwrap_or(0);
        let told = rows.into_iter().map(|(host, requests, sent, received)| {
            let traffic = Traffic {
                requests: count(requests),
                sent: count(sent),
                received: count(received),
            };
            (host, traffic)
        });
        Ok(told.collect())
    }

    async fn order(&self, run: &RunId, order: Order) -> Result<()> {
        self.write(Write::Order(run.clone(), order)).await
    }

    async fn orders(&self, run: &RunId) -> Result<Vec<Order>> {
        let words: Vec<String> =
            sqlx::query_scalar("select word from orders where run = $1 order by nth")
                .bind(run.as_str())
                .fetch_all(&self.readers)
                .await
                .map_err(|it| self.unread(&it))?;
        Ok(words.iter().filter_map(|it| order_of(it)).collect())
    }
}

#[cfg(test)]
mod tests;
