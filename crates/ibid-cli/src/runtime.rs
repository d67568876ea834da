//! The async runtime and the application that commands work with.
use std::time::Duration;

use crate::exit::CommandResult;
use ibid::app::App;
use ibid::config::LoadedConfig;
use ibid_core::{Error, ErrorKind, Result};

/// How long the program waits at its end for work in other threads.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs `task` on a new runtime. Commands that never wait do not need one.
///
/// # Errors
/// `Setup` if the runtime cannot start.
pub(super) fn block_on<T>(task: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|fault| Error::new(ErrorKind::Setup, "starting the runtime").with_source(fault))?;
    let output = runtime.block_on(task);
    // A thread that is still indexing was asked to stop and saves its work. If it is busy with one large file,
    // the next run reads that file again.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    Ok(output)
}

/// Opens the application and runs `task` with it.
///
/// # Errors
/// Those of `App::open` and of `task`.
pub(super) fn with_app<F>(loaded: &LoadedConfig, task: F) -> CommandResult
where
    F: AsyncFnOnce(&App) -> CommandResult,
{
    let settings = loaded.settings.clone();
    block_on(async move {
        let app = App::open(settings).await?;
        task(&app).await
    })?
}
