use std::time::Duration;

use async_trait::async_trait;

use super::CallKey;

/// The turns at services that allow so many requests a second, over all processes of a store.
///
/// Contract: while all processes name the same distance, the turns of a service are at least that far apart, whoever has them. A
/// turn that was reserved and is not used is lost.
#[async_trait]
pub trait ServiceTurns: Send + Sync {
    /// Reserves the next turns of `service` and returns how long to wait for the first. Waits while the store cannot be reached; the
    /// caller sets the deadline: it drops the future.
    ///
    /// # Errors
    /// The wait, if it is longer than that of `wanted`. Then nothing is reserved.
    async fn reserve(
        &self,
        service: &CallKey,
        wanted: WantedTurns,
    ) -> std::result::Result<Duration, Duration>;

    /// How long the service is paused. Waits as [`ServiceTurns::reserve`] does.
    async fn paused_for(&self, service: &CallKey) -> Duration;

    /// Gives no turn of `service` for the next `wait`: it asked for that. Returns at once.
    fn pause(&self, service: &CallKey, wait: Duration);
}

/// The turns that a process wants, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedTurns {
    /// How many; at least 1.
    pub count: u32,
    /// The time from one to the next.
    pub distance: Duration,
    /// The longest wait for the first.
    pub max_wait: Duration,
}
