//! Whether a replay told what was recorded.
use std::collections::HashMap;

use serde_json::Value;

use super::Recording;
use crate::domain::Report;
use crate::record::{Envelope, Event, Phase};

/// Where a replay parts from its recording; nowhere, where it is the same byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// The first place where the report differs.
    pub report: Option<String>,
    /// The first event that differs.
    pub events: Option<String>,
}

impl Differences {
    /// Whether there are none.
    pub fn none(&self) -> bool {
        self.report.is_none() && self.events.is_none()
    }
}

/// Compares what a replay told with what was recorded.
///
/// Of events, all counts but what the clock measured, where one sitting ended and the next began, that a server had it wait, and what was
/// told of the run after its end. A run that was interrupted may hold events of a call that failed and was tried again later, which a replay has
/// no reason to tell: there, each event told must have been recorded, as often, in any order.
pub fn differences(recorded: &Recording, told: &[Envelope]) -> Differences {
    let report = told.iter().rev().find_map(|it| match &it.event {
        Event::ReportReady { report } => Some(&**report),
        _ => None,
    });
    Differences {
        report: report_differs(recorded.report(), report),
        events: events_differ(&recorded.events, told),
    }
}

fn report_differs(recorded: Option<&Report>, told: Option<&Report>) -> Option<String> {
    let value = |it: Option<&Report>| serde_json::to_value(it).unwrap_or_default();
    first(&value(recorded), &value(told), "report")
}

/// The path to the first place at which two values differ.
fn first(a: &Value, b: &Value, path: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => a
            .iter()
            .find_map(|(key, value)| first(value, &b[key], &format!("{path}.{key}"))),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => (0..)
            .zip(a.iter().zip(b))
            .find_map(|(at, (a, b)): (usize, _)| first(a, b, &format!("{path}[{at}]"))),
        _ => (a != b).then(|| path.to_owned()),
    }
}

fn events_differ(recorded: &[Envelope], told: &[Envelope]) -> Option<String> {
    let resumed = |it: &&Envelope| matches!(it.event, Event::RunResumed { .. });
    // What was thought of the run after its end is no part of what a replay tells, nor that it had to wait for its turn.
    let queued = |it: &&Envelope| matches!(it.event, Event::RunQueued { .. });
    let beside = |it: &&Envelope| resumed(it) || queued(it) || it.event.is_afterword();
    let interrupted = recorded.iter().any(|it| resumed(&it));
    let (recorded, told): (Vec<&Envelope>, Vec<&Envelope>) = (
        recorded.iter().filter(|it| !beside(it)).collect(),
        told.iter().filter(|it| !beside(it)).collect(),
    );
    if interrupted {
        return unheard(&recorded, &told);
    }
    let parts = recorded
        .iter()
        .zip(&told)
        .find(|(a, b)| a.event.identity() != b.event.identity() || place(a) != place(b));
    match parts {
        Some((a, b)) => Some(format!(
            "event {} was {}, is {}",
            a.seq,
            a.event.name(),
            b.event.name()
        )),
        None if recorded.len() != told.len() => Some(format!(
            "there were {} events, there are {}",
            recorded.len(),
            told.len()
        )),
        None => None,
    }
}

/// The first event told that was not recorded, or more often than it was.
fn unheard(recorded: &[&Envelope], told: &[&Envelope]) -> Option<String> {
    let mut left: HashMap<String, usize> = HashMap::new();
    for it in recorded {
        *left.entry(it.event.identity().to_string()).or_default() += 1;
    }
    told.iter()
        .find_map(|it| match left.get_mut(&it.event.identity().to_string()) {
            Some(left) if *left > 0 => {
                *left -= 1;
                None
            }
            _ => Some(format!(
                "event {} ({}) was not recorded",
                it.seq,
                it.event.name()
            )),
        })
}

/// Where in the story an event stands, besides its number.
fn place(it: &Envelope) -> (Phase, Option<u32>) {
    (it.phase, it.wave)
}
