//! What all HTTP clients share: timeouts, construction, and reading responses.
use std::error::Error as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Client, Response, redirect};

use crate::retry_after::ResponseHeaders;
use crate::service_error::{ServiceError, truncate};
use crate::tls;
use ibid_core::ports::{host_and_port, is_loopback_url};
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use tokio::time::Instant;

/// Timeouts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the first byte of a stream. Responses that are not streamed only have `total`.
    pub first_byte: Duration,
    /// Between two pieces of a stream.
    pub idle: Duration,
    /// For the whole call.
    pub total: Duration,
}

impl Default for Timeouts {
    /// 10 s to connect; 10 minutes to the first byte, because of reasoning or the queue of a local server; 2 minutes
    /// between pieces; 20 minutes in total.
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(1200),
        }
    }
}

/// The result of a request.
pub type HttpResult<T> = std::result::Result<T, ServiceError>;

/// Creates a client for one server, called `name` in errors. It does not follow redirects, so that keys are not sent
/// elsewhere.
///
/// # Errors
/// `Setup` if the system's certificates cannot be read.
pub fn build_client(base_url: &str, name: &str, connect: Duration) -> Result<Client> {
    let setup_error = || Error::new(ErrorKind::Setup, format!("preparing HTTPS for {name}"));
    let mut client = Client::builder()
        .user_agent(concat!("ibid/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(connect);
    client = if base_url.starts_with("http://") {
        // Plain HTTP needs no certificates, and a small container may have none.
        tls::provider();
        client.tls_certs_only([])
    } else {
        let config = tls::client_config().map_err(|cause| setup_error().with_source(cause))?;
        client.tls_backend_preconfigured(config)
    };
    // This machine is not behind a proxy.
    if is_loopback_url(base_url) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| setup_error().with_source(error))
}

/// Reads the whole body, at most `most` bytes.
pub async fn read_body(response: Response, most: usize) -> HttpResult<Vec<u8>> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(connection_error)?);
        if body.len() > most {
            return Err(too_large_error(most));
        }
    }
    Ok(body)
}

/// Converts the headers of `response` to text.
pub fn response_headers(response: &Response) -> ResponseHeaders {
    let text = |value: &reqwest::header::HeaderValue| {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    };
    ResponseHeaders(
        response.headers().iter().map(|(name, it)| (name.to_string(), text(it))).collect(),
    )
}

/// The error for a response of more than `most` bytes.
pub fn too_large_error(most: usize) -> ServiceError {
    ServiceError::malformed(format!("the response is larger than {most} bytes"))
}

/// The error for an answer that did not come in time.
pub fn timeout_error(message: impl Into<String>) -> ServiceError {
    ServiceError { reason: Some(FailureReason::Timeout), ..ServiceError::transient(message) }
}

/// Describes a connection error with its causes, without the URL.
pub fn connection_error(fault: reqwest::Error) -> ServiceError {
    let fault = fault.without_url();
    let mut message = fault.to_string();
    let mut next = fault.source();
    while let Some(cause) = next {
        message = format!("{message}: {cause}");
        next = cause.source();
    }
    // Resolver messages are long and not helpful.
    let message = if message.contains("dns error") {
        network_state().failed_lookup = Some(Instant::now());
        LOOKUP_FAILED.to_owned()
    } else {
        truncate(&message, 300)
    };
    let unsent = fault.is_builder() || fault.is_connect();
    let fault = if fault.is_builder() {
        ServiceError::setup(message)
    } else {
        ServiceError::transient(message)
    };
    let reason =
        (unsent && fault.kind == ErrorKind::Transient).then_some(FailureReason::Unreachable);
    ServiceError { unsent, reason, ..fault }
}

/// The message if a name could not be looked up.
const LOOKUP_FAILED: &str = "its name cannot be looked up; is this machine online?";

/// How long after a failure this machine counts as offline.
const OFFLINE_TTL: Duration = Duration::from_secs(5);

/// What failed last. The network is that of the machine, not that of a client.
struct NetworkState {
    /// When the lookup of a name last failed.
    failed_lookup: Option<Instant>,
    /// The last two servers on other machines that could not be reached, and when.
    unreachable: [Option<(String, Instant)>; 2],
}

static NETWORK_STATE: Mutex<NetworkState> =
    Mutex::new(NetworkState { failed_lookup: None, unreachable: [None, None] });

fn network_state() -> MutexGuard<'static, NetworkState> {
    NETWORK_STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the failure of a call to `base_url`, if the server could not be reached and is on another machine.
pub fn note_unreachable(base_url: &str, fault: &ServiceError) {
    if fault.reason != Some(FailureReason::Unreachable) || is_loopback_url(base_url) {
        return;
    }
    let host = host_and_port(base_url);
    let recent = &mut network_state().unreachable;
    if recent[0].as_ref().is_some_and(|(known, _)| *known != host) {
        recent.swap(0, 1);
    }
    recent[0] = Some((host, Instant::now()));
}

/// Whether the lookup of a name failed moments ago, or two servers could not be reached.
pub(crate) fn is_offline() -> bool {
    let failed_lookup = network_state().failed_lookup;
    failed_lookup.is_some_and(|at| at.elapsed() < OFFLINE_TTL) || is_network_down()
}

/// Whether two servers on other machines could not be reached moments ago.
pub fn is_network_down() -> bool {
    let state = network_state();
    let recent = |(_, at): &&(String, Instant)| at.elapsed() < OFFLINE_TTL;
    state.unreachable.iter().flatten().filter(recent).count() == 2
}

/// Whether another server than that at `base_url` could not be reached moments ago: then it is the network that is down.
pub(crate) fn are_others_unreachable(base_url: &str) -> bool {
    let host = host_and_port(base_url);
    let state = network_state();
    let mut all = state.unreachable.iter().flatten();
    all.any(|(known, at)| *known != host && at.elapsed() < OFFLINE_TTL)
}

/// The message for a server that is not called because it could not be reached moments ago.
pub(crate) fn unreachable_message() -> &'static str {
    let failed = network_state().failed_lookup;
    match failed.is_some_and(|at| at.elapsed() < OFFLINE_TTL) {
        true => LOOKUP_FAILED,
        false => "the service was unreachable moments ago",
    }
}
