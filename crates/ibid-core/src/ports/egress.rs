//! Which hosts were contacted, how often, and with how many bytes.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Traffic;

/// A record of outgoing traffic. Clones share the same record.
#[derive(Debug, Clone, Default)]
pub struct Egress(Arc<Mutex<BTreeMap<String, Traffic>>>, Arc<Mutex<ClockOffsets>>);

/// Seconds by which the local clock was ahead of each host's clock.
type ClockOffsets = BTreeMap<String, i64>;

impl Egress {
    /// Records a request to `host`; call it before sending.
    pub fn record_sent(&self, host: &str, bytes: usize) {
        self.update(host, |traffic| {
            traffic.requests += 1;
            traffic.sent += bytes as u64;
        });
    }

    /// Records bytes received from `host`.
    pub fn record_received(&self, host: &str, bytes: usize) {
        self.update(host, |it| it.received += bytes as u64);
    }

    /// Adds `traffic` back that could not be stored.
    pub fn restore(&self, traffic: BTreeMap<String, Traffic>) {
        for (host, unsaved) in traffic {
            self.update(&host, |known| known.add(unsaved));
        }
    }

    /// Returns and clears the traffic since the last call, by host.
    pub fn take(&self) -> BTreeMap<String, Traffic> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that the local clock was `ahead` seconds ahead of the time in a response of `host`.
    pub fn record_clock_offset(&self, host: &str, ahead: i64) {
        let mut clocks = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.insert(host.to_owned(), ahead);
    }

    /// Returns the smallest clock offset with its host, in seconds the local clock is ahead. A single server may be
    /// wrong, but not all of them. Loopback servers share the local clock and count only if there are no others.
    pub fn best_clock_offset(&self) -> Option<(String, i64)> {
        let clocks = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let best = clocks.iter().min_by_key(|clock| (is_loopback(clock.0), clock.1.unsigned_abs()));
        best.map(|(host, ahead)| (host.clone(), *ahead))
    }

    fn update(&self, host: &str, note: impl FnOnce(&mut Traffic)) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        note(book.entry(host.to_owned()).or_default());
    }
}

/// Whether a host, with or without port, is this machine.
fn is_loopback(host: &str) -> bool {
    match url::Url::parse(&format!("http://{host}")).ok().as_ref().and_then(url::Url::host) {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(it)) => it.is_loopback(),
        Some(url::Host::Ipv6(it)) => it.is_loopback(),
        None => false,
    }
}

/// Whether the host of a URL is this machine.
pub fn is_loopback_url(url: &str) -> bool {
    is_loopback(&host_and_port(url))
}

/// Host and port of a URL, as used in the record; the URL itself if it has no host.
pub fn host_and_port(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|parsed| parsed.host_str());
    match (host, parsed.as_ref().and_then(url::Url::port)) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_with_a_wrong_clock_does_not_make_ours_wrong() {
        let egress = Egress::default();
        assert_eq!(egress.best_clock_offset(), None);
        egress.record_clock_offset("localhost:8080", 0);
        egress.record_clock_offset("a.example", -4000);
        assert_eq!(egress.best_clock_offset(), Some(("a.example".to_owned(), -4000)));
        egress.record_clock_offset("b.example", 3);
        assert_eq!(egress.best_clock_offset(), Some(("b.example".to_owned(), 3)));
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for url in ["http://localhost:1/v1", "http://127.0.0.9", "http://[::1]:80/"] {
            assert!(is_loopback_url(url), "{url}");
        }
        for url in ["http://localhost.example.org", "http://10.0.0.1:8000/v1", "nonsense"] {
            assert!(!is_loopback_url(url), "{url}");
        }
    }
}
