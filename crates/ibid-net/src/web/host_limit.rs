//! Limits per host: concurrent requests, the interval between them, pauses that the host asks for, and robots.txt.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

use super::robots::Robots;
use crate::rate_limit::RateLimiter;
use ibid_core::fair_semaphore::{FairPermit, FairSemaphore};

/// Maximum time that a request waits for its turn at a host.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Maximum number of hosts kept; above it, idle ones are dropped.
const MAX_HOSTS: usize = 1024;

/// How hosts are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPolicy {
    /// Whether robots.txt is respected.
    pub robots: bool,
    /// Maximum concurrent requests to one host.
    pub max_concurrent: usize,
    /// Minimum interval between the starts of two requests to one host.
    pub interval: Duration,
}

impl Default for HostPolicy {
    /// With robots.txt, 2 at a time, 200 ms apart.
    fn default() -> HostPolicy {
        HostPolicy { robots: true, max_concurrent: 2, interval: Duration::from_millis(200) }
    }
}

/// The hosts of a process, shared by all runs.
#[derive(Debug, Default)]
pub struct HostLimiter(Mutex<BTreeMap<String, Arc<HostState>>>);

impl HostLimiter {
    /// Returns the host `name`; `at_once` is used when it is created.
    pub(super) fn host(&self, name: &str, at_once: usize) -> Arc<HostState> {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(name) {
            hosts.retain(|_, it| Arc::strong_count(it) > 1 || !it.rate_limit.is_ready());
        }
        let new = || {
            Arc::new(HostState {
                permits: FairSemaphore::new(at_once),
                rate_limit: RateLimiter::new(Duration::ZERO),
                plain: AsyncMutex::default(),
                secure: AsyncMutex::default(),
            })
        };
        Arc::clone(hosts.entry(name.to_owned()).or_insert_with(new))
    }
}

/// The hosts of a process, as used by one owner.
#[derive(Debug, Clone, Default)]
pub struct OwnerHostLimiter {
    all: Arc<HostLimiter>,
    owner: Option<String>,
}

impl OwnerHostLimiter {
    /// Creates a handle for `owner`.
    pub fn new(all: &Arc<HostLimiter>, owner: Option<&str>) -> OwnerHostLimiter {
        OwnerHostLimiter { all: Arc::clone(all), owner: owner.map(str::to_owned) }
    }

    /// Returns the host `name`, and the owner.
    pub(super) fn host(&self, name: &str, at_once: usize) -> (Arc<HostState>, Option<&str>) {
        (self.all.host(name, at_once), self.owner.as_deref())
    }
}

/// The state of one host.
#[derive(Debug)]
pub(super) struct HostState {
    permits: Arc<FairSemaphore>,
    rate_limit: RateLimiter,
    plain: AsyncMutex<Option<CachedRobots>>,
    secure: AsyncMutex<Option<CachedRobots>>,
}

/// A parsed robots.txt and its expiry.
#[derive(Debug, Clone)]
pub(super) struct CachedRobots {
    pub(super) robots: Arc<Robots>,
    pub(super) until: Instant,
}

impl HostState {
    /// Waits for a permit for `owner`, and for a turn `distance` after the previous one. Dropping the result returns
    /// the permit.
    ///
    /// # Errors
    /// The remaining wait, if it exceeds the maximum.
    pub(super) async fn acquire(
        &self,
        distance: Duration,
        owner: Option<&str>,
    ) -> Result<FairPermit, Duration> {
        let place = timeout(MAX_WAIT, self.permits.acquire(owner)).await;
        let place = place.map_err(|_| MAX_WAIT)?;
        self.rate_limit.acquire_spaced(distance, MAX_WAIT).await?;
        Ok(place)
    }

    /// Blocks requests for the next `wait`.
    pub(super) fn pause_for(&self, wait: Duration) {
        self.rate_limit.pause_for(wait);
    }

    /// The robots.txt under `scheme`; locked while it is fetched, so that it is fetched once.
    pub(super) fn cached_robots(&self, scheme: &str) -> &AsyncMutex<Option<CachedRobots>> {
        match scheme {
            "https" => &self.secure,
            _ => &self.plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_host_is_asked_at_a_distance_by_few_at_once_and_rests_when_it_wants_to() {
        let limiter = HostLimiter::default();
        let host = limiter.host("example.org", 2);
        let begun = Instant::now();
        let distance = Duration::from_millis(200);
        let first = host.acquire(distance, None).await.unwrap();
        let _second = host.acquire(distance, None).await.unwrap();
        assert_eq!(begun.elapsed(), distance);
        // A third waits until one is done.
        let third = timeout(Duration::from_secs(5), host.acquire(distance, None)).await;
        assert!(third.is_err());
        drop(first);
        let third = host.acquire(distance, None).await.unwrap();
        drop(third);
        host.pause_for(Duration::from_secs(20));
        let begun = Instant::now();
        drop(host.acquire(distance, None).await.unwrap());
        assert_eq!(begun.elapsed(), Duration::from_secs(20));
        host.pause_for(Duration::from_secs(3600));
        assert!(host.acquire(distance, None).await.is_err());
        assert!(limiter.host("example.com", 2).acquire(distance, None).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_s_slow_pages_do_not_keep_another_from_a_host_that_both_read() {
        let limiter = Arc::new(HostLimiter::default());
        let of = |owner| OwnerHostLimiter::new(&limiter, Some(owner));
        let (ann, bob) = (of("ann"), of("bob"));
        let (host, who) = bob.host("example.org", 2);
        drop(host.acquire(Duration::ZERO, who).await.unwrap());
        let (host, who) = ann.host("example.org", 2);
        let _slow = host.acquire(Duration::ZERO, who).await.unwrap();
        let more = timeout(Duration::from_secs(5), host.acquire(Duration::ZERO, who)).await;
        assert!(more.is_err());
        let (host, who) = bob.host("example.org", 2);
        let own = timeout(Duration::from_secs(5), host.acquire(Duration::ZERO, who)).await;
        assert!(own.unwrap().is_ok());
    }

    #[tokio::test]
    async fn hosts_that_nobody_waits_for_are_forgotten() {
        let limiter = HostLimiter::default();
        let kept = limiter.host("kept.example.org", 2);
        for nth in 0..3 * MAX_HOSTS {
            limiter.host(&format!("h{nth}.example.org"), 2);
        }
        assert!(limiter.0.lock().unwrap().len() <= MAX_HOSTS);
        assert!(Arc::ptr_eq(&kept, &limiter.host("kept.example.org", 2)));
    }
}
