//! The answers of a recording, by what was asked.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::is_call;
use crate::domain::{Page, PageHash};
use crate::error::{Error, Kind, Result};
use crate::seams::{Step, StepState};

/// Longest part of what was asked that an error repeats, characters.
const SHOWN: usize = 120;

/// What another run was answered, for a journal to answer from.
pub struct Tape {
    name: String,
    whole: bool,
    calls: HashMap<String, StepState>,
    pages: Arc<BTreeMap<PageHash, Page>>,
    taken: AtomicU64,
    asked: AtomicU64,
    unheard: AtomicU64,
}

/// Where the answers of a run that has a tape came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Calls that the tape answered.
    pub recorded: u64,
    /// Calls that somebody else was asked.
    pub live: u64,
    /// Calls that nobody could be asked.
    pub unheard: u64,
}

impl Tape {
    /// The tape called `name` that holds `steps` and the `pages` they were answered with. If it is
    /// `whole`, nobody else may be asked, and failures are told again; else they are tried again.
    pub fn new(
        name: &str,
        whole: bool,
        steps: &[Step],
        pages: Arc<BTreeMap<PageHash, Page>>,
    ) -> Tape {
        let counts = |it: &&Step| match it.state {
            StepState::Answered(_) => true,
            StepState::Failed { .. } => whole,
            StepState::Intended => false,
        };
        let calls = steps.iter().filter(counts);
        Tape {
            name: name.to_owned(),
            whole,
            calls: calls.map(|it| (it.key.clone(), it.state.clone())).collect(),
            pages,
            taken: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            unheard: AtomicU64::new(0),
        }
    }

    /// Whether it is all there is to ask.
    pub fn whole(&self) -> bool {
        self.whole
    }

    /// Whether it answers the call with this key.
    pub(super) fn holds(&self, key: &str) -> bool {
        self.calls.contains_key(key)
    }

    /// What it answers to the call with this key through `door`; counts calls to the outside.
    pub(super) fn answer(&self, key: &str, door: &str) -> Option<StepState> {
        let found = self.calls.get(key).cloned();
        if is_call(door) {
            let count = if found.is_some() {
                &self.taken
            } else {
                &self.asked
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    /// A page that answered a call.
    pub(super) fn page(&self, hash: &PageHash) -> Result<Page> {
        self.pages.get(hash).cloned().ok_or_else(|| {
            Error::new(
                Kind::Malformed,
                format!("page {hash} is not in recording {}", self.name),
            )
        })
    }

    /// Says that nobody could be asked through `door`, and counts it.
    pub fn nobody(&self, door: &str, asked: &str) -> Error {
        self.unheard.fetch_add(1, Ordering::Relaxed);
        Error::new(
            Kind::NotFound,
            format!(
                "asking {door} for `{}`: recording {} has no answer, and nobody here can be asked",
                clipped(asked),
                self.name
            ),
        )
        .hint("name folders that are here with --folder DIR, or a model with --model")
    }

    /// Says that this call is not recorded.
    pub(super) fn missing(&self, door: &str, asked: &Value) -> Error {
        Error::new(
            Kind::NotFound,
            format!(
                "recording {} holds no answer of {door} to `{}`",
                self.name,
                clipped(&gist(asked))
            ),
        )
        .hint("this version asks otherwise than the one that recorded: record the run anew, or ask live what is missing, as in `ibid replay FILE --folder DIR`")
    }

    /// Where the answers came from so far.
    pub fn taken(&self) -> Taken {
        let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let unheard = of(&self.unheard);
        Taken {
            recorded: of(&self.taken),
            live: of(&self.asked).saturating_sub(unheard),
            unheard,
        }
    }
}

/// What is asked, as far as a person tells calls apart by it.
fn gist(asked: &Value) -> String {
    let told = ["text", "url", "purpose"]
        .iter()
        .find_map(|it| asked.get(it).and_then(Value::as_str));
    match told.or(asked.as_str()) {
        Some(it) => it.to_owned(),
        None => asked.to_string(),
    }
}

fn clipped(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(SHOWN).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
