//! Leases of runs, as locks that a session on the server holds.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgConnection;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard, mpsc};
use tokio::task::JoinSet;

use super::super::error::RECONNECT;
use super::error::{is_transient, store_error};
use super::open::PostgresAccess;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::ports::{Rng as _, RunLease, RunLocks};
use ibid_core::retry::Backoff;
use ibid_core::system::SystemRng;

/// How often to check that the session is alive.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Lets the server end a session that was idle for so long, and with it its locks. Otherwise a stopped process, or a machine
/// that cannot be reached, would hold them for ever.
const SET_TIMEOUT: &str = "set idle_session_timeout = '15s'";

/// The prefix of the lock by which a process shows that it is alive; its id follows.
pub(super) const ALIVE_PREFIX: &str = "server ";

/// Selects the runs that servers accepted and no process works on. The locks are read once.
macro_rules! unheld {
    ($rest:literal) => {
        concat!(
            "with held as materialized (
                select (classid::bigint << 32) | objid::bigint as key from pg_locks
                where locktype = 'advisory' and granted and objsubid = 1
                and database = (select oid from pg_database where datname = current_database())
            )
            select id from runs where ended_on = '' and served = 1
            and hashtextextended(id, 0) not in (select key from held) ",
            $rest
        )
    };
}

/// Those whose last worker is gone, too.
const ABANDONED: &str = unheld!(
    "and (taker is null or hashtextextended($1 || taker, 0) not in (select key from held)) order by id"
);

const UNHELD: &str = unheld!("order by random() limit $1");

/// A query for ids of runs.
type IdQuery =
    sqlx::query::QueryScalar<'static, sqlx::Postgres, String, sqlx::postgres::PgArguments>;

/// Locks of processes on any number of machines: each process has one session, which holds an advisory lock for each run.
/// The server releases the locks when the session ends. After a lost connection the process takes them again; it loses
/// the runs that another process has taken since.
pub struct PostgresLocks {
    shared: Arc<LockSession>,
    // Owned so that the session is kept alive as long as the locks are used.
    _keeper: JoinSet<()>,
}

/// The session that holds the locks of this process, and its runs.
pub(super) struct LockSession {
    access: PostgresAccess,
    /// The id of this process.
    worker: String,
    session: AsyncMutex<Option<PgConnection>>,
    /// Whether the process must show that it is alive also while it holds no run: it accepts runs, or has places of calls.
    shows_alive: AtomicBool,
    /// Whether the current session holds the lock that shows that this process is alive.
    shown: AtomicBool,
    /// How many runs were taken that another process had begun.
    takeovers: AtomicU64,
    /// The number of the current session. A lock taken in one session is not released in the next.
    session_nth: AtomicU64,
    held_runs: Mutex<BTreeMap<RunId, Arc<HeldRun>>>,
    released: mpsc::UnboundedSender<(RunId, u64)>,
}

/// A run that this process holds.
struct HeldRun {
    valid: AtomicBool,
    /// How often the run had changed hands when it was taken.
    epoch: u64,
    /// The number of the session that holds the lock.
    session_nth: AtomicU64,
}

struct SessionLease {
    run: RunId,
    held: Arc<HeldRun>,
    shared: Arc<LockSession>,
}

impl PostgresLocks {
    pub(super) fn new(access: PostgresAccess) -> PostgresLocks {
        let (released, inbox) = mpsc::unbounded_channel();
        let shared = Arc::new(LockSession {
            access,
            worker: format!("{:032x}", SystemRng.next_u128()),
            session: AsyncMutex::default(),
            shows_alive: AtomicBool::new(false),
            shown: AtomicBool::new(false),
            takeovers: AtomicU64::new(0),
            session_nth: AtomicU64::new(0),
            held_runs: Mutex::default(),
            released,
        });
        let mut keeper = JoinSet::new();
        keeper.spawn(keep_alive(Arc::downgrade(&shared), inbox));
        PostgresLocks { shared, _keeper: keeper }
    }

    /// The session that holds the locks.
    pub(super) fn session(&self) -> Arc<LockSession> {
        Arc::clone(&self.shared)
    }
}

#[async_trait]
impl RunLocks for PostgresLocks {
    async fn acquire(&self, run: &RunId) -> Result<Option<Box<dyn RunLease>>> {
        let shared = &self.shared;
        let mut session = shared.session.lock().await;
        if shared.held_runs().contains_key(run) {
            return Ok(None);
        }
        let mut backoff = RECONNECT.begin();
        let taken = loop {
            match shared.take(&mut session, run).await {
                Ok(taken) => break taken,
                Err(cause) => {
                    *session = None;
                    shared.retry(&mut backoff, "locking a run on", &cause).await?;
                }
            }
        };
        let Some(epoch) = taken else {
            return Ok(None);
        };
        let held = Arc::new(HeldRun {
            valid: AtomicBool::new(true),
            epoch,
            session_nth: AtomicU64::new(shared.session_nth.load(Ordering::SeqCst)),
        });
        shared.held_runs().insert(run.clone(), Arc::clone(&held));
        Ok(Some(Box::new(SessionLease { run: run.clone(), held, shared: Arc::clone(shared) })))
    }

    fn worker_id(&self) -> Option<String> {
        Some(self.shared.worker.clone())
    }

    fn takeovers(&self) -> u64 {
        self.shared.takeovers.load(Ordering::Relaxed)
    }

    async fn is_taken_over(&self, run: &RunId) -> Result<bool> {
        let shared = &self.shared;
        let mut session = shared.session.lock().await;
        let taken = async {
            let taken = "select taker is not null and taker <> $2 from runs where id = $1";
            let taken = sqlx::query_scalar(taken).bind(run.as_str()).bind(&shared.worker);
            let db = shared.ensure_session(&mut session).await?;
            taken.fetch_optional(db).await
        };
        match taken.await {
            Ok(taken) => Ok(taken.unwrap_or(false)),
            Err(cause) => {
                *session = None;
                Err(store_error(shared.access.location(), "querying", &cause).error())
            }
        }
    }

    async fn abandoned_runs(&self) -> Result<Option<Vec<RunId>>> {
        let shared = &self.shared;
        shared.shows_alive.store(true, Ordering::SeqCst);
        shared.runs(|| sqlx::query_scalar(ABANDONED).bind(ALIVE_PREFIX)).await.map(Some)
    }

    async fn unheld_runs(&self, most: u32) -> Result<Option<Vec<RunId>>> {
        let shared = &self.shared;
        shared.shows_alive.store(true, Ordering::SeqCst);
        shared.runs(|| sqlx::query_scalar(UNHELD).bind(i64::from(most))).await.map(Some)
    }

    async fn is_held(&self, run: &RunId) -> Result<bool> {
        let shared = &self.shared;
        if shared.held_runs().contains_key(run) {
            return Ok(true);
        }
        let mut session = shared.session.lock().await;
        let mut backoff = RECONNECT.begin();
        loop {
            match shared.is_locked(&mut session, run).await {
                Ok(locked) => return Ok(locked),
                Err(cause) => {
                    *session = None;
                    shared.retry(&mut backoff, "querying", &cause).await?;
                }
            }
        }
    }
}

impl LockSession {
    fn held_runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<HeldRun>>> {
        self.held_runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits before another attempt after `cause`.
    ///
    /// # Errors
    /// `cause`, when another attempt would not help or there is no time left for one.
    async fn retry(&self, backoff: &mut Backoff, doing: &str, cause: &sqlx::Error) -> Result<()> {
        if is_transient(cause) && backoff.wait().await {
            return Ok(());
        }
        Err(store_error(self.access.location(), doing, cause).error())
    }

    /// The session. If there is none, opens one and takes the locks of all held runs again.
    async fn ensure_session<'a>(
        &self,
        session: &'a mut Option<PgConnection>,
    ) -> sqlx::Result<&'a mut PgConnection> {
        if session.is_none() {
            let mut db = self.access.connect().await?;
            sqlx::raw_sql(SET_TIMEOUT).execute(&mut db).await?;
            self.shown.store(false, Ordering::SeqCst);
            let nth = self.session_nth.fetch_add(1, Ordering::SeqCst) + 1;
            let held_runs = self.held_runs().clone();
            for (run, held) in held_runs {
                if lock(&mut db, run.as_str()).await? {
                    held.session_nth.store(nth, Ordering::SeqCst);
                    if epoch(&mut db, &run).await? == held.epoch {
                        continue;
                    }
                    // Another process has taken and released the run since, and may have changed it.
                    unlock(&mut db, &run).await?;
                }
                held.valid.store(false, Ordering::SeqCst);
                self.held_runs().remove(&run);
            }
            *session = Some(db);
        }
        let db = session.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        self.show_alive(db).await?;
        Ok(db)
    }

    /// The session, in use by the caller until it is dropped.
    pub(super) async fn lock_session(&self) -> AsyncMutexGuard<'_, Option<PgConnection>> {
        self.session.lock().await
    }

    /// The session as by [`LockSession::ensure_session`]. From now on it shows that this process is alive.
    pub(super) async fn shown_session<'a>(
        &self,
        session: &'a mut Option<PgConnection>,
    ) -> sqlx::Result<&'a mut PgConnection> {
        self.shows_alive.store(true, Ordering::SeqCst);
        self.ensure_session(session).await
    }

    /// The id of this process.
    pub(super) fn worker(&self) -> &str {
        &self.worker
    }

    /// Takes the lock that shows that this process is alive, if it must. The previous session may hold the lock for
    /// a moment longer.
    async fn show_alive(&self, db: &mut PgConnection) -> sqlx::Result<()> {
        let shows = self.shows_alive.load(Ordering::SeqCst);
        if shows && !self.shown.load(Ordering::SeqCst) {
            let shown = lock(db, &format!("{ALIVE_PREFIX}{}", self.worker)).await?;
            self.shown.store(shown, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The runs that `query` selects.
    async fn runs(&self, query: impl Fn() -> IdQuery) -> Result<Vec<RunId>> {
        let mut session = self.session.lock().await;
        let mut backoff = RECONNECT.begin();
        let ids = loop {
            let found = async { query().fetch_all(self.ensure_session(&mut session).await?).await };
            match found.await {
                Ok(ids) => break ids,
                Err(cause) => {
                    *session = None;
                    self.retry(&mut backoff, "querying", &cause).await?;
                }
            }
        };
        ids.iter().map(|id| id.parse()).collect()
    }

    /// Takes a run. Returns its epoch, or `None` when another process holds it.
    async fn take(
        &self,
        session: &mut Option<PgConnection>,
        run: &RunId,
    ) -> sqlx::Result<Option<u64>> {
        let db = self.ensure_session(session).await?;
        if !lock(db, run.as_str()).await? {
            return Ok(None);
        }
        // Writes of this process that are still under way from an earlier lease remain valid.
        let taken: Option<bool> = sqlx::query_scalar(
            "update runs set epoch = runs.epoch + 1, taker = $2
             from (select id, taker from runs where id = $1) as before
             where runs.id = before.id and runs.taker is distinct from $2
             returning before.taker is not null and runs.ended_on = '' and runs.status = 'in_progress'",
        )
        .bind(run.as_str())
        .bind(&self.worker)
        .fetch_optional(&mut *db)
        .await?;
        self.takeovers.fetch_add(u64::from(taken == Some(true)), Ordering::Relaxed);
        epoch(db, run).await.map(Some)
    }

    async fn is_locked(
        &self,
        session: &mut Option<PgConnection>,
        run: &RunId,
    ) -> sqlx::Result<bool> {
        // Trying to take the lock would keep it from a process that wants it at that moment.
        sqlx::query_scalar(
            "select exists (select 1 from pg_locks, hashtextextended($1, 0) as it (key)
             where locktype = 'advisory' and granted and objsubid = 1
             and database = (select oid from pg_database where datname = current_database())
             and classid::bigint = (it.key >> 32) & 4294967295 and objid::bigint = it.key & 4294967295)",
        )
        .bind(run.as_str())
        .fetch_one(self.ensure_session(session).await?)
        .await
    }

    /// Checks that the session is alive, and opens another if it is not.
    async fn check_session(&self) {
        let mut session = self.session.lock().await;
        let alive = match session.as_mut() {
            Some(db) => {
                sqlx::raw_sql("select 1").execute(&mut *db).await.is_ok()
                    && self.show_alive(db).await.is_ok()
            }
            None => false,
        };
        if !alive {
            *session = None;
            if self.shows_alive.load(Ordering::SeqCst) || !self.held_runs().is_empty() {
                // If that fails, the next check tries again.
                let _ = self.ensure_session(&mut session).await;
            }
        }
    }

    async fn release(&self, run: &RunId, session_nth: u64) {
        let mut session = self.session.lock().await;
        let same = session_nth == self.session_nth.load(Ordering::SeqCst);
        if let Some(db) = session.as_mut().filter(|_| same)
            && unlock(db, run).await.is_err()
        {
            // Its locks go with the session.
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

/// How often a run has changed hands; 0 for a run that has no row yet.
async fn epoch(db: &mut PgConnection, run: &RunId) -> sqlx::Result<u64> {
    let last: Option<i64> = sqlx::query_scalar("select epoch from runs where id = $1")
        .bind(run.as_str())
        .fetch_optional(db)
        .await?;
    Ok(last.unwrap_or(0) as u64)
}

/// Releases the locks of dropped leases, and keeps the session alive. Ends when the locks are dropped.
async fn keep_alive(
    shared: Weak<LockSession>,
    mut released: mpsc::UnboundedReceiver<(RunId, u64)>,
) {
    loop {
        let next = tokio::time::timeout(KEEPALIVE_INTERVAL, released.recv()).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match next {
            Ok(Some((run, session_nth))) => shared.release(&run, session_nth).await,
            Ok(None) => return,
            Err(_) => shared.check_session().await,
        }
    }
}

impl RunLease for SessionLease {
    fn is_valid(&self) -> bool {
        self.held.valid.load(Ordering::SeqCst)
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.held.epoch)
    }

    fn release(self: Box<Self>) {}
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        let mut held_runs = self.shared.held_runs();
        if held_runs.get(&self.run).is_some_and(|held| Arc::ptr_eq(held, &self.held)) {
            held_runs.remove(&self.run);
            let session_nth = self.held.session_nth.load(Ordering::SeqCst);
            let _ = self.shared.released.send((self.run.clone(), session_nth));
        }
    }
}
