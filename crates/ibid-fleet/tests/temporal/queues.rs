//! Queues on a Temporal of one's own.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ibid_core::Result;
use ibid_core::ports::{FleetQueue as _, FleetTurn};
use ibid_fleet::{TemporalQueue, TemporalSettings};
use test_servers::TemporalServer;

use super::fake_server::run_id;

/// A Temporal, and how often the servers of its fleet have begun to work on each run.
pub(crate) struct TestFleet {
    pub(crate) temporal: TemporalServer,
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl TestFleet {
    pub(crate) fn start() -> TestFleet {
        TestFleet { temporal: TemporalServer::start().unwrap(), counts: Arc::default() }
    }

    pub(crate) fn counts(&self) -> Arc<Mutex<BTreeMap<String, usize>>> {
        Arc::clone(&self.counts)
    }

    pub(crate) fn queue(&self) -> TemporalQueue {
        queue_at(self.temporal.port(), "default")
    }
}

pub(crate) fn queue_at(port: u16, namespace: &str) -> TemporalQueue {
    TemporalQueue::new(TemporalSettings {
        address: format!("http://127.0.0.1:{port}").parse().unwrap(),
        namespace: namespace.to_owned(),
        task_queue: "ibid".to_owned(),
        api_key: None,
        root_certificates: None,
    })
}

/// Asks whether the queue can be reached, and queues a run.
pub(crate) async fn ping_submit(queue: &TemporalQueue) -> Result<()> {
    queue.ping().await?;
    let turn = FleetTurn { party: "a".to_owned(), weight: 1.0 };
    queue.submit(&run_id(0).parse().unwrap(), &turn).await
}
