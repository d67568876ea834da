use serde::{Deserialize, Serialize};

use super::event::RunOutcome;
use super::{CountsByKind, Envelope, Event, Phase, RunMetrics};
use crate::ErrorKind;
use crate::domain::{
    Brief, CoverageRow, GateVerdict, IntakeDecision, Judgement, OutlineSection, Owner, Plan,
    Question, Rating, Report, RunId, RuntimeProgress, ShareLink, Source, StopReason, Strategy,
    TopicRelation, Usage,
};

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Accepted, not started.
    Pending,
    /// Running, or interrupted and resumable.
    InProgress,
    /// Ended with a report.
    Completed,
    /// Ended with a report when the round limit was reached before the gate passed.
    MaxIterationsReached,
    /// Cancelled by the user.
    Cancelled,
    /// Ended without a report.
    Failed,
}

impl RunStatus {
    /// Whether the run has ended.
    pub fn ended(self) -> bool {
        !matches!(self, RunStatus::Pending | RunStatus::InProgress)
    }
}

/// The state of a run, computed from its events only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its status.
    pub status: RunStatus,
    /// The question.
    pub question: Option<Question>,
    /// The owner, if the program serves several users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The latest intake decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intake_decision: Option<IntakeDecision>,
    /// Whether it continues the topic of its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicRelation>,
    /// Whether it waits for answers to clarifying questions.
    pub awaiting_clarification: bool,
    /// The clarifying questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// Whether it waits for approval of the plan.
    pub awaiting_approval: bool,
    /// The refined question.
    pub brief: Option<Brief>,
    /// The plan.
    pub plan: Option<Plan>,
    /// The strategy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Progress of the supervisor, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<RuntimeProgress>,
    /// The current phase.
    pub phase: Phase,
    /// The round, from 0.
    #[serde(rename = "wave")]
    pub round: u32,
    /// Completed searches.
    pub searches: u32,
    /// Pages read.
    pub pages: u32,
    /// Pages that could not be read.
    pub failed_pages: u32,
    /// Searches and pages by kind.
    pub by_kind: CountsByKind,
    /// Number of pieces of evidence.
    pub evidence: u32,
    /// The sources read.
    pub sources: Vec<Source>,
    /// Coverage of every item.
    pub coverage: Vec<CoverageRow>,
    /// The sections of the report that is being researched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<OutlineSection>,
    /// The latest gate result.
    pub gate: Option<GateVerdict>,
    /// Resources used.
    pub usage: Usage,
    /// Why the search stopped.
    pub stop_reason: Option<StopReason>,
    /// The report, once it exists.
    pub report: Option<Box<Report>>,
    /// The latest judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Box<Judgement>>,
    /// The latest rating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// Public links to the report that were not revoked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<ShareLink>,
    /// Why the run failed.
    pub error: Option<String>,
    /// The kind of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ErrorKind>,
    /// Advice on how to fix the failure, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Time of the first event, RFC 3339.
    pub started_at: Option<String>,
    /// Time of the last event, RFC 3339; later judgements and ratings do not count.
    pub updated_at: Option<String>,
    /// The most that the model calls may have cost, in US dollars, whose answer an interruption lost. It is charged against the budget
    /// in addition to `usage.usd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_doubt_usd: Option<f64>,
    /// `seq` of the last event.
    pub seq: u64,
}

impl Run {
    /// Creates a run without events.
    pub fn new(id: RunId) -> Run {
        Run {
            id,
            status: RunStatus::Pending,
            question: None,
            owner: None,
            intake_decision: None,
            topic: None,
            awaiting_clarification: false,
            asks: Vec::new(),
            awaiting_approval: false,
            brief: None,
            plan: None,
            strategy: None,
            progress: None,
            phase: Phase::Run,
            round: 0,
            searches: 0,
            pages: 0,
            failed_pages: 0,
            by_kind: CountsByKind::default(),
            evidence: 0,
            sources: Vec::new(),
            coverage: Vec::new(),
            outline: Vec::new(),
            gate: None,
            usage: Usage::default(),
            stop_reason: None,
            report: None,
            judgement: None,
            rating: None,
            shares: Vec::new(),
            error: None,
            failure: None,
            in_doubt_usd: None,
            hint: None,
            started_at: None,
            updated_at: None,
            seq: 0,
        }
    }

    /// Computes the run from `events`.
    pub fn from_events(id: RunId, events: &[Envelope]) -> Run {
        let mut run = Run::new(id);
        for event in events {
            run.apply(event);
        }
        run
    }

    /// Metrics so far.
    pub fn metrics(&self) -> RunMetrics {
        let it = self.by_kind;
        RunMetrics {
            total_iterations: self.round,
            pubmed_queries: it.pubmed,
            web_queries: it.web,
            scholar_queries: it.scholar,
            local_queries: it.local,
            sources_processed: it.articles + it.pages,
            articles_processed: it.articles,
            pages_processed: it.pages,
            llm_calls: self.usage.model_calls,
        }
    }

    /// What is charged against the budget at most, US dollars, if that is more than `usage.usd`: calls whose answer was lost are
    /// charged as if they had cost as much as they could.
    pub fn charged_usd_at_most(&self) -> Option<f64> {
        let in_doubt = self.in_doubt_usd.filter(|usd| *usd > 0.0)?;
        Some(self.usage.usd.unwrap_or(0.0) + in_doubt)
    }

    /// The coverage of every item: that of the report, else the latest, else the items of the plan, all open.
    pub fn coverage_rows(&self) -> Vec<CoverageRow> {
        if let Some(report) = &self.report {
            return report.coverage.clone();
        }
        if !self.coverage.is_empty() {
            return self.coverage.clone();
        }
        let planned = self.plan.iter().flat_map(|plan| plan.items());
        planned.map(|item| CoverageRow::empty(item.id, &item.asks)).collect()
    }

    /// Applies one event. Events must be passed in order.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        if envelope.event.is_post_run() {
            return self.apply_post_run(&envelope.event);
        }
        self.phase = envelope.phase;
        self.started_at.get_or_insert_with(|| envelope.ts.clone());
        self.updated_at = Some(envelope.ts.clone());
        if let Some(round) = envelope.round {
            self.round = self.round.max(round);
        }
        self.apply_status(&envelope.event);
        self.apply_waiting(&envelope.event);
        self.by_kind.apply(&envelope.event);
        match &envelope.event {
            Event::RunCreated { question, owner, .. } => {
                self.question = Some(question.clone());
                self.owner.clone_from(owner);
            }
            Event::BriefReady { brief } => self.brief = Some(brief.clone()),
            Event::PlanProposed { plan } => self.plan = Some(plan.clone()),
            Event::SearchCompleted { .. } => self.searches += 1,
            Event::ReadCompleted { source, .. } => {
                self.pages += 1;
                self.sources.push(source.clone());
            }
            Event::ReadFailed { .. } => self.failed_pages += 1,
            Event::EvidenceAdded { .. } => self.evidence += 1,
            Event::CoverageUpdated { rows, .. } => self.coverage.clone_from(rows),
            Event::OutlineUpdated { sections, .. } => self.outline.clone_from(sections),
            Event::StrategyChosen { strategy, .. } => self.strategy = Some(*strategy),
            Event::RuntimeProgress { progress } => self.progress = Some(progress.clone()),
            Event::GateJudged { verdict } => self.gate = Some(verdict.clone()),
            Event::BudgetUpdated { usage } => self.usage = *usage,
            Event::ReportReady { report } => self.report = Some(report.clone()),
            Event::KnownWeighed { sources, evidence: _ } => {
                self.sources.extend(sources.iter().cloned());
            }
            // See `apply_status` and `apply_waiting`.
            Event::RunStarted {}
            | Event::RunResumed { .. }
            | Event::RunFinishing { .. }
            | Event::RunCompleted { .. }
            | Event::RunFailed { .. }
            | Event::RunCancelled {}
            | Event::RunQueued { .. }
            | Event::IntakeDecided { .. }
            | Event::ClarifyAsked { .. }
            | Event::ClarifyAnswered { .. }
            | Event::ItemUpdated { .. }
            | Event::SearchPrepared { .. }
            | Event::PageSearched { .. }
            | Event::PageContinued { .. }
            | Event::PlanWaiting { .. }
            | Event::PlanChanged { .. }
            | Event::PlanApproved { .. }
            | Event::RoundStarted { .. }
            | Event::RoundFinished { .. }
            | Event::SearchStarted { .. }
            | Event::ReadStarted { .. }
            | Event::DocumentFailed { .. }
            | Event::EvidenceRejected { .. }
            | Event::EvidenceMerged { .. }
            | Event::DraftCriticized { .. }
            | Event::GapFound { .. }
            | Event::ConflictFound { .. }
            | Event::BudgetWarning { .. }
            | Event::LlmCompleted { .. }
            | Event::StepUnaided { .. }
            | Event::DraftDelta { .. }
            | Event::ClaimChecked { .. }
            | Event::ReportJudged { .. }
            | Event::ReportRated { .. }
            | Event::ReportShared { .. }
            | Event::ReportUnshared {}
            | Event::Log { .. } => {}
        }
    }

    /// Applies events added after the run ended: judgements, ratings and links.
    fn apply_post_run(&mut self, event: &Event) {
        match event {
            Event::ReportJudged { judgement } => self.judgement = Some(judgement.clone()),
            Event::ReportRated { rating } => self.rating = Some(rating.clone()),
            Event::ReportShared { share } => self.shares.push(share.clone()),
            Event::ReportUnshared {} => self.shares.clear(),
            _ => {}
        }
    }

    /// Applies the start and end of the run.
    fn apply_status(&mut self, event: &Event) {
        match event {
            Event::RunStarted {} => self.status = RunStatus::InProgress,
            Event::RunResumed { in_doubt_usd, .. } => {
                self.status = RunStatus::InProgress;
                self.in_doubt_usd = *in_doubt_usd;
            }
            Event::RunFinishing { reason } => self.stop_reason = Some(*reason),
            Event::RunCompleted { status, stop_reason, usage } => {
                self.status = match status {
                    RunOutcome::Completed => RunStatus::Completed,
                    RunOutcome::MaxIterationsReached => RunStatus::MaxIterationsReached,
                };
                self.stop_reason = Some(*stop_reason);
                self.usage = *usage;
            }
            Event::RunFailed { reason, hint, kind } => {
                self.status = RunStatus::Failed;
                self.failure = *kind;
                self.hint.clone_from(hint);
                self.error = Some(reason.clone());
            }
            Event::RunCancelled {} => self.status = RunStatus::Cancelled,
            _ => {}
        }
    }

    /// Updates whether the run waits for the user.
    fn apply_waiting(&mut self, event: &Event) {
        match event {
            Event::IntakeDecided { decision, topic, awaiting_clarification, .. } => {
                self.intake_decision = Some(*decision);
                self.topic = Some(*topic);
                self.awaiting_clarification = *awaiting_clarification;
            }
            Event::ClarifyAsked { questions } => self.asks.clone_from(questions),
            Event::ClarifyAnswered { .. } => {
                self.awaiting_clarification = false;
                self.asks.clear();
            }
            Event::PlanWaiting { .. } => self.awaiting_approval = true,
            Event::PlanChanged { .. } | Event::PlanApproved { .. } => {
                self.awaiting_approval = false;
            }
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled {} => {
                self.awaiting_clarification = false;
                self.asks.clear();
                self.awaiting_approval = false;
            }
            _ => {}
        }
    }
}
