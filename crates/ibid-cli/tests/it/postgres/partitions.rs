//! Events by month: an older server writes on while the table is divided, and a month that has expired is dropped as one.
use std::sync::Arc;

use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::Store as _;
use ibid_store::store::PostgresStore;
use sqlx::{Connection, PgConnection};

use super::{created, database, log, note};

const HOUR_MS: u64 = 3_600_000;

async fn partition_of(db: &mut PgConnection, run: &RunId) -> Option<String> {
    sqlx::query_scalar("select distinct relname::text from ibid.events join pg_class on pg_class.oid = events.tableoid where run = $1")
        .bind(run.as_str())
        .fetch_optional(db)
        .await
        .unwrap()
}

async fn partitions(db: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar("select inhrelid::regclass::text from pg_inherits where inhparent = 'ibid.events'::regclass order by 1")
        .fetch_all(db)
        .await
        .unwrap()
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap()
}

/// Makes the database one of before the step, with its events in one table.
async fn undo(db: &mut PgConnection) {
    sqlx::raw_sql(
        "set search_path = ibid;
         create table whole (
             run text collate \"C\" not null references runs(id) on delete cascade,
             seq bigint not null, body text not null, primary key (run, seq));
         insert into whole select * from events;
         drop table events cascade;
         alter table whole rename to events;
         alter table events enable row level security;
         alter table events force row level security;
         create policy of_owner on events using (
             (select current_setting('ibid.scope', true)) = 'all' or exists (select 1 from runs where runs.id = run));
         grant select, insert, update, delete on events to ibid_plain;
         drop table call_tokens, call_pauses, service_turns, browser_sessions;
         alter table call_shares drop column tokens_wanted, drop column waits_since;
         update schema_version set version = 10",
    )
    .execute(db)
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn an_older_server_writes_on_while_its_table_is_divided() {
    let url = database().await;
    let mut db = PgConnection::connect(&url).await.unwrap();
    let old = Arc::new(PostgresStore::open(&url).await.unwrap());
    let owner = Owner { user: "ann".to_owned(), org: None };
    let (early, late) = (RunId::new(now_ms(), 1), RunId::new(now_ms() * 3, 1));
    old.append(&late, &[created(&late, &owner)]).await.unwrap();
    undo(&mut db).await;
    let events = log(&old, &early);
    events.emit(note(1));
    events.flush().await.unwrap();
    let writes = async {
        for nth in 2..200 {
            events.emit(note(nth));
            events.flush().await.unwrap();
        }
    };
    // Two new servers start together: one of them divides the table, the other finds it divided.
    let (new, other, ()) =
        tokio::join!(PostgresStore::open(&url), PostgresStore::open(&url), writes);
    let (new, _) = (new.unwrap(), other.unwrap());
    let left = "select count(*) from pg_constraint where conname = 'events_before_bound'";
    let left: i64 = sqlx::query_scalar(left).fetch_one(&mut db).await.unwrap();
    assert_eq!(left, 0, "what the step needed is gone");
    let all = new.events(&early, 0).await.unwrap();
    assert_eq!(all.iter().map(|it| it.seq).collect::<Vec<_>>(), (1..200).collect::<Vec<_>>());
    assert_eq!(new.events(&late, 0).await.unwrap().len(), 1);
    new.check_integrity().await.unwrap();
    assert_eq!(partition_of(&mut db, &early).await.as_deref(), Some("events_first"));
    assert_eq!(partition_of(&mut db, &late).await.as_deref(), Some("events_other"));
    // A stranger's events stay out of sight in the divided table.
    let stranger = new.for_owner(&Owner { user: "bob".to_owned(), org: None });
    assert!(stranger.events(&late, 0).await.is_err());
    // Opened again, it makes nothing twice.
    let before = partitions(&mut db).await;
    assert!(before.len() >= 24, "{before:?}");
    PostgresStore::open(&url).await.unwrap();
    assert_eq!(partitions(&mut db).await, before);
    new.remove_run(&early).await.unwrap();
    assert_eq!(partition_of(&mut db, &early).await, None);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_month_is_dropped_once_all_its_runs_have_expired() {
    let url = database().await;
    let mut db = PgConnection::connect(&url).await.unwrap();
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let owner = Owner { user: "ann".to_owned(), org: None };
    let (old, current) = (RunId::new(now_ms() - 90 * 24 * HOUR_MS, 1), RunId::new(now_ms(), 1));
    // The month of the old run, as it was once ahead.
    let month =
        "create table ibid.events_old partition of ibid.events for values from ($from) to ($to)";
    let bounds =
        [RunId::new(now_ms() - 100 * 24 * HOUR_MS, 0), RunId::new(now_ms() - 80 * 24 * HOUR_MS, 0)];
    let first = "alter table ibid.events detach partition ibid.events_first; drop table ibid.events_first; ";
    let month = month
        .replace("$from", &format!("'{}'", bounds[0]))
        .replace("$to", &format!("'{}'", bounds[1]));
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("{first}{month}"))).execute(&mut db).await.unwrap();
    for run in [&old, &current] {
        store.append(run, &[created(run, &owner)]).await.unwrap();
    }
    assert_eq!(partition_of(&mut db, &old).await.as_deref(), Some("events_old"));
    let tomorrow = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24)).to_string();
    assert_eq!(store.drop_event_months(&tomorrow).await.unwrap(), 0, "it has not ended");
    let ended = "update ibid.runs set status = 'completed', ended_on = '2026-01-01' where id = $1";
    sqlx::query(ended).bind(old.as_str()).execute(&mut db).await.unwrap();
    assert_eq!(
        store.drop_event_months("2000-01-01T00:00:00Z").await.unwrap(),
        0,
        "it has not expired"
    );
    let of_owner = store.for_owner(&owner);
    assert_eq!(of_owner.drop_event_months(&tomorrow).await.unwrap(), 0, "a month is nobody's own");
    assert_eq!(store.drop_event_months(&tomorrow).await.unwrap(), 1);
    assert_eq!(partition_of(&mut db, &old).await, None);
    store.remove_run(&old).await.unwrap();
    assert_eq!(store.events(&current, 0).await.unwrap().len(), 1);
    store.check_integrity().await.unwrap();
}
