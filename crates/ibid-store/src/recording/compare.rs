//! Comparing a replay with its recording.
use std::collections::HashMap;

use serde_json::Value;

use super::file::Recording;
use ibid_core::domain::Report;
use ibid_core::record::{Envelope, Event, Phase};

/// Where a replay differs from its recording. It is empty when the two are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayDiff {
    /// The first place where the report differs.
    pub report: Option<String>,
    /// The first event that differs.
    pub events: Option<String>,
}

impl ReplayDiff {
    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        self.report.is_none() && self.events.is_none()
    }
}

/// Compares the events of a replay with its recording.
///
/// Ignored are measured times, where a session ended and the next began, waiting in the queue of a server, and events after
/// the end of the run. A run that was interrupted may have events of a call that failed and was sent again later, which a
/// replay does not repeat. Then each event of the replay must be recorded at least as often, in any order.
pub fn diff_replay(recorded: &Recording, replayed: &[Envelope]) -> ReplayDiff {
    let report = replayed.iter().rev().find_map(|event| match &event.event {
        Event::ReportReady { report } => Some(&**report),
        _ => None,
    });
    ReplayDiff {
        report: diff_reports(recorded.report(), report),
        events: diff_events(&recorded.events, replayed),
    }
}

fn diff_reports(recorded: Option<&Report>, replayed: Option<&Report>) -> Option<String> {
    let value = |report: Option<&Report>| serde_json::to_value(report).unwrap_or_default();
    first_difference(&value(recorded), &value(replayed), "report")
}

/// The path to the first difference of two values.
fn first_difference(a: &Value, b: &Value, path: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => a
            .iter()
            .find_map(|(key, value)| first_difference(value, &b[key], &format!("{path}.{key}"))),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => (0..)
            .zip(a.iter().zip(b))
            .find_map(|(at, (a, b)): (usize, _)| first_difference(a, b, &format!("{path}[{at}]"))),
        _ => (a != b).then(|| path.to_owned()),
    }
}

fn diff_events(recorded: &[Envelope], replayed: &[Envelope]) -> Option<String> {
    let resumed = |event: &Envelope| matches!(event.event, Event::RunResumed { .. });
    let queued = |event: &Envelope| matches!(event.event, Event::RunQueued { .. });
    let compared =
        |event: &&Envelope| !resumed(event) && !queued(event) && !event.event.is_post_run();
    let interrupted = recorded.iter().any(resumed);
    let recorded: Vec<&Envelope> = recorded.iter().filter(compared).collect();
    let replayed: Vec<&Envelope> = replayed.iter().filter(compared).collect();
    if interrupted {
        return first_unrecorded(&recorded, &replayed);
    }
    let difference = recorded
        .iter()
        .zip(&replayed)
        .find(|(a, b)| a.event.identity() != b.event.identity() || position(a) != position(b));
    match difference {
        Some((a, b)) => {
            Some(format!("event {} was {}, is {}", a.seq, a.event.name(), b.event.name()))
        }
        None if recorded.len() != replayed.len() => {
            Some(format!("there were {} events, there are {}", recorded.len(), replayed.len()))
        }
        None => None,
    }
}

/// The first event of the replay that was not recorded, or that occurs more often than it was.
fn first_unrecorded(recorded: &[&Envelope], replayed: &[&Envelope]) -> Option<String> {
    let mut left: HashMap<String, usize> = HashMap::new();
    for event in recorded {
        *left.entry(event.event.identity().to_string()).or_default() += 1;
    }
    replayed.iter().find_map(|event| match left.get_mut(&event.event.identity().to_string()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            None
        }
        _ => Some(format!("event {} ({}) was not recorded", event.seq, event.event.name())),
    })
}

/// The phase and round of an event.
fn position(event: &Envelope) -> (Phase, Option<u32>) {
    (event.phase, event.round)
}
