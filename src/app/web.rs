//! What the guard of the open web would say, without asking anybody.
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::adapters::web::address::Cidr;
use crate::adapters::web::fetch::{Bounds, Fetcher, SystemNames};
use crate::adapters::web::guard::{Blocked, Guard, Target};
use crate::adapters::web::manners::{Courtesy, OwnManners};
pub use crate::adapters::web::own::OwnSocket;
use crate::config::Settings;
use crate::error::{Error, Kind, Result};

/// The guard of these settings.
///
/// # Errors
/// `Usage` when `allow_net` holds what is no block of addresses.
pub fn guard(settings: &Settings) -> Result<Guard> {
    let read = |it: &String| -> Result<Cidr> {
        it.parse().map_err(|fault: Error| {
            Error::new(Kind::Usage, "reading setting allow_net")
                .because(fault)
                .hint("write blocks as in 10.0.0.0/8, fd00::/8 or 127.0.0.1")
        })
    };
    let blocks: Result<Vec<Cidr>> = settings.allow_net.iter().map(read).collect();
    Ok(Guard::allowing(blocks?))
}

/// Has no fetch of this process lead to `addr`, where it listens, nor to the names by which it is reached, until what comes
/// back is dropped.
#[must_use]
pub fn listens_at(addr: SocketAddr, names: &[String]) -> OwnSocket {
    OwnSocket::note(addr, names)
}

/// What we call ourselves, with how to reach whoever runs this, where they say so.
pub fn agent(settings: &Settings) -> String {
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

/// What fetches pages with these settings.
///
/// # Errors
/// `Usage` when `allow_net` holds what is no block of addresses.
pub fn fetcher(settings: &Settings) -> Result<Fetcher> {
    fetcher_among(settings, OwnManners::default())
}

/// The same, beside others that know the same hosts.
///
/// # Errors
/// `Usage` when `allow_net` holds what is no block of addresses.
pub(super) fn fetcher_among(settings: &Settings, manners: OwnManners) -> Result<Fetcher> {
    Ok(behind(guard(settings)?, settings, manners))
}

/// What tells of the ends of runs: for a user, to addresses of the open web alone.
///
/// # Errors
/// `Usage` when `allow_net` holds what is no block of addresses.
pub(super) fn deliverer(settings: &Settings, by_operator: bool) -> Result<Fetcher> {
    let guard = match by_operator {
        true => guard(settings)?,
        false => Guard::allowing(Vec::new()),
    };
    Ok(behind(guard, settings, OwnManners::default()))
}

fn behind(guard: Guard, settings: &Settings, manners: OwnManners) -> Fetcher {
    let (names, bounds) = (Arc::new(SystemNames), Bounds::default());
    let courtesy = Courtesy {
        robots: settings.web.robots,
        at_once: settings.web.host_requests,
        distance: settings.web.host_pace,
    };
    let fetcher = Fetcher::new(guard, names, bounds, &agent(settings));
    fetcher.with_manners(manners, courtesy)
}

/// What is known of the web where nothing may be asked of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The answers of the name service, `{name: [[addresses of the first look-up], …]}`.
    pub dns: Option<&'a Value>,
    /// What pages redirect to, `[{at, status, location}, …]`.
    pub chain: Option<&'a Value>,
}

/// What `guard` says to `url`, as `{id, verdict, reason}` with the verdict `allow` or `block`. Nothing is looked up. A name
/// that any of its known look-ups leads astray is blocked; live, the first answers that were checked are connected to.
pub fn explain(guard: &Guard, id: &Value, url: &str, known: Known<'_>) -> Value {
    let (verdict, reason) = match followed(guard, url, known) {
        Ok(reason) => ("allow", reason.to_owned()),
        Err(it) => ("block", format!("{}: {}", it.at.word(), it.why)),
    };
    json!({"id": id, "verdict": verdict, "reason": reason})
}

/// Judges an address and all that it is known to redirect to.
fn followed(
    guard: &Guard,
    url: &str,
    known: Known<'_>,
) -> std::result::Result<&'static str, Blocked> {
    let mut target = guard.target(url)?;
    let mut reason = judged(guard, &target, known.dns)?;
    let hops = known.chain.and_then(Value::as_array);
    for nth in 0.. {
        let here = |it: &&Value| it["at"].as_str() == Some(target.url().as_str());
        let Some(hop) = hops.and_then(|it| it.iter().find(here)) else {
            break;
        };
        let status = hop["status"].as_u64().and_then(|it| u16::try_from(it).ok());
        let location = hop["location"].as_str().unwrap_or_default();
        match guard.redirected(&target, status.unwrap_or(0), location, nth)? {
            Some(next) => target = next,
            None => break,
        }
        reason = judged(guard, &target, known.dns)?;
    }
    Ok(reason)
}

fn judged(
    guard: &Guard,
    target: &Target,
    dns: Option<&Value>,
) -> std::result::Result<&'static str, Blocked> {
    let Some(name) = target.name() else {
        return Ok("its address is of the open web, or allowed");
    };
    let Some(dns) = dns.and_then(Value::as_object) else {
        return Ok("its name is sound; its addresses are judged when it is looked up");
    };
    let same = |it: &&String| it.trim_end_matches('.').eq_ignore_ascii_case(name);
    let known = dns.keys().find(same).and_then(|it| dns[it].as_array());
    let lookups = known.map_or(&[][..], Vec::as_slice);
    if lookups.is_empty() {
        guard.addresses(target, &[])?;
    }
    for lookup in lookups {
        guard.addresses(target, &answers(lookup))?;
    }
    Ok("its name and all of its addresses are of the open web, or allowed")
}

/// The addresses of a look-up; what is none is taken for one that is never allowed.
fn answers(lookup: &Value) -> Vec<IpAddr> {
    let never = IpAddr::from([0, 0, 0, 0]);
    let read = |it: &Value| it.as_str().and_then(|it| it.parse().ok()).unwrap_or(never);
    lookup.as_array().into_iter().flatten().map(read).collect()
}
