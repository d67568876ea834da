//! Server-sent events, parsed from bytes in pieces of any size.
//!
//! The grammar is that of the WHATWG HTML standard, §9.2.6, with one leniency: if the stream ends before an event's
//! blank line, [`SseParser::finish`] still returns the event.

/// One event: its name, if any, and its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The value of `event:`.
    pub name: Option<String>,
    /// The values of the `data:` lines, joined with line feeds.
    pub data: String,
}

/// An incremental parser.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    /// Whether the last byte was CR; a following LF belongs to it.
    after_cr: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseParser {
    /// Returns the events completed by `bytes`.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut found = Vec::new();
        for &byte in bytes {
            let skipped = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            if skipped {
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                found.extend(self.line_ends());
            } else {
                self.line.push(byte);
            }
        }
        found
    }

    /// Returns the event that was incomplete when the stream ended.
    pub fn finish(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.line_ends();
        }
        self.event_ends()
    }

    /// Number of buffered bytes.
    pub(crate) fn buffered_len(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    fn line_ends(&mut self) -> Option<SseEvent> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if line.is_empty() {
            return self.event_ends();
        }
        // A line without a colon is a field without a value; a line that starts with a colon is a comment.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // Older llama.cpp servers end a stream with such a line.
            "error" => {
                self.event.name = Some("error".to_owned());
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => self.event.name = Some(value.to_owned()),
            _ => {}
        }
        None
    }

    fn event_ends(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}
