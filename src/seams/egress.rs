//! Which hosts were contacted, how often, and with how many bytes.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Traffic;

/// The book of what leaves the machine. Clones write into the same book.
#[derive(Debug, Clone, Default)]
pub struct Egress(Arc<Mutex<BTreeMap<String, Traffic>>>, Arc<Mutex<Clocks>>);

/// By how many seconds our clock was ahead of that of each host.
type Clocks = BTreeMap<String, i64>;

impl Egress {
    /// Notes a request to `host`, before it is sent.
    pub fn sent(&self, host: &str, bytes: usize) {
        self.with(host, |it| {
            it.requests += 1;
            it.sent += bytes as u64;
        });
    }

    /// Notes bytes that came from `host`.
    pub fn received(&self, host: &str, bytes: usize) {
        self.with(host, |it| it.received += bytes as u64);
    }

    /// Writes `traffic` in again that could not be kept.
    pub fn put_back(&self, traffic: BTreeMap<String, Traffic>) {
        for (host, it) in traffic {
            self.with(&host, |had| had.add(it));
        }
    }

    /// Everything since the last time, by host.
    pub fn take(&self) -> BTreeMap<String, Traffic> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes by how many seconds our clock was `ahead` of the time that `host` told with its answer.
    pub fn told_time(&self, host: &str, ahead: i64) {
        let mut clocks = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.insert(host.to_owned(), ahead);
    }

    /// The host whose clock agrees best with ours, and by how many seconds ours is ahead of it: one server may be wrong, all
    /// are not. Servers on this machine, whose clock is ours, count only where there is no other.
    pub fn clock(&self) -> Option<(String, i64)> {
        let clocks = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let best = clocks
            .iter()
            .min_by_key(|it| (is_loopback(it.0), it.1.unsigned_abs()));
        best.map(|(host, ahead)| (host.clone(), *ahead))
    }

    fn with(&self, host: &str, note: impl FnOnce(&mut Traffic)) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        note(book.entry(host.to_owned()).or_default());
    }
}

/// Whether a host, with or without its port, is this machine.
fn is_loopback(host: &str) -> bool {
    match url::Url::parse(&format!("http://{host}"))
        .ok()
        .as_ref()
        .and_then(url::Url::host)
    {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(it)) => it.is_loopback(),
        Some(url::Host::Ipv6(it)) => it.is_loopback(),
        None => false,
    }
}

/// Whether an address leads to this machine.
pub fn is_local(url: &str) -> bool {
    is_loopback(&host_of(url))
}

/// The host and port of an address, as the book names it; the address itself where it has no host.
pub fn host_of(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|it| it.host_str());
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
        assert_eq!(egress.clock(), None);
        egress.told_time("localhost:8080", 0);
        egress.told_time("a.example", -4000);
        assert_eq!(egress.clock(), Some(("a.example".to_owned(), -4000)));
        egress.told_time("b.example", 3);
        assert_eq!(egress.clock(), Some(("b.example".to_owned(), 3)));
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for url in [
            "http://localhost:1/v1",
            "http://127.0.0.9",
            "http://[::1]:80/",
        ] {
            assert!(is_local(url), "{url}");
        }
        for url in [
            "http://localhost.example.org",
            "http://10.0.0.1:8000/v1",
            "nonsense",
        ] {
            assert!(!is_local(url), "{url}");
        }
    }
}
