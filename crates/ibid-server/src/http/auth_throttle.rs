//! Throttles addresses that send unknown tokens.
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::api_error::ApiError;

/// Maximum number of unknown tokens of one address within [`WINDOW`]. Honest mistakes stay below it.
const MAX_FAILURES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);

/// Maximum number of addresses remembered; the oldest makes room.
const MAX_ADDRESSES: usize = 10_000;

/// The unknown tokens of the last minute, by address.
#[derive(Debug, Default)]
pub(super) struct AuthThrottle(Mutex<HashMap<IpAddr, FailedAttempts>>);

#[derive(Debug)]
struct FailedAttempts {
    since: Instant,
    count: u32,
}

impl AuthThrottle {
    /// Checks whether `address` may try a token.
    ///
    /// # Errors
    /// 429 with `Retry-After` if it has sent too many unknown tokens.
    pub(super) fn check(&self, address: IpAddr) -> Result<(), ApiError> {
        self.check_at(address, Instant::now()).map_err(|seconds| {
            let what = "too many unknown tokens came from your address";
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_guesses", what)
                .with_hint("wait a minute, then send a valid token")
                .with_retry_after(seconds)
        })
    }

    fn check_at(&self, address: IpAddr, now: Instant) -> Result<(), u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(it) = all.get(&address).filter(|value| value.count >= MAX_FAILURES) else {
            return Ok(());
        };
        let left = WINDOW.saturating_sub(now.saturating_duration_since(it.since));
        if left.is_zero() { Ok(()) } else { Err(left.as_secs() + 1) }
    }

    /// Counts an unknown token from `address`.
    pub(super) fn record_failure(&self, address: IpAddr) {
        self.record_failure_at(address, Instant::now());
    }

    fn record_failure_at(&self, address: IpAddr, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_ADDRESSES && !all.contains_key(&address) {
            all.retain(|_, it| now.saturating_duration_since(it.since) < WINDOW);
            if all.len() >= MAX_ADDRESSES {
                let oldest = all.iter().min_by_key(|pair| pair.1.since).map(|pair| *pair.0);
                if let Some(it) = oldest {
                    all.remove(&it);
                }
            }
        }
        let it = all.entry(address).or_insert(FailedAttempts { since: now, count: 0 });
        if now.saturating_duration_since(it.since) >= WINDOW {
            *it = FailedAttempts { since: now, count: 0 };
        }
        it.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(nth: u32) -> IpAddr {
        IpAddr::V4(nth.into())
    }

    #[test]
    fn who_guesses_waits_and_others_do_not() {
        let guesses = AuthThrottle::default();
        let now = Instant::now();
        for _ in 0..MAX_FAILURES {
            assert_eq!(guesses.check_at(address(1), now), Ok(()));
            guesses.record_failure_at(address(1), now);
        }
        assert_eq!(guesses.check_at(address(1), now), Err(61));
        assert_eq!(guesses.check_at(address(2), now), Ok(()));
        let later = now + WINDOW;
        assert_eq!(guesses.check_at(address(1), later), Ok(()));
        guesses.record_failure_at(address(1), later);
        assert_eq!(guesses.check_at(address(1), later), Ok(()));
    }

    #[test]
    fn no_more_addresses_are_remembered_than_there_is_room_for() {
        let guesses = AuthThrottle::default();
        let now = Instant::now();
        for nth in 0..MAX_ADDRESSES as u32 + 100 {
            guesses.record_failure_at(address(nth), now + Duration::from_millis(u64::from(nth)));
        }
        let all = guesses.0.lock().unwrap();
        assert_eq!(all.len(), MAX_ADDRESSES);
        assert!(!all.contains_key(&address(0)), "the oldest gave way");
    }
}
