//! Authentication: the host, the origin and the token or session of every request are checked here first.
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::access_policy::{
    bearer_token, has_body, has_origin, is_form_body, is_json_body, session_cookie,
};
use super::api_error::{ApiError, ApiResult};
use super::connection_limits::Peer;
use super::open_requests;
use super::paths::{is_page, is_public_path, is_share_path};
use super::state::ServerState;
use crate::request_service::Caller;

/// Authenticates the request and adds its [`CallerService`](crate::request_service::CallerService) to it, or refuses it.
pub(super) async fn authenticate(
    State(server): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    match admit(&server, &head).await {
        Ok((caller, method)) => {
            let open = match server.open_requests.acquire(&caller) {
                Ok(open) => open,
                Err(refused) => return open_requests::close_connection(refused),
            };
            let traceparent = head.headers.get("traceparent");
            if let (AuthMethod::Token | AuthMethod::Session, Some(peer)) =
                (method, head.extensions.get::<Arc<Peer>>())
            {
                peer.mark_authenticated();
            }
            let caller =
                caller.with_trace(traceparent.and_then(|traceparent| traceparent.to_str().ok()));
            let service = server.requests.for_caller(caller.clone());
            head.extensions.insert(service);
            head.extensions.insert(method);
            let mut response = next.run(Request::from_parts(head, body)).await;
            response.extensions_mut().insert(caller);
            response.extensions_mut().insert(method);
            open_requests::hold_until_sent(response, open)
        }
        Err(fault) => fault.into_response(),
    }
}

/// How a request was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthMethod {
    /// By a token, or by open access.
    Token,
    /// By a session cookie.
    Session,
    /// Not at all: the path is public.
    Anonymous,
}

/// Checks the host, the origin and the content type, then the session or token.
async fn admit(server: &ServerState, head: &Parts) -> ApiResult<(Caller, AuthMethod)> {
    let policy = &server.access;
    let headers = &head.headers;
    let host = policy.check_host(headers, &head.uri)?;
    // A share link may be opened from any site; its token authorizes it.
    if head.method != Method::GET || !is_share_path(head.uri.path()) {
        policy.check_origin(headers, &host)?;
    }
    let posts = !matches!(head.method, Method::GET | Method::HEAD);
    let form = is_page(head.uri.path()) && is_form_body(headers) && has_origin(headers);
    if posts && has_body(headers) && !is_json_body(headers) && !form {
        // A form of another site can send every type but JSON without a preflight request. A form of the viewer comes from a browser
        // that has stated its origin, which was checked above.
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body must be JSON",
        )
        .with_hint("send Content-Type: application/json"));
    }
    let token = bearer_token(headers)?;
    if let (None, false, Some(session)) = (token, policy.open, session_cookie(headers))
        && let Some(caller) = server.caller_for_session(session).await?
    {
        // Only browsers send the cookie, and they state the origin of a request that changes something.
        if posts && !has_origin(headers) {
            return Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "a request with a session cookie needs an Origin or Sec-Fetch-Site header",
            ));
        }
        return Ok((caller, AuthMethod::Session));
    }
    let caller = server.caller_for_token(token).await?;
    match caller {
        Some(caller) => Ok((caller, AuthMethod::Token)),
        None if is_public_path(head.uri.path()) => Ok((Caller::anonymous(), AuthMethod::Anonymous)),
        None => Err(ApiError::new(StatusCode::UNAUTHORIZED, "no_token", "a token is required")
            .with_hint("send Authorization: Bearer TOKEN")),
    }
}
