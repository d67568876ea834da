//! Criticises a draft from three sides and mends it with patches.
//!
//! A patch adds a quote, removes a sentence or moves it. It never changes the words of a sentence, so what was checked stays checked.
//! Critics side by side whose edits are patches are the method of `TrajectoryKit`; see `DESIGN.md`.
mod by_code;
mod by_model;
mod patch;

use ibid_core::Result;
use ibid_core::domain::{Critic, EvidenceId, EvidenceStore, OutputMode, PatchOutcome};
use ibid_core::record::Event;

use super::draft::{DraftLine, ReportDraft};
use super::gather::ResearchLoop;
use super::llm_session::LlmSession;
use super::outline::Outline;
use patch::DraftPatcher;

/// Maximum number of rounds.
const MAX_ROUNDS: u32 = 2;

/// What was found for a draft.
#[derive(Clone, Copy)]
struct DraftResearch<'a> {
    notes: &'a EvidenceStore,
    outline: &'a Outline,
}

/// An objection with the patch that would mend it.
struct ProposedPatch {
    critic: Critic,
    /// The model that proposes it; code if `None`.
    by: Option<String>,
    /// The section it is about, by its title; `None` for the short answer.
    section: Option<String>,
    why: String,
    change: DraftChange,
}

/// A change of a draft. Sections are named by their titles.
enum DraftChange {
    /// Adds the quote of evidence to a section.
    AddQuote { evidence: EvidenceId, to: String },
    /// Removes a sentence.
    Remove(DraftLine),
    /// Moves a sentence to the end of a section.
    Move { line: DraftLine, to: String },
    /// Begins the short answer with a sentence.
    Lead(DraftLine),
}

/// Criticises a draft that a model wrote, in at most two rounds, and emits each objection with what became of it. Code criticises in
/// each round, and a model in the first `critique_rounds` of them.
pub(crate) async fn criticize(
    llm: &mut LlmSession<'_>,
    research: &mut ResearchLoop<'_>,
    mut draft: ReportDraft,
) -> Result<ReportDraft> {
    let question = research.ctx.question;
    if question.mode != OutputMode::Report || !research.has_writer {
        return Ok(draft);
    }
    for round in 1..=MAX_ROUNDS {
        let found =
            DraftResearch { notes: &research.state.notes, outline: &research.state.outline };
        let mut proposed = by_code::object(&draft, &question.text, found, &mut research.scorer);
        if round <= question.method.critique_rounds {
            proposed
                .extend(by_model::object(llm, research.ctx, &research.state.notes, &draft).await?);
        }
        if proposed.is_empty() {
            break;
        }
        let mut patcher = DraftPatcher::new(found, &mut research.scorer, draft);
        let objections = patcher.apply_all(proposed)?;
        draft = patcher.into_draft();
        let changed =
            objections.iter().any(|it| !matches!(it.outcome, PatchOutcome::Rejected { .. }));
        research.ctx.log.emit(Event::DraftCriticized { round, objections });
        if !changed {
            break;
        }
    }
    Ok(draft)
}

/// The lines of the sections, each with the title of its section.
fn section_lines(draft: &ReportDraft) -> impl Iterator<Item = (&str, &DraftLine)> {
    draft.sections.iter().flat_map(|section| {
        let lines = section.paragraphs.iter().flatten();
        lines.map(|line| (section.title.as_str(), line))
    })
}

/// Whether a line of the draft cites `evidence`.
fn is_cited(draft: &ReportDraft, evidence: EvidenceId) -> bool {
    let sections = section_lines(draft).map(|pair| pair.1);
    let findings = draft.findings.iter().map(|finding| &finding.0);
    let sides = draft.conflicts.iter().flat_map(|it| it.sides.iter().map(|side| &side.1));
    let mut lines = draft.short.iter().chain(sections).chain(findings).chain(sides);
    lines.any(|line| line.evidence.contains(&evidence))
}

#[cfg(test)]
mod tests;
