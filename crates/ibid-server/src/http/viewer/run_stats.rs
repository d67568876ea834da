//! A cache of the figures of ended runs that are not in their rows.
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::view::runs::RunStats;
use ibid_core::domain::RunId;

/// Maximum number of runs in the cache.
const CAPACITY: usize = 4_096;

/// Figures of ended runs, so that the list of runs does not read their events again.
#[derive(Default)]
pub(in crate::http) struct RunStatsCache(Mutex<BTreeMap<RunId, RunStats>>);

impl RunStatsCache {
    /// The figures of `run`, if they are cached.
    pub(super) fn get(&self, run: &RunId) -> Option<RunStats> {
        self.lock().get(run).cloned()
    }

    /// Keeps the figures of an ended run; the oldest run makes room.
    pub(super) fn insert(&self, run: RunId, stats: RunStats) {
        let mut all = self.lock();
        if all.len() >= CAPACITY {
            all.pop_first();
        }
        all.insert(run, stats);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, RunStats>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
