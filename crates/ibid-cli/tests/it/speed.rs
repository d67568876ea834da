//! What keeping everything costs. Measurements, run by hand:
//! `cargo test --release --test it speed:: -- --ignored --nocapture --test-threads 1`
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_core::domain::RunId;
use ibid_core::ports::{EventLog, JournalCall, JournalCallState, Store};
use ibid_store::store::SqliteStore;
use serde_json::json;

use crate::stand_in::{FakePages, app, question};

fn say(line: &str) {
    let mut out = std::io::stderr().lock();
    writeln!(out, "{line}").unwrap();
}

fn step(n: usize) -> JournalCall {
    JournalCall {
        key: format!("k{n}"),
        provider: "search:shelf".to_owned(),
        request: json!({ "n": n }),
        state: JournalCallState::Intended,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn writes_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
    let run = RunId::new(1, 1);
    let clock = Arc::new(ibid_core::ports::FrozenClock::at(0));
    let log = EventLog::resume(run.clone(), Arc::clone(&store) as _, clock, &[]);
    log.emit(ibid_core::record::Event::RunStarted {});
    log.flush().await.unwrap();
    let began = Instant::now();
    for n in 0..500 {
        store.begin_call(&run, &step(n)).await.unwrap();
    }
    let alone = 500.0 / began.elapsed().as_secs_f64();
    for at_once in [8, 64] {
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..at_once {
            let (store, run) = (Arc::clone(&store), run.clone());
            tasks.spawn(async move {
                for n in 0..4000 / at_once {
                    let n = 1000 + at_once * 100_000 + task * 10_000 + n;
                    store.begin_call(&run, &step(n)).await.unwrap();
                }
            });
        }
        while tasks.join_next().await.is_some() {}
        let grouped = 4000.0 / began.elapsed().as_secs_f64();
        say(&format!("{at_once} writers: {grouped:.0} durable writes a second"));
    }
    say(&format!("1 writer: {alone:.0} durable writes a second"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_run_of_sixty_calls() {
    let mut times = Vec::new();
    for _ in 0..15 {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Arc::new(FakePages::default());
        let app = app(dir.path(), &shelf);
        let began = Instant::now();
        let run = app.start(question("cork")).await.unwrap();
        run.wait().await.unwrap();
        times.push(began.elapsed());
        assert_eq!(shelf.count(), 60);
    }
    times.sort();
    let ms = |it: Duration| it.as_secs_f64() * 1e3;
    say(&format!(
        "60 journaled calls, store made, 8 at once: median {:.1} ms, worst of 15 {:.1} ms",
        ms(times[7]),
        ms(times[14])
    ));
}
