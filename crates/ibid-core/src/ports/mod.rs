//! The traits for external services. Everything that can fail, cost money or return untrusted data is called through
//! one of them.
//!
//! Each trait's doc comment states its contract; one test suite runs against every implementation.
mod accounts;
mod browser_sessions;
mod call_places;
mod clock_rng;
mod crash;
mod egress;
mod embedding;
mod event_log;
mod fleet_queue;
mod model;
mod page_bodies;
mod pair_scorer;
mod provider_manifest;
mod role_models;
mod run_wakeups;
mod schedules;
mod service_turns;
mod spending;
mod store;
mod traces;

use std::sync::Arc;

use async_trait::async_trait;

use crate::ReadFailure;
use crate::Result;
use crate::domain::{Approval, Hit, Hits, Page, Query, Source, StopReason, Vertical};

pub use accounts::{
    Account, Accounts, ApiToken, AuditEntry, IdempotencyStatus, KeyClaim, KeyOwner, Org, User,
    WaitingRuns, is_reserved_user,
};
pub use browser_sessions::{BrowserSession, BrowserSessions, SessionLimits};
pub use call_places::{CallDemand, CallKey, CallPlace, CallPlaces, TokenDemand};
pub use clock_rng::{Clock, FrozenClock, Rng, SeededRng};
pub use crash::{CRASH_POINTS, INDEX_CRASH_POINTS, VECTOR_CRASH_POINTS, crash_point};
pub use egress::{Egress, host_and_port, is_loopback_url};
pub use embedding::{Embedder, PassageVector, VectorIndex, unit_length};
pub use event_log::{EventFollower, EventLog};
pub use fleet_queue::{FleetQueue, FleetTurn, RunExecutor, WorkResult};
pub use model::{
    ChatMessage, Completion, FinishReason, LanguageModel, Prompt, Role, Schema, TextSink,
    TokenUsage, ToolCall,
};
pub use page_bodies::PageBodies;
pub use pair_scorer::{PairScorer, PairScores};
pub use provider_manifest::{ModelInfo, ProviderManifest};
pub use role_models::{RoleModel, RoleModels};
pub use run_wakeups::{RunSubscription, RunWakeups};
pub use schedules::{EndedRerun, Schedule, Schedules, StartedRerun};
pub use service_turns::{ServiceTurns, WantedTurns};
pub use spending::{
    AcceptOutcome, AcceptRequest, AccountState, IdempotencyKey, SpendDecision, SpendRequest,
    Spending, ToolReservation,
};
pub use store::{
    JournalCall, JournalCallState, RunCommand, RunLease, RunLocks, RunRow, Store, StoredAnswer,
};
pub use traces::{ToolTraces, TraceFilter};

/// How the names of search providers begin that are MCP servers.
pub const MCP_PREFIX: &str = "mcp:";

/// Searches for documents.
///
/// Contract: hits are returned best first, at most `query.limit`, without duplicates. Repeating a search has no side
/// effect. The future may be dropped at any await. Every wait has a deadline. No result is an empty list, not an
/// error.
#[async_trait]
pub trait SearchProvider: Send + Sync {
    /// The name in events and reports: `local`, `pubmed`, `searxng`, …
    fn name(&self) -> &str;
    /// The verticals it searches; by default, local documents.
    fn verticals(&self) -> &[Vertical] {
        &[Vertical::Local]
    }
    /// Whether it searches a collection of its own, as MCP servers do. It is then asked beside the engines that stand in for
    /// each other.
    fn is_collection(&self) -> bool {
        self.name().starts_with(MCP_PREFIX)
    }
    /// Returns hits for `query`, best first.
    async fn search(&self, query: &Query) -> Result<Hits>;
}

/// Reads the document behind a hit.
///
/// Contract: the text is what a person would see of the document, without navigation, hidden text or markup. The same
/// document gives the same [`Page::hash`]. A document that cannot be read is an error of kind `Malformed` or
/// `NotFound` that names it, never a panic.
#[async_trait]
pub trait PageReader: Send + Sync {
    /// The name in events and reports.
    fn name(&self) -> &str;
    /// Whether this reader handles `hit`.
    fn can_read(&self, hit: &Hit) -> bool;
    /// Whether this reader should be tried after another one failed on `hit` for this reason.
    fn can_read_after(&self, _hit: &Hit, _reason: ReadFailure) -> bool {
        true
    }
    /// Reads the page of `hit`.
    async fn read(&self, hit: &Hit) -> Result<Page>;
}

/// Scores texts by their relevance to a query.
///
/// Contract: returns one score per text, in order; higher is better; equal input gives equal scores; an empty text
/// scores 0.
#[async_trait]
pub trait Ranker: Send + Sync {
    /// The name in events and reports.
    fn name(&self) -> &str;
    /// Whether it calls an external service; if so, its answers are journaled.
    fn is_remote(&self) -> bool {
        true
    }
    /// Whether it also scores the parts of long pages, as a reranker does.
    fn ranks_chunks(&self) -> bool {
        self.is_remote()
    }
    /// Returns a score for each of `texts`.
    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>>;
    /// Returns how far each of `sentences` means what `query` asks, whatever its words: 0 to 1. Empty if it compares words alone, or
    /// if the sentences are too few to compare.
    async fn similarity(&self, _query: &str, _sentences: &[SentenceInContext]) -> Result<Vec<f32>> {
        Ok(Vec::new())
    }
    /// Loads what [`Ranker::similarity`] needs, so that the first call does not wait for it. A failure is told by that call.
    async fn prepare_similarity(&self) {}
}

/// A sentence with what a reader of it has read: few sentences say by themselves what they are about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SentenceInContext {
    /// The title of its page.
    pub title: String,
    /// The headings above it, the outermost first, each with a colon and a space behind it.
    pub headings: String,
    /// The sentence before it, with a space behind it; empty if it opens a section.
    pub before: String,
    /// The sentence.
    pub text: String,
}

impl SentenceInContext {
    /// The sentence after its headings.
    pub fn under_headings(&self) -> String {
        format!("{}{}", self.headings, self.text)
    }

    /// The sentence after its headings and the sentence before it.
    pub fn after_previous(&self) -> String {
        format!("{}{}{}", self.headings, self.before, self.text)
    }

    /// All of it: "Pump: Care: Wait until it is cold. Then take off the lid."
    pub fn whole(&self) -> String {
        let joint = if self.title.is_empty() { "" } else { ": " };
        format!("{}{joint}{}", self.title, self.after_previous())
    }
}

/// Whether to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointDecision {
    /// Continue with another round.
    #[serde(rename = "on")]
    Continue,
    /// Stop searching and write the report with the evidence so far.
    Finish(StopReason),
}

/// Decides at checkpoints of a run whether to continue: deadlines, user commands, Ctrl-C.
///
/// Contract: each `at` is asked once; a resumed or replayed run gets the same answer for the same `at`, so that
/// neither time nor user input makes it diverge.
#[async_trait]
pub trait Steering: Send + Sync {
    /// Whether to continue after the checkpoint `at`: `wave-2`, `write`, …
    async fn checkpoint(&self, at: &str) -> Result<CheckpointDecision>;

    /// Asks the user `questions` and returns one answer each, or none if they do not answer in time.
    async fn clarify(&self, _questions: &[String]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Returns the `nth` additional question that the user sent, from 1, or `None`. Does not wait.
    async fn extra_question(&self, _nth: u32) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns the user's reply to the current plan, for the `nth` time. Does not wait.
    async fn approve(&self, _nth: u32) -> Result<Approval> {
        Ok(Approval::Approve)
    }
}

/// Steering outside of a run, for example of a lookup: always continues.
pub struct NoSteering;

#[async_trait]
impl Steering for NoSteering {
    async fn checkpoint(&self, _: &str) -> Result<CheckpointDecision> {
        Ok(CheckpointDecision::Continue)
    }
}

/// The external services of a run, opened when it starts.
#[derive(Clone)]
pub struct Providers {
    /// Search engines, in order of preference.
    pub search: Vec<Arc<dyn SearchProvider>>,
    /// Readers; the first that accepts a hit reads it.
    pub readers: Vec<Arc<dyn PageReader>>,
    /// The ranker.
    pub ranker: Arc<dyn Ranker>,
    /// Documents in the searched folders that could not be read, by path, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// Pages read by earlier runs of the thread, most relevant first.
    pub known: Vec<(Source, Page)>,
    /// The models by role.
    pub models: RoleModels,
    /// Decides when to stop.
    pub steering: Arc<dyn Steering>,
    /// The current time.
    pub clock: Arc<dyn Clock>,
}
