//! Recorded answers of search interfaces and catalogues through the program's readers, as they are and damaged.
use std::panic::{AssertUnwindSafe, catch_unwind};

use ibid_core::ErrorKind;
use ibid_core::domain::Hit;
use ibid_net::service_error::ServiceError;
use ibid_sources::search::{RecordedAnswer, read_recorded};
use serde_json::Value;

use super::facts::{self, Fact, Facts};
use super::replay::Verdict;
use super::{bytes, damage};

/// One row: what became of it, and of how many damaged copies.
pub(super) struct SourceOutcome {
    pub(super) verdict: Verdict,
    pub(super) damaged: u32,
    /// Whether the row is a fault.
    pub(super) is_fault: bool,
}

/// Replays `row`; `None` where it is of another kind of interface.
pub(super) fn row(row: &Value) -> Option<SourceOutcome> {
    let api = row.get("api").and_then(Value::as_str).unwrap_or_default();
    let url = row.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
    let status = row.pointer("/response/status").and_then(Value::as_u64).unwrap_or(200);
    let status = u16::try_from(status).unwrap_or(0);
    let (headers, body) = (bytes::headers(row), bytes::body(row));
    let read = |status: u16, body: &[u8]| read_recorded(api, url, status, &headers, body);
    let found = read(status, &body)?;
    let text = String::from_utf8_lossy(&body);
    let facts = facts::of(api, url, status, &text);
    let most = found.as_ref().map_or(0, size);
    let verdict = compared(found, &facts, status);
    let is_fault = matches!(facts, Facts::Fault);
    let mut damaged = 0;
    for it in damage::copies(&body) {
        damaged += 1;
        let Ok(read) = catch_unwind(AssertUnwindSafe(|| read(200, &it.body))) else {
            return Some(SourceOutcome { verdict: Verdict::Panicked, damaged, is_fault });
        };
        let bad = match read {
            Some(Ok(found)) if it.is_no_answer && size(&found) > 0 => {
                Some("another page was read as an answer".to_owned())
            }
            Some(Ok(found)) => {
                // A text where an id was missing may make a hit of what was none.
                let counts = (200..300).contains(&status) && !it.what.ends_with("a text");
                unsound(&found, most.max(1), counts)
            }
            _ => None,
        };
        if let Some(why) = bad {
            return Some(SourceOutcome {
                verdict: Verdict::Differs(format!("{}: {why}", it.what)),
                damaged,
                is_fault,
            });
        }
    }
    Some(SourceOutcome { verdict, damaged, is_fault })
}

/// How much was read.
fn size(found: &RecordedAnswer) -> usize {
    match found {
        RecordedAnswer::Hits(it) => it.hits.len(),
        RecordedAnswer::Ids(it) => it.ids.len(),
        RecordedAnswer::Works(it) => it.len(),
    }
}

/// What is wrong with what was read of a damaged answer: more than the sound one had, or more than is kept.
fn unsound(found: &RecordedAnswer, most: usize, counts: bool) -> Option<String> {
    if counts && size(found) > most {
        return Some(format!("{} read, {most} of the sound answer", size(found)));
    }
    let RecordedAnswer::Hits(found) = found else {
        return None;
    };
    found.hits.iter().find_map(|hit| {
        let long = hit.title.chars().count() > 400
            || hit.snippet.expose().chars().count() > 2_100
            || hit.text.as_ref().is_some_and(|text| text.expose().chars().count() > 200_000)
            || hit.work.authors.len() > 60;
        long.then(|| "a text without bound was kept".to_owned())
    })
}

fn compared(found: Result<RecordedAnswer, ServiceError>, facts: &Facts, status: u16) -> Verdict {
    let found = match (found, facts) {
        (Err(fault), Facts::Fault) => return refused(status, &fault),
        (Ok(_), Facts::Fault) => {
            return Verdict::Differs("a fault was read as an answer".to_owned());
        }
        (Err(fault), _) => return Verdict::Unread(fault.to_string()),
        (Ok(found), _) => found,
    };
    let said = match (&found, facts) {
        (RecordedAnswer::Hits(found), Facts::Found(facts)) => hits(&found.hits, facts),
        (_, Facts::Count(count)) if size(&found) == *count => Ok(()),
        (_, Facts::Count(count)) => Err(format!("{} read of {count}", size(&found))),
        _ => Err(format!("{found:?} instead of {facts:?}").chars().take(300).collect()),
    };
    said.map_or_else(Verdict::Differs, |()| Verdict::Right)
}

/// Whether a fault is of the kind that its status asks for.
fn refused(status: u16, fault: &ServiceError) -> Verdict {
    let expected: &[ErrorKind] = match status {
        200..300 => &[ErrorKind::Malformed, ErrorKind::Transient, ErrorKind::Setup],
        501 => &[ErrorKind::Setup, ErrorKind::Transient],
        408 | 409 | 423 | 425 | 429 | 500.. => &[ErrorKind::Transient],
        403 => &[ErrorKind::Setup, ErrorKind::Transient],
        401..=405 | 407 | 410 => &[ErrorKind::Setup],
        400..500 => &[ErrorKind::Malformed, ErrorKind::Setup],
        _ => &[ErrorKind::Setup, ErrorKind::Malformed],
    };
    if expected.contains(&fault.kind) && fault.message.chars().count() <= 301 {
        Verdict::Right
    } else {
        Verdict::Unread(format!("{:?} instead of {expected:?}: {fault}", fault.kind))
    }
}

fn hits(found: &[Hit], facts: &[Fact]) -> Result<(), String> {
    if found.len() != facts.len() {
        return Err(format!("{} hits of {}", found.len(), facts.len()));
    }
    for fact in facts {
        let same = |hit: &&Hit| {
            let keys = hit.work.keys();
            let known =
                |id: &String| keys.contains(id) || hit.url.contains(id.as_str()) || hit.url == *id;
            fact.ids.iter().all(known) && titled(&hit.title, &fact.title)
        };
        let Some(hit) = found.iter().find(same) else {
            return Err(format!("nothing like {fact:?}"));
        };
        if hit.title.trim().is_empty() || !hit.url.starts_with("http") {
            return Err(format!("without title or address: {fact:?}"));
        }
        // Where only the year is told, the rest is taken to be its first day.
        if let Some(date) = &fact.date
            && !hit.date.as_deref().is_some_and(|it| it.starts_with(date.as_str()))
        {
            return Err(format!("{:?} instead of {date}: {}", hit.date, fact.title));
        }
    }
    Ok(())
}

/// Whether two titles are one but for markup, entities and what was cut.
fn titled(found: &str, fact: &str) -> bool {
    let letters = |text: &str| {
        let mut bare = String::new();
        let mut inside = false;
        for letter in entities(text).chars() {
            match letter {
                '<' => inside = true,
                '>' => inside = false,
                text if !inside && text.is_alphanumeric() => bare.extend(text.to_lowercase()),
                _ => {}
            }
        }
        bare.chars().take(60).collect::<String>()
    };
    let (found, fact) = (letters(found), letters(fact));
    fact.is_empty() || found.starts_with(&fact) || fact.starts_with(&found) && found.len() > 20
}

/// Letters in the place of what stands for them.
fn entities(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let (name, after) = match behind.split_once(';') {
            Some(it) if it.0.len() <= 8 => it,
            _ => ("", behind),
        };
        let number = name.strip_prefix("#x").map(|rest| u32::from_str_radix(rest, 16));
        let number = number.or_else(|| name.strip_prefix('#').map(str::parse));
        match (name, number.and_then(Result::ok).and_then(char::from_u32)) {
            ("lt", _) => out.push('<'),
            ("gt", _) => out.push('>'),
            (_, Some(letter)) => out.push(letter),
            _ => out.push(' '),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
