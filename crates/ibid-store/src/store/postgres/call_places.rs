//! Places for calls, shared with the other processes through a table.
//!
//! A process that calls has a row for each key, with its places. It raises its number only by what the rows of all leave of the limit, in
//! a transaction that excludes the others, and only its own process lowers it; so the sum never passes the limit. Between
//! transactions a place that becomes free goes to the next call of the same process, without a statement. The same transactions take
//! tokens, and tell and learn of pauses.
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::call_tokens::{LeasedTokens, TokenGrant, TokenLeases, TokenRenewal};
use super::locks::{ALIVE_PREFIX, LockSession, PostgresLocks};
use ibid_core::ports::{CallDemand, CallKey, CallPlace, CallPlaces};

/// How often a process renews its rows, while it has calls in flight and none that waits.
const RENEW_INTERVAL: Duration = Duration::from_secs(1);
/// How often it does so while calls wait: others may have given places back.
const WAITING_INTERVAL: Duration = Duration::from_millis(50);
/// How often it does so while calls wait for tokens alone, which may take a minute.
const TOKENS_INTERVAL: Duration = Duration::from_millis(250);
/// How long it waits after the server could not be reached.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// A process that could not renew its row for so long starts no call. It is shorter than the time after which [`DELETE_DEAD`] takes its
/// places.
const MAX_AGE: Duration = Duration::from_secs(8);

/// Takes the lock under which the shares of a key change, until the transaction ends.
const SHARE_LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('calls ' || $1, 0))";

/// Deletes the rows of processes that have ended. One that has lost its session may be about to open another, with calls in flight.
/// Returns for how many seconds the key is paused.
const DELETE_DEAD: &str = "with dead as (delete from call_shares where key = $1 and worker <> $2
    and renewed_at < clock_timestamp() - interval '10 seconds'
    and hashtextextended($3 || worker, 0) not in (
        select (classid::bigint << 32) | objid::bigint from pg_locks
        where locktype = 'advisory' and granted and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())
    ))
    select extract(epoch from until - clock_timestamp())::float8 from call_pauses where key = $1";

/// Worker, places, calls that are wanted, the number of the turn, for how many seconds its first call waits for tokens, and for how many.
type ShareRow = (String, i32, i32, i64, f64, i64);

const OTHERS: &str =
    "select worker, places, wanted, extract(epoch from clock_timestamp())::bigint / 2,
    coalesce(extract(epoch from clock_timestamp() - waits_since), 0)::float8, tokens_wanted
    from call_shares where key = $1 and worker <> $2";

const UPSERT: &str =
    "insert into call_shares (key, worker, places, wanted, renewed_at, waits_since, tokens_wanted)
    values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp() - make_interval(secs => $5), $6)
    on conflict (key, worker) do update set places = excluded.places, wanted = excluded.wanted, renewed_at = excluded.renewed_at,
    waits_since = excluded.waits_since, tokens_wanted = excluded.tokens_wanted";

const PAUSE: &str = "insert into call_pauses as old (key, until)
    values ($1, clock_timestamp() + make_interval(secs => $2))
    on conflict (key) do update set until = greatest(old.until, excluded.until)";

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
    /// The numbers of leases of tokens. They go on when a key is called again after a time without calls.
    leases: AtomicU64,
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
    /// The tokens, if those of a minute are bounded.
    tokens: Option<TokenLeases>,
    /// Until when the provider asked not to be called.
    paused_until: Option<Instant>,
    /// The same, while others do not know it yet.
    untold_pause: Option<Instant>,
}

impl KeyPlaces {
    fn wanted(&self) -> usize {
        self.in_flight + self.waiting
    }

    fn has_free_place(&self) -> bool {
        // What is above the fair number is given back before a call that waits can have it.
        self.in_flight < self.places.min(self.fair)
    }

    /// Takes a place and the tokens of the call that waits as number `waits` for them.
    fn take(&mut self, waits: Option<u64>) -> Option<Option<LeasedTokens>> {
        let fresh = self.renewed.is_some_and(|at| at.elapsed() < MAX_AGE);
        if !fresh || !self.has_free_place() {
            return None;
        }
        let tokens = match (waits, &mut self.tokens) {
            (Some(waits), Some(tokens)) => Some(tokens.take(waits)?),
            _ => None,
        };
        self.in_flight += 1;
        Some(tokens)
    }

    fn pause(&self) -> Option<Duration> {
        let left = self.paused_until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    fn pause_for(&mut self, wait: Duration) {
        self.paused_until = self.paused_until.max(Some(Instant::now() + wait));
    }

    /// Whether nothing is left to do or to tell.
    fn is_done(&self) -> bool {
        let settled = self.tokens.as_ref().is_none_or(TokenLeases::is_settled);
        self.places == 0 && self.wanted() == 0 && self.untold_pause.is_none() && settled
    }

    /// How long until the next renewal, if nothing changes.
    fn interval(&self) -> Duration {
        match self.waiting {
            0 => RENEW_INTERVAL,
            _ if self.has_free_place() => TOKENS_INTERVAL,
            _ => WAITING_INTERVAL,
        }
    }
}

/// What a renewal does with one key.
struct KeyRenewal {
    places: usize,
    wanted: usize,
    tokens: Option<TokenRenewal>,
    /// How long the first call has waited for tokens, in seconds, and for how many.
    waits: Option<(f64, u64)>,
    /// The end of a pause that others do not know of yet.
    pause: Option<Instant>,
}

impl PostgresCallPlaces {
    /// The places of the process that `locks` is of.
    pub fn new(locks: &PostgresLocks) -> PostgresCallPlaces {
        let shared = Arc::new(SharedPlaces {
            locks: locks.session(),
            keys: Mutex::default(),
            changed: Notify::new(),
            leases: AtomicU64::new(0),
            renewals: watch::Sender::new(0),
        });
        let mut keeper = JoinSet::new();
        keeper.spawn(keep_shares(Arc::clone(&shared)));
        PostgresCallPlaces { shared, _keeper: keeper }
    }
}

#[async_trait]
impl CallPlaces for PostgresCallPlaces {
    async fn acquire(
        &self,
        key: &CallKey,
        demand: CallDemand,
    ) -> Result<Box<dyn CallPlace>, Duration> {
        let mut renewals = self.shared.renewals.subscribe();
        let waiting = WaitingCalls::new(&self.shared, key, demand);
        let mut told = false;
        loop {
            renewals.mark_unchanged();
            if let Some(places) = self.shared.keys().get_mut(key) {
                if let Some(wait) = places.pause() {
                    return Err(wait);
                }
                if let Some(tokens) = places.take(waiting.tokens) {
                    let shared = Arc::clone(&self.shared);
                    return Ok(Box::new(TakenPlace { key: key.clone(), tokens, shared }));
                }
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

    fn pause(&self, key: &CallKey, wait: Duration) {
        let mut keys = self.shared.keys();
        let places = keys.entry(key.clone()).or_default();
        places.pause_for(wait);
        places.untold_pause = places.paused_until;
        self.shared.changed.notify_one();
    }
}

/// Calls that wait for a place, until dropped.
struct WaitingCalls<'s> {
    key: &'s CallKey,
    count: usize,
    /// The number as which the call waits for tokens.
    tokens: Option<u64>,
    shared: &'s SharedPlaces,
}

impl<'s> WaitingCalls<'s> {
    fn new(shared: &'s SharedPlaces, key: &'s CallKey, demand: CallDemand) -> WaitingCalls<'s> {
        let mut keys = shared.keys();
        let places = keys.entry(key.clone()).or_default();
        places.limit = demand.limit;
        let count = 1 + demand.behind;
        places.waiting += count;
        let tokens = demand.tokens.map(|tokens| {
            let leases = places.tokens.get_or_insert_with(TokenLeases::default);
            leases.wait(tokens, demand.behind)
        });
        WaitingCalls { key, count, tokens, shared }
    }
}

impl Drop for WaitingCalls<'_> {
    fn drop(&mut self) {
        if let Some(places) = self.shared.keys().get_mut(self.key) {
            places.waiting -= self.count;
            if let (Some(nth), Some(tokens)) = (self.tokens, &mut places.tokens) {
                tokens.stop_waiting(nth);
            }
        }
        self.shared.give_back(self.key);
    }
}

struct TakenPlace {
    key: CallKey,
    tokens: Option<LeasedTokens>,
    shared: Arc<SharedPlaces>,
}

impl CallPlace for TakenPlace {
    fn settle_tokens(&mut self, used: u64) {
        if let Some(taken) = self.tokens.take()
            && let Some(places) = self.shared.keys().get_mut(&self.key)
            && let Some(tokens) = &mut places.tokens
        {
            tokens.settle(taken, used);
        }
    }
}

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
        keys.values().map(KeyPlaces::interval).min()
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
        let dead = sqlx::query_scalar(DELETE_DEAD).bind(key.as_str()).bind(worker);
        let paused: Option<f64> = dead.bind(ALIVE_PREFIX).fetch_optional(&mut *transaction).await?;
        let others: Vec<ShareRow> = sqlx::query_as(OTHERS)
            .bind(key.as_str())
            .bind(worker)
            .fetch_all(&mut *transaction)
            .await?;
        let Some(renewal) = self.decide(key, worker, &others) else {
            return Ok(());
        };
        if let Some(until) = renewal.pause {
            let wait = until.saturating_duration_since(Instant::now()).as_secs_f64();
            let pause = sqlx::query(PAUSE).bind(key.as_str()).bind(wait);
            pause.execute(&mut *transaction).await?;
        }
        let grant = match renewal.tokens {
            Some(tokens) => Some(tokens.execute(&mut transaction, key.as_str(), worker).await?),
            None => None,
        };
        let statement = match renewal.wanted {
            0 => sqlx::query("delete from call_shares where key = $1 and worker = $2")
                .bind(key.as_str())
                .bind(worker),
            wanted => {
                let waits =
                    renewal.waits.filter(|_| !grant.as_ref().is_some_and(TokenGrant::is_some));
                sqlx::query(UPSERT)
                    .bind(key.as_str())
                    .bind(worker)
                    .bind(i32::try_from(renewal.places).unwrap_or(i32::MAX))
                    .bind(i32::try_from(wanted).unwrap_or(i32::MAX))
                    .bind(waits.map(|it| it.0))
                    .bind(waits.map_or(0, |it| i64::try_from(it.1).unwrap_or(i64::MAX)))
            }
        };
        statement.execute(&mut *transaction).await?;
        transaction.commit().await?;
        self.finish(key, renewal.places, grant, (paused, renewal.pause));
        Ok(())
    }

    /// Uses what a committed renewal has brought: the places, the tokens, for how many seconds the key is paused, and the end of the
    /// pause that others were told of.
    fn finish(
        &self,
        key: &CallKey,
        places: usize,
        grant: Option<TokenGrant>,
        (paused, told): (Option<f64>, Option<Instant>),
    ) {
        let mut keys = self.keys();
        let Some(own) = keys.get_mut(key) else {
            return;
        };
        own.places = places;
        own.renewed = Some(Instant::now());
        if let Some(wait) = paused.and_then(|it| Duration::try_from_secs_f64(it).ok()) {
            own.pause_for(wait);
        }
        // A longer one may have come meanwhile.
        own.untold_pause = own.untold_pause.filter(|until| Some(*until) != told);
        if let (Some(tokens), Some(grant)) = (&mut own.tokens, &grant) {
            tokens.end_renewal(grant);
        }
        if own.is_done() {
            keys.remove(key);
        }
    }

    /// What a renewal does beside `others`.
    fn decide(&self, key: &CallKey, worker: &str, others: &[ShareRow]) -> Option<KeyRenewal> {
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
        let waits = others.iter().map(|it| (it.0.as_str(), it.4, u64::try_from(it.5).unwrap_or(0)));
        let waits: Vec<(&str, f64, u64)> = waits.collect();
        let begin = |tokens: &mut TokenLeases| {
            let nth = self.leases.fetch_add(1, Ordering::Relaxed);
            tokens.begin_renewal(&waits, wanted == 0, nth)
        };
        let tokens = own.tokens.as_mut().map(begin);
        let waits = tokens.as_ref().and_then(TokenRenewal::waits);
        let pause = own.untold_pause;
        Some(KeyRenewal { places, wanted, tokens, waits, pause })
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
