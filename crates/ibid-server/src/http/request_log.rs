//! Logs and counts every request.
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use super::api_error::InternalDetail;
use super::state::ServerState;
use crate::request_service::Caller;

/// The method as a metrics label. Unknown methods become `other`, so that clients cannot create labels.
fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] =
        ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE"];
    let known = KNOWN.into_iter().find(|it| *it == method.as_str());
    known.unwrap_or("other")
}

/// Logs and counts each response: route, status, time and caller. Never the path or a header, which may contain secrets.
pub(super) async fn log_requests(
    State(server): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none".to_owned(), |route| route.as_str().to_owned());
    let mut response = next.run(request).await;
    let status = response.status();
    let why = response.extensions_mut().remove::<InternalDetail>().and_then(|detail| detail.0);
    let caller = response.extensions().get::<Caller>().map(|caller| caller.name().to_owned());
    let took = began.elapsed();
    server.metrics.record_request(&route, method, status.as_u16(), took.as_secs_f64());
    let refused = status.is_client_error() || status.is_server_error();
    let (status, ms) = (status.as_u16(), took.as_millis() as u64);
    if refused {
        tracing::warn!(method, route, status, ms, caller, why, "request");
    } else {
        tracing::debug!(method, route, status, ms, caller, why, "request");
    }
    response
}
