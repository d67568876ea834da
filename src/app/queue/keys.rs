//! Turns of requests that carry the same key.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::seams::RequestKey;

/// A user and one of their keys.
type Name = (String, String);

/// The requests under way, by user and key: those of one key go one after the other.
#[derive(Default)]
pub(super) struct KeyTurns(Mutex<BTreeMap<Name, Arc<AsyncMutex<()>>>>);

/// The turn of one request, until this is dropped.
pub(super) struct Turn<'t> {
    turns: &'t KeyTurns,
    name: Name,
    held: Option<OwnedMutexGuard<()>>,
}

impl KeyTurns {
    /// Waits for the turn of a request under `key`.
    pub(super) async fn turn(&self, key: &RequestKey) -> Turn<'_> {
        let name = (key.user.clone(), key.key.clone());
        let lock = Arc::clone(self.locked().entry(name.clone()).or_default());
        // Made before the wait: who goes away while waiting leaves nothing behind, either.
        let mut turn = Turn {
            turns: self,
            name,
            held: None,
        };
        turn.held = Some(lock.lock_owned().await);
        turn
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<AsyncMutex<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut turns = self.turns.locked();
        // The one here is the last: nobody else waits for it.
        if turns
            .get(&self.name)
            .is_some_and(|it| Arc::strong_count(it) == 1)
        {
            turns.remove(&self.name);
        }
    }
}
