//! A sentence of a report.
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{ClaimId, EvidenceId, Passage};

/// A numbered reference to an exact quote in a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// The number shown: the same for the same source, in order of first use, from 1.
    pub n: u32,
    /// The evidence it is based on.
    pub evidence: EvidenceId,
    /// The exact words.
    pub passage: Passage,
}

/// One sentence of the report with its citations; it always has at least one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// `c1`, `c2`, … in reading order.
    pub id: ClaimId,
    text: String,
    /// Who says "I" or "we" in it: the title of its page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    citations: Vec<Citation>,
}

impl Claim {
    /// Creates a claim, or returns `None` if `citations` is empty.
    pub fn new(id: ClaimId, text: String, citations: Vec<Citation>) -> Option<Claim> {
        (!citations.is_empty()).then_some(Claim { id, text, speaker: None, citations })
    }

    /// The same claim, as the words of `speaker`.
    #[must_use]
    pub fn said_by(self, speaker: Option<String>) -> Claim {
        Claim { speaker, ..self }
    }

    /// The sentence, without citation numbers.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who says "I" or "we" in it.
    pub fn speaker(&self) -> Option<&str> {
        self.speaker.as_deref()
    }

    /// The sentence as a reader sees it, after whose words it is: `Five promises: “Of 37 leaks that I saw, 33 were at pipes.”`
    pub fn told(&self) -> Cow<'_, str> {
        match &self.speaker {
            None => self.text.as_str().into(),
            // Quotation marks in quotation marks tell less than none.
            Some(who) if self.text.contains(['“', '"']) => format!("{who}: {}", self.text).into(),
            Some(who) => format!("{who}: “{}”", self.text).into(),
        }
    }

    /// The citations, in the order shown.
    pub fn citations(&self) -> &[Citation] {
        &self.citations
    }
}
