//! Places for calls, shared with the other processes through a table.
//!
//! A process that calls has a row for each key, with its places. It raises its number only by what the rows of all leave of the limit, in
//! a transaction that excludes the others, and only its own process lowers it; so the sum never passes the limit. Between
//! transactions a place that becomes free goes to the next call of the same process, without a statement.
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::locks::{ALIVE_PREFIX, LockSession, PostgresLocks};
use ibid_core::ports::{CallKey, CallPlace, CallPlaces};

/// How often a process renews its rows, while it has calls in flight and none that waits.
const RENEW_INTERVAL: Duration = Duration::from_secs(1);
/// How often it does so while calls wait: others may have given places back.
const WAITING_INTERVAL: Duration = Duration::from_millis(50);
/// How long it waits after the server could not be reached.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// A process that could not renew its row for so long starts no call. It is shorter than the time after which [`DELETE_DEAD`] takes its
/// places.
const MAX_AGE: Duration = Duration::from_secs(8);

/// Takes the lock under which the shares of a key change, until the transaction ends.
const SHARE_LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('calls ' || $1, 0))";

/// Deletes the rows of processes that have ended. One that has lost its session may be about to open another, with calls in flight.
const DELETE_DEAD: &str = "delete from call_shares where key = $1 and worker <> $2
    and renewed_at < clock_timestamp() - interval '10 seconds'
    and hashtextextended($3 || worker, 0) not in (
        select (classid::bigint << 32) | objid::bigint from pg_locks
        where locktype = 'advisory' and granted and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())
    )";

/// Worker, places, calls that are wanted, and the number of the turn.
type ShareRow = (String, i32, i32, i64);

const OTHERS: &str =
    "select worker, places, wanted, extract(epoch from clock_timestamp())::bigint / 2
    from call_shares where key = $1 and worker <> $2";

const UPSERT: &str =
    "insert into call_shares (key, worker, places, wanted, renewed_at)
    values ($1, $2, $3, $4, clock_timestamp())
    on conflict (key, worker) do update set places = excluded.places, wanted = excluded.wanted, renewed_at = excluded.renewed_at";

/// The places of calls of processes on any number of machines.
pub struct PostgresCallPlaces {
    shared: Arc<SharedPlaces>,
    // Owned so that the rows are renewed as long as the places are used.
    _keeper: JoinSet<()>,
}

struct SharedPlaces {
    locks: Arc<LockSession>,
    keys: Mutex<BTreeMap<CallKey, KeyPlaces>>,
    /// Wakes the keeper.
    changed: Notify,
    /// The number of renewals. Waiting calls look again after each.
    renewals: watch::Sender<u64>,
}

/// The calls of this process with one key.
#[derive(Debug, Default)]
struct KeyPlaces {
    /// The places of all processes together.
    limit: usize,
    in_flight: usize,
    waiting: usize,
    /// The calls that may be in flight here.
    places: usize,
    /// The fair number of places. Those above it are given back as calls end.
    fair: usize,
    renewed: Option<Instant>,
}

impl KeyPlaces {
    fn wanted(&self) -> usize {
        self.in_flight + self.waiting
    }

    fn take(&mut self) -> bool {
        let fresh = self.renewed.is_some_and(|at| at.elapsed() < MAX_AGE);
        // What is above the fair number is given back before a call that waits can have it.
        let taken = fresh && self.in_flight < self.places.min(self.fair);
        self.in_flight += usize::from(taken);
        taken
    }
}

impl PostgresCallPlaces {
    /// The places of the process that `locks` is of.
    pub fn new(locks: &PostgresLocks) -> PostgresCallPlaces {
        let shared = Arc::new(SharedPlaces {
            locks: locks.session(),
            keys: Mutex::default(),
            changed: Notify::new(),
            renewals: watch::Sender::new(0),
        });
        let mut keeper = JoinSet::new();
        keeper.spawn(keep_shares(Arc::clone(&shared)));
        PostgresCallPlaces { shared, _keeper: keeper }
    }
}

#[async_trait]
impl CallPlaces for PostgresCallPlaces {
    async fn acquire(&self, key: &CallKey, limit: usize, behind: usize) -> Box<dyn CallPlace> {
        let mut renewals = self.shared.renewals.subscribe();
        let waiting = WaitingCalls::new(&self.shared, key, (limit, 1 + behind));
        let mut told = false;
        loop {
            renewals.mark_unchanged();
            if self.shared.keys().get_mut(key).is_some_and(KeyPlaces::take) {
                drop(waiting);
                return Box::new(TakenPlace { key: key.clone(), shared: Arc::clone(&self.shared) });
            }
            // From then on the keeper looks at intervals.
            if !told {
                self.shared.changed.notify_one();
                told = true;
            }
            // The sender lives as long as `self`.
            let _ = renewals.changed().await;
        }
    }
}

/// Calls that wait for a place, until dropped.
struct WaitingCalls<'s> {
    key: &'s CallKey,
    count: usize,
    shared: &'s SharedPlaces,
}

impl<'s> WaitingCalls<'s> {
    fn new(
        shared: &'s SharedPlaces,
        key: &'s CallKey,
        (limit, count): (usize, usize),
    ) -> WaitingCalls<'s> {
        let mut keys = shared.keys();
        let places = keys.entry(key.clone()).or_default();
        places.limit = limit;
        places.waiting += count;
        WaitingCalls { key, count, shared }
    }
}

impl Drop for WaitingCalls<'_> {
    fn drop(&mut self) {
        if let Some(places) = self.shared.keys().get_mut(self.key) {
            places.waiting -= self.count;
        }
        self.shared.give_back(self.key);
    }
}

struct TakenPlace {
    key: CallKey,
    shared: Arc<SharedPlaces>,
}

impl CallPlace for TakenPlace {}

impl Drop for TakenPlace {
    fn drop(&mut self) {
        if let Some(places) = self.shared.keys().get_mut(&self.key) {
            places.in_flight -= 1;
        }
        self.shared.renewals.send_modify(|count| *count += 1);
        self.shared.give_back(&self.key);
    }
}

impl SharedPlaces {
    fn keys(&self) -> MutexGuard<'_, BTreeMap<CallKey, KeyPlaces>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the keeper if the process has places that it does not want or that others want.
    fn give_back(&self, key: &CallKey) {
        let keys = self.keys();
        if keys.get(key).is_some_and(|it| it.wanted() == 0 || it.places > it.fair) {
            self.changed.notify_one();
        }
    }

    /// How long until the next renewal, if nothing changes; `None` while no key is called.
    fn pause(&self) -> Option<Duration> {
        let keys = self.keys();
        let pause = |it: &KeyPlaces| match it.waiting {
            0 => RENEW_INTERVAL,
            _ => WAITING_INTERVAL,
        };
        keys.values().map(pause).min()
    }

    async fn renew(&self, key: &CallKey) -> sqlx::Result<()> {
        let mut session = self.locks.lock_session().await;
        let done = self.renew_in(self.locks.shown_session(&mut session).await?, key).await;
        if done.is_err() {
            *session = None;
        }
        done
    }

    async fn renew_in(&self, db: &mut PgConnection, key: &CallKey) -> sqlx::Result<()> {
        let worker = self.locks.worker();
        let mut transaction = db.begin().await?;
        sqlx::query(SHARE_LOCK).bind(key.as_str()).execute(&mut *transaction).await?;
        sqlx::query(DELETE_DEAD)
            .bind(key.as_str())
            .bind(worker)
            .bind(ALIVE_PREFIX)
            .execute(&mut *transaction)
            .await?;
        let others: Vec<ShareRow> = sqlx::query_as(OTHERS)
            .bind(key.as_str())
            .bind(worker)
            .fetch_all(&mut *transaction)
            .await?;
        let Some((places, wanted)) = self.decide(key, worker, &others) else {
            return Ok(());
        };
        let statement = match wanted {
            0 => sqlx::query("delete from call_shares where key = $1 and worker = $2")
                .bind(key.as_str())
                .bind(worker),
            _ => sqlx::query(UPSERT)
                .bind(key.as_str())
                .bind(worker)
                .bind(i32::try_from(places).unwrap_or(i32::MAX))
                .bind(i32::try_from(wanted).unwrap_or(i32::MAX)),
        };
        statement.execute(&mut *transaction).await?;
        transaction.commit().await?;
        let mut keys = self.keys();
        if let Some(own) = keys.get_mut(key) {
            own.places = places;
            own.renewed = Some(Instant::now());
            if places == 0 && own.wanted() == 0 {
                keys.remove(key);
            }
        }
        Ok(())
    }

    /// The places of this process beside those of `others`, and how many it wants.
    fn decide(&self, key: &CallKey, worker: &str, others: &[ShareRow]) -> Option<(usize, usize)> {
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        let turn = others.first().map_or(0, |it| it.3);
        let mut keys = self.keys();
        let own = keys.get_mut(key)?;
        let wanted = own.wanted();
        let all = others.iter().map(|it| (it.0.as_str(), count(it.2)));
        own.fair = fair_share(own.limit, worker, turn, all.chain([(worker, wanted)]).collect());
        let left = own.limit.saturating_sub(others.iter().map(|it| count(it.1)).sum());
        let places = match wanted {
            0 => 0,
            _ => own.fair.min(left).max(own.in_flight),
        };
        // Others may see the lower number as soon as the transaction ends.
        own.places = own.places.min(places);
        Some((places, wanted))
    }
}

/// The places of process `own` out of `limit` by max-min fairness: one at a time goes to each that wants more, then what nobody wants.
/// Who is first, and so has the remainder, changes with `turn`.
fn fair_share(limit: usize, own: &str, turn: i64, mut wanted: Vec<(&str, usize)>) -> usize {
    wanted.retain(|it| it.1 > 0);
    wanted.sort_by_cached_key(|it| {
        let mut hasher = DefaultHasher::new();
        (turn, it.0).hash(&mut hasher);
        (hasher.finish(), it.0)
    });
    let mut shares = vec![0; wanted.len()];
    let mut left = limit;
    while left > 0 && !wanted.is_empty() {
        let is_served = |(share, it): (&usize, &(&str, usize))| *share >= it.1;
        let all_served = shares.iter().zip(&wanted).all(is_served);
        for (share, it) in shares.iter_mut().zip(&wanted) {
            if left > 0 && (all_served || *share < it.1) {
                *share += 1;
                left -= 1;
            }
        }
    }
    let own = wanted.iter().position(|it| it.0 == own);
    own.map_or(0, |at| shares[at])
}

/// Renews the rows of this process, and wakes the calls that wait.
async fn keep_shares(shared: Arc<SharedPlaces>) {
    loop {
        match shared.pause() {
            Some(pause) => drop(timeout(pause, shared.changed.notified()).await),
            None => shared.changed.notified().await,
        }
        let keys: Vec<CallKey> = shared.keys().keys().cloned().collect();
        for key in keys {
            if shared.renew(&key).await.is_err() {
                // The call that waits has a deadline; the next round tries again.
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
        shared.renewals.send_modify(|count| *count += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_less_gets_it_and_the_others_share_the_rest() {
        let shares = |limit: usize, turn: i64, wanted: &[(&'static str, usize)]| -> Vec<usize> {
            wanted.iter().map(|it| fair_share(limit, it.0, turn, wanted.to_vec())).collect()
        };
        assert_eq!(shares(16, 0, &[("a", 40)]), [16]);
        assert_eq!(shares(16, 0, &[("a", 2)]), [16]);
        assert_eq!(shares(17, 0, &[("a", 40), ("b", 3), ("c", 40)]), [7, 3, 7]);
        assert_eq!(shares(16, 0, &[("a", 1), ("b", 3), ("c", 0)]), [7, 9, 0]);
        for turn in 0..20 {
            let mut even = shares(16, turn, &[("a", 40), ("b", 40), ("c", 40)]);
            even.sort_unstable();
            assert_eq!(even, [5, 5, 6]);
        }
        // With more processes than places, each has its turn.
        let mut turns = [0; 3];
        for turn in 0..60 {
            let now = shares(1, turn, &[("a", 1), ("b", 9), ("c", 3)]);
            assert_eq!(now.iter().sum::<usize>(), 1);
            turns.iter_mut().zip(now).for_each(|(sum, it)| *sum += it);
        }
        assert!(turns.iter().all(|it| *it >= 10), "{turns:?}");
    }
}
