//! Following the events of a run, whichever process works on it.
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Queue;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::record::Envelope;

/// How often the store is read for a run of another process, and for one that waits in this queue.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The durable events of a run after some event, each once and in order.
pub struct EventStream {
    queue: Arc<Queue>,
    run: RunId,
    after: u64,
}

impl Queue {
    /// Follows a run from the event after the sequence number `after`, whichever process works on it.
    pub fn follow(self: &Arc<Self>, run: &RunId, after: u64) -> EventStream {
        EventStream { queue: Arc::clone(self), run: run.clone(), after }
    }
}

impl EventStream {
    /// The next events; `None` after the last event of an ended run.
    ///
    /// # Errors
    /// When the store cannot be read. The next call continues at the same place.
    pub async fn next(&mut self) -> Result<Option<Vec<Envelope>>> {
        loop {
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
            match local {
                _ if advanced => {}
                // Changes when a worker starts or stops the run here.
                Some(mut local) => {
                    let _ = timeout(IDLE_POLL_INTERVAL, local.changed()).await;
                }
                None => sleep(POLL_INTERVAL).await,
            }
        }
    }
}
