//! The providers that calls go to, and the keys that calls are found by.
use serde_json::{Value, json};

use ibid_core::domain::PageHash;
use ibid_core::ports::JournalCall;

/// The prefix of calls to search providers.
pub(super) const SEARCH: &str = "search:";
/// The prefix of calls to page readers.
pub(super) const READ: &str = "read:";
/// The prefix of calls to language models.
pub(super) const MODEL: &str = "model:";
/// The prefix of calls to rankers.
pub(super) const RANK: &str = "rank:";
/// Decisions of the steering.
pub(super) const STEERING: &str = "steering";
/// The note of the providers that the run began with.
pub(super) const MANIFEST: &str = "cast";
/// The note of the sources that a follow-up takes over from earlier runs.
pub(super) const PRIOR_SOURCES: &str = "known";

/// A provider of a run: its kind with its name, and its position among providers of that name.
pub(super) struct ProviderId {
    pub(super) name: String,
    ordinal: usize,
}

impl ProviderId {
    pub(super) fn new(kind: &str, name: &str, ordinal: usize) -> ProviderId {
        ProviderId { name: format!("{kind}{name}"), ordinal }
    }

    /// The id of a note of the run, which is a call to no provider.
    pub(super) fn note(name: &str) -> ProviderId {
        ProviderId::new("", name, 0)
    }

    /// The key of a call: the hash of provider, request and ordinal.
    pub(super) fn key(&self, request: &Value) -> String {
        let parts = [&*self.name, &request.to_string(), &self.ordinal.to_string()];
        let hash = PageHash::from_parts(&parts);
        hash.as_str().trim_start_matches("sha256:").to_owned()
    }
}

/// The key of the note of the providers that the run began with.
pub(crate) fn manifest_key() -> String {
    ProviderId::note(MANIFEST).key(&json!(""))
}

/// Whether the key of `step` is the hash of its request to one of at most `count` providers of its name.
pub(crate) fn has_matching_key(step: &JournalCall, count: usize) -> bool {
    (0..count.max(1))
        .any(|ordinal| ProviderId::new("", &step.provider, ordinal).key(&step.request) == step.key)
}

/// Whether calls to `provider` read pages.
pub fn is_reader_call(provider: &str) -> bool {
    provider.starts_with(READ)
}

/// Whether calls to `provider` leave the program.
pub(super) fn is_external_call(provider: &str) -> bool {
    [SEARCH, READ, MODEL].iter().any(|prefix| provider.starts_with(prefix))
}
