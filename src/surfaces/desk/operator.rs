//! What the operator alone reaches.
use std::path::PathBuf;
use std::sync::Arc;

use crate::app::App;
use crate::app::queue::Queue;

/// The server itself, without a caller: counts, readiness, retention, webhooks, telemetry. Start-up code gets it, and whoever proves
/// to be the operator ([`super::CallerService::operator`]). No handler for other callers may name it, which a test of the tree holds.
#[derive(Clone)]
pub struct OperatorService {
    app: Arc<App>,
    queue: Arc<Queue>,
    folders: Arc<[PathBuf]>,
}

impl OperatorService {
    pub(super) fn new(
        app: Arc<App>,
        queue: Arc<Queue>,
        folders: Arc<[PathBuf]>,
    ) -> OperatorService {
        OperatorService {
            app,
            queue,
            folders,
        }
    }

    /// Everything Ibid can do, for every owner.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The folders that are served, as absolute paths.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The runs that were accepted, of every owner.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}
