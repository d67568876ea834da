//! One dispatch of researchers, which is one round: turn by turn until all have finished.
use crate::llm_session::LlmSession;
use crate::weigh;
use ibid_core::Result;
use ibid_core::domain::{Evidence, GateStatus, ItemId, StopReason, SupervisorSettings};
use ibid_core::ports::CheckpointDecision;
use ibid_core::record::Event;

use super::assignment::Assignment;
use super::research_loop::ResearchLoop;
use super::researcher::Researcher;
use super::supervisor_notes;
use super::supervisor_state::{SupervisorState, emit_progress};
use super::turn::{run_turn, weigh_prefetched};

/// The result of a dispatch.
pub(super) struct DispatchOutcome {
    pub(super) new: u32,
    /// Why gathering ends after it.
    pub(super) ended: Option<StopReason>,
}

/// Runs one dispatch; `None` if no more researchers may be started.
pub(super) async fn run_dispatch(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
    supervisor: &mut SupervisorState,
    team: &SupervisorSettings,
    sent: Vec<Assignment>,
) -> Result<Option<DispatchOutcome>> {
    let left = team.max_researcher_iterations.saturating_sub(supervisor.dispatched);
    let room = team.max_concurrent_research_units.min(left) as usize;
    supervisor.skipped += sent.len().saturating_sub(room) as u32;
    if room == 0 {
        emit_progress(research, supervisor);
        return Ok(None);
    }
    let now = research.ctx.providers.clock.unix_ms();
    let mut units: Vec<Researcher> = Vec::new();
    for sent in sent.into_iter().take(room) {
        supervisor.dispatched += 1;
        let nth = supervisor.dispatched;
        units.push(Researcher::new(nth, sent.item, sent.topic, sent.query, now));
    }
    let mut items: Vec<ItemId> = units.iter().map(|unit| unit.item).collect();
    items.sort_unstable();
    items.dedup();
    let nth = research.begin_round(items, units.len());
    supervisor.units = units.iter().map(|unit| unit.progress(0)).collect();
    emit_progress(research, supervisor);
    research.ctx.log.flush().await?;

    let mut read = 0;
    let mut ended = None;
    let mut turn = 0;
    while units.iter().any(Researcher::is_active) {
        turn += 1;
        if turn > 1 {
            ended = check_halt(research, nth, turn, &mut units).await?;
            if ended.is_some() {
                break;
            }
        }
        read += run_turn(research, llm, team, nth, &mut units).await?;
    }
    let (mut new, mut unrecorded) = (0, Vec::new());
    supervisor.units.clear();
    for unit in &mut units {
        supervisor.give_unrecorded(unit);
        let own = take_unrecorded(unit, &mut unrecorded, team);
        let kept = unit.recorded_findings(team);
        let beyond = (0..unit.findings.len()).filter(|at| !kept.contains(at));
        unrecorded.extend(beyond.map(|at| unit.findings[at].clone()));
        for at in &kept {
            let finding = &unit.findings[*at];
            // Several researchers may have found it on the same page; it is one record.
            let said = |it: &Evidence| {
                it.source == finding.source
                    && it.passage == finding.passage
                    && it.claim == finding.claim
            };
            if research.state.notes.evidence.iter().any(said) {
                continue;
            }
            new += 1;
            let (log, notes) = (research.ctx.log, &mut research.state.notes);
            weigh::add_evidence(log, Some(&unit.id), notes, finding.clone());
        }
        let notes = &research.state.notes;
        let found = unit.findings[..own].iter();
        supervisor
            .raw
            .extend(found.map(|finding| supervisor_notes::raw_note(&unit.id, finding, notes)));
        let before = supervisor.notes.len();
        supervisor.notes.extend(unit.written_notes().map(|written_note| written_note.0.clone()));
        if supervisor.notes.len() == before {
            let claims = kept.iter().map(|at| unit.findings[*at].claim.clone());
            supervisor.notes.extend(claims);
        }
        supervisor.units.push(unit.progress(kept.len() as u32));
    }
    supervisor.unrecorded.extend(unrecorded);
    let (found, pages) = weigh_prefetched(research, llm, nth).await?;
    research.end_round(llm, new + found, read + pages).await?;
    supervisor.gate = research.state.gate.pass.then_some(GateStatus::Pass);
    emit_progress(research, supervisor);
    research.ctx.log.flush().await?;
    Ok(Some(DispatchOutcome { new: new + found, ended }))
}

/// Gives a researcher findings that those before it had no room for, as far as it has. Returns how many findings were its own.
fn take_unrecorded(
    unit: &mut Researcher,
    unrecorded: &mut Vec<Evidence>,
    team: &SupervisorSettings,
) -> usize {
    let own = unit.findings.len();
    let room = (team.max_evidence_claims_per_research_unit as usize).saturating_sub(own);
    unit.findings.extend(unrecorded.drain(..room.min(unrecorded.len())));
    own
}

/// Checks between two turns whether the round must stop. If so, its researchers end with what they have.
async fn check_halt(
    research: &ResearchLoop<'_>,
    round: u32,
    turn: u32,
    units: &mut [Researcher],
) -> Result<Option<StopReason>> {
    let at = format!("wave-{round}-turn-{turn}");
    let reason = match research.ctx.providers.steering.checkpoint(&at).await? {
        CheckpointDecision::Finish(reason) => {
            research.ctx.log.emit(Event::RunFinishing { reason });
            Some(reason)
        }
        CheckpointDecision::Continue if research.is_spent() => Some(research.stop_out_of_calls()),
        CheckpointDecision::Continue => None,
    };
    let Some(reason) = reason else {
        return Ok(None);
    };
    let now = research.ctx.providers.clock.unix_ms();
    let failure_text = match reason {
        StopReason::BudgetTime => "research unit timed out",
        _ => "research unit was stopped",
    };
    for unit in units.iter_mut().filter(|unit| unit.is_active()) {
        unit.fail(failure_text.to_owned(), now);
    }
    Ok(Some(reason))
}
