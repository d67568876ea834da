//! `ibid serve` and `ibid mcp`.
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::args::{McpAction, McpArgs, ServeArgs};
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::fleet;
use crate::log_subscriber;
use crate::runtime::block_on;
use crate::signals::Signals;
use crate::sources::all_folders;
use ibid::app::App;
use ibid::app::AppComponents;
use ibid::app::queue::Queue;
use ibid::config::{Flag, LoadedConfig, McpTransport, ProcessEnv, Settings, layers};
use ibid_core::{Error, ErrorKind, Result};
use ibid_server::health::{HealthState, sandbox};
use ibid_server::http::HttpServer;
use ibid_server::mcp::{McpServer, hosts};
use ibid_server::request::ServedResources;
use ibid_server::request_service;
use ibid_server::request_service::RequestService;

/// `ibid serve`: serves until SIGTERM or Ctrl-C. Runs stop there and continue when the server starts again.
pub(super) fn serve(
    args: &ServeArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    serve_with_page(args, loaded, env, console, |_| String::new())
}

/// Serves like [`serve`]. The printed address ends with the path that `page` returns for the server's URL.
pub(super) fn serve_with_page(
    args: &ServeArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
    page: impl FnOnce(&str) -> String,
) -> CommandResult {
    let served = served_resources(&args.folder, loaded, env)?;
    let folders = served.folders.clone();
    let flags = args.flags();
    log_subscriber::install(console);
    block_on(async {
        let app = Arc::new(open_app(&loaded.settings)?);
        let vectors = Arc::clone(&app);
        let server = HttpServer::bind(app, env.clone(), served).await?;
        let addr = server.local_addr()?;
        let url = format!("http://{addr}");
        console.print_line(&format!("{url}{}", page(&url)))?;
        if !console.quiet {
            tracing::info!(%addr, "listening");
        }
        let mut signals = Signals::listen()?;
        let reloads = reload_on_sighup(server.queue(), env, &flags);
        tokio::select! {
            () = server.serve(signals.next()) => Ok(ExitStatus::Delivered),
            fault = reloads => Err(fault.into()),
            () = warn_of_missing_sandbox(loaded.settings.clone()) => Ok(ExitStatus::Delivered),
            () = vectors.keep_vectors(&folders, log_vector_error) => Ok(ExitStatus::Delivered),
        }
    })?
}

/// The app of a server, which may be a member of a fleet.
///
/// # Errors
/// `Setup` for a fleet that this build or its settings do not allow.
fn open_app(settings: &Settings) -> Result<App> {
    let fleet = fleet::open(settings)?;
    let components = AppComponents { fleet, ..AppComponents::local() };
    Ok(App::with_components(settings.clone(), components))
}

/// Logs once if the sandbox of the document parsers is incomplete; never returns.
async fn warn_of_missing_sandbox(settings: Settings) {
    let finding = tokio::task::spawn_blocking(move || sandbox(&settings)).await;
    if let Ok(finding) = finding
        && finding.state != HealthState::Ok
    {
        let hint = finding.fix.unwrap_or_default();
        tracing::warn!(found = finding.found, hint, "document_sandbox");
    }
    std::future::pending().await
}

/// Logs why vectors cannot be made now; they are tried again.
fn log_vector_error(error: &Error) {
    tracing::warn!(why = error.chain(), "vectors_not_made");
}

/// Reloads the settings at each SIGHUP and applies the limits of the queue. Returns only if SIGHUP cannot be handled.
async fn reload_on_sighup(queue: Arc<Queue>, env: &ProcessEnv, flags: &[Flag]) -> Error {
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(fault) => {
            return Error::new(ErrorKind::Setup, "listening for SIGHUP").with_source(fault);
        }
    };
    while hangups.recv().await.is_some() {
        match layers::load(env, flags) {
            Ok(loaded) => {
                let limits = request_service::queue_limits(&loaded.settings.serve);
                queue.set_limits(limits);
                tracing::info!(concurrency = limits.working, queue = limits.waiting, "reloaded");
            }
            // The old settings stay in force.
            Err(fault) => tracing::error!(why = fault.chain(), "not_reloaded"),
        }
    }
    std::future::pending().await
}

/// What callers may use: the folders of the settings and of the command line, and the models of the settings.
fn served_resources(
    named: &[PathBuf],
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<ServedResources> {
    Ok(ServedResources {
        folders: all_folders(named, loaded, env)?.into_iter().map(PathBuf::from).collect(),
        models: loaded.settings.serve.models.clone(),
    })
}

/// `ibid mcp`: serves until stdin ends. Unfinished runs continue when it starts again.
pub(super) fn serve_mcp(
    args: &McpArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    if let Some(McpAction::Config { client }) = &args.action {
        let Some((place, config)) = hosts::config_for(client) else {
            let names: Vec<&str> = hosts::names().collect();
            let fault = Error::new(ErrorKind::Usage, format!("unknown client `{client}`"));
            return Err(fault.with_hint(format!("clients are {}", names.join(", "))).into());
        };
        console.eprint_line(&console.err.dim(place));
        console.print_line(config)?;
        return Ok(ExitStatus::Delivered);
    }
    if loaded.settings.mcp.transport == McpTransport::Http {
        let args =
            ServeArgs { addr: None, folder: args.folder.clone(), concurrency: None, fleet: false };
        return serve(&args, loaded, env, console);
    }
    let served = served_resources(&args.folder, loaded, env)?;
    let folders = served.folders.clone();
    block_on(async {
        let app = Arc::new(App::open(loaded.settings.clone()).await?);
        let vectors = Arc::clone(&app);
        let (service, operator, _) = RequestService::open(app, env.clone(), served, None).await?;
        let service = Arc::new(service);
        let mut signals = Signals::listen()?;
        tokio::select! {
            () = Arc::clone(operator.queue()).run() => {}
            () = signals.next() => {}
            () = vectors.keep_vectors(&folders, |_| {}) => {}
            served = McpServer::local(Arc::clone(&service)).stdio() => served?,
        }
        Ok(ExitStatus::Delivered)
    })?
}
