//! The thread of Temporal's SDK. Its futures stay on one thread, so they have a runtime of their own.
use std::error::Error;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::client::{TemporalSettings, connect};
use super::worker::{FleetJob, RunActivities};
use super::workflow::RunWorkflow;
use ibid_core::retry::RetryPolicy;

/// How long a server that stops waits until Temporal knows which runs it has left. Otherwise others learn it by missing heartbeats.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// How many workflows a server handles at once, and how many looks at commands: each takes milliseconds.
const SHORT_SLOTS: usize = 32;

/// The delays before a server tries to reach Temporal again.
const RECONNECT: RetryPolicy = RetryPolicy {
    tries: u32::MAX,
    first: Duration::from_millis(500),
    factor: 2,
    longest: Duration::from_secs(10),
    deadline: Duration::MAX,
};

/// The thread, stopped on drop.
pub(super) struct WorkerThread {
    stop: watch::Sender<bool>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl WorkerThread {
    /// Starts a thread that takes up to `slots` runs at a time, and sends them to `jobs`.
    pub(super) fn start(
        settings: TemporalSettings,
        slots: usize,
        jobs: mpsc::Sender<FleetJob>,
    ) -> WorkerThread {
        let (stop, stopping) = watch::channel(false);
        let (end, ended) = channel();
        let thread = WorkerConfig { settings, slots, jobs };
        let started = thread::Builder::new()
            .name("temporal".to_owned())
            .spawn(move || thread.run(stopping, end));
        if let Err(why) = started {
            tracing::error!(%why, "fleet_not_joined");
        }
        WorkerThread { stop, ended }
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        // Only a server that stops drops it.
        let _ = self.ended.recv_timeout(STOP_TIMEOUT);
    }
}

/// What a worker works with.
struct WorkerConfig {
    settings: TemporalSettings,
    slots: usize,
    jobs: mpsc::Sender<FleetJob>,
}

impl WorkerConfig {
    /// Runs workers until `stopping` says so; `_end` is dropped after.
    fn run(self, stopping: watch::Receiver<bool>, _end: Sender<()>) {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.keep_worker(stopping)),
            Err(why) => tracing::error!(%why, "fleet_not_joined"),
        }
    }

    async fn keep_worker(&self, mut stopping: watch::Receiver<bool>) {
        let mut failures = 0;
        while !*stopping.borrow() {
            if let Err(why) = self.run_worker(&mut stopping).await {
                failures += 1;
                tracing::warn!(%why, address = %self.settings.address, "fleet_not_reached");
                let delay = RECONNECT.delay(failures);
                let _ = timeout(delay, stopping.wait_for(|it| *it)).await;
            }
        }
    }

    async fn run_worker(&self, stopping: &mut watch::Receiver<bool>) -> Result<(), Box<dyn Error>> {
        let runtime = Runtime::from_current_tokio(Default::default())?;
        let client = connect(&self.settings).await?;
        let short = FixedSizeSlotSupplier::new(SHORT_SLOTS);
        let tuner = TunerHolder::builder()
            .workflow_task_slot_supplier(short)
            .activity_task_slot_supplier(FixedSizeSlotSupplier::new(self.slots))
            .local_activity_task_slot_supplier(short)
            .nexus_task_slot_supplier(short)
            .build();
        let options = WorkerOptions::new(&self.settings.task_queue)
            .register_activities(RunActivities { jobs: self.jobs.clone() })
            .register_workflow::<RunWorkflow>()?
            .tuner(tuner)
            // Its runs are given to other servers at once.
            .graceful_shutdown_period(Duration::ZERO)
            .build();
        let mut worker = Worker::new(&runtime, client, options)?;
        let shut_down = worker.shutdown_handle();
        let mut run = pin!(worker.run());
        tokio::select! {
            ended = &mut run => return Ok(ended?),
            _ = stopping.wait_for(|it| *it) => shut_down(),
        }
        Ok(run.await?)
    }
}
