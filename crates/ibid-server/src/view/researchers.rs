//! What the events `runtime_progress` say about the researchers of a supervisor.
use ibid_core::domain::{ResearcherProgress, ResearcherStatus};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::event_line::researcher_failure;
use ibid_report::markdown::pluralize;

use super::feed::{FeedLine, feed_line};
use super::format::{duration, truncate};

/// Events shown of each researcher.
const LINES_EACH: usize = 4;
/// Maximum length of a task, a reason or the list of sites, in characters.
const MAX_TEXT_CHARS: usize = 400;

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

    fn set_progress(&mut self, unit: &ResearcherProgress, ended: bool) {
        self.topic = Some(format!("{}: {}", unit.item, shorten(&unit.topic)));
        self.failure = unit.failure.as_deref().map(|it| shorten(&researcher_failure(it)));
        self.state = Some(match unit.status {
            ResearcherStatus::Dispatched if ended => ("open", "not finished"),
            ResearcherStatus::Dispatched => ("partial", "working"),
            ResearcherStatus::Completed => ("covered", "done"),
            ResearcherStatus::Failed => ("conflict", "failed"),
        });
        // Calls and time are counted when it has ended.
        if unit.status != ResearcherStatus::Dispatched {
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
    let mut reported: Vec<&ResearcherProgress> = Vec::new();
    for envelope in events {
        let Event::RuntimeProgress { progress } = &envelope.event else {
            continue;
        };
        for unit in &progress.research_units {
            match reported.iter_mut().find(|known| known.id == unit.id) {
                Some(known) => *known = unit,
                None => reported.push(unit),
            }
        }
    }
    let mut out: Vec<ResearcherView> =
        reported.iter().map(|unit| ResearcherView::new(&unit.id)).collect();
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
    for (researcher, unit) in out.iter_mut().zip(&reported) {
        researcher.set_progress(unit, run.status.ended());
    }
    if let Some(others) = out.get_mut(reported.len()..) {
        others.sort_by(|a, b| a.name.cmp(&b.name));
    }
    out
}

fn passages(n: u32) -> String {
    format!("{} of evidence", pluralize(n.into(), "passage"))
}

/// Text of a model or of a source on one line.
pub(super) fn shorten(text: &str) -> String {
    truncate(text, MAX_TEXT_CHARS)
}
