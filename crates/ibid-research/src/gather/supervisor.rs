//! The supervisor strategy: a supervisor sends out researchers in rounds until the gate passes.
//!
//! The researchers of a round work in step: all decide, then all their searches are sent together, then all
//! their pages are read. They share what was found without paying for anything twice, and the same run always
//! emits the same events in the same order, which replay requires.
use crate::ask;
use crate::ask::shapes::{SupervisePrompt, SuperviseReply, SupervisorAction};
use crate::cover;
use crate::llm_session::{LlmSession, LlmStep, TrackedModel};
use ibid_core::Result;
use ibid_core::domain::{Coverage, GateStatus, ItemId, ModelRole, StopReason, SupervisorSettings};

use super::assignment::Assignment;
use super::dispatch::run_dispatch;
use super::research_loop::ResearchLoop;
use super::supervisor_notes;
use super::supervisor_state::{SupervisorState, emit_progress};

/// Thoughts and refusals in a row after which heuristics decide.
const MAX_IDLE_DECISIONS: u32 = 2;
/// Maximum number of thoughts shown again.
const SHOWN_THOUGHTS: usize = 5;

/// A supervisor's decision.
enum SupervisorDecision {
    Dispatch(Vec<Assignment>),
    Complete,
    Think(String),
}

/// Gathers round by round. Returns why it ended.
pub(super) async fn gather(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
) -> Result<StopReason> {
    let team = research.limits.team;
    let mut supervisor = SupervisorState::default();
    let mut new = 0;
    // Thoughts and refusals do not count as rounds: after some, heuristics either start researchers or end the research.
    while research.state.rounds < research.ctx.question.method.max_iterations.max(1) {
        if let Some(reason) = research.check_stop(llm).await? {
            return Ok(reason);
        }
        if research.is_spent() {
            return Ok(research.stop_out_of_calls());
        }
        supervisor.decisions += 1;
        let mut decision = decide_by_model(research, llm, &supervisor, &team).await?;
        if supervisor.idle >= MAX_IDLE_DECISIONS
            && !matches!(decision, Some(SupervisorDecision::Dispatch(_)))
        {
            decision = None;
        }
        let (decision, by_model) = match decision {
            Some(decision) => (decision, true),
            None => (decide_by_heuristics(research, &supervisor, &team, new), false),
        };
        match decision {
            SupervisorDecision::Think(thought) => {
                supervisor.idle += 1;
                supervisor.thoughts.push(thought);
            }
            SupervisorDecision::Complete => {
                let refused = refusal(research);
                let pass = refused.is_none();
                // Where items are open, the supervisor refuses and not the gate.
                let is_gate_passed = research.state.gate.pass;
                supervisor.gate =
                    Some(if is_gate_passed { GateStatus::Pass } else { GateStatus::Retry });
                supervisor.refused = refused;
                supervisor.idle += 1;
                emit_progress(research, &supervisor);
                if pass {
                    return Ok(StopReason::CoverageReached);
                }
                if supervisor.dispatched >= team.max_researcher_iterations {
                    return Ok(StopReason::MaxResearchers);
                }
                // Without a model there is nothing left to research, and the gate still fails.
                if !by_model {
                    return Ok(StopReason::NoNewEvidence);
                }
            }
            SupervisorDecision::Dispatch(sent) => {
                supervisor.idle = 0;
                // What was missing before may no longer be.
                supervisor.gate = None;
                supervisor.refused = None;
                let round = run_dispatch(research, llm, &mut supervisor, &team, sent).await?;
                let Some(round) = round else {
                    return Ok(StopReason::MaxResearchers);
                };
                new = round.new;
                if let Some(reason) = round.ended {
                    return Ok(reason);
                }
                if research.is_good() {
                    supervisor.gate = Some(GateStatus::Pass);
                    emit_progress(research, &supervisor);
                    return Ok(StopReason::CoverageReached);
                }
                if round.new == 0 && research.state.rounds > 1 {
                    return Ok(StopReason::NoNewEvidence);
                }
            }
        }
    }
    Ok(StopReason::MaxIterations)
}

/// Why research is not complete: what the gate lacks, or the items that are not answered; `None` if it is complete.
fn refusal(research: &ResearchLoop<'_>) -> Option<String> {
    if research.is_good() {
        return None;
    }
    let missing = research.state.gate.reason.clone();
    missing.or_else(|| {
        let rows = research.coverage.rows.iter();
        let open: Vec<String> = rows
            .filter(|row| matches!(row.state, Coverage::Open | Coverage::Partial))
            .map(|row| format!("{} {}", row.id, row.text))
            .collect();
        Some(format!("not answered yet: {}", open.join("; ")))
    })
}

/// The items that need more evidence, worst first.
fn open_items(research: &ResearchLoop<'_>) -> Vec<ItemId> {
    if research.coverage.rows.is_empty() {
        return research.state.notes.plan.items().iter().map(|item| item.id).collect();
    }
    let rows = research.coverage.rows.iter();
    let mut rows: Vec<_> =
        rows.filter(|row| matches!(row.state, Coverage::Open | Coverage::Partial)).collect();
    rows.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.id.cmp(&b.id)));
    rows.iter().map(|row| row.id).collect()
}

/// The decision without a model: a researcher for each item that needs more, worst first; complete when there
/// is none.
fn decide_by_heuristics(
    research: &ResearchLoop<'_>,
    supervisor: &SupervisorState,
    team: &SupervisorSettings,
    new: u32,
) -> SupervisorDecision {
    let rounds = research.state.rounds;
    let open = open_items(research);
    if open.is_empty() || (rounds > 0 && new == 0) || supervisor.idle > MAX_IDLE_DECISIONS + 1 {
        return SupervisorDecision::Complete;
    }
    let at_once = open.into_iter().take(team.max_concurrent_research_units as usize);
    let sent = at_once.filter_map(|id| {
        let item = research.state.notes.plan.item(id)?;
        let gap = research.coverage.gaps.get(&id);
        Some(Assignment {
            item: id,
            topic: match gap {
                Some(gap) => format!("{} ({})", item.asks.trim_end_matches('?'), gap.text),
                None => item.asks.clone(),
            },
            query: gap.map_or_else(|| item.query.clone(), |it| it.query.clone()),
        })
    });
    SupervisorDecision::Dispatch(sent.collect())
}

/// Asks a model for a decision; `None` without a model.
async fn decide_by_model(
    research: &ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
    supervisor: &SupervisorState,
    team: &SupervisorSettings,
) -> Result<Option<SupervisorDecision>> {
    let role = ModelRole::Planner;
    let Some(role_model) = llm.role_model(LlmStep::Supervise, role) else {
        return Ok(None);
    };
    let mut rows = research.coverage.rows.clone();
    if rows.is_empty() {
        rows = cover::initial_rows(&research.state.notes.plan);
    }
    let gate = match (&supervisor.refused, &research.state.gate.reason) {
        (Some(reason), _) => format!("ResearchComplete was rejected: {reason}"),
        (None, Some(reason)) => format!("not yet: {reason}"),
        (None, None) => "would pass".to_owned(),
    };
    let so_far = format!(
        "{} waves, {} of {} researchers, {} searches, {} pages",
        research.state.rounds,
        supervisor.dispatched,
        team.max_researcher_iterations,
        research.state.usage.searches,
        research.state.usage.pages
    );
    let notes = supervisor_notes::compressed_notes(&supervisor.notes, team);
    let raw = supervisor_notes::compressed_raw_notes(&supervisor.raw, team);
    let from = supervisor.thoughts.len().saturating_sub(SHOWN_THOUGHTS);
    let prompt_input = SupervisePrompt {
        question: research.ctx.brief.effective_question(),
        approach: &research.state.notes.plan.approach,
        rows: &rows,
        notes: &notes,
        raw: &raw,
        gate: &gate,
        so_far: &so_far,
        thoughts: &supervisor.thoughts[from..],
        most: team.max_concurrent_research_units as usize,
    };
    let model = TrackedModel::new(role_model);
    let answer =
        ask::ask_typed(&model, prompt_input.prompt()?, |supervise_reply: &SuperviseReply| {
            prompt_input.check(supervise_reply)
        })
        .await;
    llm.record_usage(LlmStep::Supervise, role, model);
    match answer {
        Ok(it) => Ok(Some(match it.value.action {
            SupervisorAction::ResearchComplete => SupervisorDecision::Complete,
            SupervisorAction::Think => {
                SupervisorDecision::Think(it.value.thought.trim().to_owned())
            }
            SupervisorAction::ConductResearch => {
                let units = prompt_input.valid_assignments(&it.value).into_iter();
                SupervisorDecision::Dispatch(
                    units.map(|unit| Assignment::from_row(research, unit)).collect(),
                )
            }
        })),
        Err(fault) => llm.fall_back(LlmStep::Supervise, role, fault).map(|()| None),
    }
}
