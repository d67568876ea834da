//! Finding the runs that no process works on.
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Queue, QueuedRun};
use ibid_core::record::{Envelope, Event};
use ibid_core::{ErrorKind, Result};

/// How often a server looks for the runs of servers that have stopped, and the largest random addition, milliseconds, so that servers do
/// not all look at once. Together with the time after which a server counts as stopped this stays below 35 seconds.
const ADOPT_INTERVAL: Duration = Duration::from_secs(8);
const JITTER_MS: u64 = 3_000;

impl Queue {
    /// Adds the accepted runs of the store that have not ended and that no process works on. Returns how many.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn recover(&self) -> Result<usize> {
        if self.fleet.is_some() {
            return Ok(0);
        }
        if let Some(found) = self.adopt_abandoned().await? {
            return Ok(found);
        }
        let mut found = 0;
        // The store lists the newest first; the oldest has waited longest.
        for row in self.app.runs().await?.into_iter().rev() {
            if row.status.ended() || self.app.is_running(&row.run_id).await? {
                continue;
            }
            let past = self.app.events(&row.run_id, 0).await?;
            let was_queued =
                |envelope: &Envelope| matches!(envelope.event, Event::RunQueued { .. });
            if !past.iter().any(was_queued) {
                // A run of the command line: its user decides whether to resume it.
                continue;
            }
            found += 1;
            self.push(QueuedRun::new(row.run_id, row.owner));
        }
        Ok(found)
    }

    /// Adds the runs of servers that have stopped. Returns how many, or `None` when no other server shares the store.
    async fn adopt_abandoned(&self) -> Result<Option<usize>> {
        let Some(abandoned) = self.app.abandoned_runs().await? else {
            return Ok(None);
        };
        let mut found = 0;
        for run in abandoned {
            if self.contains(&run) {
                continue;
            }
            let row = match self.app.row(&run).await {
                // Deleted meanwhile.
                Err(fault) if fault.kind() == ErrorKind::NotFound => continue,
                row => row?,
            };
            found += 1;
            self.push(QueuedRun::new(run, row.owner));
        }
        Ok(Some(found))
    }

    /// Adds the runs of servers that have stopped, at intervals.
    pub(super) async fn adopt_loop(self: Arc<Self>) {
        loop {
            self.sleep_until_look().await;
            // When the store cannot be reached now, the next round finds them.
            if matches!(self.adopt_abandoned().await, Ok(None)) {
                return;
            }
        }
    }

    /// Waits until it is time to look for runs again.
    pub(super) async fn sleep_until_look(&self) {
        let jitter = (self.app.random_bits() % u128::from(JITTER_MS)) as u64;
        sleep(ADOPT_INTERVAL + Duration::from_millis(jitter)).await;
    }
}
