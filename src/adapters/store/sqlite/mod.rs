//! Runs, events, answers and pages on SQLite.
//!
//! WAL with `synchronous=FULL`: what a call has returned from survives a power cut. One connection
//! writes, for everyone, in group commits; a few others read.
mod accounts;
mod commit;
mod fault;
mod open;
mod traces;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Row, SqlitePool};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;

use super::both::{patiently, store};
use super::write::{
    Asked, Done, Kept, Request, Scope, Write, message_of, order_of, row_of, unword,
};
use crate::domain::{Owner, Page, PageHash, RunId, Traffic};
use crate::error::{Error, Kind, Result};
use crate::record::Envelope;
use crate::seams::{Answered, Order, RunRow, Step, StepState, Store};

use fault::fault;

pub use open::database;
pub(crate) use open::{new_private_dir, private_dir};

/// The store in one file, `ibid.db` in the data directory.
#[derive(Clone)]
pub struct SqliteStore {
    path: PathBuf,
    scope: Scope,
    requests: mpsc::Sender<Request>,
    readers: SqlitePool,
    desk: SqlitePool,
    // Owned so that the writer ends with the last who holds the store.
    writer: Arc<Mutex<JoinSet<()>>>,
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
        let desk = open::desk(&path);
        let (requests, inbox) = mpsc::channel(QUEUE);
        let mut writer = JoinSet::new();
        writer.spawn(commit::serve(db, path.clone(), inbox));
        Ok(SqliteStore {
            path,
            scope: Scope::default(),
            requests,
            readers,
            desk,
            writer: Arc::new(Mutex::new(writer)),
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the writer finish what is queued and folds the log file into the database, once no other holds the store.
    pub async fn close(self) {
        let SqliteStore {
            requests,
            readers,
            desk,
            writer,
            ..
        } = self;
        readers.close().await;
        desk.close().await;
        drop(requests);
        let mut writer = writer.lock().await;
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

    /// Waits for every write that was asked for before, also those whose caller went away.
    async fn write_all(&self) -> Result<()> {
        self.write(Write::Nothing).await
    }

    async fn write(&self, write: Write) -> Result<()> {
        self.ask(write).await.map(drop)
    }

    /// Asks for a write that nobody waits for. Where too much waits already it is not done.
    fn ask_later(&self, write: Write) {
        let asked = self.asked(write);
        let done = oneshot::channel().0;
        let _ = self.requests.try_send(Request { asked, done });
    }

    fn asked(&self, write: Write) -> Asked {
        Asked {
            scope: self.scope.clone(),
            // A locked file is lost with its process alone.
            fence: None,
            write,
        }
    }

    async fn ask(&self, write: Write) -> Result<Done> {
        let gone = || {
            Error::new(
                Kind::Internal,
                format!("the writer of {} has ended", self.path.display()),
            )
        };
        let asked = self.asked(write);
        let (done, outcome) = oneshot::channel();
        self.requests
            .send(Request { asked, done })
            .await
            .map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?.map_err(|it| it.error())
    }

    fn unread(&self, fault: &sqlx::Error) -> Error {
        self::fault(&self.path, "reading", fault).error()
    }

    fn damaged(&self, what: String) -> impl FnOnce(serde_json::Error) -> Error {
        let path = self.path.display().to_string();
        move |cause| {
            Error::new(Kind::Setup, format!("{what} in {path} cannot be read"))
                .because(cause)
                .hint("it was written by another version of Ibid, or is damaged")
        }
    }

    async fn session(&self) -> sqlx::Result<PoolConnection<Sqlite>> {
        self.readers.acquire().await
    }

    /// A session for small writes that no run waits for.
    async fn desk(&self) -> sqlx::Result<PoolConnection<Sqlite>> {
        self.desk.acquire().await
    }

    fn unwritten(&self, it: &sqlx::Error) -> Error {
        self::fault(&self.path, "writing to", it).error()
    }

    /// A file is not away for a moment: nothing is asked twice.
    fn patience(&self) -> Impatience {
        Impatience
    }

    fn place_name(&self) -> String {
        self.path.display().to_string()
    }

    fn within(&self, _: &RunId, _: u64) -> Option<SqliteStore> {
        None
    }

    fn scoped(&self, owner: &Owner) -> SqliteStore {
        SqliteStore {
            scope: Scope(Some(owner.clone())),
            ..self.clone()
        }
    }
}

struct Impatience;

impl Impatience {
    async fn again(&mut self, _: &sqlx::Error) -> bool {
        false
    }
}

store!(SqliteStore, SqliteRow, "rowid desc");

#[cfg(test)]
mod tests;
