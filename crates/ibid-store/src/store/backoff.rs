//! Waiting for a database server that is away.
use std::time::{Duration, Instant};

/// How long to wait for a server: longer than a restart takes, shorter than a person waits.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The pause after the first attempt. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Growing pauses between attempts, up to [`MAX_WAIT`] in all.
pub(super) struct Backoff {
    until: Instant,
    pause: Duration,
}

impl Backoff {
    pub(super) fn new() -> Backoff {
        Backoff { until: Instant::now() + MAX_WAIT, pause: FIRST_PAUSE }
    }

    /// Waits before the next attempt. Returns `false` at once when there is no time left for one.
    pub(super) async fn wait(&mut self) -> bool {
        if Instant::now() + self.pause > self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        true
    }
}
