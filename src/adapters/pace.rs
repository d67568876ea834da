//! How often a service may be asked: turns at even distances, and silence where the service asks for it.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The longest that a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// The paces of a process: one a service and key, whoever asks and in whichever run.
#[derive(Debug, Default)]
pub struct Paces(Mutex<BTreeMap<String, Arc<Pace>>>);

impl Paces {
    /// The pace known as `name`: the one there is, or a new one of a turn every `distance`.
    pub fn of(&self, name: &str, distance: Duration) -> Arc<Pace> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Pace::every(distance));
        Arc::clone(known.entry(name.to_owned()).or_insert_with(new))
    }
}

/// Turns at one service, at even distances: no two calls of a second can fall together, as they can with a bucket.
#[derive(Debug)]
pub struct Pace {
    distance: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// A turn every `distance`; the first at once.
    pub fn every(distance: Duration) -> Pace {
        Pace {
            distance,
            next: Mutex::new(None),
        }
    }

    /// Waits for a turn; how long it would be where that is longer than anybody waits.
    ///
    /// # Errors
    /// The wait that is left.
    pub async fn turn(&self) -> Result<(), Duration> {
        self.turn_apart(self.distance, PATIENCE).await
    }

    /// Waits for a turn at most `patience`; the next one comes `distance` later.
    ///
    /// # Errors
    /// The wait that is left.
    pub async fn turn_apart(&self, distance: Duration, patience: Duration) -> Result<(), Duration> {
        let at = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let at = next.map_or(now, |it| it.max(now));
            let wait = at.saturating_duration_since(now);
            if wait > patience {
                return Err(wait);
            }
            *next = Some(at + distance);
            at
        };
        sleep_until(at).await;
        Ok(())
    }

    /// Lets nobody ask for the next `wait`.
    pub fn rest(&self, wait: Duration) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + wait;
        *next = Some(next.map_or(until, |it| it.max(until)));
    }

    /// Whether nobody need wait.
    pub fn is_free(&self) -> bool {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.is_none_or(|it| it <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_a_distance_apart() {
        let pace = Pace::every(Duration::from_secs(3));
        let begun = Instant::now();
        for _ in 0..3 {
            pace.turn().await.unwrap();
        }
        assert_eq!(begun.elapsed(), Duration::from_secs(6));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_service_that_wants_to_be_left_alone_for_long() {
        let pace = Pace::every(Duration::from_millis(1));
        pace.rest(Duration::from_secs(3600));
        assert!(pace.turn().await.unwrap_err() > Duration::from_secs(3000));
        pace.rest(Duration::ZERO);
        assert!(pace.turn().await.is_err());
    }
}
