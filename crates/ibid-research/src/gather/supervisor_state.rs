//! What a supervisor remembers from round to round.
use ibid_core::domain::{Evidence, GateStatus, ResearcherProgress, RuntimeProgress};
use ibid_core::record::Event;

use super::research_loop::ResearchLoop;
use super::researcher::Researcher;

/// The state of a supervisor.
#[derive(Default)]
pub(super) struct SupervisorState {
    pub(super) decisions: u32,
    pub(super) dispatched: u32,
    pub(super) skipped: u32,
    pub(super) gate: Option<GateStatus>,
    pub(super) refused: Option<String>,
    pub(super) idle: u32,
    pub(super) thoughts: Vec<String>,
    /// The notes that researchers returned.
    pub(super) notes: Vec<String>,
    /// Their findings, in the words of the sources.
    pub(super) raw: Vec<String>,
    pub(super) units: Vec<ResearcherProgress>,
    /// Findings beyond the claims that a researcher may keep, for a later one that is sent for their item.
    pub(super) unrecorded: Vec<Evidence>,
}

impl SupervisorState {
    /// Gives a researcher what those of earlier rounds found on its item and could not keep: a page is read once, so it is not found again.
    pub(super) fn give_unrecorded(&mut self, unit: &mut Researcher) {
        let on_item = |it: &mut Evidence| it.items.contains(&unit.item);
        unit.findings.extend(self.unrecorded.extract_if(.., on_item));
    }
}

/// Emits the progress of the supervisor.
pub(super) fn emit_progress(research: &ResearchLoop<'_>, supervisor: &SupervisorState) {
    let notes = &research.state.notes;
    let domains = notes.domains(&notes.evidence);
    let gate = research.state.gate.gate;
    let progress = RuntimeProgress {
        supervisor_iteration: supervisor.decisions,
        dispatched_research_units: supervisor.dispatched,
        skipped_research_units: supervisor.skipped,
        quality_gate_status: supervisor.gate.unwrap_or(GateStatus::None),
        quality_gate_reason: supervisor.refused.clone(),
        evidence_record_count: notes.evidence.len() as u32,
        source_domain_count: domains.len() as u32,
        source_domains: domains.into_iter().map(str::to_owned).collect(),
        min_evidence_records: gate.min_evidence_records,
        min_cited_records: gate.min_cited_records,
        min_source_domains: gate.min_source_domains,
        research_units: supervisor.units.clone(),
    };
    research.ctx.log.emit(Event::RuntimeProgress { progress });
}
