//! The machine's clock and chance.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::seams::{Chance, Clock, FrozenClock, SeededChance};

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |it| it.as_millis() as u64)
    }
}

/// The machine's chance.
pub struct SystemChance;

impl Chance for SystemChance {
    fn bits(&self) -> u128 {
        rand::random()
    }
}

/// The clock to use: the machine's, or a frozen one that begins at `IBID_CLOCK` (milliseconds since
/// 1970) where that is set, so that a run can be replayed.
pub fn clock() -> Arc<dyn Clock> {
    match number("IBID_CLOCK") {
        Some(at) => Arc::new(FrozenClock::at(at)),
        None => Arc::new(SystemClock),
    }
}

/// The chance to use: the machine's, or that of the seed `IBID_SEED` where that is set, so that a
/// run can be replayed.
pub fn chance() -> Arc<dyn Chance> {
    match number("IBID_SEED") {
        Some(seed) => Arc::new(SeededChance::new(seed)),
        None => Arc::new(SystemChance),
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
