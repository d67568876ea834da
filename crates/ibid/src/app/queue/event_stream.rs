//! Following the events of a run, whichever process works on it.
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::Queue;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::ports::RunSubscription;
use ibid_core::record::Envelope;

/// How often the store is read for a run of another process, and for one that waits in this queue, where nobody tells of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often it is read where other processes tell of changes. Of those that one did not tell, the store does.
const MISSED_INTERVAL: Duration = Duration::from_secs(300);

/// The durable events of a run after some event, each once and in order.
pub struct EventStream {
    queue: Arc<Queue>,
    run: RunId,
    after: u64,
    changed: Arc<Notify>,
    /// `None` where nobody tells of changes.
    changes: Option<Box<dyn RunSubscription>>,
}

impl Queue {
    /// Follows a run from the event after the sequence number `after`, whichever process works on it.
    pub fn follow(self: &Arc<Self>, run: &RunId, after: u64) -> EventStream {
        let (queue, run, changed) = (Arc::clone(self), run.clone(), Arc::default());
        EventStream { queue, run, after, changed, changes: None }
    }
}

impl EventStream {
    /// The next events; `None` after the last event of an ended run.
    ///
    /// # Errors
    /// When the store cannot be read. The next call continues at the same place.
    pub async fn next(&mut self) -> Result<Option<Vec<Envelope>>> {
        loop {
            if self.changes.is_none() {
                let wakeups = self.queue.app.wakeups();
                let changes = wakeups.map(|it| it.subscribe(&self.run, Arc::clone(&self.changed)));
                self.changes = changes;
            }
            // Subscribed before the store is read, so that no event is missed in between.
            let mut local = self.queue.durable_seq(&self.run);
            let durable = local.as_mut().and_then(|it| it.borrow_and_update().clone());
            let advanced = match durable {
                // An error means that the worker has stopped; the store then has its last events.
                Some(mut it) => it.wait_for(|it| *it > self.after).await.is_ok(),
                None => false,
            };
            let found = self.queue.app.events(&self.run, self.after).await?;
            if let Some(last) = found.last() {
                self.after = last.seq;
                return Ok(Some(found));
            }
            if self.queue.app.row(&self.run).await?.status.ended() {
                return Ok(None);
            }
            if advanced {
                continue;
            }
            let pause = match (&self.changes, &local) {
                (Some(_), _) => MISSED_INTERVAL,
                (None, Some(_)) => IDLE_POLL_INTERVAL,
                (None, None) => POLL_INTERVAL,
            };
            // Changes when a worker starts or stops the run here.
            let local_changed = async {
                match &mut local {
                    Some(local) => drop(local.changed().await),
                    None => pending().await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = local_changed => {}
                () = sleep(pause) => {}
            }
        }
    }
}
