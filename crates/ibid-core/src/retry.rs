//! When to try again what failed.
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::ports::Rng;

/// How often and how long to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum attempts, including the first one.
    pub tries: u32,
    /// Delay after the first failure.
    pub first: Duration,
    /// By how much the delay grows with each further failure.
    pub factor: u32,
    /// Upper limit of the grown delay.
    pub longest: Duration,
    /// How long after the start the last attempt may begin.
    pub deadline: Duration,
}

impl RetryPolicy {
    /// Creates a policy with the same delay after each failure.
    pub const fn fixed(tries: u32, delay: Duration) -> RetryPolicy {
        RetryPolicy { tries, first: delay, factor: 1, longest: delay, deadline: Duration::MAX }
    }

    /// Begins the first attempt. Time is measured by tokio's clock, which changes of the system clock do not affect.
    pub fn begin(self) -> Backoff {
        Backoff { policy: self, begun: Instant::now(), failures: 0 }
    }

    /// Returns the delay after the `nth` failure, counted from 1.
    pub fn delay(&self, nth: u32) -> Duration {
        let grown = self.factor.saturating_pow(nth.saturating_sub(1));
        self.first.saturating_mul(grown).min(self.longest)
    }
}

/// The failures of one operation so far.
#[derive(Debug)]
pub struct Backoff {
    policy: RetryPolicy,
    begun: Instant,
    failures: u32,
}

impl Backoff {
    /// How many failures were counted.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure and returns the delay before the next attempt, or `None` to give up.
    ///
    /// `requested` is the delay that the server asked for; it replaces the delay of the policy. With `chance` the delay
    /// is random between zero and that of the policy (full jitter), so that calls which failed together are not
    /// repeated together. A requested delay then gets a small random addition.
    pub fn next_delay(
        &mut self,
        requested: Option<Duration>,
        chance: Option<&dyn Rng>,
    ) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.policy.tries {
            return None;
        }
        let bound = self.policy.delay(self.failures);
        let drawn = chance.map(|rng| bound.mul_f64(random_share(rng)));
        let wait = match (requested, drawn) {
            (Some(asked), Some(drawn)) => asked.saturating_add(drawn.min(asked / 10)),
            (asked, drawn) => asked.or(drawn).unwrap_or(bound),
        };
        let left = self.policy.deadline.checked_sub(self.begun.elapsed())?;
        (wait <= left).then_some(wait)
    }

    /// Counts a failure and waits before the next attempt. Returns `false` at once to give up.
    pub async fn wait(&mut self) -> bool {
        let Some(delay) = self.next_delay(None, None) else {
            return false;
        };
        sleep(delay).await;
        true
    }
}

/// A random number from 0 to 1.
fn random_share(chance: &dyn Rng) -> f64 {
    let share = (chance.next_u128() >> 64) as u64 as f64 / u64::MAX as f64;
    share.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SeededRng;

    const SECOND: Duration = Duration::from_secs(1);
    const POLICY: RetryPolicy = RetryPolicy {
        tries: 4,
        first: SECOND,
        factor: 3,
        longest: Duration::from_secs(5),
        deadline: Duration::from_secs(60),
    };

    #[test]
    fn delays_grow_to_the_longest_and_end_with_the_tries() {
        let mut backoff = POLICY.begin();
        let delays = [(); 4].map(|()| backoff.next_delay(None, None));
        assert_eq!(delays, [Some(SECOND), Some(SECOND * 3), Some(SECOND * 5), None]);
        assert_eq!(RetryPolicy::fixed(u32::MAX, SECOND).delay(u32::MAX), SECOND);
    }

    #[test]
    fn a_requested_delay_counts_unless_it_is_beyond_the_deadline() {
        assert_eq!(POLICY.begin().next_delay(Some(SECOND * 40), None), Some(SECOND * 40));
        assert_eq!(POLICY.begin().next_delay(Some(SECOND * 61), None), None);
    }

    #[test]
    fn chance_spreads_delays() {
        let rng = SeededRng::new(7);
        for _ in 0..100 {
            let delay = POLICY.begin().next_delay(None, Some(&rng)).unwrap();
            assert!(delay <= SECOND, "{delay:?}");
            let delay = POLICY.begin().next_delay(Some(SECOND), Some(&rng)).unwrap();
            assert!(delay >= SECOND && delay <= SECOND + SECOND / 10, "{delay:?}");
        }
    }
}
