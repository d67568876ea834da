//! The draft that writing hands to checking: lines, each with its evidence.
use ibid_core::domain::{
    ConfidenceMark, ConflictCause, EvidenceId, ItemId, OpenItem, SearchTask, SectionLayout, YesNo,
};

/// A sentence and the evidence it rests on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftLine {
    pub(crate) text: String,
    pub(crate) evidence: Vec<EvidenceId>,
}

/// One section as drafted.
#[derive(Clone)]
pub(crate) struct DraftSection {
    pub(crate) title: String,
    pub(crate) item: Option<ItemId>,
    pub(crate) layout: SectionLayout,
    pub(crate) paragraphs: Vec<Vec<DraftLine>>,
}

/// The figures of several things side by side, as drafted.
pub(crate) struct DraftComparison {
    /// The names of the columns; the first is of the labels.
    pub(crate) columns: Vec<String>,
    /// The label of each row and its cells, which have several lines or none.
    pub(crate) rows: Vec<(String, Vec<Vec<DraftLine>>)>,
    /// Whether its rows are the measures, and not its columns.
    pub(crate) by_row: bool,
    /// The column of the figures that were asked for.
    pub(crate) asked: Option<usize>,
    /// Whether its rows are dated events, in the order of their dates.
    pub(crate) is_time_line: bool,
}

/// Sources that disagree, as drafted: each side's statement and its line.
pub(crate) struct DraftConflict {
    pub(crate) about: String,
    pub(crate) item: ItemId,
    pub(crate) sides: Vec<(String, DraftLine)>,
    pub(crate) likely: Option<LikelyReason>,
}

/// A likely reason of a conflict.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LikelyReason {
    pub(crate) cause: ConflictCause,
    pub(crate) text: String,
}

/// What code answered before a model's answer took its place, to go back to if that does not hold.
pub(crate) struct ReplacedAnswer {
    /// The model's answer.
    pub(crate) by: DraftLine,
    pub(crate) short: Vec<DraftLine>,
    pub(crate) verdict: Option<YesNo>,
    pub(crate) nearest_only: bool,
    pub(crate) confidence: ConfidenceMark,
    pub(crate) answer: Option<DraftLine>,
}

impl ReportDraft {
    /// A draft that code wrote from quotes, with a short answer alone.
    pub(crate) fn by_code(
        title: String,
        short: Vec<DraftLine>,
        confidence: ConfidenceMark,
    ) -> ReportDraft {
        ReportDraft {
            title,
            short,
            verdict: None,
            nearest_only: false,
            short_list: Vec::new(),
            confidence,
            introduction: Vec::new(),
            conclusion: Vec::new(),
            conclusion_by_code: true,
            answer: None,
            answer_by_code: true,
            replaced_answer: None,
            findings: Vec::new(),
            comparison: None,
            sections: Vec::new(),
            other_drafts: Vec::new(),
            conflicts: Vec::new(),
            open: Vec::new(),
            reworded: 0,
            more: Vec::new(),
        }
    }

    /// Answers as code did, if the answer that took its place is one of the `faulty` lines.
    pub(crate) fn restore_answer(&mut self, faulty: &[DraftLine]) {
        if let Some(own) = self.replaced_answer.take_if(|it| faulty.contains(&it.by)) {
            self.short = own.short;
            self.verdict = own.verdict;
            self.nearest_only = own.nearest_only;
            self.confidence = own.confidence;
            self.answer = own.answer;
            self.answer_by_code = true;
        }
    }
}

/// The report before it is checked: nothing is numbered or removed yet.
pub(crate) struct ReportDraft {
    pub(crate) title: String,
    pub(crate) short: Vec<DraftLine>,
    /// Yes or no, where code saw it in the sources.
    pub(crate) verdict: Option<YesNo>,
    /// Whether the short answer is only what comes nearest to an answer.
    pub(crate) nearest_only: bool,
    /// The lines of the short answer that code made, if they are members of a list that no section repeats.
    pub(crate) short_list: Vec<DraftLine>,
    pub(crate) confidence: ConfidenceMark,
    pub(crate) introduction: Vec<DraftLine>,
    /// What several sources say together.
    pub(crate) conclusion: Vec<DraftLine>,
    /// Whether code drew the conclusion from quotes, and not a model.
    pub(crate) conclusion_by_code: bool,
    pub(crate) answer: Option<DraftLine>,
    /// Whether code made the answer from a quote, and not a model.
    pub(crate) answer_by_code: bool,
    /// What code answered, if a model's answer took its place.
    pub(crate) replaced_answer: Option<ReplacedAnswer>,
    pub(crate) findings: Vec<(DraftLine, ConfidenceMark)>,
    pub(crate) comparison: Option<DraftComparison>,
    pub(crate) sections: Vec<DraftSection>,
    /// The same sections as other drafts have them, to be merged by a verifier.
    pub(crate) other_drafts: Vec<Vec<DraftSection>>,
    pub(crate) conflicts: Vec<DraftConflict>,
    pub(crate) open: Vec<OpenItem>,
    /// How many sentences did not hold and were replaced by their quotes.
    pub(crate) reworded: u32,
    /// Searches that the writer asks for, to write again with their results.
    pub(crate) more: Vec<SearchTask>,
}
