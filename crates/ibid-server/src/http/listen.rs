//! Connections: a limited number at once, each with limits on how slowly the client may send and receive.
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::connection_limits::{Peer, Peers};

/// How long a request head may take to arrive; also how long an idle connection is kept.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// How long sent data may stay unacknowledged before the connection is closed.
const UNACKED_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest request head, in bytes.
const MAX_HEADER_BYTES: usize = 32 * 1024;
/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 100;

/// How long started responses may take after the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of connections that wait to be accepted; the system may have a lower limit. Clients that find no room retry after a second,
/// which is late for learning that the server is busy.
const BACKLOG: u32 = 4_096;

/// Listens on the first of `addresses` that can be bound.
///
/// # Errors
/// The error of the last address.
pub(super) fn bind(addresses: &[SocketAddr]) -> std::io::Result<TcpListener> {
    let mut fault = std::io::Error::other("no address");
    for addr in addresses {
        let opened = || {
            let socket = match addr {
                SocketAddr::V4(_) => TcpSocket::new_v4(),
                SocketAddr::V6(_) => TcpSocket::new_v6(),
            }?;
            // Allow binding right after an earlier server has ended.
            #[cfg(unix)]
            socket.set_reuseaddr(true)?;
            socket.bind(*addr)?;
            socket.listen(BACKLOG)
        };
        match opened() {
            Ok(it) => return Ok(it),
            Err(it) => fault = it,
        }
    }
    Err(fault)
}

/// Serves connections until `until` completes, at most `max_connections` at once. Unauthenticated connections make room for new ones.
pub(super) async fn serve_connections(
    listener: TcpListener,
    router: Router,
    (max_connections, peers): (usize, Arc<Peers>),
    until: impl Future<Output = ()>,
    stop: watch::Sender<bool>,
) {
    let permits = Arc::new(Semaphore::new(max_connections));
    let graceful = GracefulShutdown::new();
    let mut open = JoinSet::new();
    let mut until = std::pin::pin!(until);
    // The accepted connection without a permit yet. Later ones wait in the system's queue.
    let mut next: Option<(TcpStream, Peer)> = None;
    loop {
        tokio::select! {
            () = &mut until => break,
            arrived = listener.accept(), if next.is_none() => match arrived {
                Ok((stream, address)) => {
                    // Skip a socket whose options cannot be set, and one above the limit of its address.
                    let Some(peer) = peers.enter(address.ip()).filter(|_| set_socket_options(&stream).is_ok()) else {
                        continue;
                    };
                    if permits.available_permits() == 0 {
                        peers.make_room(&peer);
                    }
                    next = Some((stream, peer));
                }
                // Probably out of file descriptors; ending connections free some.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            permit = Arc::clone(&permits).acquire_owned(), if next.is_some() => {
                if let (Ok(permit), Some((stream, peer))) = (permit, next.take()) {
                    open.spawn(serve_connection(stream, router.clone(), permit, peer, graceful.watcher()));
                }
            }
            Some(_) = open.join_next(), if !open.is_empty() => {}
        }
    }
    drop(listener);
    stop.send_replace(true);
    let finished = async {
        graceful.shutdown().await;
        while open.join_next().await.is_some() {}
    };
    // Dropping the set closes the remaining connections.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, finished).await;
}

fn set_socket_options(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let millis = u32::try_from(UNACKED_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, millis)?;
    Ok(())
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    permit: OwnedSemaphorePermit,
    peer: Peer,
    graceful: hyper_util::server::graceful::Watcher,
) {
    let peer = Arc::new(peer);
    let (own, inner) = (Arc::clone(&peer), TowerToHyperService::new(router));
    // Each request carries its peer, so that authentication can mark the connection.
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&own));
        inner.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // Errors of a connection concern only its client.
    tokio::select! {
        _ = graceful.watch(connection) => {}
        () = peer.evicted() => {}
    }
    drop(permit);
}
