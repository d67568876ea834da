//! Rate limits of services: evenly spaced calls, and pauses when the service asks for one.
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, sleep_until, timeout_at};

use ibid_core::ports::{CallKey, ServiceTurns, WantedTurns};

/// Maximum time that a call waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Maximum number of turns that a process reserves at once among other processes.
const MAX_BATCH: u32 = 8;

/// A turn that was reserved so long before may be in a pause that another process was told of since.
const CHECK_AFTER: Duration = Duration::from_secs(1);

/// The rate limiters of a process: one for each service and key, shared by all runs.
#[derive(Default)]
pub struct RateLimiters {
    known: Mutex<BTreeMap<String, Arc<RateLimiter>>>,
    turns: SharedTurns,
}

/// The turns that other processes take part in, once they are known.
type SharedTurns = Arc<OnceLock<Arc<dyn ServiceTurns>>>;

impl RateLimiters {
    /// Returns the limiter `name`, or creates one with a turn every `distance`.
    pub fn get(&self, name: &str, distance: Duration) -> Arc<RateLimiter> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            // An address may contain a password.
            let service = CallKey::new(name, "");
            let others = Some((service, Arc::clone(&self.turns)));
            Arc::new(RateLimiter { others, ..RateLimiter::new(distance) })
        };
        Arc::clone(known.entry(name.to_owned()).or_insert_with(new))
    }

    /// From now on, turns are taken among the other processes that use `turns`. Only the first call has an effect.
    pub fn share(&self, turns: &Arc<dyn ServiceTurns>) {
        self.turns.get_or_init(|| Arc::clone(turns));
    }
}

/// Evenly spaced turns at one service. Unlike a token bucket, it never allows two calls at once.
pub struct RateLimiter {
    interval: Duration,
    next: Mutex<Option<Instant>>,
    /// The service, and the turns of all processes.
    others: Option<(CallKey, SharedTurns)>,
    /// The calls that wait for a turn among those of other processes.
    waiting: AtomicU32,
    /// The turns that were reserved for calls that wait.
    reserved: AsyncMutex<VecDeque<Instant>>,
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let service = self.others.as_ref().map(|others| &others.0);
        f.debug_struct("RateLimiter")
            .field("interval", &self.interval)
            .field("next", &self.next)
            .field("service", &service)
            .finish_non_exhaustive()
    }
}

impl RateLimiter {
    /// Creates a limiter with a turn every `distance`; the first one is immediate.
    pub fn new(distance: Duration) -> RateLimiter {
        RateLimiter {
            interval: distance,
            next: Mutex::new(None),
            others: None,
            waiting: AtomicU32::new(0),
            reserved: AsyncMutex::default(),
        }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The remaining wait, if it exceeds the maximum.
    pub async fn acquire(&self) -> Result<(), Duration> {
        match self.shared() {
            Some((service, turns)) => {
                let deadline = Instant::now() + MAX_WAIT;
                loop {
                    self.check_paused(deadline).await?;
                    if self.take_shared(service, turns, deadline).await? {
                        return Ok(());
                    }
                }
            }
            None => self.acquire_spaced(self.interval, MAX_WAIT).await,
        }
    }

    /// The service and the turns of all processes, if other processes take part.
    fn shared(&self) -> Option<(&CallKey, &dyn ServiceTurns)> {
        let (service, turns) = self.others.as_ref()?;
        Some((service, &**turns.get()?))
    }

    /// Waits until the end of a pause that this process was told of.
    async fn check_paused(&self, deadline: Instant) -> Result<(), Duration> {
        let paused = *self.next.lock().unwrap_or_else(PoisonError::into_inner);
        match paused {
            Some(until) if until > deadline => Err(until.saturating_duration_since(Instant::now())),
            Some(until) => {
                sleep_until(until).await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits for a turn among those of other processes. Returns whether it may be used: it may lie in a pause.
    async fn take_shared(
        &self,
        service: &CallKey,
        turns: &dyn ServiceTurns,
        deadline: Instant,
    ) -> Result<bool, Duration> {
        let begun = Instant::now();
        let at = timeout_at(deadline, self.next_turn(service, turns, deadline));
        let at = at.await.unwrap_or(Err(MAX_WAIT))?;
        sleep_until(at).await;
        if begun.elapsed() >= CHECK_AFTER {
            let paused = timeout_at(deadline + CHECK_AFTER, turns.paused_for(service)).await;
            let paused = paused.map_err(|_| MAX_WAIT)?;
            if !paused.is_zero() {
                self.pause_here(paused);
            }
        }
        Ok(!self.is_paused())
    }

    /// The next turn of this process. It is not after `deadline`.
    async fn next_turn(
        &self,
        service: &CallKey,
        turns: &dyn ServiceTurns,
        deadline: Instant,
    ) -> Result<Instant, Duration> {
        let _waiting = WaitingTurn::new(&self.waiting);
        let mut reserved = self.reserved.lock().await;
        let now = Instant::now();
        // Nobody came for these: the next one of another process may follow at once.
        while reserved.pop_front_if(|it| *it < now).is_some() {}
        if let Some(at) = reserved.front().copied() {
            if at > deadline {
                return Err(at.saturating_duration_since(now));
            }
            reserved.pop_front();
            return Ok(at);
        }
        let wanted = WantedTurns {
            count: self.waiting.load(Ordering::Relaxed).clamp(1, MAX_BATCH),
            distance: self.interval,
            max_wait: deadline.saturating_duration_since(now),
        };
        let first = Instant::now() + turns.reserve(service, wanted).await?;
        reserved.extend((1..wanted.count).map(|nth| first + wanted.distance * nth));
        Ok(first)
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

    /// Blocks all calls for the next `wait`, and those of other processes if they take part.
    pub fn pause_for(&self, wait: Duration) {
        self.pause_here(wait);
        if let Some((service, turns)) = self.shared() {
            turns.pause(service, wait);
        }
    }

    fn pause_here(&self, wait: Duration) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + wait;
        *next = Some(next.map_or(until, |it| it.max(until)));
    }

    fn is_paused(&self) -> bool {
        !self.is_ready()
    }

    /// Whether a turn is available now.
    pub fn is_ready(&self) -> bool {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.is_none_or(|it| it <= Instant::now())
    }
}

/// A call that waits for a turn, until dropped.
struct WaitingTurn<'c>(&'c AtomicU32);

impl WaitingTurn<'_> {
    fn new(count: &AtomicU32) -> WaitingTurn<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        WaitingTurn(count)
    }
}

impl Drop for WaitingTurn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
