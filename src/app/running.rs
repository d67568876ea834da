//! A run in the hands of who began it.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;

use crate::adapters::folder::Progress;
use crate::adapters::steering::Waits;
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Run};
use crate::seams::{Follower, Log};

/// A run being worked on in this process. Dropping it stops the work; the run stays resumable.
pub struct Running {
    /// Whose.
    pub id: RunId,
    /// What happens from now on; of a new run, all that happens. A receiver that lags more than
    /// 1,024 events behind loses some; [`Running::follow`] does not.
    pub events: broadcast::Receiver<Envelope>,
    pub(super) finish: Arc<AtomicBool>,
    pub(super) log: Arc<Log>,
    pub(super) preparing: watch::Receiver<Option<Progress>>,
    /// That it waits for a person, while it does.
    pub(super) waits: watch::Receiver<Option<Waits>>,
    // One task, owned: dropping the set aborts it.
    pub(super) work: JoinSet<Result<Run>>,
}

impl Running {
    /// Write with what there is (the first Ctrl-C).
    pub fn finish(&self) {
        self.finish.store(true, Ordering::Relaxed);
    }

    /// What asks the run to finish, for who waits for its end meanwhile.
    pub fn finisher(&self) -> impl Fn() + Send + use<> {
        let finish = Arc::clone(&self.finish);
        move || finish.store(true, Ordering::Relaxed)
    }

    /// How far the work before the first search is: folders being indexed. `None` before, after, and
    /// where there is none.
    pub fn preparing(&self) -> watch::Receiver<Option<Progress>> {
        self.preparing.clone()
    }

    /// The number of the last event that is durable, as it grows; closed when the work has stopped.
    pub fn durable(&self) -> watch::Receiver<u64> {
        self.log.durable()
    }

    /// The whole story after `seq`, each event once and in order, however late one comes.
    pub fn follow(&self, seq: u64) -> Follower {
        self.log.follow_from(seq)
    }

    /// Waits for the end: the run as its events tell it, also when it failed or was cancelled.
    ///
    /// # Errors
    /// When the store fails or the work was stopped before its end; the run can then be resumed.
    pub async fn wait(self) -> Result<Run> {
        let Running { log, mut work, .. } = self;
        // Followers end when the last who could tell something is gone.
        drop(log);
        match work.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(fault)) => {
                Err(Error::new(Kind::Internal, "working on the run").because(fault))
            }
            None => Err(Error::new(Kind::Internal, "nobody works on the run")),
        }
    }
}
