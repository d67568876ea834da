//! Splits a response into JSON values: from server-sent events, JSON lines, or a JSON array.
//!
//! The format is detected from the first byte, not from the headers: proxies change headers, and a server may answer
//! a streaming request with a single object.
use serde_json::Value;

use super::sse::{SseEvent, SseParser};
use ibid_net::service_error::{ServiceError, truncate};

/// Maximum size of a buffered value, bytes.
const MAX_BYTES: usize = 32 << 20;

/// A parsed frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// A JSON object, and the name of its event if it has one.
    Json(Option<String>, Value),
    /// The end marker `[DONE]`.
    Done,
}

/// Splits bytes into frames.
#[derive(Debug)]
pub(super) enum FrameDecoder {
    /// Only white space so far.
    Unknown,
    Events(SseParser),
    Values(JsonValues),
}

impl FrameDecoder {
    /// Adds the frames completed by `bytes`. Frames before an error are added too, so that the result does not depend
    /// on how the bytes were split.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        found: &mut Vec<Frame>,
    ) -> Result<(), ServiceError> {
        if let FrameDecoder::Unknown = self {
            // A byte order mark counts as white space; its three bytes may arrive separately.
            let blank = |byte: &u8| byte.is_ascii_whitespace() || [0xef, 0xbb, 0xbf].contains(byte);
            let Some(start) = bytes.iter().position(|byte| !blank(byte)) else {
                return Ok(());
            };
            bytes = &bytes[start..];
            *self = match bytes[0] {
                b'{' | b'[' => FrameDecoder::Values(JsonValues::default()),
                _ => FrameDecoder::Events(SseParser::default()),
            };
        }
        let held = match self {
            FrameDecoder::Unknown => 0,
            FrameDecoder::Values(values) => {
                values.feed(bytes, found)?;
                values.held.len()
            }
            FrameDecoder::Events(sse) => {
                for event in sse.feed(bytes) {
                    decode_event(event, true, found)?;
                }
                sse.buffered_len()
            }
        };
        if held > MAX_BYTES {
            return Err(ServiceError::malformed("one event of the response is too large"));
        }
        Ok(())
    }

    /// Returns the last frame of the stream if it is complete.
    pub(super) fn finish(&mut self) -> Vec<Frame> {
        let mut found = Vec::new();
        if let FrameDecoder::Events(sse) = self
            && let Some(event) = sse.finish()
        {
            // An unreadable rest was truncated; the caller's check for the end reports it.
            let _cut = decode_event(event, false, &mut found);
        }
        found
    }
}

/// Parses an event; `closed` is whether its blank line was seen.
fn decode_event(event: SseEvent, closed: bool, found: &mut Vec<Frame>) -> Result<(), ServiceError> {
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
            found.extend(values.into_iter().map(|value| Frame::Json(None, value)));
        }
        return Ok(());
    }
    // Some servers omit the blank line between events.
    if let Some(values) = lines(data) {
        found.extend(values);
        return Ok(());
    }
    // Some servers lose the last brackets.
    if closed && let Some(value) = close_brackets(data) {
        found.push(Frame::Json(event.name, value));
        return Ok(());
    }
    if event.name.as_deref() == Some("error") {
        return Err(ServiceError::from_text(None, data));
    }
    let quoted = truncate(data, 100);
    Err(ServiceError::malformed(format!("an event of the response is not JSON: “{quoted}”")))
}

fn lines(data: &str) -> Option<Vec<Frame>> {
    let frame = |line: &str| match line.trim() {
        "[DONE]" => Some(Frame::Done),
        line => Some(Frame::Json(None, serde_json::from_str(line).ok()?)),
    };
    data.lines().filter(|line| !line.trim().is_empty()).map(frame).collect()
}

/// Closes the open brackets of `data`; `None` if it ends inside a string.
fn close_brackets(data: &str) -> Option<Value> {
    let mut open = Vec::new();
    let mut scan = JsonScanner::default();
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

/// Tracks whether a byte of JSON is outside strings.
#[derive(Debug, Default)]
struct JsonScanner {
    in_string: bool,
    escaped: bool,
}

impl JsonScanner {
    /// Returns `byte` if it is outside a string.
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

/// Splits concatenated objects, or the elements of one array.
#[derive(Debug, Default)]
pub(super) struct JsonValues {
    held: Vec<u8>,
    depth: usize,
    scan: JsonScanner,
}

impl JsonValues {
    fn feed(&mut self, bytes: &[u8], found: &mut Vec<Frame>) -> Result<(), ServiceError> {
        for &byte in bytes {
            if self.depth == 0 && byte != b'{' {
                // Between objects: white space, commas, the brackets of the array, other output.
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
                    let quoted = truncate(&String::from_utf8_lossy(&text), 100);
                    ServiceError::malformed(format!("the response is not JSON: “{quoted}”"))
                })?;
                found.push(Frame::Json(None, value));
            }
        }
        Ok(())
    }
}
