//! Server-sent events, from bytes in pieces of any size.
//!
//! The grammar is that of the WHATWG HTML standard, §9.2.6, with one leniency: an event that the stream ends in before
//! its blank line is given too, by [`Sse::rest`].

/// One event: its name, where it has one, and its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// What stands behind `event:`.
    pub name: Option<String>,
    /// The lines behind `data:`, joined by line feeds.
    pub data: String,
}

/// Puts events together.
#[derive(Debug, Default)]
pub struct Sse {
    line: Vec<u8>,
    /// The last byte was CR: a LF that follows belongs to it.
    after_cr: bool,
    event: Event,
    has_data: bool,
}

impl Sse {
    /// The events that `bytes` complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
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

    /// The event that was still open when the stream ended.
    pub fn rest(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.line_ends();
        }
        self.event_ends()
    }

    /// Bytes held back.
    pub fn held(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    fn line_ends(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if line.is_empty() {
            return self.event_ends();
        }
        // A line without a colon is a field without a value; one that begins with it is a comment.
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

    fn event_ends(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}
