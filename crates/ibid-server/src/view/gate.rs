//! The evidence gate of a run: its verdict after each round, and its counts beside their minimums.
use super::format::thousands;
use super::meter::RunMeter;
use super::researchers::shorten;
use ibid_core::domain::{GateStatus, GateVerdict, RuntimeProgress};
use ibid_core::record::{Envelope, Event, Run};

/// The CSS class and the label of a status.
type GateLabel = (&'static str, &'static str);

const PASSED: GateLabel = ("covered", "passed");
const NOT_PASSED: GateLabel = ("partial", "not passed");

/// A verdict of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLine {
    /// The round.
    pub round: String,
    /// The CSS class and the label.
    pub state: GateLabel,
    /// Why it did not pass.
    pub reason: Option<String>,
}

/// The evidence gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateView {
    /// The CSS class and the label of its status.
    pub state: GateLabel,
    /// Why it did not pass.
    pub reason: Option<String>,
    /// Counts beside their minimums.
    pub meters: Vec<RunMeter>,
    /// The sites of the evidence, as a supervisor names them.
    pub sites: String,
    /// Its verdicts, one for each round, if there are several.
    pub verdicts: Vec<VerdictLine>,
}

impl GateView {
    /// The gate of `run`; `None` before anything was judged.
    pub(super) fn new(run: &Run, events: &[Envelope]) -> Option<GateView> {
        let (progress, verdict) = (run.progress.as_ref(), run.gate.as_ref());
        // A supervisor that has sent out researchers has no status until they are back.
        let told =
            progress.filter(|it| verdict.is_none() || it.quality_gate_status != GateStatus::None);
        let (state, reason) = match (told, verdict) {
            (Some(it), _) => (progress_label(it), it.quality_gate_reason.as_deref()),
            (None, Some(it)) => (verdict_label(it), it.reason.as_deref()),
            (None, None) => return None,
        };
        let mut meters = match (progress, verdict) {
            (Some(it), _) => count_meters(
                [it.evidence_record_count, it.evidence_record_count, it.source_domain_count],
                [it.min_evidence_records, it.min_cited_records, it.min_source_domains],
            ),
            (None, Some(it)) => count_meters(
                [it.evidence_records, it.cited_records, it.source_domains],
                [
                    it.gate.min_evidence_records,
                    it.gate.min_cited_records,
                    it.gate.min_source_domains,
                ],
            ),
            (None, None) => Vec::new(),
        };
        meters.extend(progress.iter().flat_map(|it| supervisor_meters(it)));
        let verdicts = verdict_lines(events);
        Some(GateView {
            state,
            reason: reason.map(shorten),
            meters,
            sites: progress.map_or_else(String::new, site_names),
            verdicts: if verdicts.len() > 1 { verdicts } else { Vec::new() },
        })
    }
}

fn progress_label(it: &RuntimeProgress) -> GateLabel {
    match it.quality_gate_status {
        GateStatus::None => ("open", "not passed yet"),
        GateStatus::Pass => PASSED,
        GateStatus::Retry => NOT_PASSED,
    }
}

fn verdict_label(it: &GateVerdict) -> GateLabel {
    if it.pass { PASSED } else { NOT_PASSED }
}

fn verdict_lines(events: &[Envelope]) -> Vec<VerdictLine> {
    let lines = events.iter().filter_map(|envelope| match &envelope.event {
        Event::GateJudged { verdict } => Some(VerdictLine {
            round: envelope.round.map_or_else(String::new, |n| format!("Round {n}")),
            state: verdict_label(verdict),
            reason: verdict.reason.as_deref().map(shorten),
        }),
        _ => None,
    });
    lines.collect()
}

/// Evidence, cited evidence and sites beside their minimums.
fn count_meters(values: [u32; 3], minimums: [u32; 3]) -> Vec<RunMeter> {
    let names = ["Evidence", "Cited evidence", "Sites"];
    let rows = names.into_iter().zip(values.into_iter().zip(minimums));
    let meter = |(name, (value, minimum)): (&'static str, (u32, u32))| RunMeter {
        name,
        value: thousands(value.into()),
        more: format!("at least {minimum}"),
        share: (minimum > 0).then(|| value.min(minimum) * 100 / minimum),
    };
    rows.map(meter).collect()
}

fn supervisor_meters(it: &RuntimeProgress) -> [RunMeter; 2] {
    let count = |name, value: u32, more| RunMeter {
        name,
        value: thousands(value.into()),
        more,
        share: None,
    };
    let skipped = format!("sent, {} skipped", it.skipped_research_units);
    [
        count("Researchers", it.dispatched_research_units, skipped),
        count("Decisions", it.supervisor_iteration, "of the supervisor".to_owned()),
    ]
}

/// A local document counts as a site of its own; of its address only the name is shown.
fn site_names(it: &RuntimeProgress) -> String {
    let names = it.source_domains.iter().filter_map(|it| it.rsplit('/').next());
    shorten(&names.collect::<Vec<_>>().join(", "))
}
