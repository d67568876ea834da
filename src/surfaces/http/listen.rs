//! Connections: so many at once, each with a bound on how slowly it may send and take.
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

use super::peers::{Peer, Peers};

/// How long the head of a request may take to come; also how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(15);

/// How long what we send may stay unacknowledged: who takes nothing is cut off.
const DEAF: Duration = Duration::from_secs(30);

/// Largest head of a request, bytes, and most headers in it.
const HEAD_BYTES: usize = 32 * 1024;
const HEADERS: usize = 100;

/// How long answers that were begun may take once the server stops.
const LEAVE: Duration = Duration::from_secs(5);

/// Connections that may wait to be taken; the system may have a lower bound of its own. Those that find no room ask again a
/// second later, which is late for being told that there is too much to do.
const WAITING: u32 = 4_096;

/// Listens at the first of `addresses` that can be had.
///
/// # Errors
/// What the last one failed with.
pub(super) fn at(addresses: &[SocketAddr]) -> std::io::Result<TcpListener> {
    let mut fault = std::io::Error::other("no address");
    for addr in addresses {
        let opened = || {
            let socket = match addr {
                SocketAddr::V4(_) => TcpSocket::new_v4(),
                SocketAddr::V6(_) => TcpSocket::new_v6(),
            }?;
            // What is left of a server that has just ended is no hindrance.
            #[cfg(unix)]
            socket.set_reuseaddr(true)?;
            socket.bind(*addr)?;
            socket.listen(WAITING)
        };
        match opened() {
            Ok(it) => return Ok(it),
            Err(it) => fault = it,
        }
    }
    Err(fault)
}

/// Answers on `listener` until `until` is done, with at most `most` connections open, of which strangers make room for
/// newcomers.
pub(super) async fn answer(
    listener: TcpListener,
    router: Router,
    (most, peers): (usize, Arc<Peers>),
    until: impl Future<Output = ()>,
    stop: watch::Sender<bool>,
) {
    let places = Arc::new(Semaphore::new(most));
    let graceful = GracefulShutdown::new();
    let mut open = JoinSet::new();
    let mut until = std::pin::pin!(until);
    // The one that has come and has no place yet. Those behind it wait in the system's queue, and cost us nothing.
    let mut next: Option<(TcpStream, Peer)> = None;
    loop {
        tokio::select! {
            () = &mut until => break,
            arrived = listener.accept(), if next.is_none() => match arrived {
                Ok((stream, address)) => {
                    // A socket that cannot be bounded is not served; nor one too many of an address.
                    let Some(peer) = peers.enter(address.ip()).filter(|_| bounded(&stream).is_ok()) else {
                        continue;
                    };
                    if places.available_permits() == 0 {
                        peers.make_room(&peer);
                    }
                    next = Some((stream, peer));
                }
                // Out of descriptors, most likely; connections that end make room.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            place = Arc::clone(&places).acquire_owned(), if next.is_some() => {
                if let (Ok(place), Some((stream, peer))) = (place, next.take()) {
                    open.spawn(one(stream, router.clone(), place, peer, graceful.watcher()));
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
    // What has not ended by then is cut off when the set is dropped.
    let _ = tokio::time::timeout(LEAVE, finished).await;
}

fn bounded(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let millis = u32::try_from(DEAF.as_millis()).unwrap_or(u32::MAX);
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, millis)?;
    Ok(())
}

async fn one(
    stream: TcpStream,
    router: Router,
    place: OwnedSemaphorePermit,
    peer: Peer,
    graceful: hyper_util::server::graceful::Watcher,
) {
    let peer = Arc::new(peer);
    let (own, inner) = (Arc::clone(&peer), TowerToHyperService::new(router));
    // Whoever lets a request in says with it that the connection is no stranger's.
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&own));
        inner.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // How a connection ends is its client's affair.
    tokio::select! {
        _ = graceful.watch(connection) => {}
        () = peer.leave() => {}
    }
    drop(place);
}
