//! Parses what a model wrote into the value that was asked for.
//!
//! Models reason aloud, wrap answers in prose and fences, forget commas, stop in the middle or never stop.
//! What is plainly meant is accepted; anything else gives a one-sentence error that can be sent back. Parsing
//! takes time linear in the length of the text.
use std::borrow::Cow;
use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::conform::{conform, only_list};
use super::lenient_json;

/// Longest answer that is parsed, in bytes.
const MAX_ANSWER_BYTES: usize = 2 * 1024 * 1024;

/// Candidates kept of each class: the last ones, and some of the first, since an endless list comes after the
/// answer.
const MAX_LAST_CANDIDATES: usize = 48;
const MAX_FIRST_CANDIDATES: usize = 8;

/// A value and how it was obtained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedAnswer<T> {
    /// The value.
    pub value: T,
    /// How it was obtained.
    pub how: ParseQuality,
}

/// How a value was obtained from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseQuality {
    /// The answer was exactly the JSON asked for.
    Clean,
    /// Something was skipped or repaired.
    Repaired,
}

/// Finds a value of `schema`'s shape in what a model wrote.
///
/// Of several candidates the last complete one that fits is taken. One in a code fence goes before one
/// outside, and both go before one that was cut off. Text inside reasoning that was never closed counts only
/// if there is nothing else. Lists are cut at the schema's `maxItems`, or at 1,000.
///
/// # Errors
/// A sentence that says what is wrong, worded for the model.
pub fn parse_answer<T: DeserializeOwned>(
    text: &str,
    schema: &Value,
) -> Result<ParsedAnswer<T>, String> {
    let bare = text.trim().trim_start_matches('\u{FEFF}');
    let bare = &bare[..bare.floor_char_boundary(MAX_ANSWER_BYTES)];
    if let Ok(value) = serde_json::from_str::<Value>(bare) {
        let (value, changed) = deserialize_conformed::<T>(&value, schema)?;
        return Ok(ParsedAnswer {
            value,
            how: if changed { ParseQuality::Repaired } else { ParseQuality::Clean },
        });
    }
    let (answer, unclosed) = strip_thinking(bare);
    if answer.trim().is_empty() && unclosed.is_none() {
        return Err("the answer is empty".to_owned());
    }
    let fault = match pick(&answer, schema) {
        Ok(value) => return Ok(repaired(value)),
        Err(it) => it,
    };
    // Reasoning that was never closed may hold the answer.
    match unclosed.map(|it| pick(it, schema)) {
        Some(Ok(value)) => Ok(repaired(value)),
        Some(Err(inner)) if answer.trim().is_empty() => Err(inner),
        _ => Err(fault),
    }
}

fn repaired<T>(value: T) -> ParsedAnswer<T> {
    ParsedAnswer { value, how: ParseQuality::Repaired }
}

fn deserialize_conformed<T: DeserializeOwned>(
    value: &Value,
    schema: &Value,
) -> Result<(T, bool), String> {
    let (value, changed) = conform(value, schema)?;
    serde_json::from_value(value)
        .map(|it| (it, changed))
        .map_err(|error| format!("the answer does not have the shape asked for: {error}"))
}

/// Candidates for the answer, by how likely they are.
#[derive(Default)]
struct Candidates {
    fenced: VecDeque<Value>,
    open: VecDeque<Value>,
    cut: VecDeque<Value>,
    inner: VecDeque<Value>,
    empty: VecDeque<Value>,
}

fn pick<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<T, String> {
    let found = find_candidates(text);
    if let Some(value) = join_objects(&found, schema) {
        return Ok(value);
    }
    let mut fault = None;
    let found = [&found.fenced, &found.open, &found.cut, &found.inner, &found.empty];
    for class in found {
        for value in class.iter().rev() {
            match deserialize_conformed::<T>(value, schema) {
                Ok((it, _)) => return Ok(it),
                Err(it) => {
                    fault.get_or_insert(it);
                }
            }
        }
    }
    Err(fault.unwrap_or_else(|| {
        if text.contains(['{', '[']) {
            "the JSON of the answer is incomplete or invalid".to_owned()
        } else {
            "the answer contains no JSON".to_owned()
        }
    }))
}

/// One object per line where a list was wanted.
fn join_objects<T: DeserializeOwned>(found: &Candidates, schema: &Value) -> Option<T> {
    let (name, element) = only_list(schema)?;
    let class = if found.fenced.len() > 1 { &found.fenced } else { &found.open };
    if class.len() < 2 || !found.fenced.is_empty() && found.fenced.len() < 2 {
        return None;
    }
    let fits = |value: &Value| {
        value.as_object().is_some_and(|object| !object.contains_key(name))
            && conform(value, element).is_ok()
    };
    if !class.iter().all(fits) {
        return None;
    }
    let list: Vec<Value> = class.iter().cloned().collect();
    let whole = serde_json::json!({ name: list });
    deserialize_conformed(&whole, schema).ok().map(|pair| pair.0)
}

/// The objects and lists of a text.
fn find_candidates(text: &str) -> Candidates {
    let mut found = Candidates::default();
    // Starting again inside text that could not be read costs time, so the total is bounded.
    let mut fuel = text.len() + 32_768;
    let mut at = 0;
    let mut fenced = false;
    // Up to here, candidates are inside something that was cut off.
    let mut inner_until = 0;
    while let Some(next) = text.get(at..).and_then(|value| value.find(['{', '[', '`'])) {
        at += next;
        let tail = &text[at..];
        if tail.starts_with("```") {
            fenced = !fenced;
            at += 3;
            continue;
        }
        if tail.starts_with('`') {
            at += 1;
            continue;
        }
        let read = lenient_json::parse_at(text, at);
        let spent = read.end - at;
        let whole = read.value.is_some() && !read.cut;
        if let Some(value) = read.value {
            let class = if !read.cut && is_empty(&value) {
                &mut found.empty
            } else if at < inner_until {
                &mut found.inner
            } else if read.cut {
                &mut found.cut
            } else if fenced {
                &mut found.fenced
            } else {
                &mut found.open
            };
            if class.len() == MAX_LAST_CANDIDATES {
                class.remove(MAX_FIRST_CANDIDATES);
            }
            class.push_back(value);
        }
        if whole || spent > fuel {
            at = read.end;
        } else {
            if read.cut {
                inner_until = inner_until.max(read.end);
            }
            fuel -= spent;
            at += 1;
        }
    }
    found
}

/// Empty brackets, which also occur in prose.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
        _ => false,
    }
}

const THINKING: &[&str] =
    &["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad"];

/// A reasoning tag at the start of `text`: its length, and whether it closes.
pub(super) fn thinking_tag(text: &str) -> Option<(usize, bool)> {
    let (inside, closes) = match text.strip_prefix("</") {
        Some(it) => (it, true),
        None => (text.strip_prefix('<')?, false),
    };
    let end = inside.bytes().take(14).position(|byte| byte == b'>')?;
    let name = inside.get(..end)?;
    let known = THINKING.iter().any(|it| it.eq_ignore_ascii_case(name));
    known.then_some((text.len() - inside.len() + end + 1, closes))
}

/// The answer without its reasoning, and the text behind a tag that was never closed.
pub(super) fn strip_thinking(text: &str) -> (Cow<'_, str>, Option<&str>) {
    let mut out = String::new();
    let mut depth = 0_u32;
    let mut kept = 0;
    let mut opened = 0;
    let mut at = 0;
    let mut any = false;
    while let Some(next) = text.get(at..).and_then(|value| value.find('<')) {
        at += next;
        let Some((len, closes)) = thinking_tag(&text[at..]) else {
            at += 1;
            continue;
        };
        any = true;
        match (closes, depth) {
            // Closed but never opened: the opening tag was in the prompt.
            (true, 0) => {
                out.clear();
                kept = at + len;
            }
            (true, _) => {
                depth -= 1;
                kept = at + len;
            }
            (false, 0) => {
                out.push_str(&text[kept..at]);
                depth = 1;
                opened = at + len;
            }
            (false, _) => depth += 1,
        }
        at += len;
    }
    if !any {
        return (Cow::Borrowed(text), None);
    }
    if depth > 0 {
        return (Cow::Owned(out), text.get(opened..));
    }
    out.push_str(&text[kept..]);
    (Cow::Owned(out), None)
}
