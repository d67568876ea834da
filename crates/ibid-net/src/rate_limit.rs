//! Rate limits of services: evenly spaced calls, and pauses when the service asks for one.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Maximum time that a call waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The rate limiters of a process: one for each service and key, shared by all runs.
#[derive(Debug, Default)]
pub struct RateLimiters(Mutex<BTreeMap<String, Arc<RateLimiter>>>);

impl RateLimiters {
    /// Returns the limiter `name`, or creates one with a turn every `distance`.
    pub fn get(&self, name: &str, distance: Duration) -> Arc<RateLimiter> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(RateLimiter::new(distance));
        Arc::clone(known.entry(name.to_owned()).or_insert_with(new))
    }
}

/// Evenly spaced turns at one service. Unlike a token bucket, it never allows two calls at once.
#[derive(Debug)]
pub struct RateLimiter {
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl RateLimiter {
    /// Creates a limiter with a turn every `distance`; the first one is immediate.
    pub fn new(distance: Duration) -> RateLimiter {
        RateLimiter { interval: distance, next: Mutex::new(None) }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The remaining wait, if it exceeds the maximum.
    pub async fn acquire(&self) -> Result<(), Duration> {
        self.acquire_spaced(self.interval, MAX_WAIT).await
    }

    /// Waits for a turn, at most `max_wait`. The next turn is `distance` later.
    ///
    /// # Errors
    /// The remaining wait.
    pub(crate) async fn acquire_spaced(
        &self,
        distance: Duration,
        max_wait: Duration,
    ) -> Result<(), Duration> {
        let at = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let at = next.map_or(now, |it| it.max(now));
            let wait = at.saturating_duration_since(now);
            if wait > max_wait {
                return Err(wait);
            }
            *next = Some(at + distance);
            at
        };
        sleep_until(at).await;
        Ok(())
    }

    /// Blocks all calls for the next `wait`.
    pub fn pause_for(&self, wait: Duration) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + wait;
        *next = Some(next.map_or(until, |it| it.max(until)));
    }

    /// Whether a turn is available now.
    pub fn is_ready(&self) -> bool {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.is_none_or(|it| it <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_a_distance_apart() {
        let pace = RateLimiter::new(Duration::from_secs(3));
        let begun = Instant::now();
        for _ in 0..3 {
            pace.acquire().await.unwrap();
        }
        assert_eq!(begun.elapsed(), Duration::from_secs(6));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_service_that_wants_to_be_left_alone_for_long() {
        let pace = RateLimiter::new(Duration::from_millis(1));
        pace.pause_for(Duration::from_secs(3600));
        assert!(pace.acquire().await.unwrap_err() > Duration::from_secs(3000));
        pace.pause_for(Duration::ZERO);
        assert!(pace.acquire().await.is_err());
    }
}
