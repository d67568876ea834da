use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{
    Brief, Claim, Conflict, CoverageRow, Evidence, GateVerdict, IntakeDecision, ItemId, ItemStatus,
    Judgement, ModelRole, Owner, Plan, Question, Rating, Report, RunId, RuntimeProgress, Share,
    Source, StopReason, Strategy, Topic, Usage, Variation, Vertical, WordOrigin,
};
use crate::error::Kind;

/// Version of the event vocabulary. Added fields and types keep it; a changed meaning raises it.
pub const VERSION: u32 = 1;

/// Where in the flow a thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Understanding the question.
    Intake,
    /// Making the plan.
    Plan,
    /// Searching, reading, weighing.
    Research,
    /// Writing.
    Write,
    /// Checking.
    Check,
    /// Starting and ending.
    Run,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It found something.
    Ok,
    /// It found nothing.
    Empty,
    /// The provider said: later.
    RateLimited,
    /// It failed.
    Error,
}

/// Why a page could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// The server takes us for a robot.
    BotBlock,
    /// It wants money.
    Paywall,
    /// It took too long.
    Timeout,
    /// It is too large.
    TooLarge,
    /// robots.txt says no.
    Robots,
    /// The address may not be asked.
    BlockedAddress,
    /// There are no words in it.
    Empty,
    /// It was taken back by its journal, or is doubted by it.
    Retracted,
    /// Nobody here can read this kind.
    Unsupported,
    /// It is damaged.
    Broken,
    /// It is not there.
    NotFound,
}

impl FailReason {
    /// Every reason with its word on the wire.
    pub const ALL: [(FailReason, &'static str); 11] = [
        (FailReason::BotBlock, "bot_block"),
        (FailReason::Paywall, "paywall"),
        (FailReason::Timeout, "timeout"),
        (FailReason::TooLarge, "too_large"),
        (FailReason::Robots, "robots"),
        (FailReason::BlockedAddress, "blocked_address"),
        (FailReason::Retracted, "retracted"),
        (FailReason::Empty, "empty"),
        (FailReason::Unsupported, "unsupported"),
        (FailReason::Broken, "broken"),
        (FailReason::NotFound, "not_found"),
    ];

    /// Its word on the wire.
    pub fn word(self) -> &'static str {
        let named = FailReason::ALL.iter().find(|it| it.0 == self);
        named.map_or("broken", |it| it.1)
    }

    /// The reason that the message of a reader's error tells, which is how it passes through a journal: `: robots: …`.
    pub fn told_in(message: &str) -> Option<FailReason> {
        let told = |it: &&(FailReason, &str)| message.contains(&format!(": {}: ", it.1));
        FailReason::ALL.iter().find(told).map(|it| it.0)
    }
}

/// One thing that happened in a run. Closed: every surface handles every kind.
///
/// The wire form is `{"type": "search.completed", "data": {…}}` inside an [`Envelope`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[allow(missing_docs, reason = "the fields are domain nouns, documented there")]
pub enum Event {
    /// A question came in.
    #[serde(rename = "run.created")]
    RunCreated {
        question: Question,
        version: u32,
        // Nobody, where the program serves one person alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// It is on disk and waits for its turn.
    #[serde(rename = "run.queued")]
    RunQueued {
        /// What the caller sent besides the question, for answers in their own form: names, metadata, where to tell of the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Value>,
    },
    /// Work began.
    #[serde(rename = "run.started")]
    RunStarted {},
    /// Work began again after a stop; events told before are not told twice.
    #[serde(rename = "run.resumed")]
    RunResumed { after: u64, in_doubt: u32 },
    /// Somebody asked to write with what there is.
    #[serde(rename = "run.finishing")]
    RunFinishing { reason: StopReason },
    /// The run ended with a report.
    #[serde(rename = "run.completed")]
    RunCompleted {
        status: RunStatusWord,
        stop_reason: StopReason,
        usage: Usage,
    },
    /// The run ended without one.
    #[serde(rename = "run.failed")]
    RunFailed {
        reason: String,
        hint: Option<String>,
        // Decides the exit code, also when the run is shown again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<Kind>,
    },
    /// The run was stopped for good.
    #[serde(rename = "run.cancelled")]
    RunCancelled {},
    /// What is done first with the question, and whether it goes on with what its thread spoke of (row C11).
    #[serde(rename = "intake.decided")]
    IntakeDecided {
        decision: IntakeDecision,
        topic: Topic,
        awaiting_clarification: bool,
        follows: Option<RunId>,
    },
    /// The person is asked what the question leaves open.
    #[serde(rename = "clarify.asked")]
    ClarifyAsked { questions: Vec<String> },
    /// What they said, one answer a question, an empty one where they passed; none at all when nobody answered.
    #[serde(rename = "clarify.answered")]
    ClarifyAnswered { answers: Vec<String> },
    /// The question was refined.
    #[serde(rename = "brief.ready")]
    BriefReady { brief: Brief },
    /// The plan stands.
    #[serde(rename = "plan.proposed")]
    PlanProposed { plan: Plan },
    /// How evidence will be gathered, and why so.
    #[serde(rename = "strategy.chosen")]
    StrategyChosen { strategy: Strategy, reason: String },
    /// An item of the checklist changed its state.
    #[serde(rename = "item.updated")]
    ItemUpdated { item: ItemId, status: ItemStatus },
    /// Hits were put in order for a researcher, without a model (row C7).
    #[serde(rename = "search_preprocess", alias = "search.prepared")]
    SearchPrepared {
        found: u32,
        shown: u32,
        llm_calls_in_preprocess: u32,
    },
    /// What a supervisor has done so far (row C2).
    #[serde(rename = "runtime_progress")]
    RuntimeProgress {
        #[serde(flatten)]
        progress: RuntimeProgress,
    },
    /// The plan waits for the person's word; `attempt` counts how often it has. Nothing is spent meanwhile.
    #[serde(rename = "plan.waiting")]
    PlanWaiting { attempt: u32 },
    /// The person said what to change in it.
    #[serde(rename = "plan.changed")]
    PlanChanged { words: String },
    /// The plan is gone by, and is another than the one first proposed if it was `changed`.
    #[serde(rename = "plan.approved")]
    PlanApproved { by: String, changed: bool },
    /// What earlier runs of the thread, or one that was asked nearly the same, had read was weighed against this plan, without any call.
    #[serde(rename = "known.weighed")]
    KnownWeighed { sources: Vec<Source>, evidence: u32 },
    /// A round begins, for these items.
    #[serde(rename = "wave.started")]
    WaveStarted { items: Vec<ItemId>, queries: u32 },
    /// A round ended.
    #[serde(rename = "wave.finished")]
    WaveFinished { new_evidence: u32, new_sources: u32 },
    /// A search was sent.
    #[serde(rename = "search.started")]
    SearchStarted {
        engine: String,
        query: String,
        vertical: Vertical,
        item: ItemId,
        variation: Variation,
        // Where the words of a query for the outside come from; none for folders.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        origin: Vec<WordOrigin>,
    },
    /// A search came back. `new` counts documents no earlier search of the run returned.
    #[serde(rename = "search.completed")]
    SearchCompleted {
        engine: String,
        query: String,
        item: ItemId,
        hits: u32,
        new: u32,
        ms: u64,
        cost_usd: f64,
        outcome: Outcome,
        error: Option<String>,
    },
    /// A page was asked for.
    #[serde(rename = "read.started")]
    ReadStarted { url: String },
    /// A page was read; it is this source.
    #[serde(rename = "read.completed")]
    ReadCompleted {
        source: Source,
        sentences: u32,
        warnings: Vec<String>,
        ms: u64,
    },
    /// A page could not be read.
    #[serde(rename = "read.failed")]
    ReadFailed {
        url: String,
        reason: FailReason,
        message: String,
    },
    /// A document of a folder could not be taken in.
    #[serde(rename = "document.failed")]
    DocumentFailed {
        path: String,
        place: Option<String>,
        reason: FailReason,
        message: String,
    },
    /// Evidence was found.
    #[serde(rename = "evidence.added")]
    EvidenceAdded { evidence: Evidence },
    /// A candidate was looked at and left out.
    #[serde(rename = "evidence.rejected")]
    EvidenceRejected {
        url: String,
        item: ItemId,
        reason: String,
    },
    /// Near-duplicates were counted as one.
    #[serde(rename = "evidence.merged")]
    EvidenceMerged { url: String, into: String },
    /// Where every item stands.
    #[serde(rename = "coverage.updated")]
    CoverageUpdated { rows: Vec<CoverageRow>, ratio: f32 },
    /// What the gate said (row C2's `quality_gate_status`).
    #[serde(rename = "gate.judged")]
    GateJudged { verdict: GateVerdict },
    /// An item is still open; the next round asks this.
    #[serde(rename = "gap.found")]
    GapFound {
        item: ItemId,
        gap: String,
        gap_query: String,
    },
    /// Sources disagree.
    #[serde(rename = "conflict.found")]
    ConflictFound { conflict: Conflict },
    /// A language model answered: so many tokens in and out, after so long. Tokens are `null` where the provider does not count
    /// them, money where no price is known, the time where nobody took it.
    #[serde(rename = "llm.completed")]
    LlmCompleted {
        role: ModelRole,
        model: String,
        step: String,
        r#in: Option<u64>,
        out: Option<u64>,
        cached: Option<u64>,
        usd: Option<f64>,
        #[serde(default)]
        ms: Option<u64>,
    },
    /// A model failed for good, and the step goes on without one.
    #[serde(rename = "step.unaided")]
    StepUnaided {
        step: String,
        role: ModelRole,
        reason: String,
        hint: Option<String>,
    },
    /// What was spent so far.
    #[serde(rename = "budget.updated")]
    BudgetUpdated { usage: Usage },
    /// A bound is near or reached.
    #[serde(rename = "budget.warning")]
    BudgetWarning { message: String },
    /// A sentence or paragraph of the draft was written; it is not checked yet. With `begins`, the draft is begun anew and what
    /// was told of it before no longer counts.
    #[serde(rename = "draft.delta")]
    DraftDelta {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begins: bool,
    },
    /// A claim was checked.
    #[serde(rename = "claim.checked")]
    ClaimChecked {
        claim: Claim,
        quotes_hold: bool,
        numbers_hold: bool,
    },
    /// The report stands.
    #[serde(rename = "report.ready")]
    ReportReady { report: Box<Report> },
    /// The ended run was judged, again perhaps: the last judgement counts.
    #[serde(rename = "report.judged")]
    ReportJudged { judgement: Box<Judgement> },
    /// A reader rated the report, again perhaps: the last rating counts.
    #[serde(rename = "report.rated")]
    ReportRated { rating: Rating },
    /// A link was made by which anybody may read the report.
    #[serde(rename = "report.shared")]
    ReportShared { share: Share },
    /// Every such link ended.
    #[serde(rename = "report.unshared")]
    ReportUnshared {},
    /// Something a person may want to know.
    #[serde(rename = "log")]
    Log { level: String, message: String },
}

/// How a run with a report ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatusWord {
    /// As wanted, or stopped by a bound other than rounds.
    Completed,
    /// The rounds were used up before the gate passed (row C1).
    MaxIterationsReached,
}

/// An event with its place in the story. One line of `--jsonl`, one SSE message, one row of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Counted from 1 within the run, without gaps.
    pub seq: u64,
    /// When, RFC 3339 in UTC with milliseconds.
    pub ts: String,
    /// Whose.
    pub run: RunId,
    /// What.
    #[serde(flatten)]
    pub event: Event,
    /// Where in the flow.
    pub phase: Phase,
    /// The round, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wave: Option<u32>,
    /// The researcher, where there are several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The step of the trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<String>,
}

impl Event {
    /// The dotted name on the wire: `search.completed`.
    pub fn name(&self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|it| it.get("type").and_then(|it| it.as_str().map(str::to_owned)))
            .unwrap_or_default()
    }

    /// Whether it is told of an ended run by somebody who looked at it, and is no part of the run itself.
    pub fn is_afterword(&self) -> bool {
        matches!(
            self,
            Event::ReportJudged { .. }
                | Event::ReportRated { .. }
                | Event::ReportShared { .. }
                | Event::ReportUnshared {}
        )
    }

    /// What makes this event the same story when a resumed run tells it again: its name and data
    /// without what the clock measured.
    pub fn identity(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(data) = value.get_mut("data").and_then(|it| it.as_object_mut()) {
            data.remove("ms");
            let units = data
                .get_mut("research_units")
                .and_then(|it| it.as_array_mut());
            for unit in units.into_iter().flatten() {
                unit.as_object_mut().map(|it| it.remove("ms"));
            }
        }
        value
    }
}
