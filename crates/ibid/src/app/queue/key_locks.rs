//! Locks by idempotency key: requests with one key run one after the other.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use ibid_core::ports::IdempotencyKey;

/// A user and one of their idempotency keys.
type UserKey = (String, String);

/// A lock for each key that a request in progress uses.
#[derive(Default)]
pub(super) struct KeyLocks(Mutex<BTreeMap<UserKey, Arc<AsyncMutex<()>>>>);

/// Holds the lock of one key until it is dropped.
pub(super) struct KeyLockGuard<'t> {
    locks: &'t KeyLocks,
    name: UserKey,
    held: Option<OwnedMutexGuard<()>>,
}

impl KeyLocks {
    /// Waits for the lock of `key`.
    pub(super) async fn lock(&self, key: &IdempotencyKey) -> KeyLockGuard<'_> {
        let name = (key.user.clone(), key.key.clone());
        let lock = Arc::clone(self.lock_map().entry(name.clone()).or_default());
        // Created before the wait, so that a cancelled request removes its entry too.
        let mut guard = KeyLockGuard { locks: self, name, held: None };
        guard.held = Some(lock.lock_owned().await);
        guard
    }

    fn lock_map(&self) -> MutexGuard<'_, BTreeMap<UserKey, Arc<AsyncMutex<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeyLockGuard<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut locks = self.locks.lock_map();
        // Only the map holds the lock: no other request waits for it.
        if locks.get(&self.name).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.name);
        }
    }
}
