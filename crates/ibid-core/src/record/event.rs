use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{
    Brief, Claim, Conflict, CoverageRow, Evidence, GateVerdict, IntakeDecision, ItemId, ItemStatus,
    Judgement, ModelRole, Objection, OutlineEdit, OutlineSection, Owner, Plan, Question, Rating,
    ReasoningEffort, Report, RunId, RuntimeProgress, ShareLink, Source, SourceId, StopReason,
    Strategy, TopicRelation, Usage, Variation, Vertical, WordOrigin,
};
use crate::{ErrorKind, FailureReason, ReadFailure};

/// Version of the event format. New fields and kinds do not change it; a changed meaning does.
pub const EVENT_VERSION: u32 = 1;

/// The phase of a run in which an event occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Interpreting the question.
    Intake,
    /// Making the plan.
    Plan,
    /// Searching, reading and weighing.
    Research,
    /// Writing.
    Write,
    /// Verifying.
    Check,
    /// Start and end of the run.
    Run,
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// Hits were found.
    Ok,
    /// No hits.
    Empty,
    /// The provider's rate limit was reached.
    RateLimited,
    /// No connection to the provider could be made.
    Unreachable,
    /// The search failed in another way.
    Error,
}

/// Whose words a log line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    /// Those of this program alone.
    Program,
    /// Also those of a service.
    Service,
}

/// An event of a run. The enum is exhaustive, so that every interface handles every kind.
///
/// Its JSON form is `{"type": "search.completed", "data": {…}}` inside an [`Envelope`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[allow(missing_docs, reason = "the fields are domain nouns, documented there")]
pub enum Event {
    /// A question was received.
    #[serde(rename = "run.created")]
    RunCreated {
        question: Question,
        version: u32,
        // `None` if the program serves a single user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// The run is stored and waits in the queue.
    #[serde(rename = "run.queued")]
    RunQueued {
        /// Request data besides the question, for answers in the caller's format: names, metadata, webhook address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Value>,
    },
    /// Work started.
    #[serde(rename = "run.started")]
    RunStarted {},
    /// Work resumed after an interruption; earlier events are not repeated.
    #[serde(rename = "run.resumed")]
    RunResumed {
        after: u64,
        in_doubt: u32,
        /// The most that all calls may have cost whose answer this or an earlier interruption lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_doubt_usd: Option<f64>,
    },
    /// The user asked to finish with the evidence so far.
    #[serde(rename = "run.finishing")]
    RunFinishing { reason: StopReason },
    /// The run ended with a report.
    #[serde(rename = "run.completed")]
    RunCompleted { status: RunOutcome, stop_reason: StopReason, usage: Usage },
    /// The run ended without a report.
    #[serde(rename = "run.failed")]
    RunFailed {
        reason: String,
        hint: Option<String>,
        // Determines the exit code, also when the run is shown later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ErrorKind>,
    },
    /// The run was cancelled.
    #[serde(rename = "run.cancelled")]
    RunCancelled {},
    /// Intake decided on the first step, and whether the question continues the topic of its thread.
    #[serde(rename = "intake.decided")]
    IntakeDecided {
        decision: IntakeDecision,
        topic: TopicRelation,
        awaiting_clarification: bool,
        follows: Option<RunId>,
    },
    /// The user is asked clarifying questions.
    #[serde(rename = "clarify.asked")]
    ClarifyAsked { questions: Vec<String> },
    /// The user's answers, one per question, empty for skipped ones; none at all if the user did not answer in time.
    #[serde(rename = "clarify.answered")]
    ClarifyAnswered { answers: Vec<String> },
    /// The question was refined.
    #[serde(rename = "brief.ready")]
    BriefReady { brief: Brief },
    /// A plan was made.
    #[serde(rename = "plan.proposed")]
    PlanProposed { plan: Plan },
    /// A strategy was chosen, for the given reason.
    #[serde(rename = "strategy.chosen")]
    StrategyChosen { strategy: Strategy, reason: String },
    /// The status of a checklist item changed.
    #[serde(rename = "item.updated")]
    ItemUpdated { item: ItemId, status: ItemStatus },
    /// Hits were ranked for a researcher, without a model.
    #[serde(rename = "search_preprocess", alias = "search.prepared")]
    SearchPrepared { found: u32, shown: u32, llm_calls_in_preprocess: u32 },
    /// A researcher looked for words in a page that was read: so many sentences have them, and so many passages were
    /// shown. `words` are those of the researcher that the question or the plan has, too.
    #[serde(rename = "page.searched")]
    PageSearched { source: SourceId, words: String, found: u32, shown: u32 },
    /// A researcher read on in a page: the characters from `from` to `to` of `total`.
    #[serde(rename = "page.continued")]
    PageContinued { source: SourceId, from: u32, to: u32, total: u32 },
    /// Progress of a supervisor.
    #[serde(rename = "runtime_progress")]
    RuntimeProgress {
        #[serde(flatten)]
        progress: RuntimeProgress,
    },
    /// The plan awaits approval; `attempt` counts the plans shown. Nothing is spent meanwhile.
    #[serde(rename = "plan.waiting")]
    PlanWaiting { attempt: u32 },
    /// The user requested changes to the plan.
    #[serde(rename = "plan.changed")]
    PlanChanged { words: String },
    /// The plan was approved; `changed` if it is not the one first proposed.
    #[serde(rename = "plan.approved")]
    PlanApproved { by: String, changed: bool },
    /// Pages read by earlier runs of the thread, or by a run with nearly the same question, were weighed against this
    /// plan, without any call.
    #[serde(rename = "known.weighed")]
    KnownWeighed { sources: Vec<Source>, evidence: u32 },
    /// A round started for these items.
    #[serde(rename = "wave.started")]
    RoundStarted { items: Vec<ItemId>, queries: u32 },
    /// A round ended.
    #[serde(rename = "wave.finished")]
    RoundFinished { new_evidence: u32, new_sources: u32 },
    /// A search was sent.
    #[serde(rename = "search.started")]
    SearchStarted {
        engine: String,
        query: String,
        vertical: Vertical,
        item: ItemId,
        variation: Variation,
        // The origins of the words of an external query; empty for folder queries.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origin: Vec<WordOrigin>,
    },
    /// A search ended. `new` counts documents that no earlier search of the run returned. `outcome` is `ok`, `empty`, `rate_limited` (only
    /// that: HTTP 429, or a pause that the provider asked for), `unreachable` or `error`. If it failed, `reason` and `status` (of HTTP) are set where they are known.
    #[serde(rename = "search.completed")]
    SearchCompleted {
        engine: String,
        query: String,
        item: ItemId,
        hits: u32,
        new: u32,
        ms: u64,
        cost_usd: f64,
        outcome: SearchOutcome,
        error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<FailureReason>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    },
    /// A page was requested.
    #[serde(rename = "read.started")]
    ReadStarted { url: String },
    /// A page was read and became this source.
    #[serde(rename = "read.completed")]
    ReadCompleted { source: Source, sentences: u32, warnings: Vec<String>, ms: u64 },
    /// A page could not be read.
    #[serde(rename = "read.failed")]
    ReadFailed { url: String, reason: ReadFailure, message: String },
    /// A document of a folder could not be read.
    #[serde(rename = "document.failed")]
    DocumentFailed { path: String, place: Option<String>, reason: ReadFailure, message: String },
    /// Evidence was found.
    #[serde(rename = "evidence.added")]
    EvidenceAdded { evidence: Evidence },
    /// A candidate was rejected.
    #[serde(rename = "evidence.rejected")]
    EvidenceRejected { url: String, item: ItemId, reason: String },
    /// Near-duplicates were merged.
    #[serde(rename = "evidence.merged")]
    EvidenceMerged { url: String, into: String },
    /// Coverage of every item.
    #[serde(rename = "coverage.updated")]
    CoverageUpdated { rows: Vec<CoverageRow>, ratio: f32 },
    /// The evidence gate was checked.
    #[serde(rename = "gate.judged")]
    GateJudged { verdict: GateVerdict },
    /// The outline of the report after these edits: its sections in order, each with its own evidence and what it lacks.
    #[serde(rename = "outline.updated")]
    OutlineUpdated { edits: Vec<OutlineEdit>, sections: Vec<OutlineSection> },
    /// The draft was criticized: each objection with what became of it.
    #[serde(rename = "draft.criticized")]
    DraftCriticized { round: u32, objections: Vec<Objection> },
    /// An item is still open, or the sources of the draft disagree on it; the next round searches for this.
    #[serde(rename = "gap.found")]
    GapFound { item: ItemId, gap: String, gap_query: String },
    /// Sources disagree, or speak of different cases.
    #[serde(rename = "conflict.found")]
    ConflictFound { conflict: Conflict },
    /// A language model answered. Tokens are `null` if the provider does not count them, the cost if the price
    /// is unknown, the duration if it was not measured.
    #[serde(rename = "llm.completed")]
    LlmCompleted {
        role: ModelRole,
        model: String,
        step: String,
        r#in: Option<u64>,
        out: Option<u64>,
        cached: Option<u64>,
        // Those of `out` that were spent on reasoning, if the service counts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<u64>,
        // How much the model was asked to reason, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<ReasoningEffort>,
        usd: Option<f64>,
        #[serde(default)]
        ms: Option<u64>,
    },
    /// A model failed permanently; the step continues without one.
    #[serde(rename = "step.unaided")]
    StepUnaided { step: String, role: ModelRole, reason: String, hint: Option<String> },
    /// Resources used so far.
    #[serde(rename = "budget.updated")]
    BudgetUpdated { usage: Usage },
    /// A limit is near or reached.
    #[serde(rename = "budget.warning")]
    BudgetWarning { message: String },
    /// A sentence or paragraph of the draft was written; it is not verified yet. If `begins` is set, the draft starts
    /// over and earlier text is obsolete.
    #[serde(rename = "draft.delta")]
    DraftDelta {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begins: bool,
    },
    /// A claim was verified.
    #[serde(rename = "claim.checked")]
    ClaimChecked { claim: Claim, quotes_hold: bool, numbers_hold: bool },
    /// The report is complete.
    #[serde(rename = "report.ready")]
    ReportReady { report: Box<Report> },
    /// The ended run was judged; the last judgement counts.
    #[serde(rename = "report.judged")]
    ReportJudged { judgement: Box<Judgement> },
    /// A reader rated the report; the last rating counts.
    #[serde(rename = "report.rated")]
    ReportRated { rating: Rating },
    /// A public link to the report was created.
    #[serde(rename = "report.shared")]
    ReportShared { share: ShareLink },
    /// All public links were revoked.
    #[serde(rename = "report.unshared")]
    ReportUnshared {},
    /// A message for the user. `source`, where it is set, says whether it has words of this program alone (`program`) or also those of a
    /// service (`service`).
    #[serde(rename = "log")]
    Log {
        level: String,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<LogSource>,
    },
}

/// How a run with a report ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Normally, or at a limit other than rounds.
    Completed,
    /// The round limit was reached before the gate passed.
    MaxIterationsReached,
}

/// An event with its context. One line of `--jsonl`, one SSE message, one row of the event log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Sequence number within the run, from 1, without gaps.
    pub seq: u64,
    /// Time, RFC 3339 in UTC with milliseconds.
    pub ts: String,
    /// The run's id.
    pub run: RunId,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
    /// The phase.
    pub phase: Phase,
    /// The round, from 1.
    #[serde(rename = "wave", skip_serializing_if = "Option::is_none", default)]
    pub round: Option<u32>,
    /// The researcher, if there are several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The trace span it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<String>,
}

impl Event {
    /// The dotted name in JSON: `search.completed`.
    pub fn name(&self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.get("type").and_then(|value| value.as_str().map(str::to_owned)))
            .unwrap_or_default()
    }

    /// Whether the event was added after the run ended and is not part of the run itself.
    pub fn is_post_run(&self) -> bool {
        matches!(
            self,
            Event::ReportJudged { .. }
                | Event::ReportRated { .. }
                | Event::ReportShared { .. }
                | Event::ReportUnshared {}
        )
    }

    /// Identifies the event when a resumed run emits it again: its name and data without measured times, and without what earlier
    /// versions did not record.
    pub fn identity(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(data) = value.get_mut("data").and_then(|value| value.as_object_mut()) {
            data.remove("ms");
            let unrecorded: &[&str] = match self {
                Event::SearchCompleted { .. } => &["reason", "status"],
                Event::Log { .. } => &["source"],
                _ => &[],
            };
            for field in unrecorded {
                data.remove(*field);
            }
            let units = data.get_mut("research_units").and_then(|data| data.as_array_mut());
            for unit in units.into_iter().flatten() {
                unit.as_object_mut().map(|it| it.remove("ms"));
            }
        }
        value
    }
}
