//! Open requests by user: a limit per user, so that one user's streams leave connections for others.
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::api_error::ApiError;
use crate::request_service::Caller;

/// `Retry-After` when a user has too many open requests, seconds.
const RETRY_AFTER_SECS: u64 = 5;

/// The number of open requests of each user.
#[derive(Debug)]
pub(super) struct OpenRequests {
    /// Maximum number of open requests of one user.
    limit: usize,
    by_user: Mutex<HashMap<String, usize>>,
}

/// An open request. Dropping it closes the request.
#[derive(Debug)]
pub(super) struct OpenRequest {
    requests: Arc<OpenRequests>,
    user: String,
}

impl OpenRequests {
    /// Allows `limit` open requests per user.
    pub(super) fn new(limit: usize) -> Arc<OpenRequests> {
        Arc::new(OpenRequests { limit, by_user: Mutex::default() })
    }

    /// Counts a request of `caller`. The operator is not limited, and unauthenticated callers are limited by address.
    ///
    /// # Errors
    /// 429 if the user has too many open requests; answer it with [`close_connection`].
    pub(super) fn acquire(
        self: &Arc<Self>,
        caller: &Caller,
    ) -> Result<Option<OpenRequest>, ApiError> {
        if caller.is_operator() || caller.is_anonymous() {
            return Ok(None);
        }
        match self.acquire_for(caller.name()) {
            Some(request) => Ok(Some(request)),
            None => Err(self.too_many_error()),
        }
    }

    fn acquire_for(self: &Arc<Self>, user: &str) -> Option<OpenRequest> {
        let mut all = self.all();
        let count = all.entry(user.to_owned()).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(OpenRequest { requests: Arc::clone(self), user: user.to_owned() })
    }

    fn too_many_error(&self) -> ApiError {
        let what = format!("you already have {} open requests and streams", self.limit);
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_open", what)
            .with_hint(
                "close unused streams; the operator sets the limit with `serve.requests_each`",
            )
            .with_retry_after(RETRY_AFTER_SECS)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut all = self.requests.all();
        if let Some(count) = all.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.user);
            }
        }
    }
}

/// The response to a request above the limit. It closes the connection, to free it for others.
pub(super) fn close_connection(refused: ApiError) -> Response {
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (close, refused).into_response()
}

/// Keeps `request` open until the body of `response` has been sent.
pub(super) fn hold_until_sent(response: Response, request: Option<OpenRequest>) -> Response {
    match request {
        Some(request) => response.map(|body| Body::new(PermitBody { body, _request: request })),
        None => response,
    }
}

/// A body that keeps its request open.
struct PermitBody {
    body: Body,
    _request: OpenRequest,
}

impl HttpBody for PermitBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_so_many_requests_open_and_others_have_their_own() {
        let open = OpenRequests::new(2);
        let one = open.acquire_for("ann");
        let two = hold_until_sent(Response::new(Body::empty()), open.acquire_for("ann"));
        assert!(one.is_some());
        assert!(open.acquire_for("ann").is_none());
        assert!(open.acquire_for("bob").is_some());
        // It is open until its body has been sent.
        drop(two);
        assert!(open.acquire_for("ann").is_some());
        drop(one);
        assert!(open.all().is_empty());
        assert_eq!(open.too_many_error().status(), StatusCode::TOO_MANY_REQUESTS);
    }
}
