//! Who works on a run, told by locks that a session on the server holds.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgConnection;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::JoinSet;

use super::fault::{Patience, fault};
use super::open::Access;
use crate::adapters::system::SystemChance;
use crate::domain::RunId;
use crate::error::Result;
use crate::seams::{Chance as _, Hold, Locks};

/// How often the session is looked after.
const BEAT: Duration = Duration::from_secs(1);

/// The session of a process that is not heard of for so long is ended by the server, and with it go its locks: a process
/// that was stopped, or a machine that cannot be reached, keeps its connection and would hold them for ever.
const EXPIRES: &str = "set idle_session_timeout = '15s'";

/// Before the name of a process in what it locks to show that it is there.
const ALIVE: &str = "server ";

/// Runs that servers accepted and nobody sees to: neither they nor their last taker are locked by anybody.
const ABANDONED: &str = "with held as materialized (
        select (classid::bigint << 32) | objid::bigint as key from pg_locks
        where locktype = 'advisory' and granted and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())
    )
    select id from runs where ended_on = '' and served = 1
    and hashtextextended(id, 0) not in (select key from held)
    and (taker is null or hashtextextended($1 || taker, 0) not in (select key from held))
    order by id";

/// Locks of processes on any number of machines: one session for each process, which holds an advisory lock for each
/// run. The server lets go of them when the session ends, however that comes about. After a lost connection they are
/// taken again; a run that somebody else took meanwhile is lost to them.
pub struct PostgresLocks {
    shared: Arc<Shared>,
    // Owned so that the session is looked after as long as it is used.
    _keeper: JoinSet<()>,
}

struct Shared {
    access: Access,
    /// By what this process is told from others.
    taker: String,
    session: AsyncMutex<Option<PgConnection>>,
    /// Whether it accepts runs, and so must be known to be there also while it holds none.
    serves: AtomicBool,
    /// Whether the session that there is shows that this process is there.
    shown: AtomicBool,
    /// Counts the sessions there were: what was locked on one is not unlocked on the next.
    nth: AtomicU64,
    holds: Mutex<BTreeMap<RunId, Arc<Mark>>>,
    released: mpsc::UnboundedSender<(RunId, u64)>,
}

/// What is known of a run that is held.
struct Mark {
    kept: AtomicBool,
    /// How often the run had changed hands when it was taken.
    epoch: u64,
    /// The session that holds it.
    nth: AtomicU64,
}

struct SessionHold {
    run: RunId,
    mark: Arc<Mark>,
    shared: Arc<Shared>,
}

impl PostgresLocks {
    pub(super) fn on(access: Access) -> PostgresLocks {
        let (released, inbox) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            access,
            taker: format!("{:032x}", SystemChance.bits()),
            session: AsyncMutex::default(),
            serves: AtomicBool::new(false),
            shown: AtomicBool::new(false),
            nth: AtomicU64::new(0),
            holds: Mutex::default(),
            released,
        });
        let mut keeper = JoinSet::new();
        keeper.spawn(look_after(Arc::downgrade(&shared), inbox));
        PostgresLocks {
            shared,
            _keeper: keeper,
        }
    }
}

#[async_trait]
impl Locks for PostgresLocks {
    async fn take(&self, run: &RunId) -> Result<Option<Box<dyn Hold>>> {
        let shared = &self.shared;
        let mut session = shared.session.lock().await;
        if shared.holds().contains_key(run) {
            return Ok(None);
        }
        let mut patience = Patience::new();
        let taken = loop {
            match shared.take(&mut session, run).await {
                Ok(taken) => break taken,
                Err(it) => {
                    *session = None;
                    if !patience.again(&it).await {
                        return Err(fault(shared.access.place(), "locking a run on", &it).error());
                    }
                }
            }
        };
        let Some(epoch) = taken else {
            return Ok(None);
        };
        let mark = Arc::new(Mark {
            kept: AtomicBool::new(true),
            epoch,
            nth: AtomicU64::new(shared.nth.load(Ordering::SeqCst)),
        });
        shared.holds().insert(run.clone(), Arc::clone(&mark));
        Ok(Some(Box::new(SessionHold {
            run: run.clone(),
            mark,
            shared: Arc::clone(shared),
        })))
    }

    fn taker(&self) -> Option<String> {
        Some(self.shared.taker.clone())
    }

    async fn taken_by_another(&self, run: &RunId) -> Result<bool> {
        let shared = &self.shared;
        let mut session = shared.session.lock().await;
        let asked = async {
            let taken = "select taker is not null and taker <> $2 from runs where id = $1";
            let taken = sqlx::query_scalar(taken)
                .bind(run.as_str())
                .bind(&shared.taker);
            let db = shared.begun(&mut session).await?;
            taken.fetch_optional(db).await
        };
        match asked.await {
            Ok(taken) => Ok(taken.unwrap_or(false)),
            Err(it) => {
                *session = None;
                Err(fault(shared.access.place(), "asking", &it).error())
            }
        }
    }

    async fn abandoned(&self) -> Result<Option<Vec<RunId>>> {
        let shared = &self.shared;
        shared.serves.store(true, Ordering::SeqCst);
        let mut session = shared.session.lock().await;
        let mut patience = Patience::new();
        let found = loop {
            match shared.abandoned(&mut session).await {
                Ok(found) => break found,
                Err(it) => {
                    *session = None;
                    if !patience.again(&it).await {
                        return Err(fault(shared.access.place(), "asking", &it).error());
                    }
                }
            }
        };
        found
            .iter()
            .map(|it| it.parse())
            .collect::<Result<_>>()
            .map(Some)
    }

    async fn held(&self, run: &RunId) -> Result<bool> {
        if self.shared.holds().contains_key(run) {
            return Ok(true);
        }
        let shared = &self.shared;
        let mut session = shared.session.lock().await;
        let mut patience = Patience::new();
        loop {
            match shared.held(&mut session, run).await {
                Ok(held) => return Ok(held),
                Err(it) => {
                    *session = None;
                    if !patience.again(&it).await {
                        return Err(fault(shared.access.place(), "asking", &it).error());
                    }
                }
            }
        }
    }
}

impl Shared {
    fn holds(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Arc<Mark>>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, begun anew where there is none; then all that was held is taken again.
    async fn begun<'a>(
        &self,
        session: &'a mut Option<PgConnection>,
    ) -> sqlx::Result<&'a mut PgConnection> {
        if session.is_none() {
            let mut db = self.access.connect().await?;
            sqlx::raw_sql(EXPIRES).execute(&mut db).await?;
            self.shown.store(false, Ordering::SeqCst);
            let nth = self.nth.fetch_add(1, Ordering::SeqCst) + 1;
            let holds = self.holds().clone();
            for (run, mark) in holds {
                if lock(&mut db, run.as_str()).await? {
                    mark.nth.store(nth, Ordering::SeqCst);
                    if epoch(&mut db, &run).await? == mark.epoch {
                        continue;
                    }
                    // Another took it meanwhile, and has let go of it again: it is not where it was left.
                    unlock(&mut db, &run).await?;
                }
                mark.kept.store(false, Ordering::SeqCst);
                self.holds().remove(&run);
            }
            *session = Some(db);
        }
        let db = session.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        self.show(db).await?;
        Ok(db)
    }

    /// Shows that this process is there, where it serves. The session before may hold the lock for a moment longer.
    async fn show(&self, db: &mut PgConnection) -> sqlx::Result<()> {
        let serves = self.serves.load(Ordering::SeqCst);
        if serves && !self.shown.load(Ordering::SeqCst) {
            let shown = lock(db, &format!("{ALIVE}{}", self.taker)).await?;
            self.shown.store(shown, Ordering::SeqCst);
        }
        Ok(())
    }

    async fn abandoned(&self, session: &mut Option<PgConnection>) -> sqlx::Result<Vec<String>> {
        sqlx::query_scalar(ABANDONED)
            .bind(ALIVE)
            .fetch_all(self.begun(session).await?)
            .await
    }

    /// Takes a run: which taking of it that is, or `None` where another has it.
    async fn take(
        &self,
        session: &mut Option<PgConnection>,
        run: &RunId,
    ) -> sqlx::Result<Option<u64>> {
        let db = self.begun(session).await?;
        if !lock(db, run.as_str()).await? {
            return Ok(None);
        }
        // What this process has on its way of an earlier sitting still counts.
        sqlx::query(
            "update runs set epoch = epoch + 1, taker = $2 where id = $1 and taker is distinct from $2",
        )
        .bind(run.as_str())
        .bind(&self.taker)
        .execute(&mut *db)
        .await?;
        epoch(db, run).await.map(Some)
    }

    async fn held(&self, session: &mut Option<PgConnection>, run: &RunId) -> sqlx::Result<bool> {
        // Looking must not take it, or who wants it meanwhile would not get it.
        sqlx::query_scalar(
            "select exists (select 1 from pg_locks, hashtextextended($1, 0) as it (key)
             where locktype = 'advisory' and granted and objsubid = 1
             and database = (select oid from pg_database where datname = current_database())
             and classid::bigint = (it.key >> 32) & 4294967295 and objid::bigint = it.key & 4294967295)",
        )
        .bind(run.as_str())
        .fetch_one(self.begun(session).await?)
        .await
    }

    /// Sees whether the session is there still, and begins another where it is not.
    async fn look(&self) {
        let mut session = self.session.lock().await;
        let answered = match session.as_mut() {
            Some(db) => {
                let alive = sqlx::raw_sql("select 1").execute(&mut *db).await.is_ok();
                alive && self.show(db).await.is_ok()
            }
            None => false,
        };
        if !answered {
            *session = None;
            if self.serves.load(Ordering::SeqCst) || !self.holds().is_empty() {
                // Where that fails, the next look tries again.
                let _ = self.begun(&mut session).await;
            }
        }
    }

    async fn let_go(&self, run: &RunId, nth: u64) {
        let mut session = self.session.lock().await;
        let same = nth == self.nth.load(Ordering::SeqCst);
        if let Some(db) = session.as_mut().filter(|_| same)
            && unlock(db, run).await.is_err()
        {
            // Whatever it held is gone with it.
            *session = None;
        }
    }
}

async fn lock(db: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar("select pg_try_advisory_lock(hashtextextended($1, 0))")
        .bind(name)
        .fetch_one(db)
        .await
}

async fn unlock(db: &mut PgConnection, run: &RunId) -> sqlx::Result<()> {
    sqlx::query("select pg_advisory_unlock(hashtextextended($1, 0))")
        .bind(run.as_str())
        .execute(db)
        .await?;
    Ok(())
}

/// How often a run has changed hands. Who takes one that is not there yet is about to begin it.
async fn epoch(db: &mut PgConnection, run: &RunId) -> sqlx::Result<u64> {
    let last: Option<i64> = sqlx::query_scalar("select epoch from runs where id = $1")
        .bind(run.as_str())
        .fetch_optional(db)
        .await?;
    Ok(last.unwrap_or(0) as u64)
}

/// Lets go of what is released, and keeps the session alive; ends with the last who holds the locks.
async fn look_after(shared: Weak<Shared>, mut released: mpsc::UnboundedReceiver<(RunId, u64)>) {
    loop {
        let next = tokio::time::timeout(BEAT, released.recv()).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match next {
            Ok(Some((run, nth))) => shared.let_go(&run, nth).await,
            Ok(None) => return,
            Err(_) => shared.look().await,
        }
    }
}

impl Hold for SessionHold {
    fn kept(&self) -> bool {
        self.mark.kept.load(Ordering::SeqCst)
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.mark.epoch)
    }

    fn retire(self: Box<Self>) {}
}

impl Drop for SessionHold {
    fn drop(&mut self) {
        let mut holds = self.shared.holds();
        if holds
            .get(&self.run)
            .is_some_and(|it| Arc::ptr_eq(it, &self.mark))
        {
            holds.remove(&self.run);
            let nth = self.mark.nth.load(Ordering::SeqCst);
            let _ = self.shared.released.send((self.run.clone(), nth));
        }
    }
}
