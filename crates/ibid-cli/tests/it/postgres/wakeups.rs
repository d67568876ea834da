//! Processes that tell each other which runs have changed.
use std::sync::Arc;
use std::time::Duration;

use ibid_core::domain::RunId;
use ibid_core::ports::{RunCommand, RunWakeups as _, Store};
use ibid_store::store::PostgresStore;
use sqlx::{Connection, PgConnection};
use tokio::sync::Notify;

use super::{database, end_other_sessions, log, note};

/// When a test is given up.
const LONG: Duration = Duration::from_secs(60);

async fn told(signal: &Notify) {
    tokio::time::timeout(LONG, signal.notified()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn who_follows_a_run_is_told_of_its_changes_by_other_processes_and_of_no_other_run() {
    let url = database().await;
    let here = PostgresStore::open(&url).await.unwrap();
    let there = Arc::new(PostgresStore::open(&url).await.unwrap());
    let (followed, other) = (RunId::new(1, 1), RunId::new(1, 2));
    let (signal, quiet): (Arc<Notify>, Arc<Notify>) = Default::default();
    let changes = here.wakeups().subscribe(&followed, Arc::clone(&signal));
    let unchanged = here.wakeups().subscribe(&RunId::new(1, 3), Arc::clone(&quiet));
    // Once it listens, it says that something may have been missed.
    told(&signal).await;
    told(&quiet).await;
    assert!(changes.take_changed() && unchanged.take_changed());
    let events = log(&there, &followed);
    events.emit(note(1));
    events.flush().await.unwrap();
    told(&signal).await;
    assert!(changes.take_changed());
    let elsewhere = log(&there, &other);
    elsewhere.emit(note(1));
    elsewhere.flush().await.unwrap();
    there.send_command(&followed, RunCommand::Finish).await.unwrap();
    told(&signal).await;
    assert!(changes.take_changed() && !changes.take_changed());
    // The session that listens is ended: what happens until the next is not told by name.
    end_other_sessions(&mut PgConnection::connect(&url).await.unwrap()).await;
    told(&signal).await;
    events.emit(note(2));
    events.flush().await.unwrap();
    told(&signal).await;
    assert!(unchanged.take_changed(), "something may have been missed");
    drop(changes);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn who_follows_a_run_learns_of_a_change_that_nobody_told() {
    let url = database().await;
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let run = RunId::new(1, 1);
    let events = log(&store, &run);
    events.emit(note(1));
    events.flush().await.unwrap();
    let signal: Arc<Notify> = Arc::default();
    let _changes = store.wakeups().subscribe(&run, Arc::clone(&signal));
    // The listener begins, and the first look comes; then all is told.
    let quiet = Duration::from_secs(13);
    while tokio::time::timeout(quiet, signal.notified()).await.is_ok() {}
    // As a process does that is killed between the commit and the notification.
    let mut db = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("set ibid.scope = 'all'; update ibid.runs set seq = seq + 1")
        .execute(&mut db)
        .await
        .unwrap();
    told(&signal).await;
}
