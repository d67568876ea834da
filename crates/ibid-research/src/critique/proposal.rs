//! What a critic proposes, and what it is about.
use ibid_core::domain::{Critic, EvidenceId, EvidenceStore};

use crate::draft::{DraftLine, ReportDraft};
use crate::outline::Outline;

/// What was found for a draft.
#[derive(Clone, Copy)]
pub(super) struct DraftResearch<'a> {
    pub(super) notes: &'a EvidenceStore,
    pub(super) outline: &'a Outline,
}

/// An objection with the patch that would mend it.
pub(super) struct ProposedPatch {
    pub(super) critic: Critic,
    /// The model that proposes it; code if `None`.
    pub(super) by: Option<String>,
    /// The section it is about, by its title; `None` for the short answer.
    pub(super) section: Option<String>,
    pub(super) why: String,
    pub(super) change: DraftChange,
}

/// A change of a draft. Sections are named by their titles.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DraftChange {
    /// Adds the quote of evidence to a section.
    AddQuote { evidence: EvidenceId, to: String },
    /// Removes a sentence.
    Remove(DraftLine),
    /// Moves a sentence to the end of a section.
    Move { line: DraftLine, to: String },
    /// Begins the short answer with a sentence.
    Lead(DraftLine),
}

/// The lines of the sections, each with the title of its section.
pub(super) fn section_lines(draft: &ReportDraft) -> impl Iterator<Item = (&str, &DraftLine)> {
    draft.sections.iter().flat_map(|section| {
        let lines = section.paragraphs.iter().flatten();
        lines.map(|line| (section.title.as_str(), line))
    })
}

/// Whether a line of the draft cites `evidence`.
pub(super) fn is_cited(draft: &ReportDraft, evidence: EvidenceId) -> bool {
    let sections = section_lines(draft).map(|pair| pair.1);
    let findings = draft.findings.iter().map(|finding| &finding.0);
    let sides = draft.conflicts.iter().flat_map(|it| it.sides.iter().map(|side| &side.1));
    let mut lines = draft.short.iter().chain(sections).chain(findings).chain(sides);
    lines.any(|line| line.evidence.contains(&evidence))
}
