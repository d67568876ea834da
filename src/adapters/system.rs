//! The machine's clock and chance.
use std::time::{SystemTime, UNIX_EPOCH};

use crate::seams::{Chance, Clock};

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
