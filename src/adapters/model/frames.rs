//! What arrives, as JSON values: from server-sent events, from JSON lines, or from one JSON array.
//!
//! Which of them it is shows in the first byte, whatever the headers say: proxies change headers, and a server that was
//! asked for a stream may answer with one object.
use serde_json::Value;

use super::fault::{ModelFault, cut};
use super::sse::{Event, Sse};

/// A value held back longer than this is refused, bytes.
const LARGEST: usize = 32 << 20;

/// One thing that arrived.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// A JSON object, and the name of its event where it had one.
    Json(Option<String>, Value),
    /// The mark `[DONE]`.
    Done,
}

/// Cuts bytes into frames.
#[derive(Debug)]
pub(super) enum Frames {
    /// Nothing but blanks so far.
    Unknown,
    Events(Sse),
    Values(Values),
}

impl Frames {
    /// Adds the frames that `bytes` complete; those before a fault too, so that how bytes were cut changes nothing.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        found: &mut Vec<Frame>,
    ) -> Result<(), ModelFault> {
        if let Frames::Unknown = self {
            // A byte order mark counts as blank; its three bytes may come one by one.
            let blank = |it: &u8| it.is_ascii_whitespace() || [0xef, 0xbb, 0xbf].contains(it);
            let Some(start) = bytes.iter().position(|it| !blank(it)) else {
                return Ok(());
            };
            bytes = &bytes[start..];
            *self = match bytes[0] {
                b'{' | b'[' => Frames::Values(Values::default()),
                _ => Frames::Events(Sse::default()),
            };
        }
        let held = match self {
            Frames::Unknown => 0,
            Frames::Values(values) => {
                values.feed(bytes, found)?;
                values.held.len()
            }
            Frames::Events(sse) => {
                for event in sse.feed(bytes) {
                    read(event, true, found)?;
                }
                sse.held()
            }
        };
        if held > LARGEST {
            return Err(ModelFault::malformed(
                "one event of the answer is too large",
            ));
        }
        Ok(())
    }

    /// The frame that the stream ended in, where it is whole.
    pub(super) fn rest(&mut self) -> Vec<Frame> {
        let mut found = Vec::new();
        if let Frames::Events(sse) = self
            && let Some(event) = sse.rest()
        {
            // What cannot be read here was cut, and who asks for the end will say so.
            let _cut = read(event, false, &mut found);
        }
        found
    }
}

/// Reads an event; `closed` says that its blank line was seen.
fn read(event: Event, closed: bool, found: &mut Vec<Frame>) -> Result<(), ModelFault> {
    let data = event.data.trim();
    if data.is_empty() {
        return Ok(());
    }
    if data == "[DONE]" {
        found.push(Frame::Done);
        return Ok(());
    }
    if let Ok(value) = serde_json::from_str::<Value>(data) {
        if value.is_object() {
            found.push(Frame::Json(event.name, value));
        } else if let Value::Array(values) = value {
            found.extend(values.into_iter().map(|it| Frame::Json(None, it)));
        }
        return Ok(());
    }
    // Some servers forget the blank line between events.
    if let Some(values) = lines(data) {
        found.extend(values);
        return Ok(());
    }
    // Some lose the last brackets.
    if closed && let Some(value) = closed_up(data) {
        found.push(Frame::Json(event.name, value));
        return Ok(());
    }
    if event.name.as_deref() == Some("error") {
        return Err(ModelFault::said(None, data));
    }
    let quoted = cut(data, 100);
    Err(ModelFault::malformed(format!(
        "an event of the answer is not JSON: “{quoted}”"
    )))
}

fn lines(data: &str) -> Option<Vec<Frame>> {
    let frame = |line: &str| match line.trim() {
        "[DONE]" => Some(Frame::Done),
        line => Some(Frame::Json(None, serde_json::from_str(line).ok()?)),
    };
    data.lines()
        .filter(|it| !it.trim().is_empty())
        .map(frame)
        .collect()
}

/// `data` with the brackets closed that it leaves open; nothing where it ends inside a string.
fn closed_up(data: &str) -> Option<Value> {
    let mut open = Vec::new();
    let mut scan = Scan::default();
    for byte in data.bytes() {
        match scan.step(byte) {
            Some(b'{') => open.push('}'),
            Some(b'[') => open.push(']'),
            Some(b'}' | b']') => drop(open.pop()),
            _ => {}
        }
    }
    if open.is_empty() || open.len() > 64 {
        return None;
    }
    let closing: String = open.iter().rev().collect();
    serde_json::from_str(&format!("{data}{closing}")).ok()
}

/// Knows which bytes of JSON stand outside strings.
#[derive(Debug, Default)]
struct Scan {
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// `byte` if it stands outside a string.
    fn step(&mut self, byte: u8) -> Option<u8> {
        if !self.in_string {
            self.in_string = byte == b'"';
            return Some(byte);
        }
        let ends = byte == b'"' && !self.escaped;
        self.escaped = byte == b'\\' && !self.escaped;
        self.in_string = !ends;
        None
    }
}

/// Objects one after the other, or as elements of one array.
#[derive(Debug, Default)]
pub(super) struct Values {
    held: Vec<u8>,
    depth: usize,
    scan: Scan,
}

impl Values {
    fn feed(&mut self, bytes: &[u8], found: &mut Vec<Frame>) -> Result<(), ModelFault> {
        for &byte in bytes {
            if self.depth == 0 && byte != b'{' {
                // Between objects: blanks, commas, the array's own brackets, a server's chatter.
                continue;
            }
            self.held.push(byte);
            match self.scan.step(byte) {
                Some(b'{' | b'[') => self.depth += 1,
                Some(b'}' | b']') => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                let text = std::mem::take(&mut self.held);
                let value = serde_json::from_slice(&text).map_err(|_| {
                    let quoted = cut(&String::from_utf8_lossy(&text), 100);
                    ModelFault::malformed(format!("the answer is not JSON: “{quoted}”"))
                })?;
                found.push(Frame::Json(None, value));
            }
        }
        Ok(())
    }
}
