//! The events of a run as lines of text.
use std::borrow::Cow;

use super::format::{elapsed, phase_label, truncate};
use ibid_core::record::{Envelope, Event, Phase};
use ibid_report::escape::single_line;
use ibid_report::event_line::{LineTone, event_line};
use ibid_report::phrases::capitalize;

/// The line of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedLine {
    /// The sequence number of the event.
    pub seq: u64,
    /// Minutes and seconds since the run began.
    pub at: String,
    /// The CSS class.
    pub class: &'static str,
    /// The label.
    pub kind: Cow<'static, str>,
    /// The text.
    pub text: String,
    /// The web address it links to.
    pub link: Option<String>,
    /// The researcher, if there are several.
    pub agent: Option<String>,
}

/// The lines of one round or phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedGroup {
    /// The name of the round or phase.
    pub name: String,
    /// Its lines, latest first.
    pub lines: Vec<FeedLine>,
}

/// The lines of events by round or phase, latest first.
pub fn groups(events: &[Envelope], begun: &str) -> Vec<FeedGroup> {
    let mut out: Vec<FeedGroup> = Vec::new();
    for envelope in events.iter().rev() {
        let Some(line) = feed_line(envelope, begun) else {
            continue;
        };
        let name = match envelope.round {
            Some(n) => format!("Round {n}"),
            None => {
                let words = match envelope.phase {
                    Phase::Run => "run",
                    other => phase_label(other),
                };
                capitalize(words)
            }
        };
        match out.last_mut() {
            Some(group) if group.name == name => group.lines.push(line),
            _ => out.push(FeedGroup { name, lines: vec![line] }),
        }
    }
    out
}

/// Maximum length of a line, in characters.
const MAX_LINE_CHARS: usize = 600;

/// The line of an event; `None` for events that only change other parts of the page.
pub fn feed_line(envelope: &Envelope, begun: &str) -> Option<FeedLine> {
    if !in_feed(&envelope.event) {
        return None;
    }
    let line = event_line(envelope)?;
    Some(FeedLine {
        seq: envelope.seq,
        at: elapsed(begun, &envelope.ts),
        class: tone_class(line.tone),
        kind: line.label,
        text: truncate(&line.text, MAX_LINE_CHARS),
        link: line.link,
        agent: envelope.agent.as_deref().map(single_line),
    })
}

/// Maximum number of failures shown: the last of more.
const MAX_FAILURES: usize = 12;

/// What failed on the way, latest first, and how much more there is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailureList {
    /// The failures.
    pub lines: Vec<FeedLine>,
    /// How many earlier ones are not shown.
    pub more: usize,
}

impl FailureList {
    /// The failures among `events`; the end of the run is none of them.
    pub fn from_events(events: &[Envelope], begun: &str) -> FailureList {
        let on_the_way = events.iter().rev().filter(|it| it.phase != Phase::Run);
        let lines = on_the_way.filter_map(|it| feed_line(it, begun));
        let mut lines: Vec<FeedLine> =
            lines.filter(|line| line.class == tone_class(LineTone::Bad)).collect();
        let more = lines.len().saturating_sub(MAX_FAILURES);
        lines.truncate(MAX_FAILURES);
        FailureList { lines, more }
    }
}

/// Whether an event has a line in the feed. The others are on the page as coverage, evidence gate, researchers, draft or meters.
fn in_feed(event: &Event) -> bool {
    !matches!(
        event,
        Event::IntakeDecided { .. }
            | Event::ItemUpdated { .. }
            | Event::SearchPrepared { .. }
            | Event::RuntimeProgress { .. }
            | Event::EvidenceRejected { .. }
            | Event::EvidenceMerged { .. }
            | Event::CoverageUpdated { .. }
            | Event::GateJudged { .. }
            | Event::DraftDelta { .. }
    )
}

fn tone_class(tone: LineTone) -> &'static str {
    match tone {
        LineTone::Neutral => "note",
        LineTone::Good => "good",
        LineTone::Bad => "bad",
        LineTone::Warning => "warm",
        LineTone::Search => "query",
        LineTone::Read => "read",
        LineTone::Evidence => "found",
        LineTone::Model => "model",
    }
}
