//! The SSRF guard and the fetcher of the settings, and what the guard says about a URL.
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::Settings;
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::web::address::Cidr;
use ibid_net::web::fetch::{FetchLimits, Fetcher, SystemResolver};
use ibid_net::web::guard::{BlockedUrl, CheckedUrl, SsrfGuard};
use ibid_net::web::host_limit::{HostPolicy, OwnerHostLimiter};
pub use ibid_net::web::own_address::OwnAddressGuard;

/// The guard of these settings.
///
/// # Errors
/// `Usage` for an invalid address block in `allow_net`.
pub fn guard(settings: &Settings) -> Result<SsrfGuard> {
    let read = |text: &String| -> Result<Cidr> {
        text.parse().map_err(|fault: Error| {
            Error::new(ErrorKind::Usage, "reading setting allow_net")
                .with_source(fault)
                .with_hint("write blocks as in 10.0.0.0/8, fd00::/8 or 127.0.0.1")
        })
    };
    let blocks: Result<Vec<Cidr>> = settings.allow_net.iter().map(read).collect();
    Ok(SsrfGuard::with_allowed(blocks?))
}

/// Blocks fetches of this process to its own listening address `addr` and host `names`, until the returned guard is dropped.
#[must_use]
pub fn register_listener(addr: SocketAddr, names: &[String]) -> OwnAddressGuard {
    OwnAddressGuard::register(addr, names)
}

/// The user agent, with the contact of the settings, if any.
pub fn user_agent(settings: &Settings) -> String {
    let name = concat!(
        "ibid/",
        env!("CARGO_PKG_VERSION"),
        " (research agent; reads pages for one person's question"
    );
    match settings.contact.as_str() {
        "" => format!("{name})"),
        contact => format!("{name}; {contact})"),
    }
}

/// A fetcher of web pages.
///
/// # Errors
/// Those of [`guard`].
pub fn fetcher(settings: &Settings) -> Result<Fetcher> {
    fetcher_with_limiter(settings, OwnerHostLimiter::default())
}

/// Like [`fetcher`], with a limiter that other fetchers share.
///
/// # Errors
/// Those of [`guard`].
pub(super) fn fetcher_with_limiter(
    settings: &Settings,
    limiter: OwnerHostLimiter,
) -> Result<Fetcher> {
    Ok(build_fetcher(guard(settings)?, settings, limiter))
}

/// The sender of webhooks. Those of a user go to public addresses only; `allow_net` applies to the operator's.
///
/// # Errors
/// Those of [`guard`].
pub(super) fn webhook_fetcher(settings: &Settings, by_operator: bool) -> Result<Fetcher> {
    let guard = if by_operator { guard(settings)? } else { SsrfGuard::with_allowed(Vec::new()) };
    Ok(build_fetcher(guard, settings, OwnerHostLimiter::default()))
}

fn build_fetcher(guard: SsrfGuard, settings: &Settings, limiter: OwnerHostLimiter) -> Fetcher {
    let (names, bounds) = (Arc::new(SystemResolver), FetchLimits::default());
    let policy = HostPolicy {
        robots: settings.web.robots,
        max_concurrent: settings.web.host_requests,
        interval: settings.web.host_pace,
    };
    let fetcher = Fetcher::new(guard, names, bounds, &user_agent(settings));
    fetcher.with_host_limits(limiter, policy)
}

/// Answers of the name service and redirects for [`explain`], which makes no call.
#[derive(Debug, Clone, Copy, Default)]
pub struct WebFixture<'a> {
    /// The answers of the name service: `{name: [[addresses of the first look-up], …]}`.
    pub dns: Option<&'a Value>,
    /// The redirects: `[{at, status, location}, …]`.
    pub chain: Option<&'a Value>,
}

/// What `guard` says about `url`, as `{id, verdict, reason}` with the verdict `allow` or `block`. Looks nothing up. A name is blocked when
/// any of its look-ups in `known` is; a live fetch connects to the addresses of the first look-up, after checking them.
pub fn explain(guard: &SsrfGuard, id: &Value, url: &str, known: WebFixture<'_>) -> Value {
    let (verdict, reason) = match check_redirects(guard, url, known) {
        Ok(reason) => ("allow", reason.to_owned()),
        Err(it) => ("block", format!("{}: {}", it.step.as_str(), it.why)),
    };
    json!({"id": id, "verdict": verdict, "reason": reason})
}

/// Checks a URL and its redirects.
fn check_redirects(
    guard: &SsrfGuard,
    url: &str,
    known: WebFixture<'_>,
) -> std::result::Result<&'static str, BlockedUrl> {
    let mut target = guard.check(url)?;
    let mut reason = check_target(guard, &target, known.dns)?;
    let hops = known.chain.and_then(Value::as_array);
    for nth in 0.. {
        let here = |value: &&Value| value["at"].as_str() == Some(target.url().as_str());
        let Some(hop) = hops.and_then(|hops| hops.iter().find(here)) else {
            break;
        };
        let status = hop["status"].as_u64().and_then(|number| u16::try_from(number).ok());
        let location = hop["location"].as_str().unwrap_or_default();
        match guard.check_redirect(&target, status.unwrap_or(0), location, nth)? {
            Some(next) => target = next,
            None => break,
        }
        reason = check_target(guard, &target, known.dns)?;
    }
    Ok(reason)
}

fn check_target(
    guard: &SsrfGuard,
    target: &CheckedUrl,
    dns: Option<&Value>,
) -> std::result::Result<&'static str, BlockedUrl> {
    let Some(name) = target.name() else {
        return Ok("its address is of the open web, or allowed");
    };
    let Some(dns) = dns.and_then(Value::as_object) else {
        return Ok("its name is sound; its addresses are judged when it is looked up");
    };
    let same = |text: &&String| text.trim_end_matches('.').eq_ignore_ascii_case(name);
    let known = dns.keys().find(same).and_then(|key| dns[key].as_array());
    let lookups = known.map_or(&[][..], Vec::as_slice);
    if lookups.is_empty() {
        guard.check_addresses(target, &[])?;
    }
    for lookup in lookups {
        guard.check_addresses(target, &addresses(lookup))?;
    }
    Ok("its name and all of its addresses are of the open web, or allowed")
}

/// The addresses of a look-up. An invalid one becomes an address that is never allowed.
fn addresses(lookup: &Value) -> Vec<IpAddr> {
    let never = IpAddr::from([0, 0, 0, 0]);
    let read = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).unwrap_or(never);
    lookup.as_array().into_iter().flatten().map(read).collect()
}
