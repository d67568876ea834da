//! How times, money and states are told.
use jiff::Timestamp;

use crate::domain::Usage;
use crate::record::{Phase, Run, RunStatus};

/// A state: class and word. The class colours the dot, the word tells it.
pub fn status(it: RunStatus) -> (&'static str, &'static str) {
    match it {
        RunStatus::Pending => ("pending", "waiting"),
        RunStatus::InProgress => ("working", "working"),
        RunStatus::Completed => ("done", "completed"),
        RunStatus::MaxIterationsReached => ("done", "rounds used up"),
        RunStatus::Cancelled => ("stopped", "cancelled"),
        RunStatus::Failed => ("failed", "failed"),
    }
}

/// The state of a run, which may wait for a person.
pub fn state(it: &Run) -> (&'static str, &'static str) {
    match (it.awaiting_clarification, it.awaiting_approval) {
        (true, _) => ("waits", "asks you"),
        (_, true) => ("waits", "waits for your word"),
        _ => status(it.status),
    }
}

/// What is being done.
pub fn phase(it: Phase) -> &'static str {
    match it {
        Phase::Intake => "understanding the question",
        Phase::Plan => "planning",
        Phase::Research => "searching and reading",
        Phase::Write => "writing",
        Phase::Check => "checking",
        Phase::Run => "starting",
    }
}

/// How long ago: `just now`, `5 min ago`, `3 h ago`, `2 days ago`.
pub fn age(then: &str, now: Timestamp) -> String {
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

/// Milliseconds from one moment to another.
pub fn between(from: &str, to: &str) -> Option<i64> {
    let from: Timestamp = from.parse().ok()?;
    let to: Timestamp = to.parse().ok()?;
    Some((to.as_millisecond() - from.as_millisecond()).max(0))
}

/// A length of time: `35 ms`, `0.4 s`, `12 s`, `3 min 05 s`, `1 h 02 min`.
pub fn took(ms: i64) -> String {
    match ms {
        ms if ms < 100 => format!("{ms} ms"),
        ms if ms < 10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms if ms < 60_000 => format!("{} s", ms / 1_000),
        ms if ms < 3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        ms => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// What was spent on models: nothing where none was asked, unknown where a price is.
pub fn cost(it: &Usage) -> String {
    match it.usd {
        Some(usd) => money(usd),
        None if it.model_calls == 0 => "$0".to_owned(),
        None => "price unknown".to_owned(),
    }
}

/// Dollars, with as many digits as tell something.
pub fn money(usd: f64) -> String {
    match usd {
        0.0 => "$0".to_owned(),
        usd if usd < 0.01 => format!("${usd:.4}"),
        usd => format!("${usd:.2}"),
    }
}

/// Words of an error as a sentence.
pub fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let mut out = chars.next().map_or_else(String::new, |it| {
        it.to_uppercase().collect::<String>() + chars.as_str()
    });
    if !out.ends_with(['.', '!', '?', '…']) {
        out.push('.');
    }
    out
}

/// `call` for one, `calls` for none or many.
pub fn noun(n: u64, one: &str) -> String {
    match n {
        1 => one.to_owned(),
        _ => format!("{one}s"),
    }
}

/// A number with its thousands apart: `12,345`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `hh:mm:ss` of a moment, UTC.
pub fn clock(ts: &str) -> String {
    ts.get(11..19).unwrap_or_default().to_owned()
}

/// Minutes and seconds since the run began.
pub fn since(begun: &str, ts: &str) -> String {
    let ms = between(begun, ts).unwrap_or_default();
    format!("{:02}:{:02}", ms / 60_000, ms / 1_000 % 60)
}

/// The first `most` characters, with an ellipsis where there are more.
pub fn clip(text: &str, most: usize) -> String {
    let text = crate::surfaces::export::escape::line(text);
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_read_well() {
        assert_eq!(took(35), "35 ms");
        assert_eq!(took(420), "0.4 s");
        assert_eq!(took(12_400), "12 s");
        assert_eq!(took(185_000), "3 min 05 s");
        assert_eq!(took(3_720_000), "1 h 02 min");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(money(0.0), "$0");
        assert_eq!(money(0.0042), "$0.0042");
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        assert_eq!(age("2026-11-22T11:59:30Z", now), "just now");
        assert_eq!(age("2026-11-22T11:30:00Z", now), "30 min ago");
        assert_eq!(age("2026-11-20T11:30:00Z", now), "2 days ago");
        assert_eq!(clip("a b  c d", 3), "a b…");
    }
}
