//! The answers of a recording, by call.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::provider_id::is_external_call;
use ibid_core::domain::{Page, PageHash};
use ibid_core::ports::{JournalCall, JournalCallState};
use ibid_core::{Error, ErrorKind, Result};

/// Maximum length of the part of a request that an error repeats, in characters.
const MAX_SHOWN: usize = 120;

/// The answers of another run, for a journal to answer from.
pub struct ReplayLog {
    name: String,
    complete: bool,
    calls: HashMap<String, JournalCallState>,
    pages: Arc<BTreeMap<PageHash, Page>>,
    from_log: AtomicU64,
    sent: AtomicU64,
    unanswered: AtomicU64,
}

/// Where the answers of a run with a replay log came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Calls answered from the recording.
    pub recorded: u64,
    /// Calls sent to a provider.
    pub live: u64,
    /// Calls without an answer in the recording and without a provider.
    pub unanswered: u64,
}

impl ReplayLog {
    /// Makes the log of the recording `name`, with its `steps` and the `pages` that answer them. If it is `complete`, no
    /// other call may be sent, and failures are repeated; otherwise calls that failed are sent again.
    pub fn new(
        name: &str,
        complete: bool,
        steps: &[JournalCall],
        pages: Arc<BTreeMap<PageHash, Page>>,
    ) -> ReplayLog {
        let counts = |step: &&JournalCall| match step.state {
            JournalCallState::Answered(_) => true,
            JournalCallState::Failed { .. } => complete,
            JournalCallState::Intended => false,
        };
        let calls = steps.iter().filter(counts);
        ReplayLog {
            name: name.to_owned(),
            complete,
            calls: calls.map(|step| (step.key.clone(), step.state.clone())).collect(),
            pages,
            from_log: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }
    }

    /// Whether calls that are not in it must not be sent.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether it has the call with this key.
    pub(super) fn contains(&self, key: &str) -> bool {
        self.calls.contains_key(key)
    }

    /// Returns the answer to the call of `provider` with this key. Counts external calls.
    pub(super) fn answer(&self, key: &str, provider: &str) -> Option<JournalCallState> {
        let found = self.calls.get(key).cloned();
        if is_external_call(provider) {
            let count = if found.is_some() { &self.from_log } else { &self.sent };
            count.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    /// Returns a page that answered a call.
    pub(super) fn page(&self, hash: &PageHash) -> Result<Page> {
        self.pages.get(hash).cloned().ok_or_else(|| {
            Error::new(
                ErrorKind::Malformed,
                format!("page {hash} is not in recording {}", self.name),
            )
        })
    }

    /// Returns the error for a call to a provider that is not available, and counts the call.
    pub(crate) fn no_provider_error(&self, provider: &str, request: &str) -> Error {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        Error::new(
            ErrorKind::NotFound,
            format!(
                "asking {provider} for `{}`: recording {} has no answer, and the provider is not available",
                clipped(request),
                self.name
            ),
        )
        .with_hint("add folders with --folder DIR, or a model with --model")
    }

    /// Returns the error for a call that is not in the recording.
    pub(super) fn not_recorded_error(&self, provider: &str, request: &Value) -> Error {
        Error::new(
            ErrorKind::NotFound,
            format!(
                "recording {} has no answer of {provider} to `{}`",
                self.name,
                clipped(&summarize_request(request))
            ),
        )
        .with_hint("this version makes other calls than the one that recorded the run: record the run again, or let missing calls be sent, as in `ibid replay FILE --folder DIR`")
    }

    /// Where the answers came from so far.
    pub fn counts(&self) -> ReplayCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let unanswered = load(&self.unanswered);
        ReplayCounts {
            recorded: load(&self.from_log),
            live: load(&self.sent).saturating_sub(unanswered),
            unanswered,
        }
    }
}

/// The part of a request by which a person recognises it.
fn summarize_request(request: &Value) -> String {
    let text = ["text", "url", "purpose"]
        .iter()
        .find_map(|field| request.get(field).and_then(Value::as_str));
    match text.or(request.as_str()) {
        Some(text) => text.to_owned(),
        None => request.to_string(),
    }
}

fn clipped(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(MAX_SHOWN).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
