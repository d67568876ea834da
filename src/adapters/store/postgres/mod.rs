//! Runs, events, answers and pages on PostgreSQL, for any number of machines at once.
//!
//! What a call has returned from is committed on the server. A few connections write, each run always through the same
//! one, in group commits; others read. A server that goes away for a moment is waited for, and nothing is lost or done
//! twice over it. Row-level security holds the rows of each owner apart, whatever a statement asks for.
mod accounts;
mod commit;
mod fault;
mod locks;
mod open;
mod traces;
mod write;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Postgres, Row};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::both::{patiently, store};
use super::write::{
    Asked, Done, Kept, Request, Scope, Write, message_of, order_of, row_of, unword,
};
use crate::domain::{Owner, Page, PageHash, RunId, Traffic};
use crate::error::{Error, Kind, Result};
use crate::record::Envelope;
use crate::seams::{Answered, Order, RunRow, Step, StepState, Store};

use fault::{Patience, fault};
use open::Access;

pub use locks::PostgresLocks;

/// How many connections write.
const WRITERS: usize = 4;
/// How many writes may wait for each before callers are held back.
const QUEUE: usize = 1024;

/// The store on a server, in the schema `ibid` of a database.
#[derive(Clone)]
pub struct PostgresStore {
    scope: Scope,
    /// The run that is held, and how often it had changed hands then.
    fence: Option<(RunId, u64)>,
    access: Access,
    writers: Arc<Writers>,
    /// Sessions that see all rows, and no owner is ever given.
    seeing_all: PgPool,
    /// Sessions that are told whose rows they see each time they are used.
    readers: PgPool,
}

struct Writers {
    requests: Vec<mpsc::Sender<Request>>,
    // Owned so that the writers end with the last who holds the store.
    _tasks: JoinSet<()>,
}

impl PostgresStore {
    /// Opens the store behind `url`, and makes its tables where they are not there yet.
    ///
    /// # Errors
    /// `Setup` where the database cannot be used or is of a newer Ibid, `Transient` where the server is away; neither
    /// tells the password.
    pub async fn open(url: &str) -> Result<PostgresStore> {
        let access = Access::of(url)?.prepare().await?;
        let mut tasks = JoinSet::new();
        // One more for what accounts may spend: grants take turns, and nothing of a run waits for them.
        let requests = (0..=WRITERS)
            .map(|_| {
                let (requests, inbox) = mpsc::channel(QUEUE);
                tasks.spawn(commit::serve(access.clone(), inbox));
                requests
            })
            .collect();
        Ok(PostgresStore {
            scope: Scope::default(),
            fence: None,
            seeing_all: access.readers(true),
            readers: access.readers(false),
            access,
            writers: Arc::new(Writers {
                requests,
                _tasks: tasks,
            }),
        })
    }

    /// The locks of the same server.
    pub fn locks(&self) -> PostgresLocks {
        PostgresLocks::on(self.access.clone())
    }

    /// Whether every run has the events that its row counts.
    async fn integrity_check(&self) -> Result<()> {
        let torn: Vec<String> = patiently!(self, db => sqlx::query_scalar(
            "select id from runs left join events on run = id group by id, runs.seq
             having runs.seq <> count(body) or runs.seq <> coalesce(max(events.seq), 0) order by id",
        )
        .fetch_all(db))?;
        if torn.is_empty() {
            return Ok(());
        }
        let what = format!(
            "{} lacks events of {}",
            self.access.place(),
            torn.join(", ")
        );
        Err(Error::new(Kind::Setup, what).hint("restore the database from a backup"))
    }

    async fn write(&self, write: Write) -> Result<()> {
        self.ask(write).await.map(drop)
    }

    async fn ask(&self, write: Write) -> Result<Done> {
        let nth = match write.run() {
            _ if write.is_of_account() => WRITERS,
            Some(run) => {
                let mut hasher = DefaultHasher::new();
                run.hash(&mut hasher);
                hasher.finish() as usize % WRITERS
            }
            None => 0,
        };
        self.write_by(nth, write).await
    }

    /// Asks for a write of an account that nobody waits for. Where too much waits already it is not done.
    fn ask_later(&self, write: Write) {
        let asked = self.asked(write);
        let done = oneshot::channel().0;
        let _ = self.writers.requests[WRITERS].try_send(Request { asked, done });
    }

    fn asked(&self, write: Write) -> Asked {
        Asked {
            scope: self.scope.clone(),
            fence: self.fence.clone(),
            write,
        }
    }

    async fn write_by(&self, nth: usize, write: Write) -> Result<Done> {
        let gone = || {
            let what = format!("the writer of {} has ended", self.access.place());
            Error::new(Kind::Internal, what)
        };
        let asked = self.asked(write);
        let (done, outcome) = oneshot::channel();
        self.writers.requests[nth]
            .send(Request { asked, done })
            .await
            .map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?.map_err(|it| it.error())
    }

    /// Waits for every write that was asked for before, also those whose caller went away.
    async fn write_all(&self) -> Result<()> {
        for nth in 0..=WRITERS {
            self.write_by(nth, Write::Nothing).await?;
        }
        Ok(())
    }

    /// A session that sees what this store may see. Whose rows those are is said anew each time for an owner; who sees all has
    /// sessions apart, and is spared the question.
    async fn session(&self) -> sqlx::Result<PoolConnection<Postgres>> {
        match self.scope.0 {
            None => self.seeing_all.acquire().await,
            Some(_) => self.desk().await,
        }
    }

    /// A session for small writes that no run waits for. Its first words find out whether the connection is alive, before
    /// anything is written over it.
    async fn desk(&self) -> sqlx::Result<PoolConnection<Postgres>> {
        let mut session = self.readers.acquire().await?;
        write::narrow(&mut session, &self.scope, true).await?;
        Ok(session)
    }

    fn unwritten(&self, it: &sqlx::Error) -> Error {
        fault(self.access.place(), "writing to", it).error()
    }

    fn patience(&self) -> Patience {
        Patience::new()
    }

    fn unread(&self, it: &sqlx::Error) -> Error {
        fault(self.access.place(), "reading", it).error()
    }

    fn damaged(&self, what: String) -> impl FnOnce(serde_json::Error) -> Error + use<> {
        let place = self.access.place().to_owned();
        move |cause| {
            Error::new(Kind::Setup, format!("{what} in {place} cannot be read"))
                .because(cause)
                .hint("it was written by another version of Ibid, or is damaged")
        }
    }

    fn place_name(&self) -> String {
        self.access.place().to_owned()
    }

    fn within(&self, run: &RunId, epoch: u64) -> Option<PostgresStore> {
        Some(PostgresStore {
            fence: Some((run.clone(), epoch)),
            ..self.clone()
        })
    }

    fn scoped(&self, owner: &Owner) -> PostgresStore {
        PostgresStore {
            scope: Scope(Some(owner.clone())),
            ..self.clone()
        }
    }
}

store!(PostgresStore, PgRow, "nth desc");
