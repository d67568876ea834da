//! Runs that ended long ago are forgotten: at a word, or by a server as time goes by.
use std::time::Duration;

use tokio::time::sleep;

use super::App;
use super::accounts::DAY_MS;
use crate::error::{Error, Kind, Result};

/// How often a server looks for runs to forget.
pub const EVERY: Duration = Duration::from_secs(3_600);

/// How many runs it forgets before it lets others have their turn at the store, and how long.
const PORTION: u64 = 20;
const REST: Duration = Duration::from_secs(1);

/// Whose doing it is in the audit log.
const WHO: &str = "server";

impl App {
    /// Forgets runs that ended more than `days` days ago: how many. Where one cannot be forgotten the others are.
    ///
    /// # Errors
    /// The first fault, once all were tried.
    pub async fn purge(&self, days: u32) -> Result<u64> {
        let (gone, fault) = self.forgotten(days, Duration::ZERO).await?;
        fault.map_or(Ok(gone), Err)
    }

    /// The same in small portions, with a line in the audit log where there was something to forget.
    ///
    /// # Errors
    /// Those of [`App::purge`].
    pub async fn forget_old(&self, days: u32) -> Result<u64> {
        let (gone, fault) = self.forgotten(days, REST).await?;
        if gone > 0 || fault.is_some() {
            let on = format!("older than {days} days");
            let outcome = match &fault {
                None => format!("forgot {gone}"),
                Some(it) => format!("forgot {gone}, then failed: {}", it.chain()),
            };
            self.audit(WHO, "runs.purge", &on, &outcome).await?;
        }
        fault.map_or(Ok(gone), Err)
    }

    async fn forgotten(&self, days: u32, rest: Duration) -> Result<(u64, Option<Error>)> {
        let before = self.now(-DAY_MS * i64::from(days));
        let ended = self.accounts().await?.ended_before(&before).await?;
        let (mut gone, mut fault) = (0, None);
        for run in ended {
            match self.remove(&run).await {
                Ok(()) => {
                    gone += 1;
                    if gone % PORTION == 0 && !rest.is_zero() {
                        sleep(rest).await;
                    }
                }
                // Somebody else was faster.
                Err(it) if it.kind() == Kind::NotFound => {}
                Err(it) => fault = fault.or(Some(it)),
            }
        }
        Ok((gone, fault))
    }
}

/// Forgets what is older than `days` says, now and after each `rest`, until this is dropped; where it says nothing, nothing is
/// forgotten. `told` hears how each time went that something was done.
pub async fn forgetting(
    app: &App,
    rest: impl AsyncFn(),
    days: impl Fn() -> Option<u32>,
    told: impl Fn(u32, Result<u64>),
) {
    loop {
        if let Some(days) = days() {
            match app.forget_old(days).await {
                Ok(0) => {}
                outcome => told(days, outcome),
            }
        }
        rest().await;
    }
}
