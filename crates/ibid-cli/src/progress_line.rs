//! Events as plain lines, for logs and pipes.
use std::collections::BTreeSet;

use ibid_core::record::{Envelope, Event, SearchOutcome};
use ibid_report::escape::single_line;
use ibid_report::event_line::event_line;

/// The plain lines of a run. Unreachable engines are reported once, in one line for all, unless every event is wanted.
#[derive(Debug, Default)]
pub struct ProgressLines {
    /// Every engine that could not be reached.
    unreached: BTreeSet<String>,
    /// Those that no line has reported yet.
    unreported: Vec<String>,
}

impl ProgressLines {
    /// The lines to print for one more event.
    pub fn update(&mut self, envelope: &Envelope, verbose: bool) -> Vec<String> {
        match &envelope.event {
            Event::SearchCompleted { engine, outcome: SearchOutcome::Unreachable, .. }
                if !verbose =>
            {
                if self.unreached.insert(engine.clone()) {
                    self.unreported.push(single_line(engine));
                }
                return Vec::new();
            }
            Event::SearchStarted { .. } | Event::SearchCompleted { .. } => {}
            _ if !self.unreported.is_empty() => {
                let engines = std::mem::take(&mut self.unreported).join(", ");
                let unreachable = format!("search: cannot reach {engines}");
                return [Some(unreachable), progress_line(envelope, verbose)]
                    .into_iter()
                    .flatten()
                    .collect();
            }
            _ => {}
        }
        progress_line(envelope, verbose).into_iter().collect()
    }
}

/// The line for an event, or `None` if it has none. More events have a line with `verbose`.
pub fn progress_line(envelope: &Envelope, verbose: bool) -> Option<String> {
    // Rounds of researchers take minutes: what they read shows that they work.
    let by_researcher =
        envelope.agent.is_some() && matches!(envelope.event, Event::ReadCompleted { .. });
    if !by_researcher && !is_shown(&envelope.event, verbose) {
        return None;
    }
    let line = event_line(envelope)?;
    let run = &envelope.run;
    let text = match &envelope.event {
        Event::RunCreated { .. } => format!("{} {run}: {}", line.label, line.text),
        Event::PlanWaiting { .. } => format!(
            "{}: {}; run `ibid approve {run}` or `ibid cancel {run}`",
            line.label, line.text
        ),
        _ => format!("{}: {}", line.label, line.text),
    };
    Some(match &envelope.agent {
        Some(agent) => format!("{}: {text}", single_line(agent)),
        None => text,
    })
}

/// Whether an event has a line. The end of a run has none: the summary or the error that follows says it.
fn is_shown(event: &Event, verbose: bool) -> bool {
    match event {
        Event::RunCreated { .. }
        | Event::RunResumed { .. }
        | Event::RunFinishing { .. }
        | Event::IntakeDecided { .. }
        | Event::ClarifyAsked { .. }
        | Event::ClarifyAnswered { .. }
        | Event::PlanProposed { .. }
        | Event::StrategyChosen { .. }
        | Event::PlanWaiting { .. }
        | Event::PlanChanged { .. }
        | Event::PlanApproved { .. }
        | Event::RuntimeProgress { .. }
        | Event::KnownWeighed { .. }
        | Event::RoundStarted { .. }
        | Event::RoundFinished { .. }
        | Event::SearchCompleted { .. }
        | Event::ReadFailed { .. }
        | Event::DocumentFailed { .. }
        | Event::CoverageUpdated { .. }
        | Event::OutlineUpdated { .. }
        | Event::DraftCriticized { .. }
        | Event::GateJudged { .. }
        | Event::GapFound { .. }
        | Event::ConflictFound { .. }
        | Event::StepUnaided { .. }
        | Event::BudgetWarning { .. } => true,
        Event::Log { level, .. } => verbose || level == "warn" || level == "error",
        Event::DraftDelta { .. }
        | Event::ItemUpdated { .. }
        | Event::SearchPrepared { .. }
        | Event::PageSearched { .. }
        | Event::PageContinued { .. }
        | Event::ReadCompleted { .. }
        | Event::EvidenceAdded { .. }
        | Event::EvidenceRejected { .. }
        | Event::LlmCompleted { .. } => verbose,
        _ => false,
    }
}
