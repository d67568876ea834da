//! Limits on the time of a request and its body, and the headers of every response.
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};

use super::api_error::{ApiError, ApiResult};
use super::state::ServerState;

/// How long a response may take to begin, unless it waits for a whole run.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(90);

/// Reads the whole body within its time limit, so that no handler waits for a slow client. A body that is too large is passed on
/// partly read; the handler refuses it without reading further.
async fn read_body(server: &ServerState, request: Request) -> ApiResult<Request> {
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let (head, body) = request.into_parts();
    let mut rest = body.into_data_stream();
    let mut received: Vec<u8> = Vec::new();
    let read = tokio::time::timeout(server.body_timeout, async {
        while let Some(chunk) = rest.next().await {
            received.extend_from_slice(&chunk?);
            if received.len() > server.max_body_bytes {
                break;
            }
        }
        Ok::<(), axum::Error>(())
    });
    match read.await {
        Ok(Ok(())) if received.len() > server.max_body_bytes => {
            let received = stream::once(std::future::ready(Ok(Bytes::from(received))));
            let body = Body::from_stream(received.chain(rest));
            Ok(Request::from_parts(head, body))
        }
        Ok(Ok(())) => Ok(Request::from_parts(head, Body::from(received))),
        Ok(Err(_)) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "broken_body",
            "the connection closed before the body was complete",
        )),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow_body",
            "the body took too long to arrive",
        )
        .with_hint("the operator sets the limit with `serve.body_seconds`")),
    }
}

/// Limits the time until a response begins, and adds the standard headers to every response.
pub(super) async fn enforce_deadline(
    State(server): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    let request = match read_body(&server, request).await {
        Ok(request) => request,
        Err(fault) => {
            // Close the connection instead of waiting for the rest of the body.
            let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
            return with_standard_headers((close, fault).into_response());
        }
    };
    // OpenAI's APIs without a stream wait for the whole run.
    let waits_for_run = ["/v1/responses", "/v1/chat/completions"].contains(&request.uri().path());
    let response = if waits_for_run {
        Ok(next.run(request).await)
    } else {
        tokio::time::timeout(RESPONSE_TIMEOUT, next.run(request)).await
    };
    with_standard_headers(response.unwrap_or_else(|_| {
        let what = "the request took too long";
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, "timeout", what).into_response()
    }))
}

/// Adds the headers that every response has.
fn with_standard_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
