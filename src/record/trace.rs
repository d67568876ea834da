use serde::{Deserialize, Serialize};

use super::event::RunStatusWord;
use super::{ByKind, Envelope, Event, Metrics, Phase};
use crate::domain::{
    Brief, CoverageRow, GateVerdict, IntakeDecision, Judgement, Owner, Plan, Question, Rating,
    Report, RunId, RuntimeProgress, Share, Source, StopReason, Strategy, Topic, Usage,
};
use crate::error::Kind;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Accepted, not begun.
    Pending,
    /// Being worked on, or interrupted and resumable.
    InProgress,
    /// Ended with a report.
    Completed,
    /// Ended with a report before the gate passed, because the rounds were used up.
    MaxIterationsReached,
    /// Stopped for good on request.
    Cancelled,
    /// Ended without a report.
    Failed,
}

impl RunStatus {
    /// Whether nothing more will happen.
    pub fn ended(self) -> bool {
        !matches!(self, RunStatus::Pending | RunStatus::InProgress)
    }
}

/// One question being answered: a fold of its events, and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Whose.
    pub id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// What was asked.
    pub question: Option<Question>,
    /// For whom, where the program serves more than one person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// What intake decided last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intake_decision: Option<IntakeDecision>,
    /// Whether it goes on with what its thread spoke of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    /// Whether the person is being asked what the question leaves open.
    pub awaiting_clarification: bool,
    /// What they are asked, where they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// Whether the plan waits for the person's word.
    pub awaiting_approval: bool,
    /// The refined question.
    pub brief: Option<Brief>,
    /// The plan.
    pub plan: Option<Plan>,
    /// How evidence is gathered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// What a supervisor has done so far, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<RuntimeProgress>,
    /// Where in the flow it is.
    pub phase: Phase,
    /// The round, from 0.
    pub wave: u32,
    /// Searches that came back.
    pub searches: u32,
    /// Pages read.
    pub pages: u32,
    /// Pages that could not be read.
    pub failed_pages: u32,
    /// Searches and pages by kind.
    pub by_kind: ByKind,
    /// Evidence found.
    pub evidence: u32,
    /// What was read.
    pub sources: Vec<Source>,
    /// Where every item stands.
    pub coverage: Vec<CoverageRow>,
    /// What the gate last said.
    pub gate: Option<GateVerdict>,
    /// What was spent.
    pub usage: Usage,
    /// Why looking stopped.
    pub stop_reason: Option<StopReason>,
    /// The report, once it stands.
    pub report: Option<Box<Report>>,
    /// How good it is, as judged last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Box<Judgement>>,
    /// What a reader thought of it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// Links by which anybody may read the report, and that were not taken back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// Why the run failed.
    pub error: Option<String>,
    /// What kind of failure that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Kind>,
    /// What would help, where the run failed and something would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Time of the first event, RFC 3339.
    pub started_at: Option<String>,
    /// Time of the last event of the run itself, RFC 3339: judging and rating take none of its time.
    pub updated_at: Option<String>,
    /// Number of the last event.
    pub seq: u64,
}

impl Run {
    /// A run of which nothing is known yet.
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
            wave: 0,
            searches: 0,
            pages: 0,
            failed_pages: 0,
            by_kind: ByKind::default(),
            evidence: 0,
            sources: Vec::new(),
            coverage: Vec::new(),
            gate: None,
            usage: Usage::default(),
            stop_reason: None,
            report: None,
            judgement: None,
            rating: None,
            shares: Vec::new(),
            error: None,
            failure: None,
            hint: None,
            started_at: None,
            updated_at: None,
            seq: 0,
        }
    }

    /// The run that these events tell.
    pub fn of(id: RunId, events: &[Envelope]) -> Run {
        let mut run = Run::new(id);
        for event in events {
            run.apply(event);
        }
        run
    }

    /// What it took so far (row B10).
    pub fn metrics(&self) -> Metrics {
        let it = self.by_kind;
        Metrics {
            total_iterations: self.wave,
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

    /// Takes in one more event. Events must come in order.
    pub fn apply(&mut self, it: &Envelope) {
        self.seq = it.seq;
        if it.event.is_afterword() {
            return self.look_back(&it.event);
        }
        self.phase = it.phase;
        self.started_at.get_or_insert_with(|| it.ts.clone());
        self.updated_at = Some(it.ts.clone());
        if let Some(wave) = it.wave {
            self.wave = self.wave.max(wave);
        }
        self.heed(&it.event);
        self.by_kind.heed(&it.event);
        match &it.event {
            Event::RunCreated {
                question, owner, ..
            } => {
                self.question = Some(question.clone());
                self.owner.clone_from(owner);
            }
            Event::RunStarted {} | Event::RunResumed { .. } => self.status = RunStatus::InProgress,
            Event::RunFinishing { reason } => self.stop_reason = Some(*reason),
            Event::RunCompleted {
                status,
                stop_reason,
                usage,
            } => {
                self.status = match status {
                    RunStatusWord::Completed => RunStatus::Completed,
                    RunStatusWord::MaxIterationsReached => RunStatus::MaxIterationsReached,
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
            Event::StrategyChosen { strategy, .. } => self.strategy = Some(*strategy),
            Event::RuntimeProgress { progress } => self.progress = Some(progress.clone()),
            Event::GateJudged { verdict } => self.gate = Some(verdict.clone()),
            Event::BudgetUpdated { usage } => self.usage = *usage,
            Event::ReportReady { report } => self.report = Some(report.clone()),
            Event::KnownWeighed {
                sources,
                evidence: _,
            } => {
                self.sources.extend(sources.iter().cloned());
            }
            Event::RunQueued { .. }
            | Event::IntakeDecided { .. }
            | Event::ClarifyAsked { .. }
            | Event::ClarifyAnswered { .. }
            | Event::ItemUpdated { .. }
            | Event::SearchPrepared { .. }
            | Event::PlanWaiting { .. }
            | Event::PlanChanged { .. }
            | Event::PlanApproved { .. }
            | Event::WaveStarted { .. }
            | Event::WaveFinished { .. }
            | Event::SearchStarted { .. }
            | Event::ReadStarted { .. }
            | Event::DocumentFailed { .. }
            | Event::EvidenceRejected { .. }
            | Event::EvidenceMerged { .. }
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

    /// Takes in what was thought of the run after its end.
    fn look_back(&mut self, event: &Event) {
        match event {
            Event::ReportJudged { judgement } => self.judgement = Some(judgement.clone()),
            Event::ReportRated { rating } => self.rating = Some(rating.clone()),
            Event::ReportShared { share } => self.shares.push(share.clone()),
            Event::ReportUnshared {} => self.shares.clear(),
            _ => {}
        }
    }

    /// Takes in whether the person is waited for.
    fn heed(&mut self, it: &Event) {
        match it {
            Event::IntakeDecided {
                decision,
                topic,
                awaiting_clarification,
                ..
            } => {
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
