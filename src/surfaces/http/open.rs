//! Requests that are open, by user: one user's streams and waits leave connections for others.
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::fault::Fault;
use crate::surfaces::desk::Caller;

/// Seconds after which to come again where too many requests are open.
const LATER: u64 = 5;

/// How many requests of each user are open.
#[derive(Debug)]
pub(super) struct OpenRequests {
    /// Of one user at most.
    most: usize,
    by_user: Mutex<HashMap<String, usize>>,
}

/// A request that is open until this is dropped.
#[derive(Debug)]
pub(super) struct OpenRequest {
    of: Arc<OpenRequests>,
    user: String,
}

impl OpenRequests {
    /// None open yet, and at most `most` of one user.
    pub(super) fn new(most: usize) -> Arc<OpenRequests> {
        Arc::new(OpenRequests {
            most,
            by_user: Mutex::default(),
        })
    }

    /// Counts a request of `caller`, where they are a user: whoever runs the server is not bounded, and those who have not shown
    /// who they are are bounded by their address.
    ///
    /// # Errors
    /// The refusal of a request too many, to be answered by [`closing`].
    pub(super) fn enter(self: &Arc<Self>, caller: &Caller) -> Result<Option<OpenRequest>, Fault> {
        if caller.is_operator() || caller.is_stranger() {
            return Ok(None);
        }
        match self.enter_named(caller.name()) {
            Some(request) => Ok(Some(request)),
            None => Err(self.refused()),
        }
    }

    fn enter_named(self: &Arc<Self>, user: &str) -> Option<OpenRequest> {
        let mut all = self.all();
        let count = all.entry(user.to_owned()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(OpenRequest {
            of: Arc::clone(self),
            user: user.to_owned(),
        })
    }

    fn refused(&self) -> Fault {
        let what = format!(
            "{} requests and streams of yours are open already",
            self.most
        );
        Fault::new(StatusCode::TOO_MANY_REQUESTS, "too_many_open", what)
            .hint("close streams that nobody reads; the operator bounds them with `serve.requests_each`")
            .after(LATER)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut all = self.of.all();
        if let Some(count) = all.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.user);
            }
        }
    }
}

/// The answer to a request too many. Its connection is closed, so that it keeps no other out.
pub(super) fn closing(refused: Fault) -> Response {
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (close, refused).into_response()
}

/// The same answer, whose request is open until its body has been sent.
pub(super) fn held(response: Response, request: Option<OpenRequest>) -> Response {
    match request {
        Some(request) => response.map(|body| {
            Body::new(HeldBody {
                body,
                _request: request,
            })
        }),
        None => response,
    }
}

/// A body that holds its request open.
struct HeldBody {
    body: Body,
    _request: OpenRequest,
}

impl HttpBody for HeldBody {
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
        let one = open.enter_named("ann");
        let two = held(Response::new(Body::empty()), open.enter_named("ann"));
        assert!(one.is_some());
        assert!(open.enter_named("ann").is_none());
        assert!(open.enter_named("bob").is_some());
        // It is open until its body has been sent.
        drop(two);
        assert!(open.enter_named("ann").is_some());
        drop(one);
        assert!(open.all().is_empty());
        assert_eq!(open.refused().status(), StatusCode::TOO_MANY_REQUESTS);
    }
}
