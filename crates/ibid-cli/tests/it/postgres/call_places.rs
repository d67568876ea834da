//! Processes that call one provider with the same key.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ibid_core::ports::{CallDemand, CallKey, CallPlace, CallPlaces as _, TokenDemand};
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

impl CallingProcess {
    /// A place of the key, behind which others wait.
    async fn place(&self, behind: usize) -> Box<dyn CallPlace> {
        let demand = CallDemand { limit: LIMIT, behind, tokens: None };
        self.places.acquire(&key(), demand).await.unwrap()
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
        let place = process.place(behind).await;
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
    // No call ends any more when its count begins anew.
    work.shutdown().await;
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
    assert!(tokio::time::timeout(soon, here.place(0)).await.is_err());
    sqlx::query(
        "update ibid.call_shares set renewed_at = now() - interval '11 s' where worker = 'gone'",
    )
    .execute(&mut db)
    .await
    .unwrap();
    let place = tokio::time::timeout(LONG, here.place(0)).await.unwrap();
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
        held.push(here.place(0).await);
    }
    end_lock_sessions(&mut PgConnection::connect(&url).await.unwrap()).await;
    let waiting = there.place(0);
    let mut waiting = std::pin::pin!(waiting);
    let soon = Duration::from_secs(3);
    assert!(tokio::time::timeout(soon, waiting.as_mut()).await.is_err());
    held.pop();
    tokio::time::timeout(LONG, waiting).await.unwrap();
}

/// The tokens of a minute in these tests, and of a call.
const TOKENS: TokenDemand = TokenDemand { tokens: 100, per_minute: 10_000 };

/// Calls of `process` at all times that use a hundred tokens each, until the set is dropped. They are counted when they start.
fn load_tokens(work: &mut JoinSet<()>, started: &Arc<AtomicUsize>, process: &Arc<CallingProcess>) {
    for _ in 0..8 {
        let (started, process) = (Arc::clone(started), Arc::clone(process));
        work.spawn(async move {
            loop {
                let demand = CallDemand { limit: LIMIT, behind: 3, tokens: Some(TOKENS) };
                let place = process.places.acquire(&key(), demand).await.unwrap();
                started.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                drop(place);
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn calls_of_all_processes_together_use_no_more_tokens_in_a_minute_than_a_key_allows() {
    let url = database().await;
    let mut work = JoinSet::new();
    let mut counts = Vec::new();
    for _ in 0..3 {
        let started = Arc::new(AtomicUsize::new(0));
        load_tokens(&mut work, &started, &CallingProcess::start(&url).await);
        counts.push(started);
    }
    let total = || counts.iter().map(|it| it.load(Ordering::SeqCst)).sum::<usize>();
    // What one process takes and does not use, another has two seconds later.
    until(|| total() >= 97).await;
    // Several renewals later the bound still holds.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(total() <= 100, "{counts:?}");
    // A minute later the same number may start again, of each process some.
    let before: Vec<_> = counts.iter().map(|it| it.load(Ordering::SeqCst)).collect();
    let mut db = PgConnection::connect(&url).await.unwrap();
    sqlx::query("update ibid.call_tokens set taken_at = taken_at - interval '62 s'")
        .execute(&mut db)
        .await
        .unwrap();
    until(|| total() >= 190).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(total() <= 200, "{counts:?}");
    let now = counts.iter().map(|it| it.load(Ordering::SeqCst));
    let least = now.zip(&before).map(|(now, before)| now - before).min();
    // An even part is 33. On a busy machine a process may come late to its renewal and find less.
    assert!(least > Some(12), "{before:?} {counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn tokens_that_a_process_took_and_did_not_use_are_given_back_or_end_with_it() {
    let url = database().await;
    let (here, there) = (CallingProcess::start(&url).await, CallingProcess::start(&url).await);
    let call = |tokens| CallDemand {
        limit: LIMIT,
        behind: 0,
        tokens: Some(TokenDemand { tokens, per_minute: 1_000 }),
    };
    let key = key();
    let mut place = here.places.acquire(&key, call(1_000)).await.unwrap();
    let soon = Duration::from_millis(700);
    let early = there.places.acquire(&key, call(900));
    assert!(tokio::time::timeout(soon, early).await.is_err(), "all tokens are in use");
    // The answer was shorter.
    place.settle_tokens(90);
    drop(place);
    let late = there.places.acquire(&key, call(900));
    let late = tokio::time::timeout(LONG, late).await.unwrap().unwrap();
    drop(late);
    // Those of a process that has ended count for a minute.
    let mut db = PgConnection::connect(&url).await.unwrap();
    sqlx::query("update ibid.call_tokens set worker = 'gone', nth = nth + 1000 * tokens")
        .execute(&mut db)
        .await
        .unwrap();
    let early = here.places.acquire(&key, call(100));
    assert!(tokio::time::timeout(soon, early).await.is_err());
    sqlx::query("update ibid.call_tokens set taken_at = taken_at - interval '62 s'")
        .execute(&mut db)
        .await
        .unwrap();
    let late = here.places.acquire(&key, call(100));
    drop(tokio::time::timeout(LONG, late).await.unwrap().unwrap());
    let gone: i64 =
        sqlx::query_scalar("select count(*) from ibid.call_tokens where worker = 'gone'")
            .fetch_one(&mut db)
            .await
            .unwrap();
    assert_eq!(gone, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn calls_with_pauses_between_them_do_not_wait_while_there_are_tokens() {
    let url = database().await;
    let process = CallingProcess::start(&url).await;
    let demand = CallDemand { limit: LIMIT, behind: 0, tokens: Some(TOKENS) };
    let mut db = PgConnection::connect(&url).await.unwrap();
    let mut waits = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let mut place = process.places.acquire(&key(), demand).await.unwrap();
        waits.push(begun.elapsed());
        place.settle_tokens(30);
        drop(place);
        // The process has no row any more, so it begins anew.
        let rows = async {
            let count = "select count(*) from ibid.call_shares";
            while sqlx::query_scalar::<_, i64>(count).fetch_one(&mut db).await.unwrap() > 0 {}
        };
        tokio::time::timeout(LONG, rows).await.unwrap();
    }
    // Not one that the machine was slow with, but the typical one: without tokens it were seconds.
    waits.sort_unstable();
    assert!(waits[10] < Duration::from_millis(400), "{waits:?}");
    let used = "select sum(tokens)::bigint from ibid.call_tokens";
    let used: i64 = sqlx::query_scalar(used).fetch_one(&mut db).await.unwrap();
    assert_eq!(used, 600, "what was not used is given back");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_pause_that_one_process_is_told_of_holds_for_all() {
    let url = database().await;
    let (here, idle) = (CallingProcess::start(&url).await, CallingProcess::start(&url).await);
    let busy = CallingProcess::start(&url).await;
    let held = busy.place(0).await;
    let wait = Duration::from_secs(5);
    let told = Instant::now();
    here.places.pause(&key(), wait);
    let demand = CallDemand { limit: LIMIT, behind: 0, tokens: None };
    // One that calls hears of it when it renews its places, within a second.
    let heard = loop {
        match busy.places.acquire(&key(), demand).await {
            Ok(place) => drop(place),
            Err(left) => break left,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let late = told.elapsed();
    assert!(late < Duration::from_millis(1_500), "{late:?}");
    assert!(late + heard <= wait + Duration::from_millis(500), "{late:?} {heard:?}");
    // One that begins to call asks first.
    let left = idle.places.acquire(&key(), demand).await.err().unwrap();
    tokio::time::sleep(left).await;
    drop(idle.place(0).await);
    assert!(told.elapsed() >= wait);
    drop(held);
}
