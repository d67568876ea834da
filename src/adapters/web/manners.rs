//! How hosts are treated: few requests at once, some time between them, rest where it is asked for, and what robots.txt says.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

use super::robots::Robots;
use crate::adapters::fair::{FairPermit, FairSemaphore};
use crate::adapters::pace::Pace;

/// The longest that a request waits for its turn at a host.
const PATIENCE: Duration = Duration::from_secs(60);
/// Hosts remembered; beyond it those are forgotten that nobody waits for.
const MOST_HOSTS: usize = 1024;

/// How a host is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Courtesy {
    /// Whether robots.txt is asked for and heeded.
    pub robots: bool,
    /// Requests to one host at once.
    pub at_once: usize,
    /// The least time between the beginnings of two requests to one host.
    pub distance: Duration,
}

impl Default for Courtesy {
    /// With robots.txt, 2 at once, 200 ms apart.
    fn default() -> Courtesy {
        Courtesy {
            robots: true,
            at_once: 2,
            distance: Duration::from_millis(200),
        }
    }
}

/// The hosts of a process, whoever asks them and in whichever run.
#[derive(Debug, Default)]
pub struct Manners(Mutex<BTreeMap<String, Arc<Host>>>);

impl Manners {
    /// The host of this name; `at_once` counts when it is met first.
    pub(super) fn host(&self, name: &str, at_once: usize) -> Arc<Host> {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MOST_HOSTS && !hosts.contains_key(name) {
            hosts.retain(|_, it| Arc::strong_count(it) > 1 || !it.pace.is_free());
        }
        let new = || {
            Arc::new(Host {
                places: FairSemaphore::new(at_once),
                pace: Pace::every(Duration::ZERO),
                plain: AsyncMutex::default(),
                secure: AsyncMutex::default(),
            })
        };
        Arc::clone(hosts.entry(name.to_owned()).or_insert_with(new))
    }
}

/// The hosts of a process, as one owner asks them.
#[derive(Debug, Clone, Default)]
pub struct OwnManners {
    all: Arc<Manners>,
    owner: Option<String>,
}

impl OwnManners {
    /// Of `all` hosts, those that are asked for `owner`.
    pub fn new(all: &Arc<Manners>, owner: Option<&str>) -> OwnManners {
        OwnManners {
            all: Arc::clone(all),
            owner: owner.map(str::to_owned),
        }
    }

    /// The host of this name, and who asks it.
    pub(super) fn host(&self, name: &str, at_once: usize) -> (Arc<Host>, Option<&str>) {
        (self.all.host(name, at_once), self.owner.as_deref())
    }
}

/// One host.
#[derive(Debug)]
pub(super) struct Host {
    places: Arc<FairSemaphore>,
    pace: Pace,
    plain: AsyncMutex<Option<Told>>,
    secure: AsyncMutex<Option<Told>>,
}

/// What its robots.txt said, and until when that is believed.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) robots: Arc<Robots>,
    pub(super) until: Instant,
}

impl Host {
    /// Waits for a place of `owner` and a turn, `distance` behind the one before. The place is free again when what is given is
    /// dropped.
    ///
    /// # Errors
    /// How long the wait would be, where that is longer than anybody waits.
    pub(super) async fn turn(
        &self,
        distance: Duration,
        owner: Option<&str>,
    ) -> Result<FairPermit, Duration> {
        let place = timeout(PATIENCE, self.places.acquire(owner)).await;
        let place = place.map_err(|_| PATIENCE)?;
        self.pace.turn_apart(distance, PATIENCE).await?;
        Ok(place)
    }

    /// Lets nobody ask for the next `wait`.
    pub(super) fn rest(&self, wait: Duration) {
        self.pace.rest(wait);
    }

    /// What its robots.txt said under `scheme`, held while it is asked for, so that it is asked for once.
    pub(super) fn told(&self, scheme: &str) -> &AsyncMutex<Option<Told>> {
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
        let manners = Manners::default();
        let host = manners.host("example.org", 2);
        let begun = Instant::now();
        let distance = Duration::from_millis(200);
        let first = host.turn(distance, None).await.unwrap();
        let _second = host.turn(distance, None).await.unwrap();
        assert_eq!(begun.elapsed(), distance);
        // A third waits until one is done.
        let third = timeout(Duration::from_secs(5), host.turn(distance, None)).await;
        assert!(third.is_err());
        drop(first);
        let third = host.turn(distance, None).await.unwrap();
        drop(third);
        host.rest(Duration::from_secs(20));
        let begun = Instant::now();
        drop(host.turn(distance, None).await.unwrap());
        assert_eq!(begun.elapsed(), Duration::from_secs(20));
        host.rest(Duration::from_secs(3600));
        assert!(host.turn(distance, None).await.is_err());
        assert!(
            manners
                .host("example.com", 2)
                .turn(distance, None)
                .await
                .is_ok()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_s_slow_pages_do_not_keep_another_from_a_host_that_both_read() {
        let manners = Arc::new(Manners::default());
        let of = |owner| OwnManners::new(&manners, Some(owner));
        let (ann, bob) = (of("ann"), of("bob"));
        let (host, who) = bob.host("example.org", 2);
        drop(host.turn(Duration::ZERO, who).await.unwrap());
        let (host, who) = ann.host("example.org", 2);
        let _slow = host.turn(Duration::ZERO, who).await.unwrap();
        let more = timeout(Duration::from_secs(5), host.turn(Duration::ZERO, who)).await;
        assert!(more.is_err());
        let (host, who) = bob.host("example.org", 2);
        let own = timeout(Duration::from_secs(5), host.turn(Duration::ZERO, who)).await;
        assert!(own.unwrap().is_ok());
    }

    #[tokio::test]
    async fn hosts_that_nobody_waits_for_are_forgotten() {
        let manners = Manners::default();
        let kept = manners.host("kept.example.org", 2);
        for nth in 0..3 * MOST_HOSTS {
            manners.host(&format!("h{nth}.example.org"), 2);
        }
        assert!(manners.0.lock().unwrap().len() <= MOST_HOSTS);
        assert!(Arc::ptr_eq(&kept, &manners.host("kept.example.org", 2)));
    }
}
