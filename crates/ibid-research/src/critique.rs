//! Criticises a draft from three sides and mends it with patches.
//!
//! A patch adds a quote, removes a sentence or moves it. It never changes the words of a sentence, so what was checked stays checked.
//! Critics side by side whose edits are patches are the method of `TrajectoryKit`; see `DESIGN.md`.
mod by_code;
mod by_model;
mod patch;
mod proposal;

use ibid_core::Result;
use ibid_core::domain::{Objection, OutputMode, PatchOutcome};
use ibid_core::record::Event;

use super::draft::ReportDraft;
use super::gather::ResearchLoop;
use super::heuristic::compose::max_words;
use super::llm_session::LlmSession;
use patch::DraftPatcher;
use proposal::{DraftChange, DraftResearch};

/// Maximum number of rounds.
const MAX_ROUNDS: u32 = 2;

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
    let bound = question.method.final_report_max_length;
    let most = (bound > 0).then(|| max_words(bound));
    let mut rejected: Vec<DraftChange> = Vec::new();
    for round in 1..=MAX_ROUNDS {
        let found =
            DraftResearch { notes: &research.state.notes, outline: &research.state.outline };
        let mut proposed = by_code::object(&draft, &question.text, found, &mut research.scorer);
        if round <= question.method.critique_rounds {
            proposed
                .extend(by_model::object(llm, research.ctx, &research.state.notes, &draft).await?);
        }
        proposed.retain(|it| !rejected.contains(&it.change));
        if proposed.is_empty() {
            break;
        }
        let patcher = DraftPatcher::new(found, &mut research.scorer, draft);
        let mut patcher = patcher.within(most);
        let changes: Vec<DraftChange> = proposed.iter().map(|it| it.change.clone()).collect();
        let objections = patcher.apply_all(proposed)?;
        draft = patcher.into_draft();
        let is_rejected = |it: &Objection| matches!(it.outcome, PatchOutcome::Rejected { .. });
        let changed = objections.iter().any(|it| !is_rejected(it));
        let pairs = changes.into_iter().zip(&objections);
        rejected.extend(pairs.filter(|pair| is_rejected(pair.1)).map(|pair| pair.0));
        research.ctx.log.emit(Event::DraftCriticized { round, objections });
        if !changed {
            break;
        }
    }
    Ok(draft)
}

#[cfg(test)]
mod tests;
