//! The search hits that `fetch` can still read.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::request_service::CallerHit;

/// Maximum number of hits kept, of all callers.
const CAPACITY: usize = 1_000;

/// Recent hits of all callers, oldest first.
#[derive(Default)]
pub(super) struct RecentHits(Mutex<VecDeque<RememberedHit>>);

/// A hit, for the caller who found it.
struct RememberedHit {
    id: String,
    caller: String,
    hit: CallerHit,
}

impl RecentHits {
    /// Keeps a hit of `caller` under `id`, in place of an earlier one of the same id.
    pub(super) fn insert(&self, caller: &str, id: String, hit: CallerHit) {
        let mut known = self.lock();
        known.retain(|it| it.id != id || it.caller != caller);
        known.push_back(RememberedHit { id, caller: caller.to_owned(), hit });
        while known.len() > CAPACITY {
            remove_one(&mut known);
        }
    }

    /// The hit that `caller` found under `id`.
    pub(super) fn get(&self, caller: &str, id: &str) -> Option<CallerHit> {
        let known = self.lock();
        let mut of_caller = known.iter().filter(|it| it.caller == caller);
        of_caller.find(|it| it.id == id).map(|it| it.hit.clone())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<RememberedHit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the oldest hit of the caller with the most hits, so that one caller cannot evict the hits of others.
fn remove_one(known: &mut VecDeque<RememberedHit>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for hit in known.iter() {
        *counts.entry(&hit.caller).or_default() += 1;
    }
    let largest = counts.iter().max_by_key(|(_, count)| **count);
    let largest = largest.map(|(caller, _)| (*caller).to_owned());
    let oldest = known.iter().position(|hit| Some(&hit.caller) == largest.as_ref());
    known.remove(oldest.unwrap_or_default());
}
