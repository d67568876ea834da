//! Which hosts were contacted, how often, and with how many bytes.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Traffic;

/// The book of what leaves the machine. Clones write into the same book.
#[derive(Debug, Clone, Default)]
pub struct Egress(Arc<Mutex<BTreeMap<String, Traffic>>>);

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

    fn with(&self, host: &str, note: impl FnOnce(&mut Traffic)) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        note(book.entry(host.to_owned()).or_default());
    }
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
