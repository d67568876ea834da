//! Processes that call one provider with the same key.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ibid_core::ports::{CallKey, CallPlaces as _};
use ibid_store::store::{PostgresCallPlaces, PostgresLocks, PostgresStore};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;

use super::{database, end_lock_sessions};

/// The limit of the key.
const LIMIT: usize = 16;
/// How long a call takes.
const CALL: Duration = Duration::from_millis(40);
/// When a test is given up.
const LONG: Duration = Duration::from_secs(60);

/// A process with its places.
struct CallingProcess {
    places: PostgresCallPlaces,
    _locks: PostgresLocks,
    _store: PostgresStore,
}

impl CallingProcess {
    async fn start(url: &str) -> Arc<CallingProcess> {
        let store = PostgresStore::open(url).await.unwrap();
        let locks = store.locks();
        Arc::new(CallingProcess {
            places: PostgresCallPlaces::new(&locks),
            _locks: locks,
            _store: store,
        })
    }
}

fn key() -> CallKey {
    CallKey::new("https://models.example/v1", "sk-test")
}

/// What all processes do together.
#[derive(Default)]
struct CallCounts {
    now: AtomicUsize,
    most: AtomicUsize,
    /// The calls that have ended, by process.
    ended: [AtomicUsize; 3],
}

impl CallCounts {
    async fn call(&self, process: &CallingProcess, nth: usize, behind: usize) {
        let place = process.places.acquire(&key(), LIMIT, behind).await;
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(CALL).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        self.ended[nth].fetch_add(1, Ordering::SeqCst);
        drop(place);
    }

    fn ended(&self, nth: usize) -> usize {
        self.ended[nth].load(Ordering::SeqCst)
    }

    fn total(&self) -> usize {
        (0..3).map(|nth| self.ended(nth)).sum()
    }
}

/// Calls of `process` at all times, until the set is dropped.
fn load(
    work: &mut JoinSet<()>,
    counts: &Arc<CallCounts>,
    process: &Arc<CallingProcess>,
    nth: usize,
) {
    for _ in 0..2 * LIMIT {
        let (counts, process) = (Arc::clone(counts), Arc::clone(process));
        work.spawn(async move {
            loop {
                counts.call(&process, nth, 0).await;
            }
        });
    }
}

async fn until(what: impl Fn() -> bool) {
    let reached = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, reached).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn processes_together_never_have_more_calls_in_flight_than_a_key_allows() {
    let url = database().await;
    let counts = Arc::new(CallCounts::default());
    let mut work = JoinSet::new();
    let first = CallingProcess::start(&url).await;
    load(&mut work, &counts, &first, 0);
    // Alone, a process has all places.
    until(|| counts.most.load(Ordering::SeqCst) == LIMIT).await;
    let (second, third) = (CallingProcess::start(&url).await, CallingProcess::start(&url).await);
    load(&mut work, &counts, &second, 1);
    load(&mut work, &counts, &third, 2);
    // The first gives places back as its calls end.
    until(|| counts.ended(1) > 2 * LIMIT && counts.ended(2) > 2 * LIMIT).await;
    let (began, before) = (Instant::now(), counts.total());
    let alone = counts.ended(0);
    until(|| counts.total() >= before + 60 * LIMIT).await;
    let done = counts.total() - before;
    let full = began.elapsed().as_secs_f64() / CALL.as_secs_f64() * LIMIT as f64;
    assert_eq!(counts.most.load(Ordering::SeqCst), LIMIT);
    // Each has about a third: five or six places of 16.
    let of_first = (counts.ended(0) - alone) as f64 / done as f64;
    assert!((0.22..0.45).contains(&of_first), "{of_first}");
    #[allow(clippy::print_stderr, reason = "the figure of the key's use")]
    {
        eprintln!("{done} calls, {:.0} % of the key used", 100.0 * done as f64 / full);
    }
    // Who has no calls any more leaves all places to the others.
    drop(work);
    let mut work = JoinSet::new();
    counts.most.store(0, Ordering::SeqCst);
    counts.now.store(0, Ordering::SeqCst);
    load(&mut work, &counts, &third, 2);
    until(|| counts.most.load(Ordering::SeqCst) == LIMIT).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn the_places_of_a_process_that_has_ended_are_free_after_ten_seconds() {
    let url = database().await;
    let here = CallingProcess::start(&url).await;
    let mut db = PgConnection::connect(&url).await.unwrap();
    sqlx::query("insert into ibid.call_shares values ($1, 'gone', 16, 16, now())")
        .bind(key().as_str())
        .execute(&mut db)
        .await
        .unwrap();
    // It may be opening another session at this moment, with its calls in flight.
    let soon = Duration::from_millis(500);
    let key = key();
    let early = here.places.acquire(&key, LIMIT, 0);
    assert!(tokio::time::timeout(soon, early).await.is_err());
    sqlx::query(
        "update ibid.call_shares set renewed_at = now() - interval '11 s' where worker = 'gone'",
    )
    .execute(&mut db)
    .await
    .unwrap();
    let place = tokio::time::timeout(LONG, here.places.acquire(&key, LIMIT, 0)).await.unwrap();
    drop(place);
    // Nobody calls: no row is left.
    let rows = async {
        loop {
            let rows: i64 = sqlx::query_scalar("select count(*) from ibid.call_shares")
                .fetch_one(&mut db)
                .await
                .unwrap();
            if rows == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, rows).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn calls_in_flight_keep_their_places_when_the_session_is_lost() {
    let url = database().await;
    let (here, there) = (CallingProcess::start(&url).await, CallingProcess::start(&url).await);
    let mut held = Vec::new();
    for _ in 0..LIMIT {
        held.push(here.places.acquire(&key(), LIMIT, 0).await);
    }
    end_lock_sessions(&mut PgConnection::connect(&url).await.unwrap()).await;
    let key = key();
    let waiting = there.places.acquire(&key, LIMIT, 0);
    let mut waiting = std::pin::pin!(waiting);
    let soon = Duration::from_secs(3);
    assert!(tokio::time::timeout(soon, waiting.as_mut()).await.is_err());
    held.pop();
    tokio::time::timeout(LONG, waiting).await.unwrap();
}
