//! What the events `runtime_progress` say about a supervisor: its evidence gate and its researchers.
use ibid_core::domain::{GateStatus, RuntimeProgress, UnitProgress, UnitStatus};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::event_line::researcher_failure;
use ibid_report::markdown::pluralize;

use super::feed::{FeedLine, feed_line};
use super::format::{duration, thousands, truncate};
use super::meter::RunMeter;

/// Events shown of each researcher.
const LINES_EACH: usize = 4;
/// Maximum length of a task, a reason or the list of sites, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// The evidence gate of a supervisor, and how many researchers it sent out.
#[derive(Debug, Clone)]
pub struct SupervisorView {
    /// The CSS class and the label of the gate's status.
    pub gate: (&'static str, &'static str),
    /// Why the gate did not pass.
    pub reason: Option<String>,
    /// Counts beside their minimums.
    pub meters: Vec<RunMeter>,
    /// The sites of the evidence.
    pub sites: String,
}

impl SupervisorView {
    /// The view of the last progress of a supervisor.
    pub(super) fn new(progress: &RuntimeProgress) -> SupervisorView {
        let count = |name, value: u32, more| RunMeter {
            name,
            value: thousands(value.into()),
            more,
            share: None,
        };
        let against = |name, value: u32, minimum: u32| RunMeter {
            share: (minimum > 0).then(|| value.min(minimum) * 100 / minimum),
            ..count(name, value, format!("at least {minimum}"))
        };
        let evidence = progress.evidence_record_count;
        // A local document counts as a site of its own; of its address only the name is shown.
        let names = progress.source_domains.iter().filter_map(|it| it.rsplit('/').next());
        let sites: Vec<&str> = names.collect();
        SupervisorView {
            gate: match progress.quality_gate_status {
                GateStatus::None => ("open", "not passed yet"),
                GateStatus::Pass => ("covered", "passed"),
                GateStatus::Retry => ("partial", "not passed"),
            },
            reason: progress.quality_gate_reason.as_deref().map(shorten),
            meters: vec![
                against("Evidence", evidence, progress.min_evidence_records),
                // Every piece of evidence has a citation.
                against("Cited evidence", evidence, progress.min_cited_records),
                against("Sites", progress.source_domain_count, progress.min_source_domains),
                count(
                    "Researchers",
                    progress.dispatched_research_units,
                    format!("sent, {} skipped", progress.skipped_research_units),
                ),
                count("Decisions", progress.supervisor_iteration, "of the supervisor".to_owned()),
            ],
            sites: shorten(&sites.join(", ")),
        }
    }
}

/// A researcher of a run with several.
#[derive(Debug, Clone)]
pub struct ResearcherView {
    /// Its name.
    pub name: String,
    /// Its task.
    pub topic: Option<String>,
    /// The CSS class and the label of its status.
    pub state: Option<(&'static str, &'static str)>,
    /// Its calls, evidence and working time.
    pub work: String,
    /// Why it failed.
    pub failure: Option<String>,
    /// Its latest events, latest first.
    pub lines: Vec<FeedLine>,
    /// The passages of evidence in its events.
    pub evidence: u32,
}

impl ResearcherView {
    fn new(name: &str) -> ResearcherView {
        ResearcherView {
            name: shorten(name),
            topic: None,
            state: None,
            work: String::new(),
            failure: None,
            lines: Vec::new(),
            evidence: 0,
        }
    }

    fn set_progress(&mut self, unit: &UnitProgress, ended: bool) {
        self.topic = Some(format!("{}: {}", unit.item, shorten(&unit.topic)));
        self.failure = unit.failure.as_deref().map(|it| shorten(&researcher_failure(it)));
        self.state = Some(match unit.status {
            UnitStatus::Dispatched if ended => ("open", "not finished"),
            UnitStatus::Dispatched => ("partial", "working"),
            UnitStatus::Completed => ("covered", "done"),
            UnitStatus::Failed => ("conflict", "failed"),
        });
        // Calls and time are counted when it has ended.
        if unit.status != UnitStatus::Dispatched {
            self.work = format!(
                "{}, {}, {}",
                pluralize(unit.tool_calls.into(), "call"),
                passages(unit.evidence),
                duration(i64::try_from(unit.ms).unwrap_or(i64::MAX))
            );
        }
    }
}

/// The researchers of a run: those reported by a supervisor, in their order, then others by name.
pub(super) fn researchers(run: &Run, events: &[Envelope], begun: &str) -> Vec<ResearcherView> {
    let mut told: Vec<&UnitProgress> = Vec::new();
    for envelope in events {
        let Event::RuntimeProgress { progress } = &envelope.event else {
            continue;
        };
        for unit in &progress.research_units {
            match told.iter_mut().find(|known| known.id == unit.id) {
                Some(known) => *known = unit,
                None => told.push(unit),
            }
        }
    }
    let mut out: Vec<ResearcherView> =
        told.iter().map(|unit| ResearcherView::new(&unit.id)).collect();
    for envelope in events.iter().rev() {
        let Some(name) = envelope.agent.as_deref().map(shorten) else {
            continue;
        };
        let at = match out.iter().position(|known| known.name == name) {
            Some(at) => at,
            None => {
                out.push(ResearcherView::new(&name));
                out.len() - 1
            }
        };
        let Some(researcher) = out.get_mut(at) else {
            continue;
        };
        researcher.evidence += u32::from(matches!(envelope.event, Event::EvidenceAdded { .. }));
        if researcher.lines.len() < LINES_EACH {
            researcher.lines.extend(feed_line(envelope, begun));
        }
    }
    for researcher in &mut out {
        researcher.work = passages(researcher.evidence);
    }
    for (researcher, unit) in out.iter_mut().zip(&told) {
        researcher.set_progress(unit, run.status.ended());
    }
    if let Some(others) = out.get_mut(told.len()..) {
        others.sort_by(|a, b| a.name.cmp(&b.name));
    }
    out
}

fn passages(n: u32) -> String {
    format!("{} of evidence", pluralize(n.into(), "passage"))
}

/// Text of a model or of a source on one line.
fn shorten(text: &str) -> String {
    truncate(text, MAX_TEXT_CHARS)
}
