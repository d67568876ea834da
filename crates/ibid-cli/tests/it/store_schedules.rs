//! Schedules in the store: of several servers one claims a rerun, and nobody sees those of another owner.
use std::sync::Arc;

use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{
    EndedRerun, EventLog, FrozenClock, Schedule, Schedules as _, StartedRerun, Store,
};
use ibid_core::record::{Event, RunStatus};
use ibid_store::store::{PostgresStore, SqliteStore, database};
use sqlx::Connection as _;

#[tokio::test]
async fn a_store_from_before_schedules_gets_their_tables_and_keeps_its_runs() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    let run = RunId::new(1, 1);
    let event = Event::Log { level: "info".to_owned(), message: "1".to_owned(), source: None };
    let log =
        EventLog::resume(run.clone(), Arc::new(store.clone()), Arc::new(FrozenClock::at(0)), &[]);
    log.emit(event);
    log.flush().await.unwrap();
    drop(log);
    store.close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database(dir.path()));
    let mut db = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let before = "drop table browser_sessions; drop table reruns; drop table schedules; pragma user_version = 8";
    sqlx::raw_sql(before).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    assert_eq!(store.run_row(&run).await.unwrap().run_id, run);
    assert_eq!(store.schedules().await.unwrap(), []);
}

/// Of several that record one start, one does; so with the delivery. What another owner has is not there.
async fn schedules_are_claimed_once(store: &dyn Store) {
    let owner = |user: &str| Owner { user: user.to_owned(), org: Some("roofs".to_owned()) };
    let day = |nth: u32| format!("2026-01-{nth:02}T00:00:00.000Z");
    let schedule = Schedule {
        id: "s_1".to_owned(),
        owner: Some(owner("ann")),
        request: serde_json::json!({"question": "How high?"}),
        interval_secs: 86_400,
        next_at: day(2),
        paused: false,
        webhook_url: None,
        mail_dir: None,
        reruns: 0,
        active_run: None,
        latest_run: None,
        previous_run: None,
        last_error: None,
        created_at: day(1),
    };
    let (ann, bob) = (store.for_owner(&owner("ann")), store.for_owner(&owner("bob")));
    assert!(bob.add_schedule(&schedule).await.is_err());
    ann.add_schedule(&schedule).await.unwrap();
    assert_eq!(ann.schedule("s_1").await.unwrap(), Some(schedule.clone()));
    assert_eq!(bob.schedule("s_1").await.unwrap(), None);
    assert_eq!(bob.schedules().await.unwrap(), []);
    assert!(!bob.set_schedule_paused("s_1", true).await.unwrap());
    assert!(!bob.remove_schedule("s_1").await.unwrap());
    assert_eq!(store.pending_schedules(&day(1)).await.unwrap(), []);
    assert_eq!(store.pending_schedules(&day(2)).await.unwrap().len(), 1);
    assert!(ann.set_schedule_paused("s_1", true).await.unwrap());
    assert_eq!(store.pending_schedules(&day(9)).await.unwrap(), []);
    assert!(ann.set_schedule_paused("s_1", false).await.unwrap());
    assert!(store.postpone_rerun("s_1", 0, &day(3), "no\0 money").await.unwrap());
    assert!(!store.postpone_rerun("s_1", 1, &day(3), "late").await.unwrap());
    let failed = ann.schedule("s_1").await.unwrap().unwrap();
    assert_eq!(
        (failed.next_at, failed.last_error.unwrap()),
        (day(3), "no\u{FFFD} money".to_owned())
    );

    let run = RunId::new(1, 7);
    let start =
        StartedRerun { schedule: "s_1".to_owned(), nth: 1, run: run.clone(), next_at: day(4) };
    let starts =
        futures_util::future::join_all((0..5).map(|_| store.record_rerun_start(&start))).await;
    assert_eq!(starts.into_iter().filter(|it| *it.as_ref().unwrap()).count(), 1);
    let (now, later) = (day(5), day(6));
    let claims = (0..5).map(|_| store.claim_delivery("s_1", 1, &now, &later));
    let claims = futures_util::future::join_all(claims).await;
    assert_eq!(claims.into_iter().filter(|it| *it.as_ref().unwrap()).count(), 1);
    assert_eq!(store.pending_schedules(&now).await.unwrap(), [], "it is being delivered");
    assert_eq!(store.pending_schedules(&later).await.unwrap().len(), 1, "the server has died");
    let ended = EndedRerun {
        schedule: "s_1".to_owned(),
        nth: 1,
        run: run.clone(),
        compared_with: None,
        status: RunStatus::Completed,
        has_report: true,
        at: day(6),
    };
    for _ in 0..2 {
        store.record_delivery(&ended, Some("nobody listens")).await.unwrap();
    }
    let after = ann.schedule("s_1").await.unwrap().unwrap();
    assert_eq!((after.active_run, after.latest_run, after.reruns), (None, Some(run), 1));
    assert_eq!(after.last_error.as_deref(), Some("nobody listens"));
    assert_eq!(ann.ended_reruns("s_1", 9).await.unwrap(), [ended]);
    assert_eq!(bob.ended_reruns("s_1", 9).await.unwrap(), []);
    assert!(ann.remove_schedule("s_1").await.unwrap());
    assert_eq!(store.ended_reruns("s_1", 9).await.unwrap(), []);
}

#[tokio::test]
async fn of_several_servers_one_claims_a_rerun() {
    let dir = tempfile::tempdir().unwrap();
    schedules_are_claimed_once(&SqliteStore::open(dir.path()).await.unwrap()).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn of_several_servers_on_postgresql_one_claims_a_rerun() {
    let store = PostgresStore::open(&crate::postgres::database().await).await.unwrap();
    schedules_are_claimed_once(&store).await;
}
