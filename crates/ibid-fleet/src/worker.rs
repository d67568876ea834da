//! The worker of a server: it takes runs from Temporal and hands them to the server's own tasks.
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::interval;

use ibid_core::ports::WorkResult;

/// How often a server tells Temporal that it works on a run.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// A run to be worked on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkInput {
    /// The id of the run.
    pub run: String,
    /// How often it has failed in a row.
    pub failures: u32,
}

/// What Temporal asks of a server.
pub(super) enum FleetJob {
    Work(WorkInput, oneshot::Sender<WorkResult>),
    Look((String, usize), oneshot::Sender<bool>),
}

/// The activities of a server. They run in the runtime of Temporal's SDK, and send the work to that of the server.
pub struct RunActivities {
    pub(super) jobs: mpsc::Sender<FleetJob>,
}

#[activities]
impl RunActivities {
    /// Works on a run until it ends or cannot go on.
    #[activity(name = "work")]
    pub async fn work(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: WorkInput,
    ) -> Result<WorkResult, ActivityError> {
        let (reply, result) = oneshot::channel();
        let sent = self.jobs.send(FleetJob::Work(input, reply)).await;
        let heartbeats = async {
            let mut ticks = interval(HEARTBEAT_INTERVAL);
            loop {
                ticks.tick().await;
                // One that is not sent is like one that is lost: the next follows.
                let _ = ctx.record_heartbeat(()).await;
            }
        };
        // Dropping `result` stops the work: another server may have the run by now.
        let result = tokio::select! {
            result = result => result.ok().filter(|_| sent.is_ok()),
            () = ctx.cancelled() => None,
            () = heartbeats => None,
        };
        // Another server is to go on at once.
        Ok(result.unwrap_or(WorkResult::NotEnded { after_ms: 0, failed: false }))
    }

    /// Whether a run that waits for input has more commands than it has seen.
    #[activity(name = "is_due")]
    pub async fn is_due(
        self: Arc<Self>,
        _ctx: ActivityContext,
        seen: (String, usize),
    ) -> Result<bool, ActivityError> {
        let (reply, due) = oneshot::channel();
        let sent = self.jobs.send(FleetJob::Look(seen, reply)).await;
        // A server that stops cannot say. Waking the run is safe.
        Ok(sent.is_err() || due.await.unwrap_or(true))
    }
}
