//! The state that all strategies share, and the decision when there is enough.
use crate::thresholds::MIN_PROGRESS;
use std::collections::{BTreeMap, BTreeSet};

use crate::cover;
use crate::cover::CoverageState;
use crate::heuristic::queries::SearchTargets;
use crate::heuristic::score::RelevanceScorer;
use crate::llm_session::LlmSession;
use crate::outline::{EvidenceAssignment, Outline};
use crate::page_set::PageSet;
use crate::query_policy::QueryPolicy;
use crate::research_state::ResearchState;
use crate::run_context::RunContext;
use crate::search::HitPool;
use crate::trust;
use ibid_core::Result;
use ibid_core::domain::{
    Coverage, CoverageRow, EvidenceGate, EvidenceStore, GateVerdict, ItemId, ItemStatus, ModelRole,
    Plan, StopReason, Usage,
};
use ibid_core::ports::CheckpointDecision;
use ibid_core::record::Event;

use super::disputes::Disputes;
use super::limits::GatherLimits;
use super::search_budget::{folder_count, is_search_budget_spent};

/// The quality of the notes after a round, to measure the gain of the next.
#[derive(Default, Clone, Copy)]
pub(super) struct NoteQuality {
    /// Share of items covered, a partly covered one counting half.
    pub(super) covered: f32,
    /// The scores of all items together.
    pub(super) scores: f32,
    /// Distinct domains with evidence.
    pub(super) domains: u32,
}

/// The state of gathering.
pub(crate) struct ResearchLoop<'a> {
    pub(crate) ctx: RunContext<'a>,
    pub(super) limits: GatherLimits,
    pub(super) targets: SearchTargets,
    /// What was found so far.
    pub(crate) state: ResearchState,
    /// Scores the pages; it knows the words read so far.
    pub(crate) scorer: RelevanceScorer,
    pub(super) coverage: CoverageState,
    /// Whether a model writes the report.
    pub(crate) has_writer: bool,
    /// Whether there is a draft, so that rounds are for what it lacks.
    pub(super) is_refining: bool,
    pub(super) disputes: Disputes,
    pub(super) hits: HitPool,
    pub(super) sent_queries: BTreeSet<Vec<String>>,
    pub(super) statuses: BTreeMap<ItemId, ItemStatus>,
    pub(super) quality: NoteQuality,
    pub(super) gain: NoteQuality,
    /// The verdict on what was known before any search, until a round is judged.
    pub(super) known_gate: Option<GateVerdict>,
}

impl<'a> ResearchLoop<'a> {
    pub(crate) fn new(ctx: RunContext<'a>, plan: Plan) -> Result<ResearchLoop<'a>> {
        let RunContext { providers, question, brief, .. } = ctx;
        let scorer = RelevanceScorer::new(brief, &plan)?;
        let limits = GatherLimits::from_question(question, brief, &plan);
        let strategy = question.strategy(plan.complexity);
        let has_writer = providers.models.get(ModelRole::Writer).is_some();
        let assignment = if has_writer {
            EvidenceAssignment::NearestWords
        } else {
            EvidenceAssignment::FirstItem
        };
        let outline = Outline::from_plan(&plan, assignment);
        let notes = EvidenceStore::new(plan);
        let gate = EvidenceGate::from_settings(&question.method).judge(&notes, 0);
        let policy = QueryPolicy::from_plan(providers, question, brief, &notes.plan);
        Ok(ResearchLoop {
            ctx,
            limits,
            targets: SearchTargets::new(&providers.search, &question.text, policy),
            state: ResearchState {
                notes,
                pages: PageSet::with_failed(&providers.unreadable),
                coverage: Vec::new(),
                outline,
                gate,
                stop: StopReason::NoNewEvidence,
                usage: Usage::default(),
                rounds: 0,
                strategy,
                engines: providers.search.iter().map(|it| it.name().to_owned()).collect(),
                queries: Vec::new(),
            },
            scorer,
            coverage: CoverageState::default(),
            has_writer,
            is_refining: false,
            disputes: Disputes::default(),
            hits: HitPool::default(),
            sent_queries: BTreeSet::new(),
            statuses: BTreeMap::new(),
            quality: NoteQuality::default(),
            gain: NoteQuality::default(),
            known_gate: None,
        })
    }

    /// Asks steering, and the budget, whether to stop before the next round. Returns the reason to stop.
    pub(super) async fn check_stop(&self, llm: &LlmSession<'_>) -> Result<Option<StopReason>> {
        let round = self.state.rounds;
        if round == 0 {
            return Ok(None);
        }
        let word = self.ctx.providers.steering.checkpoint(&format!("wave-{}", round + 1)).await?;
        if let CheckpointDecision::Finish(reason) = word {
            self.ctx.log.emit(Event::RunFinishing { reason });
            return Ok(Some(reason));
        }
        if !llm.is_budget_spent() {
            return Ok(None);
        }
        // What is left of the money is kept for writing.
        self.ctx.log.emit(Event::BudgetWarning {
            message: "what research may spend on models is spent".to_owned(),
        });
        Ok(Some(StopReason::BudgetUsd))
    }

    /// Emits that the calls are spent.
    pub(super) fn stop_out_of_calls(&self) -> StopReason {
        self.ctx
            .log
            .emit(Event::BudgetWarning { message: cover::spent_message(&self.state.usage) });
        StopReason::BudgetCalls
    }

    /// Sets the status of an item and emits it, if it changed.
    pub(super) fn set_status(&mut self, item: ItemId, status: ItemStatus) {
        if self.statuses.insert(item, status) != Some(status) {
            self.ctx.log.emit(Event::ItemUpdated { item, status });
        }
    }

    /// Emits the status of all items before the first round: to do, or done by known pages.
    pub(super) fn emit_initial_statuses(&mut self) {
        let plan = &self.state.notes.plan;
        let items: Vec<ItemId> = plan.items().iter().map(|item| item.id).collect();
        for item in items {
            self.set_status(item, ItemStatus::Todo);
        }
        for row in self.coverage.rows.clone() {
            self.set_status_from_row(&row);
        }
    }

    /// The status of an item that was worked on, by its coverage.
    pub(super) fn set_status_from_row(&mut self, row: &CoverageRow) {
        let status = match (row.state, self.status(row.id)) {
            (Coverage::Covered | Coverage::Conflict, _) => ItemStatus::Done,
            (Coverage::Open, ItemStatus::InProgress) => ItemStatus::Blocked,
            (_, status) => status,
        };
        self.set_status(row.id, status);
    }

    /// The last emitted status of an item.
    pub(super) fn status(&self, item: ItemId) -> ItemStatus {
        self.statuses.get(&item).copied().unwrap_or(ItemStatus::Todo)
    }

    /// Records a signal to finish that came before writing: it, and not the last round, ended gathering.
    pub(crate) fn apply_write_signal(&mut self, word: CheckpointDecision) {
        let ended = matches!(
            self.state.stop,
            StopReason::MaxIterations | StopReason::MaxResearchers | StopReason::NoNewEvidence
        );
        if let (
            true,
            CheckpointDecision::Finish(reason @ (StopReason::UserFinish | StopReason::BudgetTime)),
        ) = (ended, word)
        {
            self.state.stop = reason;
        }
    }

    /// The reason to stop after a round with `new` evidence, if there is one.
    pub(super) fn stop_reason(&self, new: u32) -> Option<StopReason> {
        let round = self.state.rounds;
        if self.is_good() {
            return Some(StopReason::CoverageReached);
        }
        if self.is_trusted() {
            return Some(StopReason::TrustReached);
        }
        if new == 0 && round > 1 {
            return Some(StopReason::NoNewEvidence);
        }
        if round >= self.limits.rounds {
            return Some(StopReason::MaxIterations);
        }
        (round > 1 && self.adds_nothing()).then_some(StopReason::NoNewEvidence)
    }

    /// Whether the gate passes and enough is covered.
    pub(super) fn is_good(&self) -> bool {
        let threshold = self.ctx.question.method.completeness_threshold;
        self.state.gate.pass && self.coverage.is_good(threshold)
    }

    /// Whether the gate passes, no item is open, and the sources with evidence are trusted enough.
    fn is_trusted(&self) -> bool {
        let wanted = self.ctx.question.method.trust_threshold;
        let none_open = self.coverage.rows.iter().all(|row| row.state != Coverage::Open);
        wanted < 1.0
            && self.state.gate.pass
            && none_open
            && trust::mean_trust(&self.state, &self.ctx.question.asked_on) >= wanted
    }

    /// Whether the last round made no progress: no item better answered, no new site.
    pub(super) fn adds_nothing(&self) -> bool {
        !self.answers_better() && self.gain.domains == 0
    }

    /// Whether an item is better answered after the last round than before it.
    pub(crate) fn answers_better(&self) -> bool {
        self.gain.covered > 0.0 || self.gain.scores >= MIN_PROGRESS
    }

    pub(super) fn is_spent(&self) -> bool {
        is_search_budget_spent(
            self.ctx.question,
            &self.state.usage,
            folder_count(self.ctx.providers),
        )
    }
}
