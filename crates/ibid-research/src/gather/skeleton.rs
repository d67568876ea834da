//! The skeleton draft: after each round, what the report could say so far, in the words of its sources.
//!
//! A reader sees it at once, and what it lacks decides the next searches, as in test-time diffusion (Han and others 2025): missing and
//! weak sentences are the gaps of the coverage, and contradictory ones are added here.
use crate::heuristic::compose::compose_report;
use crate::query_policy::add_subject;
use crate::run_context::RunContext;
use crate::write::emit_draft;
use ibid_core::Result;
use ibid_core::domain::OutputMode;

use super::research_loop::ResearchLoop;

impl ResearchLoop<'_> {
    /// Emits the skeleton draft of a report that a model will write, and notes its disputes without a known reason. Without a model
    /// the report itself is there as soon.
    pub(super) fn draft_skeleton(&mut self) -> Result<()> {
        let RunContext { log, question, brief, .. } = self.ctx;
        if question.mode != OutputMode::Report || !self.has_writer {
            return Ok(());
        }
        let draft = compose_report(question, brief, &self.state, &mut self.scorer)?;
        let Some(draft) = draft else {
            return Ok(());
        };
        emit_draft(log, &draft);
        let unexplained = draft.conflicts.iter().filter(|conflict| conflict.likely.is_none());
        let open = unexplained
            .filter_map(|conflict| {
                let about = conflict.about.trim_matches(['“', '”', '…', ' ']);
                let words = self.targets.policy().narrow(about)?;
                Some((conflict.item, add_subject(brief, words)))
            })
            .collect();
        self.disputes.set(open);
        Ok(())
    }
}
