//! Weighs the pages that earlier runs of the thread have read against the new plan, before any search.
use crate::cover::CoverContext;
use crate::llm_session::LlmSession;
use crate::run_context::RunContext;
use crate::weigh;
use ibid_core::Result;
use ibid_core::domain::{EvidenceGate, Source, SourceId};
use ibid_core::record::{Event, Phase};

use super::names;
use super::research_loop::ResearchLoop;

impl ResearchLoop<'_> {
    /// Adds the known pages and their sources to the state and weighs them, without searching or fetching.
    pub(crate) async fn recall_known_pages(&mut self, llm: &mut LlmSession<'_>) -> Result<()> {
        let known = &self.ctx.providers.known;
        if known.is_empty() {
            return Ok(());
        }
        let RunContext { log, question, brief, .. } = self.ctx;
        // How many sites there are is unknown before the first search, so the gate's minimum is assumed.
        let independent_sources = self.assumed_sites();
        let state = &mut self.state;
        log.set_phase(Phase::Research, None);
        let mut fresh = Vec::new();
        for (source, page) in known {
            let id = SourceId::new(state.notes.sources.len() as u32 + 1);
            let source = Source { id, trust: None, copy_of: None, ..source.clone() };
            state.pages.add_known(&source, page);
            state.notes.sources.push(source);
            fresh.push(id);
        }
        let round = weigh::WeighContext {
            log,
            question,
            brief,
            fresh: &fresh,
            round: 0,
            chunks: None,
            ranker: Some(self.ctx.providers.ranker.as_ref()),
        };
        let scorer = &mut self.scorer;
        let found = weigh::weigh(llm, &round, scorer, state).await?;
        log.emit(Event::KnownWeighed { sources: state.notes.sources.clone(), evidence: found });
        let coverage = &mut self.coverage;
        let cover = CoverContext { brief, notes: &state.notes, round: 0 };
        coverage.update(cover, scorer, independent_sources)?;
        let policy = self.targets.policy();
        names::learn_names(policy, brief, &state.notes, state.notes.evidence.iter());
        coverage.judge(llm, cover, policy).await?;
        coverage.emit(log);
        state.coverage = coverage.final_rows();
        state.gate =
            EvidenceGate::from_settings(&question.method).judge(&state.notes, independent_sources);
        log.emit(Event::GateJudged { verdict: state.gate.clone() });
        self.known_gate = Some(state.gate.clone());
        log.flush().await
    }

    /// How many sites there are as long as no search has told.
    pub(super) fn assumed_sites(&self) -> u32 {
        self.ctx.question.method.min_source_domains.max(2)
    }

    /// Whether the known pages are enough, so that no search is needed.
    pub(super) fn is_known_enough(&self) -> bool {
        !self.coverage.rows.is_empty() && self.is_good()
    }
}
