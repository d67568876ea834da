//! Hearing a run, whoever works on it.
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Queue;
use crate::domain::RunId;
use crate::error::Result;
use crate::record::Envelope;

/// How often a run that another process works on is looked at, and one that waits here.
const LOOK: Duration = Duration::from_millis(250);
const LOOK_WAITING: Duration = Duration::from_secs(2);

/// One who hears a run from some event on: each event once, in order, none before it is durable.
pub struct Story {
    pub(super) queue: Arc<Queue>,
    pub(super) run: RunId,
    pub(super) after: u64,
}

impl Story {
    /// The next events; `None` when the run has ended and all is heard.
    ///
    /// # Errors
    /// When the store cannot be read; asking again goes on at the same place.
    pub async fn next(&mut self) -> Result<Option<Vec<Envelope>>> {
        loop {
            // Looked up before the store is, so that nothing slips between.
            let mut told = self.queue.told(&self.run);
            let durable = told.as_mut().and_then(|it| it.borrow_and_update().clone());
            let here = match durable {
                // An error says that the work has stopped; then the store has the last word.
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
            match told {
                _ if here => {}
                // It begins here, or has stopped and is nobody's here any more; both wake who hears it.
                Some(mut told) => {
                    let _ = timeout(LOOK_WAITING, told.changed()).await;
                }
                None => sleep(LOOK).await,
            }
        }
    }
}
