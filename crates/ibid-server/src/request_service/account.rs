//! Rechecks that callers of open streams are still authorized.
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::caller::Caller;
use ibid::app::App;

/// How long a lookup is reused for all streams of a caller. A revoked token ends its streams within this plus one lookup.
pub(super) const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of callers in the cache.
const MAX_CACHED: usize = 10_000;

/// When each account was last looked up, by token hash, and whether it was still authorized.
#[derive(Default)]
pub(super) struct AccountWatch(Mutex<BTreeMap<String, (Instant, bool)>>);

impl AccountWatch {
    /// Whether the account of `caller` is still enabled, in the same organisation, and its token not revoked. Returns true when the
    /// store cannot be read, so that an outage does not end streams.
    pub(super) async fn is_still_allowed(&self, app: &App, caller: &Caller) -> bool {
        let Some(token) = &caller.token else {
            return true;
        };
        let now = Instant::now();
        if let Some((at, stays)) = self.cached(token)
            && now.duration_since(at) < RECHECK_INTERVAL
        {
            return stays;
        }
        let Ok(found) = app.identify_by_hash(token).await else {
            return true;
        };
        let stays = found.map(|it| it.owner()) == caller.owner;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CACHED {
            known.retain(|_, it| now.duration_since(it.0) < RECHECK_INTERVAL);
        }
        known.insert(token.clone(), (now, stays));
        stays
    }

    fn cached(&self, token: &str) -> Option<(Instant, bool)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(token).copied()
    }
}
