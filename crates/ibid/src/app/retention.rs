//! Deletes runs that ended long ago: on request, or regularly by a server.
use std::time::Duration;

use tokio::time::sleep;

use super::App;
use super::accounts::DAY_MS;
use ibid_core::{Error, ErrorKind, Result};

/// How often a server looks for runs to delete.
pub const PURGE_INTERVAL: Duration = Duration::from_secs(3_600);

/// The runs that a server deletes in one batch, and the pause after each batch, in which the store is free for others.
const BATCH_SIZE: u64 = 20;
const BATCH_PAUSE: Duration = Duration::from_secs(1);

/// How old an object without a page must be to be deleted: longer than a page takes from its object to its row, whatever
/// the clocks of the machines say.
const SWEEP_GRACE_MS: i64 = DAY_MS;

/// The actor in the audit log.
const AUDIT_ACTOR: &str = "server";

impl App {
    /// Deletes the runs that ended more than `days` days ago, and the traces of other tools. Returns how many runs.
    ///
    /// # Errors
    /// The first fault, after all runs were tried.
    pub async fn purge(&self, days: u32) -> Result<u64> {
        let (deleted, fault) = self.purge_with_pause(days, Duration::ZERO).await?;
        fault.map_or(Ok(deleted), Err)
    }

    /// Deletes objects of the object store that belong to no page and are older than a day: those of deleted runs, and
    /// those of runs that were killed. Returns how many.
    ///
    /// # Errors
    /// Those of the store and of its object store.
    pub async fn sweep_pages(&self) -> Result<u64> {
        let before = self.current_time() - jiff::SignedDuration::from_millis(SWEEP_GRACE_MS);
        self.store().await?.sweep_pages(before).await
    }

    /// Like [`App::purge`], in batches, with a line in the audit log when there was something to delete.
    ///
    /// # Errors
    /// Those of [`App::purge`].
    pub async fn purge_expired(&self, days: u32) -> Result<u64> {
        let (deleted, fault) = self.purge_with_pause(days, BATCH_PAUSE).await?;
        if deleted > 0 || fault.is_some() {
            let on = format!("older than {days} days");
            let outcome = match &fault {
                None => format!("deleted {deleted}"),
                Some(it) => format!("deleted {deleted}, then failed: {}", it.chain()),
            };
            self.record_audit(AUDIT_ACTOR, "runs.purge", &on, &outcome).await?;
        }
        fault.map_or(Ok(deleted), Err)
    }

    async fn purge_with_pause(&self, days: u32, pause: Duration) -> Result<(u64, Option<Error>)> {
        let before = self.timestamp_after(-DAY_MS * i64::from(days));
        let ended = self.accounts().await?.runs_ended_before(&before).await?;
        let store = self.store().await?;
        store.remove_traces_ended_before(&before).await?;
        // Where it cannot be done now, the events go with their runs.
        let mut fault = store.drop_event_months(&before).await.err();
        let mut deleted = 0;
        for run in ended {
            match self.remove(&run).await {
                Ok(()) => {
                    deleted += 1;
                    if deleted % BATCH_SIZE == 0 && !pause.is_zero() {
                        sleep(pause).await;
                    }
                }
                // Another process deleted it.
                Err(it) if it.kind() == ErrorKind::NotFound => {}
                Err(it) => fault = fault.or(Some(it)),
            }
        }
        if deleted > 0 {
            fault = fault.or(self.sweep_pages().await.err());
        }
        Ok((deleted, fault))
    }
}

/// Deletes expired runs now and after each `pause`, until the future is dropped. `days` is the age limit; `None` deletes nothing.
/// `on_purge` is called with the outcome of each purge that deleted runs or failed.
pub async fn purge_loop(
    app: &App,
    pause: impl AsyncFn(),
    days: impl Fn() -> Option<u32>,
    on_purge: impl Fn(u32, Result<u64>),
) {
    loop {
        if let Some(days) = days() {
            match app.purge_expired(days).await {
                Ok(0) => {}
                outcome => on_purge(days, outcome),
            }
        }
        pause().await;
    }
}
