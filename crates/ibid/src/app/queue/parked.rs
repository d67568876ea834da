//! Parked runs: they have waited for input so long that they gave up their slot.
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use ibid_store::steering::UserWait;

/// How often the store is read for commands to parked runs that came through another process. Orders through this process wake them at once.
pub(super) const PARKED_POLL_INTERVAL: Duration = Duration::from_secs(300);

/// What a waiting run waits for.
#[derive(Clone, Copy)]
pub(super) enum WaitReason {
    /// A slot.
    None,
    /// The time of the next try.
    Until(Instant),
    /// Input: more commands than the number that it has seen, or the time at which it continues without any.
    User(usize, Option<Instant>),
}

impl WaitReason {
    /// When the wait ends without input.
    pub(super) fn deadline(self) -> Option<Instant> {
        match self {
            WaitReason::None => None,
            WaitReason::Until(at) => Some(at),
            WaitReason::User(_, until) => until,
        }
    }

    pub(super) fn is_for_person(self) -> bool {
        matches!(self, WaitReason::User(..))
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        matches!(self, WaitReason::None) || self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

/// Resolves when a run has waited for input longer than `patience`, or waits for input while `crowded` says that another run needs its
/// slot. Returns what the run then waits for.
pub(super) async fn wait_until_parked(
    mut waits: watch::Receiver<Option<UserWait>>,
    patience: Duration,
    mut crowded: watch::Receiver<bool>,
) -> WaitReason {
    while waits.wait_for(Option::is_some).await.is_ok() {
        let continued = tokio::select! {
            biased;
            continued = timeout(patience, waits.wait_for(Option::is_none)) => continued.ok().map(|it| it.is_ok()),
            Ok(_) = crowded.wait_for(|it| *it) => None,
        };
        let waiting = *waits.borrow();
        let worker_lives = match (continued, waiting) {
            (Some(it), _) => it,
            (None, None) => true,
            // The deadline has passed: the run is about to continue without input.
            (None, Some(it)) if it.until.is_some_and(|at| at <= Instant::now()) => {
                waits.wait_for(Option::is_none).await.is_ok()
            }
            (None, Some(it)) => return WaitReason::User(it.commands_seen, it.until),
        };
        if !worker_lives {
            break;
        }
    }
    // The worker has stopped; its handle reports that.
    std::future::pending().await
}
