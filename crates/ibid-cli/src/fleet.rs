//! The queue that the servers of a fleet share.
use std::sync::Arc;
use std::time::Duration;

use ibid::app::App;
use ibid::config::Settings;
use ibid_core::domain::RunId;
use ibid_core::ports::{FleetQueue, RunCommand};
use ibid_core::{Error, ErrorKind, Result};
use ibid_server::health::{HealthFinding, HealthState, finding_from_error};
use tokio::time::timeout;

/// The queue of the fleet that `settings` name; `None` for a server of its own.
///
/// # Errors
/// `Setup` if servers cannot share the store, if a setting of the fleet is invalid, or if this build has no fleet.
pub(super) fn open(settings: &Settings) -> Result<Option<Arc<dyn FleetQueue>>> {
    if !settings.serve.fleet {
        return Ok(None);
    }
    if settings.store_url.is_none() {
        return Err(Error::new(ErrorKind::Setup, "a fleet needs a store that its servers share")
            .with_hint("set `store.url` to a PostgreSQL database"));
    }
    open_queue(settings).map(Some)
}

/// How long a command waits until the server that works on its run, if it waits for input, has been woken. It looks by itself after
/// some minutes.
const WAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a command to a run, and wakes the fleet that works on it.
///
/// # Errors
/// Those of [`App::send_command`].
pub(super) async fn send_command(
    app: &App,
    settings: &Settings,
    run: &RunId,
    command: RunCommand,
) -> Result<()> {
    app.send_command(run, command).await?;
    if let Ok(Some(queue)) = open(settings) {
        // The command is stored.
        let _ = timeout(WAKE_TIMEOUT, queue.wake(run)).await;
    }
    Ok(())
}

/// Whether the queue of the fleet can be reached; `None` for a server of its own.
pub(super) async fn finding(settings: &Settings) -> Option<HealthFinding> {
    let tried = match open(settings) {
        Ok(queue) => queue?.ping().await,
        Err(fault) => Err(fault),
    };
    let fleet = &settings.fleet;
    Some(match tried {
        Ok(()) => HealthFinding {
            name: "fleet",
            state: HealthState::Ok,
            found: format!(
                "Temporal at {}, namespace {}, task queue {}",
                fleet.address, fleet.namespace, fleet.task_queue
            ),
            fix: None,
        },
        Err(fault) => finding_from_error("fleet", &fault, "see docs/operations.md"),
    })
}

#[cfg(not(feature = "fleet"))]
fn open_queue(_settings: &Settings) -> Result<Arc<dyn FleetQueue>> {
    Err(Error::new(ErrorKind::Setup, "this build of ibid cannot be a member of a fleet")
        .with_hint("build it with `--features fleet`, or leave `serve.fleet` unset"))
}

#[cfg(feature = "fleet")]
fn open_queue(settings: &Settings) -> Result<Arc<dyn FleetQueue>> {
    use ibid_fleet::{TemporalQueue, TemporalSettings};

    let fleet = &settings.fleet;
    let address = fleet.address.parse().ok().filter(|address: &url::Url| {
        ["http", "https"].contains(&address.scheme()) && address.has_host()
    });
    let Some(address) = address else {
        let what = format!("invalid fleet.address `{}`", fleet.address);
        return Err(Error::new(ErrorKind::Setup, what)
            .with_hint("write an address as in http://127.0.0.1:7233"));
    };
    let read = |path: &str| {
        std::fs::read(path).map_err(|cause| {
            Error::new(ErrorKind::Setup, format!("reading fleet.root_certificates {path}"))
                .with_source(cause)
                .with_hint("name a PEM file that this user may read")
        })
    };
    let certificates = Some(fleet.root_certificates.as_str()).filter(|path| !path.is_empty());
    Ok(Arc::new(TemporalQueue::new(TemporalSettings {
        address,
        namespace: fleet.namespace.clone(),
        task_queue: fleet.task_queue.clone(),
        api_key: settings.variables.get(&fleet.api_key_env).map(str::to_owned),
        root_certificates: certificates.map(read).transpose()?,
    })))
}
