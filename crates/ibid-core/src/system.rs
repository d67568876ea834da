//! The system clock and random number generator.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::ports::{Clock, FrozenClock, Rng, SeededRng};

/// The system clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis() as u64)
    }
}

/// The system's random number generator.
pub struct SystemRng;

impl Rng for SystemRng {
    fn next_u128(&self) -> u128 {
        rand::random()
    }
}

/// Returns the system clock or, if `frozen_at` is given (milliseconds since 1970), a frozen clock that starts there,
/// so that a run can be replayed.
pub fn clock(frozen_at: Option<u64>) -> Arc<dyn Clock> {
    match frozen_at {
        Some(at) => Arc::new(FrozenClock::at(at)),
        None => Arc::new(SystemClock),
    }
}

/// Returns the system's random number generator or, if `seed` is given, a seeded one, so that a run can be replayed.
pub fn rng(seed: Option<u64>) -> Arc<dyn Rng> {
    match seed {
        Some(seed) => Arc::new(SeededRng::new(seed)),
        None => Arc::new(SystemRng),
    }
}
