//! A recording as text.
use super::{Counts, FORMAT, Head, Line, Recording, VERSION};
use crate::domain::PageHash;
use crate::error::{Error, Kind, Result};

/// Hexadecimal digits of a line's checksum.
const DIGITS: usize = 16;

/// The checksum of a line without it.
pub(super) fn sum(body: &str) -> String {
    let hash = PageHash::of(&[body]);
    let hex = hash.as_str().trim_start_matches("sha256:");
    hex.chars().take(DIGITS).collect()
}

impl Recording {
    /// The recording as the text of its file.
    ///
    /// # Errors
    /// `Internal` for what cannot be written as JSON.
    pub fn text(&self) -> Result<String> {
        let mut out = String::new();
        let mut add = |line: &Line| -> Result<()> {
            let body = serde_json::to_string(line).map_err(|it| {
                Error::new(Kind::Internal, "writing a line of a recording").because(it)
            })?;
            out.push_str(&format!("{{\"sum\":\"{}\",{}\n", sum(&body), &body[1..]));
            Ok(())
        };
        add(&Line::Recording(Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            run: self.run.clone(),
            started: self
                .events
                .first()
                .map(|it| it.ts.clone())
                .unwrap_or_default(),
            question: self.question.clone(),
        }))?;
        for step in &self.steps {
            add(&Line::Call(step.clone()))?;
        }
        for page in self.pages.values() {
            add(&Line::Page(page.clone()))?;
        }
        for event in &self.events {
            add(&Line::Event(event.clone()))?;
        }
        add(&Line::End(Counts {
            calls: self.steps.len(),
            pages: self.pages.len(),
            events: self.events.len(),
        }))?;
        Ok(out)
    }
}
