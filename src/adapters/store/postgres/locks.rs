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
            let nth = self.nth.fetch_add(1, Ordering::SeqCst) + 1;
            let holds = self.holds().clone();
            for (run, mark) in holds {
                if lock(&mut db, &run).await? {
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
        session.as_mut().ok_or(sqlx::Error::WorkerCrashed)
    }

    /// Takes a run: which taking of it that is, or `None` where another has it.
    async fn take(
        &self,
        session: &mut Option<PgConnection>,
        run: &RunId,
    ) -> sqlx::Result<Option<u64>> {
        let db = self.begun(session).await?;
        if !lock(db, run).await? {
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
            Some(db) => sqlx::raw_sql("select 1").execute(db).await.is_ok(),
            None => false,
        };
        if !answered {
            *session = None;
            if !self.holds().is_empty() {
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

async fn lock(db: &mut PgConnection, run: &RunId) -> sqlx::Result<bool> {
    sqlx::query_scalar("select pg_try_advisory_lock(hashtextextended($1, 0))")
        .bind(run.as_str())
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
