//! The doors to the world. Everything that can fail, cost or lie comes through one of these.
//!
//! Each contract stands in the trait's doc comment; one test suite runs against every implementation.
mod accounts;
mod cast;
mod chance;
mod crash;
mod egress;
mod log;
mod meaning;
mod model;
mod models;
mod spending;
mod store;
mod traces;

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{Approval, Hit, Hits, Page, Query, Source, StopReason, Vertical};
use crate::error::Result;
use crate::record::FailReason;

pub use accounts::{
    Account, Accounts, Audited, KeyOwner, Org, RESERVED_USERS, Remembered, Token, User, is_reserved,
};
pub use cast::{Cast, Player};
pub use chance::{Chance, Clock, FrozenClock, SeededChance};
pub use crash::{CRASH_POINTS, INDEX_CRASH_POINTS, crash_point};
pub use egress::{Egress, host_of, is_local};
pub use log::{Follower, Log};
pub use meaning::{Embedder, Vector, VectorIndex};
pub use model::{
    Completion, Finish, LanguageModel, Message, Prompt, Role, Schema, Sink, Tokens, TooLong,
    ToolCall,
};
pub use models::{Mind, Models};
pub use spending::{Acceptance, Accepted, AccountState, Booking, Demand, Grant, RequestKey, Spent};
pub use store::{Answered, Hold, Locks, Order, RunRow, Step, StepState, Store};
pub use traces::Traces;

/// Finds where something might be said.
///
/// Contract: hits come best first, at most `query.limit`, no document twice; asking the same twice
/// has no side effect; the future may be dropped at any await; no wait without a deadline.
/// Nothing found is an empty list, not an error.
#[async_trait]
pub trait SearchProvider: Send + Sync {
    /// Its name in events and reports: `local`, `pubmed`, `searxng`, …
    fn name(&self) -> &str;
    /// What it is asked for: local documents, unless it says otherwise.
    fn verticals(&self) -> &[Vertical] {
        &[Vertical::Local]
    }
    /// Hits for `query`, best first.
    async fn search(&self, query: &Query) -> Result<Hits>;
}

/// Reads what is said there.
///
/// Contract: the page's text is what a person would see of the document, without navigation,
/// hidden text or markup; the same document gives the same [`Page::hash`]; a document that cannot
/// be read is an error of kind `Malformed` or `NotFound` that names it, never a panic.
#[async_trait]
pub trait PageReader: Send + Sync {
    /// Its name in events and reports.
    fn name(&self) -> &str;
    /// Whether this reader is the one for `hit`.
    fn reads(&self, hit: &Hit) -> bool;
    /// Whether it is worth a try after another reader failed on `hit` for this reason.
    fn reads_after(&self, _hit: &Hit, _reason: FailReason) -> bool {
        true
    }
    /// The page behind `hit`.
    async fn read(&self, hit: &Hit) -> Result<Page>;
}

/// Puts texts in order of how well they speak to a query.
///
/// Contract: one score a text, in the order given; higher is better; equal input gives equal
/// scores; an empty text scores 0.
#[async_trait]
pub trait Ranker: Send + Sync {
    /// Its name in events and reports.
    fn name(&self) -> &str;
    /// Whether anybody or anything outside of the program is asked: then its answers are journaled.
    fn asks(&self) -> bool {
        true
    }
    /// A score for each of `texts`.
    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>>;
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Go {
    /// Another round may begin.
    On,
    /// Write with what there is.
    Finish(StopReason),
}

/// Says at the seams of the flow whether to go on: deadline, orders from outside, Ctrl-C.
///
/// Contract: asked once with each `at`; the same `at` gets the same word again when the run is
/// resumed or replayed, so that a clock or a person never makes two runs of one.
#[async_trait]
pub trait Steering: Send + Sync {
    /// Whether to go on past the point called `at`: `wave-2`, `write`, …
    async fn go(&self, at: &str) -> Result<Go>;

    /// What the person says to `questions`, one answer each; nothing where nobody answers in time.
    async fn clarify(&self, _questions: &[String]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// The `nth` thing that the person asked for besides, from 1; `None` where they have not. Nobody is waited for here.
    async fn more(&self, _nth: u32) -> Result<Option<String>> {
        Ok(None)
    }

    /// What the person says to the plan that stands, asked the `nth` time. Nobody is waited for here.
    async fn approve(&self, _nth: u32) -> Result<Approval> {
        Ok(Approval::Go)
    }
}

/// All doors, opened once at start.
#[derive(Clone)]
pub struct World {
    /// Where to search, in order of preference.
    pub search: Vec<Arc<dyn SearchProvider>>,
    /// Who reads; the first that says it reads a hit does.
    pub readers: Vec<Arc<dyn PageReader>>,
    /// Who ranks.
    pub ranker: Arc<dyn Ranker>,
    /// Documents of the places to search that could not be taken in, by path, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// What earlier runs of the thread have read, most telling first.
    pub known: Vec<(Source, Page)>,
    /// Who thinks.
    pub models: Models,
    /// Who says when to stop.
    pub steering: Arc<dyn Steering>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where chance comes from.
    pub chance: Arc<dyn Chance>,
}
