//! Whether callers who stay connected may still ask.
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Caller;
use crate::app::App;

/// How long an answer of the store is used for every stream of a caller: a revoked token ends its streams within this and the time
/// that a look takes.
pub(super) const LOOK: Duration = Duration::from_secs(2);

/// Callers that are remembered at most.
const KNOWN: usize = 10_000;

/// When each caller with an account was last looked up, by the hash of their token, and whether they may ask.
#[derive(Default)]
pub(super) struct AccountWatch(Mutex<BTreeMap<String, (Instant, bool)>>);

impl AccountWatch {
    /// Whether `caller` is still who they were when they were let in: neither disabled, nor removed, nor of another organisation,
    /// and with a token that was not taken back. Where the store cannot be read just now, nobody is sent away.
    pub(super) async fn may_stay(&self, app: &App, caller: &Caller) -> bool {
        let Some(token) = &caller.token else {
            return true;
        };
        let now = Instant::now();
        if let Some((at, stays)) = self.known(token)
            && now.duration_since(at) < LOOK
        {
            return stays;
        }
        let Ok(found) = app.identify_by(token).await else {
            return true;
        };
        let stays = found.map(|it| it.owner()) == caller.owner;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.retain(|_, it| now.duration_since(it.0) < LOOK);
        }
        known.insert(token.clone(), (now, stays));
        stays
    }

    fn known(&self, token: &str) -> Option<(Instant, bool)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(token).copied()
    }
}
