//! Tokens that are not known here, by the address that sent them: who guesses has to wait.
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::fault::Fault;

/// Wrong tokens of one address that are answered within [`SPAN`]. An operator's or a program's mistakes stay below.
const MOST: u32 = 20;
const SPAN: Duration = Duration::from_secs(60);

/// Addresses remembered at most; the one that guessed longest ago gives way.
const MOST_ADDRESSES: usize = 10_000;

/// The wrong tokens of the last minute.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<HashMap<IpAddr, Wrong>>);

#[derive(Debug)]
struct Wrong {
    since: Instant,
    count: u32,
}

impl Guesses {
    /// Refuses a token from `address` where too many were wrong, whether this one is or not.
    ///
    /// # Errors
    /// 429, with the seconds after which to try again.
    pub(super) fn admit(&self, address: IpAddr) -> Result<(), Fault> {
        self.admit_at(address, Instant::now()).map_err(|seconds| {
            let what = "too many unknown tokens came from your address";
            Fault::new(StatusCode::TOO_MANY_REQUESTS, "too_many_guesses", what)
                .hint("wait for a minute, then send the right token")
                .after(seconds)
        })
    }

    fn admit_at(&self, address: IpAddr, now: Instant) -> Result<(), u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(it) = all.get(&address).filter(|it| it.count >= MOST) else {
            return Ok(());
        };
        let left = SPAN.saturating_sub(now.saturating_duration_since(it.since));
        match left.is_zero() {
            true => Ok(()),
            false => Err(left.as_secs() + 1),
        }
    }

    /// Counts a wrong token from `address`.
    pub(super) fn count(&self, address: IpAddr) {
        self.count_at(address, Instant::now());
    }

    fn count_at(&self, address: IpAddr, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_ADDRESSES && !all.contains_key(&address) {
            all.retain(|_, it| now.saturating_duration_since(it.since) < SPAN);
            if all.len() >= MOST_ADDRESSES {
                let oldest = all.iter().min_by_key(|it| it.1.since).map(|it| *it.0);
                if let Some(it) = oldest {
                    all.remove(&it);
                }
            }
        }
        let it = all.entry(address).or_insert(Wrong {
            since: now,
            count: 0,
        });
        if now.saturating_duration_since(it.since) >= SPAN {
            *it = Wrong {
                since: now,
                count: 0,
            };
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
        let guesses = Guesses::default();
        let now = Instant::now();
        for _ in 0..MOST {
            assert_eq!(guesses.admit_at(address(1), now), Ok(()));
            guesses.count_at(address(1), now);
        }
        assert_eq!(guesses.admit_at(address(1), now), Err(61));
        assert_eq!(guesses.admit_at(address(2), now), Ok(()));
        let later = now + SPAN;
        assert_eq!(guesses.admit_at(address(1), later), Ok(()));
        guesses.count_at(address(1), later);
        assert_eq!(guesses.admit_at(address(1), later), Ok(()));
    }

    #[test]
    fn no_more_addresses_are_remembered_than_there_is_room_for() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for nth in 0..MOST_ADDRESSES as u32 + 100 {
            guesses.count_at(address(nth), now + Duration::from_millis(u64::from(nth)));
        }
        let all = guesses.0.lock().unwrap();
        assert_eq!(all.len(), MOST_ADDRESSES);
        assert!(!all.contains_key(&address(0)), "the oldest gave way");
    }
}
