//! Writing a recording.
use super::file::{FORMAT, Recording, RecordingCounts, RecordingHeader, RecordingLine, VERSION};
use ibid_core::domain::PageHash;
use ibid_core::{Error, ErrorKind, Result};

/// The number of hexadecimal digits of a checksum.
const CHECKSUM_DIGITS: usize = 16;

/// The checksum of a line, given without its checksum.
pub(super) fn checksum(body: &str) -> String {
    let hash = PageHash::from_parts(&[body]);
    let hex = hash.as_str().trim_start_matches("sha256:");
    hex.chars().take(CHECKSUM_DIGITS).collect()
}

impl Recording {
    /// The text of the file.
    ///
    /// # Errors
    /// `Internal` when a part cannot be written as JSON.
    pub fn to_jsonl(&self) -> Result<String> {
        let mut out = String::new();
        let mut add = |line: &RecordingLine| -> Result<()> {
            let body = serde_json::to_string(line).map_err(|cause| {
                Error::new(ErrorKind::Internal, "writing a line of a recording").with_source(cause)
            })?;
            out.push_str(&format!("{{\"sum\":\"{}\",{}\n", checksum(&body), &body[1..]));
            Ok(())
        };
        add(&RecordingLine::Recording(RecordingHeader {
            format: FORMAT.to_owned(),
            version: VERSION,
            run: self.run.clone(),
            started: self.events.first().map(|event| event.ts.clone()).unwrap_or_default(),
            question: self.question.clone(),
        }))?;
        for step in &self.steps {
            add(&RecordingLine::Call(step.clone()))?;
        }
        for page in self.pages.values() {
            add(&RecordingLine::Page(page.clone()))?;
        }
        for event in &self.events {
            add(&RecordingLine::Event(event.clone()))?;
        }
        add(&RecordingLine::End(RecordingCounts {
            calls: self.steps.len(),
            pages: self.pages.len(),
            events: self.events.len(),
        }))?;
        Ok(out)
    }
}
