//! Two processes and one run: whoever has lost it can no longer write to it, whatever they still believe.
use std::sync::Arc;
use std::time::Duration;

use ibid_core::ErrorKind;
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{JournalCall, JournalCallState, RunCommand, RunLease, RunLocks as _, Store};
use ibid_core::record::{Envelope, Event};
use ibid_store::store::{PostgresLocks, PostgresStore};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::{created, database, end_lock_sessions, end_other_sessions};
use crate::stand_in::page;

/// A process: its store and its locks.
struct Process {
    store: Arc<PostgresStore>,
    locks: PostgresLocks,
}

impl Process {
    async fn start(url: &str) -> Process {
        let store = Arc::new(PostgresStore::open(url).await.unwrap());
        let locks = store.locks();
        Process { store, locks }
    }

    async fn take(&self, run: &RunId) -> (Box<dyn RunLease>, Arc<dyn Store>) {
        let hold = self.locks.acquire(run).await.unwrap().unwrap();
        let store = self.store.fenced(run, hold.epoch().unwrap()).unwrap();
        (hold, store)
    }

    /// Takes `run` from whoever has it, by ending the session that its lock is held by.
    async fn steal(&self, url: &str, run: &RunId) -> Box<dyn RunLease> {
        let mut db = PgConnection::connect(url).await.unwrap();
        for _ in 0..200 {
            end_lock_sessions(&mut db).await;
            // The server lets go within moments; the other takes it again within a second, if it is not taken first.
            for _ in 0..20 {
                if let Some(hold) = self.locks.acquire(run).await.unwrap() {
                    return hold;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        panic!("the run could not be taken over");
    }
}

fn said(run: &RunId, seq: u64) -> Envelope {
    let owner = Owner { user: "ann".to_owned(), org: None };
    let event = match seq {
        1 => created(run, &owner).event,
        n => Event::Log { level: "info".to_owned(), message: format!("{n}"), source: None },
    };
    Envelope { seq, event, ..created(run, &owner) }
}

fn step(key: &str) -> JournalCall {
    JournalCall {
        key: key.to_owned(),
        provider: "search:local".to_owned(),
        request: json!("cork"),
        state: JournalCallState::Intended,
    }
}

fn failed() -> JournalCallState {
    JournalCallState::Failed {
        kind: ErrorKind::Transient,
        message: "away".to_owned(),
        reason: None,
        status: None,
        hint: None,
    }
}

/// The sessions that hold the lock of a run of this database.
async fn lock_holders(db: &mut PgConnection) -> Vec<i32> {
    sqlx::query_scalar(
        "select pid from pg_locks where locktype = 'advisory' and granted and database =
         (select oid from pg_database where datname = current_database())",
    )
    .fetch_all(db)
    .await
    .unwrap()
}

async fn is_lost(hold: &dyn RunLease) {
    for _ in 0..500 {
        if !hold.is_valid() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("who lost the run never learnt of it");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn who_lost_a_run_writes_nothing_to_it_any_more() {
    let url = database().await;
    let (ann, bob) = (Process::start(&url).await, Process::start(&url).await);
    let run = RunId::new(1, 1);
    let (begun, store) = ann.take(&run).await;
    store.append(&run, &[said(&run, 1)]).await.unwrap();
    drop(begun);
    let (hold, store) = ann.take(&run).await;
    store.append(&run, &[said(&run, 2)]).await.unwrap();
    store.begin_call(&run, &step("a")).await.unwrap();
    let taken = bob.steal(&url, &run).await;
    assert!(taken.epoch() > hold.epoch());
    // Every kind of write, whether the one who lost it knows already or not.
    let page = page("https://a.example/", "Cork floats.");
    let refused = [
        store.append(&run, &[said(&run, 3)]).await,
        store.begin_call(&run, &step("b")).await,
        store.finish_call(&run, "a", &failed()).await,
        store.save_page(&run, &page).await,
        store.add_traffic(&run, &[("a.example".to_owned(), Default::default())].into()).await,
        store.charge(&run, Some(1.0)).await,
        store.remove_run(&run).await,
    ];
    for it in refused {
        let fault = it.unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::Transient, "{fault:?}");
        assert!(fault.chain().contains("taken over"), "{fault:?}");
    }
    // What is no writing of the holder's is nobody's to refuse.
    ann.store.send_command(&run, RunCommand::Finish).await.unwrap();
    let theirs = bob.store.fenced(&run, taken.epoch().unwrap()).unwrap();
    theirs.append(&run, &[said(&run, 3)]).await.unwrap();
    theirs.finish_call(&run, "a", &failed()).await.unwrap();
    is_lost(&*hold).await;
    let last = store.events(&run, 0).await.unwrap();
    assert_eq!(last.len(), 3);
    assert_eq!(bob.store.steps(&run).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_run_that_another_had_in_between_is_not_taken_for_ones_own_again() {
    let url = database().await;
    let (ann, bob) = (Process::start(&url).await, Process::start(&url).await);
    let run = RunId::new(2, 2);
    ann.store.append(&run, &[said(&run, 1)]).await.unwrap();
    let (hold, _) = ann.take(&run).await;
    drop(bob.steal(&url, &run).await);
    is_lost(&*hold).await;
    // And it can be begun on anew.
    for _ in 0..200 {
        if let Some(again) = ann.locks.acquire(&run).await.unwrap() {
            assert!(again.epoch() > hold.epoch());
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody has the run, and it cannot be taken");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_lost_session_that_nobody_used_changes_nothing() {
    let url = database().await;
    let ann = Process::start(&url).await;
    let run = RunId::new(3, 3);
    ann.store.append(&run, &[said(&run, 1)]).await.unwrap();
    let (hold, store) = ann.take(&run).await;
    let mut db = PgConnection::connect(&url).await.unwrap();
    let before = lock_holders(&mut db).await;
    end_other_sessions(&mut db).await;
    store.append(&run, &[said(&run, 2)]).await.unwrap();
    let taken_again = async {
        loop {
            let now = lock_holders(&mut db).await;
            if now.iter().any(|it| !before.contains(it)) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), taken_again)
        .await
        .expect("nobody took the run again");
    for seq in 3..=4 {
        store.append(&run, &[said(&run, seq)]).await.unwrap();
    }
    assert!(hold.is_valid(), "it was taken again before anybody else came");
    // A sitting that is left and begun again in the same process finds what it had on its way.
    drop(hold);
    let (_hold, _) = ann.take(&run).await;
    store.append(&run, &[said(&run, 5)]).await.unwrap();
    assert_eq!(ann.store.events(&run, 0).await.unwrap().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn one_refused_for_a_lost_run_takes_no_other_with_it() {
    let url = database().await;
    let (ann, bob) = (Process::start(&url).await, Process::start(&url).await);
    let runs: Vec<RunId> = (10..30).map(|it| RunId::new(it, u128::from(it))).collect();
    let mut holds = Vec::new();
    let mut stores = Vec::new();
    for run in &runs {
        ann.store.append(run, &[said(run, 1)]).await.unwrap();
        let (hold, store) = ann.take(run).await;
        holds.push(hold);
        stores.push(store);
    }
    let stolen = bob.steal(&url, &runs[7]).await;
    let each = runs.iter().zip(&stores);
    let each = each.map(|(run, store)| async move { store.append(run, &[said(run, 2)]).await });
    let outcomes = futures_util::future::join_all(each).await;
    for (nth, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), nth == 7, "{nth}: {outcome:?}");
    }
    drop(stolen);
}
