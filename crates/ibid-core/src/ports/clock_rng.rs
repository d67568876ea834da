use std::sync::Mutex;

/// The current time. All code reads the time through this trait, so that runs can be replayed exactly.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC.
    fn unix_ms(&self) -> u64;
}

/// A source of random numbers.
pub trait Rng: Send + Sync {
    /// 128 random bits.
    fn next_u128(&self) -> u128;
}

/// A clock for tests and replays that advances by one millisecond per call.
pub struct FrozenClock(Mutex<u64>);

impl FrozenClock {
    /// Creates a clock that starts at `unix_ms`.
    pub fn at(unix_ms: u64) -> FrozenClock {
        FrozenClock(Mutex::new(unix_ms))
    }
}

impl Clock for FrozenClock {
    fn unix_ms(&self) -> u64 {
        let mut now = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *now += 1;
        *now
    }
}

/// Random numbers for tests and replays: the same seed gives the same bits (SplitMix64, public domain).
pub struct SeededRng(Mutex<u64>);

impl SeededRng {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> SeededRng {
        SeededRng(Mutex::new(seed))
    }
}

impl Rng for SeededRng {
    fn next_u128(&self) -> u128 {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut next = || {
            *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            u128::from(z ^ (z >> 31))
        };
        (next() << 64) | next()
    }
}
