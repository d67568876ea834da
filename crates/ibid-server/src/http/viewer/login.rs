//! Signing in and out.
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Extension;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::page::{FormFields, HtmlPage, Visitor, redirect};
use crate::http::access_policy::{SESSION_COOKIE, hash_token, session_cookie};
use crate::http::api_error::{ApiError, ApiResult};
use crate::http::auth::AuthMethod;
use crate::http::connection_limits::Peer;
use crate::http::extract::QueryParams;
use crate::http::paths::is_page;
use crate::http::sessions;
use crate::request_service::Caller;
use crate::view::basic_pages::LoginPage;
use crate::view::render;

/// The address of the login page that leads on to `next`.
pub(super) fn login_url(next: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", next);
    format!("/login?{}", query.finish())
}

/// `next` if it is a page of this server, else `/`. Prevents open redirects.
fn local_path(next: &str) -> String {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    let plain = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains(['\\', '\r', '\n', '\t'])
        && next.len() <= 2_000
        && next.is_ascii();
    if plain && is_page(path) && !path.starts_with("/login") && !path.starts_with("/logout") {
        next.to_owned()
    } else {
        "/".to_owned()
    }
}

fn login_page(visitor: &Visitor, next: &str, fault: Option<&str>) -> ApiResult<HtmlPage> {
    Ok(HtmlPage(render(&LoginPage {
        shell: visitor.shell("Sign in").narrow(),
        fault: fault.map(str::to_owned),
        next: local_path(next),
    })?))
}

#[derive(Deserialize)]
pub(super) struct NextParam {
    next: Option<String>,
}

/// `GET /login`.
pub(super) async fn show(
    visitor: Visitor,
    QueryParams(params): QueryParams<NextParam>,
) -> ApiResult<Response> {
    let next = params.next.unwrap_or_default();
    match visitor.auth_method {
        AuthMethod::Anonymous => Ok(login_page(&visitor, &next, None)?.into_response()),
        AuthMethod::Session | AuthMethod::Token => Ok(redirect(&local_path(&next))),
    }
}

/// `POST /login`: creates a session for a token.
pub(super) async fn sign_in(
    visitor: Visitor,
    peer: Option<Extension<Arc<Peer>>>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let peer = peer.map(|peer| peer.0);
    // Behind a proxy, one guessing client must not block the others.
    if let Some(peer) = peer.as_ref().filter(|peer| !peer.is_proxy()) {
        visitor.server.auth_throttle.check(peer.address())?;
    }
    let fields = FormFields::parse(bytes)?;
    let next = local_path(fields.get("next"));
    if visitor.server.access.open {
        return Ok(redirect(&next));
    }
    let token = fields.get("token");
    let Some(hash) = known_token(&visitor, token).await? else {
        return refuse_sign_in(&visitor, &next, token, peer.as_ref());
    };
    let (known, now) = visitor.server.requests.browser_sessions().await?;
    if let Some(before) = session_cookie(&headers) {
        sessions::end(&*known, before).await?;
    }
    let cookie = sessions::create(&*known, &hash, now).await?;
    let seconds = sessions::MAX_AGE.as_secs();
    Ok(with_cookie(redirect(&next), &cookie, seconds, &headers))
}

/// The hash of a token; `None` for an unknown one.
async fn known_token(visitor: &Visitor, token: &str) -> ApiResult<Option<String>> {
    if token.is_empty() {
        return Ok(None);
    }
    if visitor.server.access.token == Some(hash_token(token)) {
        return Ok(Some(hex::encode(hash_token(token))));
    }
    let caller = visitor.server.requests.authenticate(token).await?;
    let hash = caller.as_ref().and_then(Caller::token);
    Ok(hash.map(str::to_owned))
}

/// Shows the login page again. Counts an unknown token against the address it came from.
fn refuse_sign_in(
    visitor: &Visitor,
    next: &str,
    token: &str,
    peer: Option<&Arc<Peer>>,
) -> ApiResult<Response> {
    tracing::warn!("sign_in_refused");
    let text = if token.is_empty() { "Enter a token." } else { "Unknown token." };
    let page = login_page(visitor, next, Some(text))?;
    if !token.is_empty() {
        let unknown = ApiError::new(StatusCode::BAD_REQUEST, "bad_token", text);
        let fault = visitor.server.record_bad_token(peer, unknown);
        if fault.status() != StatusCode::BAD_REQUEST {
            return Err(fault);
        }
    }
    Ok((StatusCode::BAD_REQUEST, page).into_response())
}

/// `POST /logout`.
pub(super) async fn sign_out(visitor: Visitor, headers: HeaderMap) -> ApiResult<Response> {
    if let Some(cookie) = session_cookie(&headers) {
        let (known, _) = visitor.server.requests.browser_sessions().await?;
        sessions::end(&*known, cookie).await?;
    }
    Ok(with_cookie(redirect("/login"), "", 0, &headers))
}

/// Sets the session cookie: hidden from scripts, not sent by other sites, and restricted to TLS if the browser uses TLS.
fn with_cookie(mut response: Response, value: &str, seconds: u64, headers: &HeaderMap) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|header| header.to_str().ok());
    let secure =
        if origin.is_some_and(|origin| origin.starts_with("https://")) { "; Secure" } else { "" };
    let text = format!(
        "{SESSION_COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    match HeaderValue::from_str(&text) {
        Ok(value) => {
            response.headers_mut().insert(header::SET_COOKIE, value);
            response
        }
        Err(_) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error")
            .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_redirects_to_pages_of_this_server_only() {
        assert_eq!(local_path("/r/r_1/report?cite=2"), "/r/r_1/report?cite=2");
        assert_eq!(local_path("/"), "/");
        for elsewhere in [
            "",
            "//evil.test",
            "/\\evil.test",
            "https://evil.test/",
            "/\t/evil.test",
            "/login?next=/",
            "/v1/runs",
            "javascript:alert(1)",
        ] {
            assert_eq!(local_path(elsewhere), "/", "{elsewhere}");
        }
    }
}
