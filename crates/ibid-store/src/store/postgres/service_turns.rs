//! Turns at services, shared with the other processes: a row for each service says when its next turn is.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgConnection;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::locks::{LockSession, PostgresLocks};
use ibid_core::ports::{CallKey, ServiceTurns, WantedTurns};

/// How long a process waits after the server could not be reached.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Reserves turns of `$2` seconds together, unless the first is later than in `$3` seconds. Returns how many seconds to wait for it.
const RESERVE: &str = "insert into service_turns as turns (service, next_at)
    values ($1, clock_timestamp() + make_interval(secs => $2))
    on conflict (service) do update
    set next_at = greatest(turns.next_at, clock_timestamp()) + make_interval(secs => $2)
    where turns.next_at <= clock_timestamp() + make_interval(secs => $3)
    returning extract(epoch from next_at - make_interval(secs => $2) - clock_timestamp())::float8";

const NEXT: &str = "select extract(epoch from next_at - clock_timestamp())::float8
    from service_turns where service = $1";

const PAUSED: &str =
    "select coalesce(extract(epoch from paused_until - clock_timestamp()), 0)::float8
    from service_turns where service = $1";

const PAUSE: &str = "insert into service_turns as turns (service, next_at, paused_until)
    select $1, until, until from (select clock_timestamp() + make_interval(secs => $2) as until) as pause
    on conflict (service) do update set next_at = greatest(turns.next_at, excluded.next_at),
    paused_until = greatest(turns.paused_until, excluded.paused_until)";

/// The turns of processes on any number of machines.
pub struct PostgresServiceTurns {
    shared: Arc<SharedPauses>,
    // Owned so that pauses are told as long as the turns are used.
    _keeper: JoinSet<()>,
}

struct SharedPauses {
    locks: Arc<LockSession>,
    /// The ends of the pauses that others do not know of yet.
    untold: Mutex<BTreeMap<CallKey, Instant>>,
    /// Wakes the keeper.
    changed: Notify,
}

impl PostgresServiceTurns {
    /// The turns of the process that `locks` is of.
    pub fn new(locks: &PostgresLocks) -> PostgresServiceTurns {
        let shared = Arc::new(SharedPauses {
            locks: locks.session(),
            untold: Mutex::default(),
            changed: Notify::new(),
        });
        let mut keeper = JoinSet::new();
        keeper.spawn(tell_pauses(Arc::clone(&shared)));
        PostgresServiceTurns { shared, _keeper: keeper }
    }
}

#[async_trait]
impl ServiceTurns for PostgresServiceTurns {
    async fn reserve(&self, service: &CallKey, wanted: WantedTurns) -> Result<Duration, Duration> {
        loop {
            match self.shared.reserve(service, wanted).await {
                Ok(reserved) => return reserved,
                Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
            }
        }
    }

    async fn paused_for(&self, service: &CallKey) -> Duration {
        loop {
            match self.shared.paused_for(service).await {
                Ok(paused) => return paused,
                Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
            }
        }
    }

    fn pause(&self, service: &CallKey, wait: Duration) {
        let until = Instant::now() + wait;
        let mut untold = self.shared.untold();
        let end = untold.entry(service.clone()).or_insert(until);
        *end = until.max(*end);
        self.shared.changed.notify_one();
    }
}

impl SharedPauses {
    fn untold(&self) -> MutexGuard<'_, BTreeMap<CallKey, Instant>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reserve(
        &self,
        service: &CallKey,
        wanted: WantedTurns,
    ) -> sqlx::Result<Result<Duration, Duration>> {
        let mut session = self.locks.lock_session().await;
        let done = async {
            let db = self.locks.shown_session(&mut session).await?;
            let first: Option<f64> = sqlx::query_scalar(RESERVE)
                .bind(service.as_str())
                .bind((wanted.distance * wanted.count.max(1)).as_secs_f64())
                .bind(wanted.max_wait.as_secs_f64())
                .fetch_optional(&mut *db)
                .await?;
            Ok(match first {
                Some(wait) => Ok(seconds(wait)),
                None => Err(seconds(ask(db, NEXT, service).await?)),
            })
        };
        let done = done.await;
        if done.is_err() {
            *session = None;
        }
        done
    }

    async fn paused_for(&self, service: &CallKey) -> sqlx::Result<Duration> {
        let mut session = self.locks.lock_session().await;
        let done =
            async { ask(self.locks.shown_session(&mut session).await?, PAUSED, service).await };
        let done = done.await;
        if done.is_err() {
            *session = None;
        }
        done.map(seconds)
    }

    async fn tell_pause(&self, service: &CallKey, until: Instant) -> sqlx::Result<()> {
        let mut session = self.locks.lock_session().await;
        let done = async {
            let left = until.saturating_duration_since(Instant::now());
            let pause = sqlx::query(PAUSE).bind(service.as_str()).bind(left.as_secs_f64());
            pause.execute(self.locks.shown_session(&mut session).await?).await.map(drop)
        };
        let done = done.await;
        if done.is_err() {
            *session = None;
        }
        done
    }
}

/// The seconds that `statement` returns about a service; 0 for one without a row.
async fn ask(
    db: &mut PgConnection,
    statement: &'static str,
    service: &CallKey,
) -> sqlx::Result<f64> {
    let found: Option<f64> =
        sqlx::query_scalar(statement).bind(service.as_str()).fetch_optional(db).await?;
    Ok(found.unwrap_or(0.0))
}

fn seconds(wait: f64) -> Duration {
    Duration::try_from_secs_f64(wait).unwrap_or(Duration::ZERO)
}

/// Tells other processes of the pauses of this one.
async fn tell_pauses(shared: Arc<SharedPauses>) {
    loop {
        let next = shared.untold().iter().next().map(|(service, until)| (service.clone(), *until));
        let Some((service, until)) = next else {
            shared.changed.notified().await;
            continue;
        };
        if until > Instant::now() && shared.tell_pause(&service, until).await.is_err() {
            tokio::time::sleep(RETRY_INTERVAL).await;
            continue;
        }
        // A longer pause may have come meanwhile.
        let mut untold = shared.untold();
        if untold.get(&service) == Some(&until) {
            untold.remove(&service);
        }
    }
}
