//! Signing in and out.
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Extension;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::session::{Holder, LONGEST};
use super::{Answer, Html, Visitor, fields, is_page, to};
use crate::surfaces::desk::Caller;
use crate::surfaces::http::extract::Params;
use crate::surfaces::http::fault::Fault;
use crate::surfaces::http::gate::{COOKIE, Came, hashed, session};
use crate::surfaces::http::peers::Peer;
use crate::surfaces::view::page;
use crate::surfaces::view::small::Login;

/// Where to sign in, to come back to `next` then.
pub(super) fn place(next: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", next);
    format!("/login?{}", query.finish())
}

/// A path of this server: never an address that leads elsewhere.
fn inside(next: &str) -> String {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    let plain = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains(['\\', '\r', '\n', '\t'])
        && next.len() <= 2_000
        && next.is_ascii();
    match plain && is_page(path) && !path.starts_with("/login") && !path.starts_with("/logout") {
        true => next.to_owned(),
        false => "/".to_owned(),
    }
}

fn shown(visitor: &Visitor, next: &str, fault: Option<&str>) -> Answer<Html> {
    Ok(Html(page(&Login {
        shell: visitor.shell("Sign in").narrow(),
        fault: fault.map(str::to_owned),
        next: inside(next),
    })?))
}

#[derive(Deserialize)]
pub(super) struct Next {
    next: Option<String>,
}

/// `GET /login`.
pub(super) async fn form(visitor: Visitor, Params(it): Params<Next>) -> Answer<Response> {
    let next = it.next.unwrap_or_default();
    match visitor.came {
        Came::Nobody => Ok(shown(&visitor, &next, None)?.into_response()),
        Came::Session | Came::Itself => Ok(to(&inside(&next))),
    }
}

/// `POST /login`: a token becomes a session.
pub(super) async fn sign_in(
    visitor: Visitor,
    peer: Option<Extension<Arc<Peer>>>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Response> {
    let peer = peer.map(|it| it.0);
    // Behind a proxy are others, who must not wait because one guesses.
    if let Some(it) = peer.as_ref().filter(|it| !it.is_proxy()) {
        visitor.server.guesses.admit(it.address())?;
    }
    let said = fields(bytes)?;
    let one = |name: &str| {
        said.iter()
            .find(|it| it.0 == name)
            .map_or("", |it| it.1.trim())
    };
    let next = inside(one("next"));
    if visitor.server.gate.open {
        return Ok(to(&next));
    }
    let token = one("token");
    let holder = match token {
        "" => None,
        _ if visitor.server.gate.token == Some(hashed(token)) => Some(Holder::Operator),
        _ => {
            let known = visitor.server.desk.recognised(token).await?;
            let hash = known.as_ref().and_then(Caller::token);
            hash.map(|it| Holder::User(it.to_owned()))
        }
    };
    let Some(holder) = holder else {
        visitor.server.telling.note("sign_in_refused", &[]);
        let text = match token {
            "" => "Type a token.",
            _ => "This token is not known here.",
        };
        let page = shown(&visitor, &next, Some(text))?;
        if token.is_empty() {
            return Ok((StatusCode::BAD_REQUEST, page).into_response());
        }
        let unknown = Fault::new(StatusCode::BAD_REQUEST, "bad_token", text);
        let fault = visitor.server.guessed(peer.as_ref(), unknown);
        return match fault.status() {
            StatusCode::BAD_REQUEST => Ok((StatusCode::BAD_REQUEST, page).into_response()),
            _ => Err(fault),
        };
    };
    if let Some(before) = session(&headers) {
        visitor.server.sessions.end(before);
    }
    let word = visitor.server.sessions.begin(holder);
    Ok(with_cookie(to(&next), &word, LONGEST.as_secs(), &headers))
}

/// `POST /logout`.
pub(super) async fn out(visitor: Visitor, headers: HeaderMap) -> Answer<Response> {
    if let Some(word) = session(&headers) {
        visitor.server.sessions.end(word);
    }
    Ok(with_cookie(to("/login"), "", 0, &headers))
}

/// The cookie that no script reads and no other site has sent; over TLS alone where the browser came by TLS.
fn with_cookie(mut response: Response, word: &str, seconds: u64, headers: &HeaderMap) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok());
    let secure = match origin.is_some_and(|it| it.starts_with("https://")) {
        true => "; Secure",
        false => "",
    };
    let text =
        format!("{COOKIE}={word}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    match HeaderValue::from_str(&text) {
        Ok(value) => {
            response.headers_mut().insert(header::SET_COOKIE, value);
            response
        }
        Err(_) => Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the server cannot do this",
        )
        .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_signs_in_is_led_nowhere_else() {
        assert_eq!(inside("/r/r_1/report?cite=2"), "/r/r_1/report?cite=2");
        assert_eq!(inside("/"), "/");
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
            assert_eq!(inside(elsewhere), "/", "{elsewhere}");
        }
    }
}
