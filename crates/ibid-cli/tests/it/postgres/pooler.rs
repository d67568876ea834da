//! PgBouncer in transaction mode: whoever comes next on a session finds nothing of who was there before.
use std::sync::Arc;
use std::time::Duration;

use ibid_core::ErrorKind;
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{RunCommand, RunLocks as _, RunWakeups as _, Store as _};
use ibid_core::record::Envelope;
use ibid_store::store::PostgresStore;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use test_servers::PgBouncer;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::{created, database, fresh};

/// PgBouncer before the server of `url`, and the address of its database there.
pub(crate) fn before(url: &str) -> (PgBouncer, String) {
    let options: PgConnectOptions = url.parse().unwrap();
    let pgbouncer = PgBouncer::start(options.get_port()).unwrap();
    let pooler_url = format!("{}/{}", pgbouncer.url(), options.get_database().unwrap());
    (pgbouncer, pooler_url)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and PgBouncer"]
async fn owners_who_share_sessions_see_their_own_rows_alone() {
    let url = database().await;
    let (_pgbouncer, pooler_url) = before(&url);
    let servers = [
        Arc::new(PostgresStore::open_pooled(&url, &pooler_url).await.unwrap()),
        Arc::new(PostgresStore::open_pooled(&url, &pooler_url).await.unwrap()),
    ];
    let mut owners = JoinSet::new();
    for nth in 0..8_u64 {
        let store = Arc::clone(&servers[nth as usize % 2]);
        owners.spawn(async move {
            let owner =
                Owner { user: format!("user {nth}"), org: Some(format!("org {}", nth % 3)) };
            let mine = store.for_owner(&owner);
            for count in 1..=20_u64 {
                let run = RunId::new(count, u128::from(nth));
                mine.append(&run, &[created(&run, &owner)]).await.unwrap();
                let rows = mine.runs().await.unwrap();
                assert_eq!(rows.len() as u64, count);
                assert!(rows.iter().all(|it| it.owner.as_ref() == Some(&owner)));
            }
        });
    }
    owners.join_all().await;
    assert_eq!(servers[0].runs().await.unwrap().len(), 160);
    // Who comes past the store is restricted, too: nothing was left on the shared sessions.
    let options: PgConnectOptions = pooler_url.parse().unwrap();
    let mut stranger = PgConnection::connect_with(&options.extra_float_digits(None)).await.unwrap();
    let left = "select current_user::text, coalesce(current_setting('ibid.scope', true), ''), current_setting('search_path')";
    let left: (String, String, String) =
        sqlx::query_as(left).persistent(false).fetch_one(&mut stranger).await.unwrap();
    assert_eq!(left, ("postgres".to_owned(), String::new(), "\"$user\", public".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL and PgBouncer"]
async fn locks_and_wake_ups_work_past_the_pooler() {
    let url = database().await;
    let (_pgbouncer, pooler_url) = before(&url);
    let here = PostgresStore::open_pooled(&url, &pooler_url).await.unwrap();
    let there = PostgresStore::open_pooled(&url, &pooler_url).await.unwrap();
    let owner = Owner { user: "ann".to_owned(), org: None };
    let run = RunId::new(1, 1);
    here.append(&run, &[created(&run, &owner)]).await.unwrap();
    let (my_locks, their_locks) = (here.locks(), there.locks());
    let lease = my_locks.acquire(&run).await.unwrap().unwrap();
    assert!(their_locks.acquire(&run).await.unwrap().is_none());
    let signal: Arc<Notify> = Arc::default();
    let changes = there.wakeups().subscribe(&run, Arc::clone(&signal));
    let told = || tokio::time::timeout(Duration::from_secs(60), signal.notified());
    told().await.unwrap();
    assert!(changes.take_changed());
    let fenced = here.fenced(&run, lease.epoch().unwrap()).unwrap();
    fenced.send_command(&run, RunCommand::Finish).await.unwrap();
    told().await.unwrap();
    assert!(changes.take_changed());
    // An old lease writes nothing through the pooler either.
    let stale = there.fenced(&run, lease.epoch().unwrap() - 1).unwrap();
    let second = Envelope { seq: 2, ..created(&run, &owner) };
    assert!(stale.append(&run, &[second]).await.is_err());
    assert_eq!(there.events(&run, 0).await.unwrap().len(), 1);
}

#[tokio::test]
#[ignore = "needs PostgreSQL and PgBouncer"]
async fn a_pooler_where_the_server_should_be_or_of_another_database_is_told() {
    let url = database().await;
    let (pgbouncer, pooler_url) = before(&url);
    let error = PostgresStore::open(&pooler_url).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setup, "{error:?}");
    assert!(error.hint().unwrap().contains("store.pooler_url"), "{error:?}");
    let server = url.rsplit_once('/').unwrap().0;
    let other = fresh(server, &format!("pooler_other_{}", std::process::id())).await;
    PostgresStore::open(&other).await.unwrap();
    let other = format!("{}/{}", pgbouncer.url(), other.rsplit_once('/').unwrap().1);
    let error = PostgresStore::open_pooled(&url, &other).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setup, "{error:?}");
    assert!(error.to_string().contains("another database"), "{error:?}");
}
