//! Access to the whole server, for the operator and start-up code.
use std::path::PathBuf;
use std::sync::Arc;

use ibid::app::App;
use ibid::app::queue::Queue;

/// The server without a caller: counts, readiness, retention, webhooks, telemetry. Start-up code gets it, and a caller who is
/// the operator (`CallerService::operator`). A test of the source tree checks that no other handler names it.
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
        OperatorService { app, queue, folders }
    }

    /// The application, with access to the runs of every owner.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The served folders, as absolute paths.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The queue of accepted runs, of every owner.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}
