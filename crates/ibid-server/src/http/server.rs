//! The server: opening it, running it, stopping it.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use tokio::net::TcpListener;
use tokio::sync::watch;

use super::access_policy::{self, AccessPolicy};
use super::auth_throttle::AuthThrottle;
use super::connection_limits::Peers;
use super::metrics::ServerMetrics;
use super::open_requests::OpenRequests;
use super::router::router;
use super::state::ServerState;
use super::viewer::run_stats::RunStatsCache;
use super::{listen, metrics_routes, run_end, webhooks};
use crate::request::ServedResources;
use crate::request_service::{Caller, RequestService};
use crate::schedules::work_on_schedules;
use ibid::app::App;
use ibid::app::queue::Queue;
use ibid::app::retention::{PURGE_INTERVAL, purge_loop};
use ibid::app::web::{OwnAddressGuard, register_listener};
use ibid::config::{ProcessEnv, ServeConfig};
use ibid_core::{Error, ErrorKind, Result};

/// A server that listens and does not answer yet; [`HttpServer::serve`] answers.
pub struct HttpServer {
    listener: TcpListener,
    server: Arc<ServerState>,
    stop: watch::Sender<bool>,
    connections: usize,
    peers: Arc<Peers>,
    /// Blocks fetches of this server's own address.
    own_address: OwnAddressGuard,
}

impl HttpServer {
    /// Binds the address of the settings and queues the runs that were accepted before and have not ended.
    ///
    /// # Errors
    /// `Setup` if the address cannot be bound, or if other machines can reach it and there is neither a token nor a user.
    pub async fn bind(
        app: Arc<App>,
        process_env: ProcessEnv,
        served: ServedResources,
    ) -> Result<HttpServer> {
        let settings = app.settings().clone();
        let serve = &settings.serve;
        let addresses = resolve_address(&serve.addr).await?;
        let token = settings.variables.get(&serve.token_env).map(access_policy::hash_token);
        let loopback = addresses.iter().all(|address| address.ip().is_loopback());
        // Once there are users, every caller must authenticate.
        let has_users = !app.users().await?.is_empty();
        if !loopback && token.is_none() && !has_users {
            return Err(no_token_error(serve));
        }
        let listener = listen::bind(&addresses).map_err(|fault| {
            Error::new(ErrorKind::Setup, format!("listening on {}", serve.addr))
                .with_source(fault)
                .with_hint("stop the program that uses it, or choose another address with --addr")
        })?;
        let addr = bound_address(&listener)?;
        let (stop, stopping) = watch::channel(false);
        let connections = serve.connections;
        let peers = Peers::new(serve.connections_per_address, &serve.proxies)?;
        let own_address = register_listener(addr, &serve.hosts);
        let hosts = AccessPolicy::allowed_hosts(addr, &serve.hosts);
        let metrics = Arc::new(ServerMetrics::new(app.now_ms()));
        let on_run_end = run_end::hook(Arc::clone(&app), Arc::clone(&metrics));
        let (requests, operator, recovered) =
            RequestService::open(app, process_env, served, Some(on_run_end)).await?;
        if recovered > 0 {
            tracing::info!(runs = recovered, "recovered");
        }
        let server = Arc::new(ServerState {
            access: AccessPolicy { hosts, open: loopback && token.is_none() && !has_users, token },
            requests: Arc::new(requests),
            operator,
            metrics,
            auth_throttle: AuthThrottle::default(),
            open_requests: OpenRequests::new(serve.requests_each),
            users_added: AtomicBool::new(false),
            users_checked: AtomicU64::new(0),
            run_stats: RunStatsCache::default(),
            stopping,
            max_body_bytes: serve.max_body_bytes,
            body_timeout: serve.body_within,
        });
        Ok(HttpServer { listener, server, stop, connections, peers, own_address })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        bound_address(&self.listener)
    }

    /// The queue of this server.
    pub fn queue(&self) -> Arc<Queue> {
        Arc::clone(self.server.operator.queue())
    }

    /// Serves until `until` completes. Then streams end, started responses are finished, and runs stop; they can be resumed.
    pub async fn serve(self, until: impl Future<Output = ()>) {
        let HttpServer { listener, server, stop, connections, peers, own_address: _own_address } =
            self;
        let operator = &server.operator;
        let work = Arc::clone(operator.queue()).run();
        let service = server.requests.for_caller(Caller::operator());
        let router = router(Arc::clone(&server), service.offers_agentic_search());
        let missed = webhooks::deliver_missed(&server);
        let schedules = work_on_schedules(&server.requests);
        // Changed settings apply to the next purge. Settings that cannot be read purge nothing.
        let keep_days = || service.load_settings(&[]).ok()?.settings.serve.keep_days;
        let rest = async || tokio::time::sleep(PURGE_INTERVAL).await;
        let purge = purge_loop(operator.app(), rest, keep_days, log_purge);
        let connections =
            listen::serve_connections(listener, router, (connections, peers), until, stop);
        tokio::select! {
            () = work => {}
            () = metrics_routes::push_loop(&server) => {}
            () = missed => {}
            () = schedules => {}
            () = purge => {}
            () = connections => {}
        }
        metrics_routes::push(&server).await;
        let (waiting, working) = operator.queue().counts();
        tracing::info!(waiting, parked = working, "stopped");
    }
}

/// Resolves `serve.addr`.
async fn resolve_address(address: &str) -> Result<Vec<SocketAddr>> {
    let addresses = tokio::net::lookup_host(address).await.map_err(|fault| {
        Error::new(ErrorKind::Usage, format!("invalid serve.addr `{address}`"))
            .with_source(fault)
            .with_hint("write an address and a port, as in 127.0.0.1:7700")
    })?;
    Ok(addresses.collect())
}

fn no_token_error(serve: &ServeConfig) -> Error {
    let what = format!("others can reach {}, and no token is set", serve.addr);
    Error::new(ErrorKind::Setup, what).with_hint(format!(
        "set {} to a long random text, add users with `ibid admin user add`, or serve on 127.0.0.1",
        serve.token_env
    ))
}

fn bound_address(listener: &TcpListener) -> Result<SocketAddr> {
    listener.local_addr().map_err(|fault| {
        Error::new(ErrorKind::Internal, "reading the listener's address").with_source(fault)
    })
}

/// Logs that old runs were deleted, or why not.
fn log_purge(older_than_days: u32, outcome: Result<u64>) {
    match outcome {
        Ok(runs) => tracing::info!(runs, older_than_days, "forgot"),
        Err(fault) => tracing::error!(why = fault.chain(), older_than_days, "not_forgotten"),
    }
}
