//! The clock and the random numbers of this process. Two variables fix them, so that a run can be replayed: `IBID_CLOCK`, the time
//! in milliseconds since 1970 at which the clock stands, and `IBID_SEED`.
use std::sync::Arc;

use ibid_core::ports::{Clock, Rng};
use ibid_core::system;

pub(super) fn clock() -> Arc<dyn Clock> {
    system::clock(env_number("IBID_CLOCK"))
}

pub(super) fn rng() -> Arc<dyn Rng> {
    system::rng(env_number("IBID_SEED"))
}

fn env_number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
