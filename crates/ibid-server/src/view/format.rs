//! Texts for times, money and states.
use jiff::Timestamp;

use ibid_core::ErrorKind;
use ibid_core::domain::{Coverage, Usage};
use ibid_core::record::{Phase, Run, RunStatus};
pub use ibid_report::escape::truncate;
pub use ibid_report::phrases::duration;
use ibid_report::phrases::{capitalize, end_sentence, grouped};

/// The CSS class and the label of a status.
pub(crate) fn status_label(it: RunStatus) -> (&'static str, &'static str) {
    match it {
        RunStatus::Pending => ("pending", "waiting"),
        RunStatus::InProgress => ("working", "working"),
        RunStatus::Completed => ("done", "completed"),
        RunStatus::MaxIterationsReached => ("done", "round limit reached"),
        RunStatus::Cancelled => ("stopped", "cancelled"),
        RunStatus::Failed => ("failed", "failed"),
    }
}

/// The CSS class and the label of a failed run that read nothing about its question.
pub(crate) const NO_ANSWER: (&str, &str) = ("stopped", "no answer");

/// The CSS class and the label of a run's state, which may be waiting for the user.
pub(crate) fn run_state(it: &Run) -> (&'static str, &'static str) {
    match (it.awaiting_clarification, it.awaiting_approval) {
        (true, _) => ("waits", "needs clarification"),
        (_, true) => ("waits", "waiting for approval"),
        _ if it.status == RunStatus::Failed && it.failure == Some(ErrorKind::NotFound) => NO_ANSWER,
        _ => status_label(it.status),
    }
}

/// The CSS class and the label of a coverage.
pub(crate) fn coverage_label(it: Coverage) -> (&'static str, &'static str) {
    match it {
        Coverage::Open => ("open", "open"),
        Coverage::Partial => ("partial", "partial"),
        Coverage::Covered => ("covered", "covered"),
        Coverage::Conflict => ("conflict", "conflict"),
    }
}

/// The label of a phase.
pub(crate) fn phase_label(it: Phase) -> &'static str {
    match it {
        Phase::Intake => "interpreting the question",
        Phase::Plan => "planning",
        Phase::Research => "searching and reading",
        Phase::Write => "writing",
        Phase::Check => "checking",
        Phase::Run => "starting",
    }
}

/// How long ago: `just now`, `5 min ago`, `3 h ago`, `2 days ago`.
pub(crate) fn relative_time(then: &str, now: Timestamp) -> String {
    let Ok(then) = then.parse::<Timestamp>() else {
        return String::new();
    };
    let seconds = (now.as_second() - then.as_second()).max(0);
    match seconds {
        0..=59 => "just now".to_owned(),
        60..=3_599 => format!("{} min ago", seconds / 60),
        3_600..=86_399 => format!("{} h ago", seconds / 3_600),
        86_400..=172_799 => "yesterday".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Milliseconds from one time to another; `None` if either cannot be parsed.
pub(crate) fn millis_between(from: &str, to: &str) -> Option<i64> {
    let from: Timestamp = from.parse().ok()?;
    let to: Timestamp = to.parse().ok()?;
    Some((to.as_millisecond() - from.as_millisecond()).max(0))
}

/// What was spent on models: `$0` without calls, `price unknown` without a price.
pub fn cost(it: &Usage) -> String {
    match it.usd {
        Some(usd) => money(usd),
        None if it.model_calls == 0 => "$0".to_owned(),
        None => "price unknown".to_owned(),
    }
}

/// A price in dollars, with four decimals below one cent.
pub fn money(usd: f64) -> String {
    match usd {
        0.0 => "$0".to_owned(),
        usd if usd < 0.01 => format!("${usd:.4}"),
        usd => format!("${usd:.2}"),
    }
}

/// An error message as a sentence.
pub fn sentence(words: &str) -> String {
    end_sentence(&capitalize(words))
}

/// The noun in singular for one, else in plural: `call`, `calls`.
pub(crate) fn plural_noun(n: u64, one: &str) -> String {
    match n {
        1 => one.to_owned(),
        _ => format!("{one}s"),
    }
}

/// A number with thousands separators: `12,345`.
pub fn thousands(n: u64) -> String {
    grouped(n, ',')
}

/// Minutes and seconds from the start of the run, `mm:ss`.
pub fn elapsed(begun: &str, ts: &str) -> String {
    let ms = millis_between(begun, ts).unwrap_or_default();
    format!("{:02}:{:02}", ms / 60_000, ms / 1_000 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_read_well() {
        assert_eq!(duration(35), "35 ms");
        assert_eq!(duration(420), "0.4 s");
        assert_eq!(duration(12_400), "12 s");
        assert_eq!(duration(185_000), "3 min 05 s");
        assert_eq!(duration(3_720_000), "1 h 02 min");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(money(0.0), "$0");
        assert_eq!(money(0.0042), "$0.0042");
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        assert_eq!(relative_time("2026-11-22T11:59:30Z", now), "just now");
        assert_eq!(relative_time("2026-11-22T11:30:00Z", now), "30 min ago");
        assert_eq!(relative_time("2026-11-20T11:30:00Z", now), "2 days ago");
        assert_eq!(truncate("a b  c d", 3), "a b…");
    }
}
