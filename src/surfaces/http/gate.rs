//! Who may come in: the host that was asked for, where a browser comes from, and whose token it is. Every request passes here
//! first, whatever its path.
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::Server;
use super::fault::{Answer, Fault};
use super::peers::Peer;
use super::{open, viewer};
use crate::surfaces::desk::Caller;

/// What is asked of a request before anything of it is read.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate {
    /// Names and addresses, with the port where one is meant, that the server answers to; lower case.
    pub(super) hosts: Vec<String>,
    /// The hash of the operator's token, where there is one.
    pub(super) token: Option<[u8; 32]>,
    /// Whether anybody without a token is let in: on loopback alone.
    pub(super) open: bool,
}

/// The hash that tokens are compared by: equal time whatever they are, and nothing to read in memory.
pub(super) fn hashed(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Gate {
    /// The hosts by which a server at `addr` is reached, and those that the operator names: without a port, at whichever port a
    /// container or a proxy shows them.
    pub(super) fn hosts(addr: SocketAddr, named: &[String]) -> Vec<String> {
        let port = addr.port();
        let mut hosts = vec![addr.to_string()];
        if addr.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|it| format!("{it}:{port}")));
        }
        hosts.extend(named.iter().map(|it| it.to_ascii_lowercase()));
        hosts
    }

    /// Whether the request was meant for this server. A page of another site that has pointed its own name at our address
    /// sends that name.
    fn host(&self, headers: &HeaderMap, uri: &axum::http::Uri) -> Answer<String> {
        let wrong = || {
            Fault::new(
                StatusCode::MISDIRECTED_REQUEST,
                "wrong_host",
                "this host is not served here",
            )
            .hint("the operator names further hosts with `serve.hosts`")
        };
        let mut all = headers.get_all(header::HOST).iter();
        let named = all.next().and_then(|it| it.to_str().ok());
        if all.next().is_some() {
            return Err(wrong());
        }
        let host = uri.authority().map(|it| it.as_str()).or(named);
        let host = host.map(str::to_ascii_lowercase).ok_or_else(wrong)?;
        let served = |it: &str| self.hosts.iter().any(|known| known == it);
        match served(&host) || served(portless(&host)) {
            true => Ok(host),
            false => Err(wrong()),
        }
    }

    /// Whether a browser sends this on behalf of a page of ours. No browser, no headers: then the token counts alone.
    fn origin(&self, headers: &HeaderMap, host: &str) -> Answer<()> {
        let foreign = || {
            Fault::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "requests from pages of other sites are refused",
            )
        };
        let site = headers
            .get(FETCH_SITE)
            .map(|it| it.to_str().unwrap_or_default());
        if !matches!(site, None | Some("same-origin" | "none")) {
            return Err(foreign());
        }
        let mut all = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = all.next() else {
            return Ok(());
        };
        let origin = origin.to_str().map_err(|_| foreign())?.to_ascii_lowercase();
        let same = [format!("http://{host}"), format!("https://{host}")].contains(&origin);
        match same && all.next().is_none() {
            true => Ok(()),
            false => Err(foreign()),
        }
    }
}

/// A host without its port.
fn portless(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    }
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Routes that tell nothing of anybody: a load balancer asks them without a token.
const PUBLIC: [&str; 4] = ["/healthz", "/readyz", "/openapi.json", "/llms.txt"];

/// The same of what a browser needs before anybody has signed in.
fn is_public(path: &str) -> bool {
    PUBLIC.contains(&path)
        || ["/login", "/favicon.ico"].contains(&path)
        || path.starts_with("/assets/")
        || is_shared(path)
}

/// Whether a path is one of a report that was shared.
fn is_shared(path: &str) -> bool {
    path.starts_with("/s/")
}

/// The name of the cookie that holds a session.
pub(super) const COOKIE: &str = "ibid_session";

/// The session that a browser sends.
pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter();
    all.filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(';'))
        .find_map(|it| it.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// Whether a browser says where the request comes from; that it is from here was looked at before.
fn says_origin(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE)
}

fn is_form(headers: &HeaderMap) -> bool {
    kind(headers).eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Lets a request in with what its caller can do, or refuses it.
pub(super) async fn pass(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    match admitted(&server, &head).await {
        Ok((caller, came)) => {
            let open = match server.open.enter(&caller) {
                Ok(it) => it,
                Err(refused) => return open::closing(refused),
            };
            let traced = head.headers.get("traceparent");
            if let (Came::Itself | Came::Session, Some(peer)) =
                (came, head.extensions.get::<Arc<Peer>>())
            {
                peer.known();
            }
            let caller = caller.traced(traced.and_then(|it| it.to_str().ok()));
            let service = server.desk.for_caller(caller.clone());
            head.extensions.insert(service);
            head.extensions.insert(came);
            let mut response = next.run(Request::from_parts(head, body)).await;
            response.extensions_mut().insert(caller);
            response.extensions_mut().insert(came);
            open::held(response, open)
        }
        Err(fault) => fault.into_response(),
    }
}

/// How a request was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// With a token, or where none is asked for.
    Itself,
    /// With the cookie of who has signed in.
    Session,
    /// As anybody may.
    Nobody,
}

async fn admitted(server: &Server, head: &Parts) -> Answer<(Caller, Came)> {
    let gate = &server.gate;
    let headers = &head.headers;
    let host = gate.host(headers, &head.uri)?;
    // A link that was shared is opened from wherever it was sent to, and tells by its token alone.
    if head.method != Method::GET || !is_shared(head.uri.path()) {
        gate.origin(headers, &host)?;
    }
    let posts = !matches!(head.method, Method::GET | Method::HEAD);
    let form = viewer::is_page(head.uri.path()) && is_form(headers) && says_origin(headers);
    if posts && has_body(headers) && !is_json(headers) && !form {
        // A form of another site can send this without asking; JSON it cannot. A form of ours comes from a browser,
        // which has said so above.
        return Err(Fault::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body must be JSON",
        )
        .hint("send Content-Type: application/json"));
    }
    let token = bearer(headers)?;
    if let (None, false, Some(session)) = (token, gate.open, session(headers))
        && let Some(caller) = server.signed_in(session).await?
    {
        // The cookie is sent by browsers alone, and those say where a request that changes something comes from.
        return match posts && !says_origin(headers) {
            true => Err(Fault::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "a request of a session must say which page it comes from",
            )),
            false => Ok((caller, Came::Session)),
        };
    }
    let caller = server.caller(token).await?;
    match caller {
        Some(caller) => Ok((caller, Came::Itself)),
        None if is_public(head.uri.path()) => Ok((Caller::nobody(), Came::Nobody)),
        None => Err(
            Fault::new(StatusCode::UNAUTHORIZED, "no_token", "this needs a token")
                .hint("send Authorization: Bearer TOKEN"),
        ),
    }
}

fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|it| it.as_bytes() != b"0")
}

fn is_json(headers: &HeaderMap) -> bool {
    kind(headers).eq_ignore_ascii_case("application/json")
}

/// The type of the body, without its parameters.
fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim()
}

/// The token that is sent, where one is.
fn bearer(headers: &HeaderMap) -> Answer<Option<&str>> {
    let wrong = || {
        Fault::new(
            StatusCode::UNAUTHORIZED,
            "bad_token",
            "the Authorization header is not `Bearer TOKEN`",
        )
    };
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(it) = all.next() else {
        return Ok(None);
    };
    if all.next().is_some() {
        return Err(wrong());
    }
    let it = it.to_str().map_err(|_| wrong())?;
    let (scheme, token) = it.split_once(' ').ok_or_else(wrong)?;
    let token = token.trim();
    match scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() {
        true => Ok(Some(token)),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let addr = "127.0.0.1:7700".parse().unwrap();
        Gate {
            hosts: Gate::hosts(addr, &["Ibid.example".to_owned()]),
            ..Gate::default()
        }
    }

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn only_hosts_that_are_served_are_answered() {
        let uri = axum::http::Uri::from_static("/");
        for host in [
            "localhost:7700",
            "127.0.0.1:7700",
            "[::1]:7700",
            "IBID.example",
            "ibid.example:7700",
            // A container or a proxy may show it at another port.
            "ibid.example:8443",
        ] {
            assert!(
                gate().host(&with(header::HOST, host), &uri).is_ok(),
                "{host}"
            );
        }
        for host in [
            "evil.test:7700",
            "localhost",
            "localhost:80",
            "127.0.0.1.evil.test:7700",
            "localhost:7700.evil.test",
            "ibid.example.evil.test",
            "ibid.example:7700:7700",
            "",
        ] {
            assert!(
                gate().host(&with(header::HOST, host), &uri).is_err(),
                "{host}"
            );
        }
        assert!(gate().host(&HeaderMap::new(), &uri).is_err());
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let host = "localhost:7700";
        assert!(gate().origin(&HeaderMap::new(), host).is_ok());
        assert!(
            gate()
                .origin(&with(header::ORIGIN, "http://localhost:7700"), host)
                .is_ok()
        );
        for origin in [
            "null",
            "http://localhost",
            "http://evil.test",
            "http://localhost:7700.evil.test",
            "https://localhost:7701",
        ] {
            assert!(
                gate().origin(&with(header::ORIGIN, origin), host).is_err(),
                "{origin}"
            );
        }
        for site in ["cross-site", "same-site", "else"] {
            assert!(
                gate().origin(&with(FETCH_SITE, site), host).is_err(),
                "{site}"
            );
        }
    }
}
