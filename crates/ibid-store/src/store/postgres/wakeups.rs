//! Tells the processes of a database which runs have changed, by LISTEN and NOTIFY.
//!
//! Notifications are sent after the commit, for all runs that changed within [`MIN_INTERVAL`] together: one in the transaction would
//! take a lock that all commits of the database wait for. A process that is killed between the two leaves a notification out:
//! the runs that are followed are also looked at every [`LOOK_INTERVAL`], with one query for all.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::statement::query;
use super::readers::Readers;
use ibid_core::domain::RunId;
use ibid_core::ports::{RunSubscription, RunWakeups};

const CHANNEL: &str = "ibid_runs";
/// The time between two notifications of a process.
const MIN_INTERVAL: Duration = Duration::from_millis(40);
/// The longest payload is 7,999 bytes; an id with a separator has at most 29.
const MAX_IDS: usize = 250;
/// How often the runs that are followed are looked at, in case a process was killed before it told of a change.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);
/// How long to wait after the server could not be reached.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The changes of the runs of a database.
pub struct PostgresWakeups {
    shared: Arc<SharedWakeups>,
    // Owned so that the tasks end with it.
    _tasks: JoinSet<()>,
}

#[derive(Default)]
pub(super) struct SharedWakeups {
    /// The runs that this process has changed and not told yet.
    changed: Mutex<BTreeSet<RunId>>,
    /// Wakes the task that tells them.
    to_tell: Notify,
    followed: Mutex<BTreeMap<RunId, Vec<Arc<Follower>>>>,
    /// Wakes the task that listens: somebody follows a run.
    first_follower: Notify,
}

struct Follower {
    changed: AtomicBool,
    signal: Arc<Notify>,
}

impl Follower {
    fn tell(&self) {
        self.changed.store(true, Ordering::SeqCst);
        self.signal.notify_one();
    }
}

impl PostgresWakeups {
    /// Tells and looks through `readers`, and listens on a session of `listener`.
    pub(super) fn new(readers: Readers, listener: PgPool) -> PostgresWakeups {
        let shared: Arc<SharedWakeups> = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(tell_changes(Arc::clone(&shared), readers.clone()));
        tasks.spawn(listen(Arc::clone(&shared), listener));
        tasks.spawn(look_for_untold(Arc::clone(&shared), readers));
        PostgresWakeups { shared, _tasks: tasks }
    }

    pub(super) fn shared(&self) -> Arc<SharedWakeups> {
        Arc::clone(&self.shared)
    }
}

impl RunWakeups for PostgresWakeups {
    fn subscribe(&self, run: &RunId, signal: Arc<Notify>) -> Box<dyn RunSubscription> {
        let follower = Arc::new(Follower { changed: AtomicBool::new(true), signal });
        let mut followed = self.shared.followed();
        followed.entry(run.clone()).or_default().push(Arc::clone(&follower));
        drop(followed);
        self.shared.first_follower.notify_one();
        Box::new(Subscription { run: run.clone(), follower, shared: Arc::clone(&self.shared) })
    }
}

struct Subscription {
    run: RunId,
    follower: Arc<Follower>,
    shared: Arc<SharedWakeups>,
}

impl RunSubscription for Subscription {
    fn take_changed(&self) -> bool {
        self.follower.changed.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut followed = self.shared.followed();
        if let Some(followers) = followed.get_mut(&self.run) {
            followers.retain(|it| !Arc::ptr_eq(it, &self.follower));
            if followers.is_empty() {
                followed.remove(&self.run);
            }
        }
    }
}

impl SharedWakeups {
    /// Tells all processes soon that `runs` have changed.
    pub(super) fn announce(&self, runs: impl Iterator<Item = RunId>) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.extend(runs);
        if !changed.is_empty() {
            self.to_tell.notify_one();
        }
    }

    fn followed(&self) -> MutexGuard<'_, BTreeMap<RunId, Vec<Arc<Follower>>>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, run: &RunId) {
        self.followed().get(run).into_iter().flatten().for_each(|it| it.tell());
    }

    fn wake_all(&self) {
        self.followed().values().flatten().for_each(|it| it.tell());
    }
}

async fn tell_changes(shared: Arc<SharedWakeups>, readers: Readers) {
    loop {
        shared.to_tell.notified().await;
        let changed = {
            let mut changed = shared.changed.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *changed)
        };
        let ids: Vec<&str> = changed.iter().map(RunId::as_str).collect();
        for ids in ids.chunks(MAX_IDS) {
            if tell(&readers, &ids.join(" ")).await.is_err() {
                // Told again, some perhaps twice.
                shared.announce(changed.iter().cloned());
                sleep(RETRY_INTERVAL).await;
                break;
            }
        }
        sleep(MIN_INTERVAL).await;
    }
}

async fn tell(readers: &Readers, ids: &str) -> sqlx::Result<()> {
    let mut session = readers.unrestricted().await?;
    let notify = query("select pg_notify($1, $2)").bind(CHANNEL).bind(ids);
    notify.execute(&mut session.connection()).await?;
    session.finish().await
}

/// Wakes the followers of the runs that are told of. Begins with the first follower.
async fn listen(shared: Arc<SharedWakeups>, pool: PgPool) {
    shared.first_follower.notified().await;
    loop {
        if let Ok(mut listener) = open_listener(&pool).await {
            // Changes before this moment were not heard.
            shared.wake_all();
            // `None` says that the connection was lost.
            while let Ok(Some(heard)) = listener.try_recv().await {
                for id in heard.payload().split(' ') {
                    if let Ok(run) = id.parse() {
                        shared.wake(&run);
                    }
                }
            }
        }
        sleep(RETRY_INTERVAL).await;
    }
}

/// Wakes the followers of the runs that have other events than at the last look, or were not followed then.
async fn look_for_untold(shared: Arc<SharedWakeups>, readers: Readers) {
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    loop {
        sleep(LOOK_INTERVAL).await;
        let ids: Vec<String> =
            shared.followed().keys().map(|run| run.as_str().to_owned()).collect();
        seen.retain(|id, _| ids.binary_search(id).is_ok());
        if ids.is_empty() {
            continue;
        }
        // When the server cannot be reached now, the next look finds them.
        for (id, seq) in last_events(&readers, &ids).await.unwrap_or_default() {
            if seen.insert(id.clone(), seq) != Some(seq)
                && let Ok(run) = id.parse()
            {
                shared.wake(&run);
            }
        }
    }
}

/// The number of the last event of each of the runs `ids`.
async fn last_events(readers: &Readers, ids: &[String]) -> sqlx::Result<Vec<(String, i64)>> {
    let mut session = readers.unrestricted().await?;
    let rows = query("select id, seq from runs where id = any(string_to_array($1, ' '))");
    let rows = rows.bind(ids.join(" ")).fetch_all(&mut session.connection()).await?;
    session.finish().await?;
    Ok(rows)
}

async fn open_listener(pool: &PgPool) -> sqlx::Result<PgListener> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}
