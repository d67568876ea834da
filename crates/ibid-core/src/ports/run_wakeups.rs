use std::sync::Arc;

use tokio::sync::Notify;

use crate::domain::RunId;

/// Tells when runs change, whichever process of the store changes them.
pub trait RunWakeups: Send + Sync {
    /// Notifies `signal` soon after each new event or command of `run`, and whenever some may have been missed.
    fn subscribe(&self, run: &RunId, signal: Arc<Notify>) -> Box<dyn RunSubscription>;
}

/// A subscription to the changes of one run, until dropped.
pub trait RunSubscription: Send + Sync {
    /// Whether the run has changed since the last call. True at the first call.
    fn take_changed(&self) -> bool;
}
