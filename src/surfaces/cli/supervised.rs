//! What is said of a supervisor and its researchers: what their event says and nothing else (row C2).
use crate::domain::{GateStatus, RuntimeProgress};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::counted;

/// What a supervisor has done, as its event tells it (row C2).
pub(super) fn line_of(it: &RuntimeProgress) -> String {
    let gate = match (it.quality_gate_status, &it.quality_gate_reason) {
        (GateStatus::None, _) => String::new(),
        (GateStatus::Pass, _) => "; gate passed".to_owned(),
        (GateStatus::Retry, reason) => format!(
            "; gate said no: {}",
            line(reason.as_deref().unwrap_or("no reason given"))
        ),
    };
    let failed = it.research_units.iter().filter_map(|unit| {
        let why = unit.failure.as_deref()?;
        Some(format!("; {} {}", unit.id, for_people(why)))
    });
    format!(
        "researchers: {} sent out, {} skipped; {} of evidence from {}{gate}{}",
        it.dispatched_research_units,
        it.skipped_research_units,
        counted(u64::from(it.evidence_record_count), "piece"),
        counted(u64::from(it.source_domain_count), "site"),
        failed.collect::<String>()
    )
}

/// Why a researcher failed, in a person's words (row C9).
fn for_people(why: &str) -> String {
    let steps = why
        .strip_prefix("recursion limit of ")
        .and_then(|it| it.strip_suffix(" reached"));
    match steps {
        Some(steps) => format!("hit tool call limit ({steps} steps)"),
        None => line(why),
    }
}
