//! A semaphore that is fair between owners: waiting owners take turns, and no owner takes the permits reserved for
//! others.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// An owner may hold up to this many times as many permits as remain free.
const SHARE_FACTOR: usize = 3;

/// The owner of a permit: a user, or `None` for the operator.
type OwnerKey = Option<String>;

/// A semaphore that is fair by owner.
///
/// Waiting owners take turns, one permit each. An owner who already holds a permit gets another only while a share
/// stays free, so that a newcomer gets one at once, however long the others work. A single owner may hold all permits
/// as long as no other is known.
#[derive(Debug)]
pub struct FairSemaphore {
    /// Whether a share is kept free before a second owner is known.
    reserves: bool,
    state: Mutex<FairState>,
}

#[derive(Debug)]
struct FairState {
    free: usize,
    held: BTreeMap<OwnerKey, usize>,
    waiting: BTreeMap<OwnerKey, VecDeque<oneshot::Sender<FairPermit>>>,
    /// Owners that wait, next first.
    turns: VecDeque<OwnerKey>,
    /// The first owner seen, and whether a second one has been seen.
    first: Option<OwnerKey>,
    shared: bool,
}

/// A permit, returned when dropped.
#[derive(Debug)]
pub struct FairPermit {
    semaphore: Arc<FairSemaphore>,
    owner: OwnerKey,
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        let mut state = self.semaphore.state();
        state.free += 1;
        if let Some(held) = state.held.get_mut(&self.owner) {
            *held -= 1;
            if *held == 0 {
                state.held.remove(&self.owner);
            }
        }
        self.semaphore.grant(state);
    }
}

impl FairSemaphore {
    /// Creates a semaphore with `all` permits, at least one.
    pub fn new(all: usize) -> Arc<FairSemaphore> {
        FairSemaphore::build(all, false)
    }

    /// Creates a semaphore that always keeps a share free, because other owners may come.
    pub fn with_reserve(all: usize) -> Arc<FairSemaphore> {
        FairSemaphore::build(all, true)
    }

    fn build(all: usize, reserves: bool) -> Arc<FairSemaphore> {
        Arc::new(FairSemaphore {
            reserves,
            state: Mutex::new(FairState {
                free: all.max(1),
                held: BTreeMap::new(),
                waiting: BTreeMap::new(),
                turns: VecDeque::new(),
                first: None,
                shared: false,
            }),
        })
    }

    /// Waits for a permit for `owner`. Dropping the future stops waiting.
    pub async fn acquire(self: &Arc<Self>, owner: Option<&str>) -> FairPermit {
        match self.enqueue(owner.map(str::to_owned)).await {
            Ok(permit) => permit,
            // The sender is only dropped after its receiver.
            Err(_) => std::future::pending().await,
        }
    }

    fn enqueue(self: &Arc<Self>, owner: OwnerKey) -> oneshot::Receiver<FairPermit> {
        let (grant, granted) = oneshot::channel();
        let mut state = self.state();
        match &state.first {
            None => state.first = Some(owner.clone()),
            Some(it) if *it != owner => state.shared = true,
            Some(_) => {}
        }
        let own = state.waiting.entry(owner.clone()).or_default();
        own.retain(|it| !it.is_closed());
        own.push_back(grant);
        if !state.turns.contains(&owner) {
            state.turns.push_back(owner);
        }
        self.grant(state);
        granted
    }

    /// Hands free permits to the owners whose turn it is.
    fn grant(self: &Arc<Self>, mut state: MutexGuard<'_, FairState>) {
        // Permits whose receiver was dropped at this moment. They are dropped once the lock is released.
        let mut refused = Vec::new();
        while let Some(nth) = (0..state.turns.len()).find(|nth| self.may_take(&state, *nth)) {
            let Some(owner) = state.turns.remove(nth) else {
                break;
            };
            let Some(own) = state.waiting.get_mut(&owner) else {
                continue;
            };
            own.retain(|it| !it.is_closed());
            let next = own.pop_front();
            if own.is_empty() {
                state.waiting.remove(&owner);
            } else {
                state.turns.push_back(owner.clone());
            }
            let Some(next) = next else { continue };
            state.free -= 1;
            *state.held.entry(owner.clone()).or_default() += 1;
            let permit = FairPermit { semaphore: Arc::clone(self), owner };
            refused.extend(next.send(permit).err());
        }
        drop(state);
        drop(refused);
    }

    /// Whether the owner at position `nth` may take a permit now.
    fn may_take(&self, state: &FairState, nth: usize) -> bool {
        let Some(owner) = state.turns.get(nth) else {
            return false;
        };
        let held = state.held.get(owner).copied().unwrap_or(0);
        let reserves = state.shared || self.reserves && owner.is_some();
        match state.free.checked_sub(1) {
            None => false,
            Some(_) if held == 0 || !reserves => true,
            Some(left) => held < SHARE_FACTOR * left,
        }
    }

    fn state(&self) -> MutexGuard<'_, FairState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permits of one owner of a [`FairSemaphore`].
#[derive(Debug, Clone)]
pub struct OwnerPermits {
    semaphore: Arc<FairSemaphore>,
    owner: OwnerKey,
}

impl OwnerPermits {
    /// Creates a handle for `owner`.
    pub fn new(all: &Arc<FairSemaphore>, owner: Option<&str>) -> OwnerPermits {
        OwnerPermits { semaphore: Arc::clone(all), owner: owner.map(str::to_owned) }
    }

    /// Waits for a permit.
    pub async fn acquire(&self) -> FairPermit {
        self.semaphore.acquire(self.owner.as_deref()).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Takes places for `owner` until one is not given at once.
    async fn all_of(of: &Arc<FairSemaphore>, owner: Option<&str>) -> Vec<FairPermit> {
        let mut held = Vec::new();
        while let Ok(it) = timeout(Duration::from_millis(1), of.acquire(owner)).await {
            held.push(it);
        }
        held
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_late_finds_a_place_however_many_the_others_want() {
        let places = FairSemaphore::with_reserve(16);
        let ann = all_of(&places, Some("ann")).await;
        assert_eq!(ann.len(), 12);
        let bob = all_of(&places, Some("bob")).await;
        assert_eq!(bob.len(), 3);
        let carol = all_of(&places, Some("carol")).await;
        assert_eq!(carol.len(), 1);
        // What is given back is given to who has none.
        let waits = places.acquire(Some("dave"));
        tokio::pin!(waits);
        assert!(timeout(Duration::from_millis(1), &mut waits).await.is_err(), "all are taken");
        drop(carol);
        waits.await;
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_runs_the_program_alone_holds_all() {
        let places = FairSemaphore::with_reserve(4);
        assert_eq!(all_of(&places, None).await.len(), 4);
        let of_host = FairSemaphore::new(2);
        assert_eq!(all_of(&of_host, Some("ann")).await.len(), 2);
        let bob = all_of(&of_host, Some("bob")).await;
        assert_eq!(bob.len(), 1);
        // Two are known now, so that one place stays for the other.
        drop(bob);
        assert_eq!(all_of(&of_host, Some("ann")).await.len(), 1);
        assert_eq!(all_of(&FairSemaphore::new(0), None).await.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn owners_who_wait_take_turns() {
        let places = FairSemaphore::with_reserve(1);
        let held = places.acquire(Some("ann")).await;
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mut waiting = tokio::task::JoinSet::new();
        for owner in ["ann", "ann", "ann", "bob", "bob"] {
            let (places, tell) = (Arc::clone(&places), tell.clone());
            waiting.spawn(async move {
                let place = places.acquire(Some(owner)).await;
                tell.send(owner).unwrap();
                drop(place);
            });
            tokio::task::yield_now().await;
        }
        drop(held);
        while waiting.join_next().await.is_some() {}
        drop(tell);
        let mut order = Vec::new();
        while let Some(it) = told.recv().await {
            order.push(it);
        }
        assert_eq!(order, ["ann", "bob", "ann", "bob", "ann"]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_nothing_along() {
        let places = FairSemaphore::new(1);
        let held = places.acquire(None).await;
        for _ in 0..100 {
            let gone = timeout(Duration::from_millis(1), places.acquire(Some("ann"))).await;
            assert!(gone.is_err());
        }
        assert!(places.state().waiting.values().all(|value| value.len() <= 1));
        drop(held);
        drop(places.acquire(Some("bob")).await);
        assert_eq!(places.state().free, 1);
        assert!(places.state().held.is_empty());
    }
}
