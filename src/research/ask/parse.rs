//! From what a model wrote to the value that was asked for.
//!
//! Models think aloud, wrap answers in prose and fences, forget commas, stop in the middle or never stop. What is
//! plainly meant is taken; what is not is told in one sentence that can be sent back. Any text is read in time that
//! grows with its length alone.
use std::borrow::Cow;
use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::conform::{conform, only_list};
use super::lenient;

/// The longest answer that is looked at, bytes.
const LONGEST: usize = 2 * 1024 * 1024;

/// Candidates kept of each class: the last ones, and some of the first, since a list that never ends comes after the
/// answer.
const KEPT: usize = 48;
const FIRST: usize = 8;

/// A value and how it was had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// How it was had.
    pub how: How,
}

/// How a value was had from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The answer was nothing but the JSON asked for.
    Clean,
    /// Something was passed over or mended.
    Repaired,
}

/// The value of `schema`'s shape in what a model wrote.
///
/// Of several candidates the last complete one that fits counts, one in a code fence before one outside, one that
/// the text cut off after both. What stands in thinking that was opened and never closed counts only if there is
/// nothing else. Lists are cut at the schema's `maxItems`, at 1,000 without one.
///
/// # Errors
/// One sentence that says what is wrong, fit to be told to the model.
pub fn parse<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<Parsed<T>, String> {
    let bare = text.trim().trim_start_matches('\u{FEFF}');
    if let Ok(value) = serde_json::from_str::<Value>(cut_at(bare, LONGEST)) {
        let (value, changed) = earn::<T>(&value, schema)?;
        return Ok(Parsed {
            value,
            how: if changed { How::Repaired } else { How::Clean },
        });
    }
    let (answer, unclosed) = without_thinking(cut_at(bare, LONGEST));
    if answer.trim().is_empty() && unclosed.is_none() {
        return Err("the answer is empty".to_owned());
    }
    let fault = match pick(&answer, schema) {
        Ok(value) => return Ok(repaired(value)),
        Err(it) => it,
    };
    // Thinking that was opened and never closed may hold the answer.
    match unclosed.map(|it| pick(it, schema)) {
        Some(Ok(value)) => Ok(repaired(value)),
        Some(Err(inner)) if answer.trim().is_empty() => Err(inner),
        _ => Err(fault),
    }
}

fn repaired<T>(value: T) -> Parsed<T> {
    Parsed {
        value,
        how: How::Repaired,
    }
}

fn earn<T: DeserializeOwned>(value: &Value, schema: &Value) -> Result<(T, bool), String> {
    let (value, changed) = conform(value, schema)?;
    serde_json::from_value(value)
        .map(|it| (it, changed))
        .map_err(|it| format!("the answer does not have the shape asked for: {it}"))
}

/// What may be the answer, by how likely it is.
#[derive(Default)]
struct Candidates {
    fenced: VecDeque<Value>,
    open: VecDeque<Value>,
    cut: VecDeque<Value>,
    inner: VecDeque<Value>,
    empty: VecDeque<Value>,
}

fn pick<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<T, String> {
    let found = candidates(text);
    if let Some(value) = gathered(&found, schema) {
        return Ok(value);
    }
    let mut fault = None;
    let found = [
        &found.fenced,
        &found.open,
        &found.cut,
        &found.inner,
        &found.empty,
    ];
    for class in found {
        for value in class.iter().rev() {
            match earn::<T>(value, schema) {
                Ok((it, _)) => return Ok(it),
                Err(it) => {
                    fault.get_or_insert(it);
                }
            }
        }
    }
    Err(fault.unwrap_or_else(|| {
        if text.contains(['{', '[']) {
            "the JSON of the answer is broken off or cannot be read".to_owned()
        } else {
            "the answer holds no JSON".to_owned()
        }
    }))
}

/// One object a line where one list was wanted.
fn gathered<T: DeserializeOwned>(found: &Candidates, schema: &Value) -> Option<T> {
    let (name, element) = only_list(schema)?;
    let class = if found.fenced.len() > 1 {
        &found.fenced
    } else {
        &found.open
    };
    if class.len() < 2 || !found.fenced.is_empty() && found.fenced.len() < 2 {
        return None;
    }
    let fits = |it: &Value| {
        it.as_object().is_some_and(|it| !it.contains_key(name)) && conform(it, element).is_ok()
    };
    if !class.iter().all(fits) {
        return None;
    }
    let list: Vec<Value> = class.iter().cloned().collect();
    let whole = serde_json::json!({ name: list });
    earn(&whole, schema).ok().map(|it| it.0)
}

/// The objects and lists of a text.
fn candidates(text: &str) -> Candidates {
    let mut found = Candidates::default();
    // Beginning again inside what could not be read costs time: this much of it is spent, then no more.
    let mut fuel = text.len() + 32_768;
    let mut at = 0;
    let mut fenced = false;
    // Up to here, what is found stands inside something that was cut off.
    let mut inner_until = 0;
    while let Some(next) = text.get(at..).and_then(|it| it.find(['{', '[', '`'])) {
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
        let read = lenient::read(text, at);
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
            if class.len() == KEPT {
                class.remove(FIRST);
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

/// Brackets around nothing, as they also stand in prose.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
        _ => false,
    }
}

const THINKING: &[&str] = &[
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
];

/// A tag of thinking at the start of `text`: its length, and whether it closes.
pub(super) fn thinking_tag(text: &str) -> Option<(usize, bool)> {
    let (inside, closes) = match text.strip_prefix("</") {
        Some(it) => (it, true),
        None => (text.strip_prefix('<')?, false),
    };
    let end = inside.bytes().take(14).position(|it| it == b'>')?;
    let name = inside.get(..end)?;
    let known = THINKING.iter().any(|it| it.eq_ignore_ascii_case(name));
    known.then_some((text.len() - inside.len() + end + 1, closes))
}

/// The answer without what was thought before it, and what stands behind a tag that was never closed.
pub(super) fn without_thinking(text: &str) -> (Cow<'_, str>, Option<&str>) {
    let mut out = String::new();
    let mut depth = 0_u32;
    let mut kept = 0;
    let mut opened = 0;
    let mut at = 0;
    let mut any = false;
    while let Some(next) = text.get(at..).and_then(|it| it.find('<')) {
        at += next;
        let Some((len, closes)) = thinking_tag(&text[at..]) else {
            at += 1;
            continue;
        };
        any = true;
        match (closes, depth) {
            // Closed without having been opened: the opening stood in the prompt.
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

/// The first `most` bytes, at a character's end.
pub(super) fn cut_at(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
