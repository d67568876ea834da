//! The handle of a run that this process works on.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;

use ibid_core::domain::RunId;
use ibid_core::ports::{EventFollower, EventLog};
use ibid_core::record::{Envelope, Run};
use ibid_core::{Error, ErrorKind, Result};
use ibid_index::folder::IndexProgress;
use ibid_store::steering::UserWait;

/// A run that this process works on. Dropping the handle stops the work; the run can be resumed.
pub struct RunHandle {
    /// The id of the run.
    pub id: RunId,
    /// The events from now on; of a new run, all events. A receiver that lags more than 1,024 events behind loses some;
    /// [`RunHandle::follow`] does not.
    pub events: broadcast::Receiver<Envelope>,
    pub(super) finish: Arc<AtomicBool>,
    pub(super) log: Arc<EventLog>,
    pub(super) preparing: watch::Receiver<Option<IndexProgress>>,
    /// The input that the run waits for, while it does.
    pub(super) waits: watch::Receiver<Option<UserWait>>,
    // Holds one task. Dropping the set aborts it.
    pub(super) work: JoinSet<Result<Run>>,
}

impl RunHandle {
    /// Stops the research and lets the run write its report from the evidence so far, as the first Ctrl-C does.
    pub fn finish(&self) {
        self.finish.store(true, Ordering::Relaxed);
    }

    /// A function that does what [`RunHandle::finish`] does, for a caller that awaits [`RunHandle::wait`] meanwhile.
    pub fn finish_handle(&self) -> impl Fn() + Send + use<> {
        let finish = Arc::clone(&self.finish);
        move || finish.store(true, Ordering::Relaxed)
    }

    /// The progress of the preparation: folders that are being indexed before the first search. `None` before and after.
    pub fn preparation(&self) -> watch::Receiver<Option<IndexProgress>> {
        self.preparing.clone()
    }

    /// The sequence number of the last durable event. Closed when the work has stopped.
    pub fn durable_seq(&self) -> watch::Receiver<u64> {
        self.log.durable_seq()
    }

    /// Follows the events after the sequence number `seq`, each once and in order.
    pub fn follow(&self, seq: u64) -> EventFollower {
        self.log.follow_from(seq)
    }

    /// Waits for the end of the run. Returns it also when it failed or was cancelled.
    ///
    /// # Errors
    /// When the store fails or the work was stopped. The run can then be resumed.
    pub async fn wait(self) -> Result<Run> {
        let RunHandle { log, mut work, .. } = self;
        // Followers end when the last log is dropped.
        drop(log);
        match work.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(fault)) => {
                Err(Error::new(ErrorKind::Internal, "the run's task failed").with_source(fault))
            }
            None => Err(Error::new(ErrorKind::Internal, "the worker has stopped")),
        }
    }
}
