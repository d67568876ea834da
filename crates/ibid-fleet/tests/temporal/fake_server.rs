//! A server of a fleet that only says how it has left its runs.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ibid_core::domain::RunId;
use ibid_core::ports::{FleetQueue, FleetTurn, RunExecutor, WorkResult};
use tokio::task::JoinHandle;

use super::queues::TestFleet;

/// How a run is left that is worked on for the nth time by whichever server, from 0.
type Results = fn(usize) -> WorkResult;

struct Executor {
    results: Results,
    how: Mutex<How>,
    works: Mutex<Vec<String>>,
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
}

#[derive(Clone, Copy, Default)]
struct How {
    hangs: bool,
    takes: Duration,
}

pub(crate) struct FakeServer {
    executor: Arc<Executor>,
    work: JoinHandle<()>,
}

impl FakeServer {
    /// Joins the fleet with so many slots.
    pub(crate) fn join(fleet: &TestFleet, slots: usize, results: Results) -> FakeServer {
        let executor = Arc::new(Executor {
            results,
            how: Mutex::default(),
            works: Mutex::default(),
            counts: fleet.counts(),
        });
        let queue = fleet.queue();
        let worker = Arc::clone(&executor) as Arc<dyn RunExecutor>;
        let work = tokio::spawn(async move { queue.work(slots, worker).await });
        FakeServer { executor, work }
    }

    /// It works on its runs for ever.
    pub(crate) fn hangs(self) -> FakeServer {
        self.executor.how.lock().unwrap().hangs = true;
        self
    }

    /// It works so long on each run.
    pub(crate) fn takes(self, takes: Duration) -> FakeServer {
        self.executor.how.lock().unwrap().takes = takes;
        self
    }

    /// The runs that it has begun to work on, in order.
    pub(crate) fn works(&self) -> Vec<String> {
        self.executor.works.lock().unwrap().clone()
    }

    pub(crate) async fn stop(self) {
        self.work.abort();
        assert!(self.work.await.unwrap_err().is_cancelled());
    }
}

#[async_trait]
impl RunExecutor for Executor {
    async fn work_on(&self, run: &RunId, _failures: u32) -> WorkResult {
        let run = run.as_str().to_owned();
        let nth = {
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(run.clone()).or_insert(0);
            *count += 1;
            *count - 1
        };
        self.works.lock().unwrap().push(run);
        let how = *self.how.lock().unwrap();
        if how.hangs {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(how.takes).await;
        (self.results)(nth)
    }

    async fn is_due(&self, _run: &RunId, _commands_seen: usize) -> bool {
        false
    }
}

/// The id of the nth run.
pub(crate) fn run_id(nth: usize) -> String {
    RunId::new(1_700_000_000_000, nth as u128).as_str().to_owned()
}

pub(crate) async fn submit(queue: &impl FleetQueue, nth: usize, party: &str, weight: f32) {
    let turn = FleetTurn { party: party.to_owned(), weight };
    queue.submit(&run_id(nth).parse().unwrap(), &turn).await.unwrap();
}

/// Waits until `done`, at most `timeout`.
pub(crate) async fn until(timeout: Duration, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < timeout, "not within {timeout:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
