//! The store on a real PostgreSQL: what only it can do wrong.
#[path = "postgres/call_places.rs"]
mod call_places;
#[path = "postgres/fences.rs"]
mod fences;
#[path = "postgres/outage.rs"]
mod outage;
#[path = "postgres/partitions.rs"]
mod partitions;
#[path = "postgres/pooler.rs"]
pub(crate) mod pooler;
#[path = "postgres/shared_limits.rs"]
mod shared_limits;
#[path = "postgres/wakeups.rs"]
mod wakeups;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ibid_core::ErrorKind;
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{EventLog, FrozenClock, Rng as _, RunCommand, RunLocks, SeededRng, Store};
use ibid_core::record::{Envelope, Event, Phase, RunStatus};
use ibid_store::store::PostgresStore;
use sqlx::{Connection, PgConnection};
use test_servers::PostgresServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::stand_in::{FakePages, app_on, page, question};

/// A fresh database on the server that `IBID_TEST_POSTGRES` names. `cargo xtask test` starts one.
pub(crate) async fn database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let url = std::env::var("IBID_TEST_POSTGRES")
        .expect("IBID_TEST_POSTGRES names no PostgreSQL server; `cargo xtask test` starts one");
    let nth = COUNT.fetch_add(1, Ordering::SeqCst);
    fresh(&url, &format!("t{}_{nth}", std::process::id())).await
}

async fn fresh(url: &str, name: &str) -> String {
    let mut db = PgConnection::connect(&format!("{url}/postgres")).await.unwrap();
    for statement in [format!("drop database if exists {name}"), format!("create database {name}")]
    {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut db).await.unwrap();
    }
    format!("{url}/{name}")
}

/// Ends the sessions that hold advisory locks of this database.
async fn end_lock_sessions(db: &mut PgConnection) {
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_locks
         where locktype = 'advisory' and granted and database =
         (select oid from pg_database where datname = current_database())",
    )
    .execute(db)
    .await
    .unwrap();
}

/// Ends every session of the database but this one.
async fn end_other_sessions(db: &mut PgConnection) {
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()",
    )
    .execute(db)
    .await
    .unwrap();
}

fn note(n: u64) -> Event {
    Event::Log { level: "info".to_owned(), message: format!("{n}"), source: None }
}

fn log(store: &Arc<PostgresStore>, run: &RunId) -> EventLog {
    let store = Arc::clone(store) as Arc<dyn Store>;
    EventLog::resume(run.clone(), store, Arc::new(FrozenClock::at(0)), &[])
}

async fn numbers(store: &PostgresStore, run: &RunId) -> Vec<u64> {
    let events = store.events(run, 0).await.unwrap();
    for it in &events {
        assert!(
            matches!(&it.event, Event::Log { message, .. } if *message == it.seq.to_string()),
            "{it:?}"
        );
    }
    events.iter().map(|it| it.seq).collect()
}

/// Ends every session of the database but one's own each time eight more events have been `written`, until told to
/// stop. By events and not by time: on a slow machine a session would never live long enough to commit.
async fn cut_off(
    url: String,
    written: Arc<AtomicU32>,
    mut stop: tokio::sync::oneshot::Receiver<()>,
) -> u64 {
    let mut db = PgConnection::connect(&url).await.unwrap();
    let mut ended = 0;
    let mut next = 0;
    let mut pause = tokio::time::interval(Duration::from_millis(3));
    loop {
        tokio::select! {
            _ = &mut stop => return ended,
            _ = pause.tick() => {}
        }
        let now = written.load(Ordering::SeqCst);
        if now < next {
            continue;
        }
        next = now + 8;
        let gone: i64 = sqlx::query_scalar(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()",
        )
        .fetch_one(&mut db)
        .await
        .unwrap();
        ended += gone as u64;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn sessions_that_are_ended_mid_commit_lose_and_double_nothing() {
    let url = database().await;
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let written = Arc::new(AtomicU32::new(0));
    let cutting = tokio::spawn(cut_off(url, Arc::clone(&written), stopped));
    let runs: Vec<RunId> = (0..8).map(|it| RunId::new(it, u128::from(it))).collect();
    let writing = runs.iter().map(|run| {
        let log = log(&store, run);
        let written = &written;
        async move {
            for n in 1..=80 {
                log.emit(note(n));
                log.flush().await.unwrap();
                written.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    futures_util::future::join_all(writing).await;
    stop.send(()).unwrap();
    let ended = cutting.await.unwrap();
    assert!(ended > 20, "only {ended} sessions were ended: nothing was tried");
    for run in &runs {
        assert_eq!(numbers(&store, run).await, (1..=80).collect::<Vec<u64>>());
    }
    store.check_integrity().await.unwrap();
}

/// Stands between store and server, and of every three commits lets one through, loses one on its way there, and loses
/// the answer to one.
async fn lossy(server: std::net::SocketAddr) -> (std::net::SocketAddr, Arc<[AtomicU32; 3]>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let counts: Arc<[AtomicU32; 3]> = Arc::default();
    let told = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(server).await.unwrap();
            tokio::spawn(between(client, server, Arc::clone(&counts)));
        }
    });
    (address, told)
}

async fn between(mut client: TcpStream, mut server: TcpStream, counts: Arc<[AtomicU32; 3]>) {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(n @ 1..) = read else { return };
                let commit = asked[..n].windows(7).any(|it| it == b"commit\0");
                let nth = counts.iter().map(|it| it.load(Ordering::SeqCst)).sum::<u32>() as usize % 3;
                if commit {
                    counts[nth].fetch_add(1, Ordering::SeqCst);
                }
                if commit && nth == 1 {
                    return;
                }
                server.write_all(&asked[..n]).await.unwrap();
                if commit && nth == 2 {
                    // The answer is there, so it has happened; nobody hears of it.
                    let _ = server.read(&mut answered).await;
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(n @ 1..) = read else { return };
                if client.write_all(&answered[..n]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_commit_whose_answer_is_lost_is_neither_lost_nor_done_again() {
    let url = database().await;
    let parsed = url::Url::parse(&url).unwrap();
    let server = format!("127.0.0.1:{}", parsed.port().unwrap());
    let (proxy, counts) = lossy(server.parse().unwrap()).await;
    let mut through = parsed.clone();
    through.set_port(Some(proxy.port())).unwrap();
    let store = Arc::new(PostgresStore::open(through.as_str()).await.unwrap());
    let run = RunId::new(1, 1);
    let log = log(&store, &run);
    for n in 1..=15 {
        log.emit(note(n));
        log.flush().await.unwrap();
        // An order is no event with a number: done twice, it would stand there twice.
        store.send_command(&run, RunCommand::Finish).await.unwrap();
    }
    let counts: Vec<u32> = counts.iter().map(|it| it.load(Ordering::SeqCst)).collect();
    assert!(counts.iter().all(|it| *it > 5), "{counts:?}");
    assert_eq!(numbers(&store, &run).await, (1..=15).collect::<Vec<u64>>());
    assert_eq!(store.commands(&run).await.unwrap().len(), 15);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an installed PostgreSQL"]
async fn a_server_that_is_restarted_again_and_again_loses_and_doubles_nothing() {
    let server = PostgresServer::start()
        .expect("PostgreSQL is not installed; `cargo xtask test` installs it")
        .unwrap();
    let url = fresh(&server.url(), "restarted").await;
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages { latency: Duration::from_millis(150), ..FakePages::default() });
    let app = app_on(dir.path(), &shelf, &url);
    let mut running = Vec::new();
    for n in 0..6 {
        running.push(app.start(question(&format!("cork {n}"))).await.unwrap());
    }
    let ids: Vec<RunId> = running.iter().map(|it| it.id.clone()).collect();
    let ending =
        tokio::spawn(futures_util::future::join_all(running.into_iter().map(|it| it.wait())));
    let mut restarts = 0;
    while !ending.is_finished() {
        server.restart().unwrap();
        restarts += 1;
        // Restarted again once the runs have gone on.
        let sent = || shelf.sent.lock().unwrap().len();
        let (before, begun) = (sent(), Instant::now());
        while sent() < before + 6 && !ending.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the runs do not go on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert!(restarts > 1, "the runs ended before the server was restarted twice");
    for run in ending.await.unwrap() {
        assert_eq!(run.unwrap().status, RunStatus::Completed);
    }
    for id in &ids {
        let events = app.events(id, 0).await.unwrap();
        let seqs: Vec<u64> = events.iter().map(|it| it.seq).collect();
        assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    }
    let mut sent = shelf.sent.lock().unwrap().clone();
    let all = sent.len();
    sent.sort();
    sent.dedup();
    // Each question has words of its own, so a call that is there twice was sent twice.
    assert_eq!(sent.len(), all, "calls were sent again");
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_run_is_held_by_one_session_at_a_time_and_free_when_it_ends() {
    let url = database().await;
    let (one, two) = (
        PostgresStore::open(&url).await.unwrap().locks(),
        PostgresStore::open(&url).await.unwrap().locks(),
    );
    let run = RunId::new(1, 1);
    assert!(!two.is_held(&run).await.unwrap());
    let hold = one.acquire(&run).await.unwrap().unwrap();
    assert!(one.acquire(&run).await.unwrap().is_none());
    assert!(two.acquire(&run).await.unwrap().is_none());
    assert!(two.is_held(&run).await.unwrap());
    assert!(two.acquire(&RunId::new(2, 2)).await.unwrap().is_some());
    drop(hold);
    let again = one.acquire(&run).await.unwrap().unwrap();
    drop((again, one));
    // The server hears of the end of a session a moment later.
    tokio::time::timeout(Duration::from_secs(20), async {
        while two.acquire(&run).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_hold_survives_its_session_unless_somebody_else_took_the_run_meanwhile() {
    let url = database().await;
    let one = PostgresStore::open(&url).await.unwrap().locks();
    let (kept, lost) = (RunId::new(1, 1), RunId::new(2, 2));
    let kept_hold = one.acquire(&kept).await.unwrap().unwrap();
    let lost_hold = one.acquire(&lost).await.unwrap().unwrap();
    // Whoever waits for the lock has it the moment the session is ended.
    let mut other = PgConnection::connect(&url).await.unwrap();
    let id = lost.as_str().to_owned();
    let waiting = tokio::spawn(async move {
        sqlx::query("select pg_advisory_lock(hashtextextended($1, 0))")
            .bind(id)
            .execute(&mut other)
            .await
            .unwrap();
        other
    });
    let mut db = PgConnection::connect(&url).await.unwrap();
    let queued =
        "select exists (select 1 from pg_locks where locktype = 'advisory' and not granted)";
    while !sqlx::query_scalar::<_, bool>(queued).fetch_one(&mut db).await.unwrap() {
        tokio::task::yield_now().await;
    }
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted",
    )
    .execute(&mut db)
    .await
    .unwrap();
    let _other = waiting.await.unwrap();
    tokio::time::timeout(Duration::from_secs(20), async {
        while lost_hold.is_valid() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    assert!(kept_hold.is_valid());
    let two = PostgresStore::open(&url).await.unwrap().locks();
    assert!(two.is_held(&kept).await.unwrap());
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn the_server_itself_hides_rows_of_others_from_every_statement() {
    let url = database().await;
    let store = PostgresStore::open(&url).await.unwrap();
    let of = |user: &str| Owner { user: user.to_owned(), org: Some("acme".to_owned()) };
    let chance = SeededRng::new(7);
    let mut runs = Vec::new();
    for user in ["ann", "bob"] {
        let run = RunId::new(1, chance.next_u128());
        let mine = store.for_owner(&of(user));
        mine.append(&run, &[created(&run, &of(user))]).await.unwrap();
        mine.save_page(&run, &page("https://a.test", "Words.")).await.unwrap();
        runs.push(run);
    }
    let mut db = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("set role ibid_plain; set search_path = ibid").execute(&mut db).await.unwrap();
    let count = async |db: &mut PgConnection, table: &str| -> i64 {
        let statement = format!("select count(*) from {table}");
        sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(db).await.unwrap()
    };
    for table in ["runs", "events", "held"] {
        assert_eq!(count(&mut db, table).await, 0, "{table}: nobody was named");
    }
    sqlx::raw_sql(
        "select set_config('ibid.scope', 'owner', false), set_config('ibid.user', 'ann', false),
         set_config('ibid.org', 'acme', false)",
    )
    .execute(&mut db)
    .await
    .unwrap();
    for table in ["runs", "events", "held"] {
        assert_eq!(count(&mut db, table).await, 1, "{table}");
    }
    let touched = sqlx::raw_sql("delete from events; update runs set status = 'failed'")
        .execute(&mut db)
        .await
        .unwrap();
    assert_eq!(touched.rows_affected(), 2, "of ann alone");
    assert_eq!(store.events(&runs[1], 0).await.unwrap().len(), 1);
    let theirs = sqlx::query("insert into events (run, seq, body) values ($1, 9, '{}')")
        .bind(runs[1].as_str())
        .execute(&mut db)
        .await;
    assert!(theirs.is_err(), "a row of bob was written as ann");
}

fn created(run: &RunId, owner: &Owner) -> Envelope {
    Envelope {
        seq: 1,
        ts: "2026-11-21T20:17:01.120Z".to_owned(),
        run: run.clone(),
        event: Event::RunCreated {
            question: question("why?"),
            version: ibid_core::record::EVENT_VERSION,
            owner: Some(owner.clone()),
        },
        phase: Phase::Run,
        round: None,
        agent: None,
        span: None,
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_told_without_its_password() {
    for (url, kind) in [
        ("mysql://ann:sesame@127.0.0.1/x", ErrorKind::Setup),
        ("postgres://ann:sesame@127.0.0.1:1/x", ErrorKind::Transient),
    ] {
        let fault = PostgresStore::open(url).await.err().unwrap();
        assert_eq!(fault.kind(), kind, "{fault:?}");
        assert!(!fault.chain().contains("sesame"), "{fault:?}");
        assert!(fault.hint().is_some());
    }
}
