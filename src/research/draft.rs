//! What writing hands to checking: lines, each with the evidence that carries it.
use crate::domain::{ConfidenceMark, EvidenceId, ItemId, OpenPoint};

/// A sentence and the evidence it rests on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) evidence: Vec<EvidenceId>,
}

/// One section as drafted.
pub(crate) struct DraftSection {
    pub(crate) title: String,
    pub(crate) item: ItemId,
    pub(crate) paragraphs: Vec<Vec<Line>>,
}

/// Sources that disagree, as drafted: what each side says and where.
pub(crate) struct DraftConflict {
    pub(crate) about: String,
    pub(crate) item: ItemId,
    pub(crate) sides: Vec<(String, Line)>,
    pub(crate) likely: Option<String>,
}

/// The report before it is checked: nothing is numbered, nothing is struck.
pub(crate) struct Draft {
    pub(crate) title: String,
    pub(crate) short: Vec<Line>,
    pub(crate) confidence: ConfidenceMark,
    pub(crate) answer: Option<Line>,
    /// Whether code made the answer of a quote, and no model wrote it.
    pub(crate) answer_by_code: bool,
    pub(crate) findings: Vec<(Line, ConfidenceMark)>,
    pub(crate) sections: Vec<DraftSection>,
    pub(crate) conflicts: Vec<DraftConflict>,
    pub(crate) open: Vec<OpenPoint>,
    /// Sentences that did not hold and gave way to their quotes.
    pub(crate) reworded: u32,
    /// Searches that the writer asks for, to write again with what they find.
    pub(crate) more: Vec<String>,
}
