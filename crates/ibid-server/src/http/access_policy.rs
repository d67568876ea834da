//! What the headers of a request say about its host, its origin, its token and its session.
use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use sha2::{Digest, Sha256};

use super::api_error::{ApiError, ApiResult};

/// Which hosts, origins and tokens are accepted.
#[derive(Debug, Clone, Default)]
pub(super) struct AccessPolicy {
    /// Accepted hosts, lower case. One without a port matches every port.
    pub(super) hosts: Vec<String>,
    /// The hash of the operator's token, if one is set.
    pub(super) token: Option<[u8; 32]>,
    /// Whether requests without a token are accepted: only on loopback.
    pub(super) open: bool,
}

/// Hashes a token. Comparing hashes takes no longer for a nearly correct token, and the token itself is not kept in memory.
pub(super) fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl AccessPolicy {
    /// The accepted hosts of a server at `addr`, and those that the operator `named`. Named hosts without a port are accepted at every
    /// port, since a container or a proxy may map it.
    pub(super) fn allowed_hosts(addr: SocketAddr, named: &[String]) -> Vec<String> {
        let port = addr.port();
        let mut hosts = vec![addr.to_string()];
        if addr.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|it| format!("{it}:{port}")));
        }
        hosts.extend(named.iter().map(|text| text.to_ascii_lowercase()));
        hosts
    }

    /// Checks that the request names a host of this server, and returns the host. This stops DNS rebinding: a foreign page whose name
    /// resolves to our address sends its own name.
    ///
    /// # Errors
    /// 421 for another host.
    pub(super) fn check_host(
        &self,
        headers: &HeaderMap,
        uri: &axum::http::Uri,
    ) -> ApiResult<String> {
        let wrong = || {
            ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", "unknown host")
                .with_hint("the operator can add hosts with `serve.hosts`")
        };
        let mut all = headers.get_all(header::HOST).iter();
        let named = all.next().and_then(|it| it.to_str().ok());
        if all.next().is_some() {
            return Err(wrong());
        }
        let host = uri.authority().map(|authority| authority.as_str()).or(named);
        let host = host.map(str::to_ascii_lowercase).ok_or_else(wrong)?;
        let served = |name: &str| self.hosts.iter().any(|known| known == name);
        if served(&host) || served(strip_port(&host)) { Ok(host) } else { Err(wrong()) }
    }

    /// Checks that a browser does not send this for a page of another site. Other clients send neither header and pass.
    ///
    /// # Errors
    /// 403 for another origin.
    pub(super) fn check_origin(&self, headers: &HeaderMap, host: &str) -> ApiResult<()> {
        let foreign = || {
            ApiError::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "requests from pages of other sites are not allowed",
            )
        };
        let site = headers.get(FETCH_SITE).map(|header| header.to_str().unwrap_or_default());
        if !matches!(site, None | Some("same-origin" | "none")) {
            return Err(foreign());
        }
        let mut all = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = all.next() else {
            return Ok(());
        };
        let origin = origin.to_str().map_err(|_| foreign())?.to_ascii_lowercase();
        let same = [format!("http://{host}"), format!("https://{host}")].contains(&origin);
        if same && all.next().is_none() { Ok(()) } else { Err(foreign()) }
    }
}

/// The host without its port.
fn strip_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The name of the session cookie.
pub(super) const SESSION_COOKIE: &str = "ibid_session";

/// The session cookie of a request.
pub(super) fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter();
    all.filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(';'))
        .find_map(|it| it.trim().strip_prefix(SESSION_COOKIE)?.strip_prefix('='))
}

/// Whether a browser states the origin of the request. [`AccessPolicy::check_origin`] has checked it.
pub(super) fn has_origin(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE)
}

pub(super) fn is_form_body(headers: &HeaderMap) -> bool {
    content_type(headers).eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

pub(super) fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get(header::CONTENT_LENGTH).is_some_and(|header| header.as_bytes() != b"0")
}

pub(super) fn is_json_body(headers: &HeaderMap) -> bool {
    content_type(headers).eq_ignore_ascii_case("application/json")
}

/// The media type of the body, without parameters.
fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim()
}

/// The bearer token of the request, if it has one.
///
/// # Errors
/// 401 for a malformed or repeated `Authorization` header.
pub(super) fn bearer_token(headers: &HeaderMap) -> ApiResult<Option<&str>> {
    let wrong = || {
        ApiError::new(
            StatusCode::UNAUTHORIZED,
            "bad_token",
            "the Authorization header is not `Bearer TOKEN`",
        )
    };
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = all.next() else {
        return Ok(None);
    };
    if all.next().is_some() {
        return Err(wrong());
    }
    let value = value.to_str().map_err(|_| wrong())?;
    let (scheme, token) = value.split_once(' ').ok_or_else(wrong)?;
    let token = token.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() {
        Ok(Some(token))
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_policy() -> AccessPolicy {
        let addr = "127.0.0.1:7700".parse().unwrap();
        AccessPolicy {
            hosts: AccessPolicy::allowed_hosts(addr, &["Ibid.example".to_owned()]),
            ..AccessPolicy::default()
        }
    }

    fn headers_with(name: HeaderName, value: &str) -> HeaderMap {
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
                test_policy().check_host(&headers_with(header::HOST, host), &uri).is_ok(),
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
                test_policy().check_host(&headers_with(header::HOST, host), &uri).is_err(),
                "{host}"
            );
        }
        assert!(test_policy().check_host(&HeaderMap::new(), &uri).is_err());
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let host = "localhost:7700";
        assert!(test_policy().check_origin(&HeaderMap::new(), host).is_ok());
        assert!(
            test_policy()
                .check_origin(&headers_with(header::ORIGIN, "http://localhost:7700"), host)
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
                test_policy().check_origin(&headers_with(header::ORIGIN, origin), host).is_err(),
                "{origin}"
            );
        }
        for site in ["cross-site", "same-site", "else"] {
            assert!(
                test_policy().check_origin(&headers_with(FETCH_SITE, site), host).is_err(),
                "{site}"
            );
        }
    }
}
