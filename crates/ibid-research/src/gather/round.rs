//! One round of research: search, read, weigh, and see what is covered.
use crate::cover::CoverContext;
use crate::heuristic::queries::{QueryBuilder, QueryText};
use crate::llm_session::LlmSession;
use crate::multi_hop::{asks_for_names, names_role};
use crate::read;
use crate::run_context::RunContext;
use crate::search;
use crate::weigh;
use crate::write::best_first;
use ibid_core::Result;
use ibid_core::domain::{EvidenceGate, ItemId, ItemStatus, Query, Variation};
use ibid_core::record::{Event, Phase};

use super::answer_form;
use super::names;
use super::research_loop::{NoteQuality, ResearchLoop};
use super::search_budget::{
    ensure_any_answered, folder_count, query_items, record_queries, trim_to_budget,
};

/// What a round brought.
pub(super) struct RoundOutcome {
    /// Whether searches were dropped because the budget had no room for them.
    pub(super) cut: bool,
    /// How much evidence was found.
    pub(super) new: u32,
}

impl ResearchLoop<'_> {
    /// Searches, reads, weighs and updates coverage. Reads at most `pages`, or as many as the settings allow.
    pub(super) async fn run_round(
        &mut self,
        llm: &mut LlmSession<'_>,
        mut next: Vec<Query>,
        pages: Option<usize>,
    ) -> Result<RoundOutcome> {
        let ctx = self.ctx;
        let items = query_items(&next);
        let folders = folder_count(ctx.providers);
        let cut = trim_to_budget(ctx.question, &self.state.usage, &mut next, folders);
        let round = self.begin_round(items.clone(), next.len());
        let (state, hits) = (&mut self.state, &mut self.hits);
        record_queries(&mut state.queries, &next);
        let fault = search::run_queries(ctx, &next, hits, &mut state.usage).await?;
        ctx.log.flush().await?;
        ensure_any_answered(fault, hits, &state.usage)?;
        self.follow_names(&items).await?;

        let room = pages.unwrap_or_else(|| self.page_limit(&items, &next));
        let wanted = self.hits.choose_to_read(ctx, &items, &self.state.pages, room).await?;
        let mut fresh = read::read_pages(ctx, wanted, &mut self.state).await?;
        // What was read before there was a plan has been shown to the user, so it is weighed even where it was not chosen.
        fresh.extend(self.state.pages.take_all_prefetched());
        ctx.log.flush().await?;
        let round = weigh::WeighContext {
            log: ctx.log,
            question: ctx.question,
            brief: ctx.brief,
            fresh: &fresh,
            round,
            chunks: None,
            ranker: Some(ctx.providers.ranker.as_ref()),
        };
        self.scorer.learn_synonyms(&self.hits.synonyms);
        let new = weigh::weigh(llm, &round, &mut self.scorer, &mut self.state).await?;
        self.end_round(llm, new, fresh.len() as u32).await?;
        Ok(RoundOutcome { cut, new })
    }

    /// Begins a round. Returns its number.
    pub(super) fn begin_round(&mut self, items: Vec<ItemId>, queries: usize) -> u32 {
        self.state.rounds += 1;
        self.ctx.log.set_phase(Phase::Research, Some(self.state.rounds));
        for item in &items {
            self.set_status(*item, ItemStatus::InProgress);
        }
        self.ctx.log.emit(Event::RoundStarted { items, queries: queries as u32 });
        self.state.rounds
    }

    /// Ends a round: updates coverage, the gate, and the gain.
    pub(super) async fn end_round(
        &mut self,
        llm: &mut LlmSession<'_>,
        new: u32,
        sources: u32,
    ) -> Result<()> {
        let (more, pages) = self.follow_cited_sources(llm).await?;
        let (new, sources) = (new + more, sources + pages);
        let RunContext { log, question, brief, .. } = self.ctx;
        let known_gate = self.known_gate.take();
        let domains = match self.hits.domain_count() {
            0 if known_gate.is_some() => self.assumed_sites(),
            found => found,
        };
        let state = &mut self.state;
        log.emit(Event::BudgetUpdated { usage: state.usage.with_models(&llm.usage()) });
        let coverage = &mut self.coverage;
        let cover = CoverContext { brief, notes: &state.notes, round: state.rounds };
        coverage.update(cover, &mut self.scorer, domains)?;
        let policy = self.targets.policy();
        let fresh = state.notes.evidence.iter();
        let fresh = fresh.filter(|it| it.round == state.rounds);
        names::learn_names(policy, brief, &state.notes, fresh);
        if self.is_refining {
            coverage.judge_by_evidence(cover, policy)?;
        } else {
            coverage.judge(llm, cover, policy).await?;
        }
        answer_form::check_answer_form(brief, &state.notes, &state.pages, coverage)?;
        coverage.emit(log);
        state.coverage = coverage.final_rows();
        state.gate = EvidenceGate::from_settings(&question.method).judge(&state.notes, domains);
        // A round that found nothing beside what was known is judged alike.
        if known_gate.as_ref() != Some(&state.gate) {
            log.emit(Event::GateJudged { verdict: state.gate.clone() });
        }
        let best = best_first(&state.notes, state.notes.evidence.iter());
        let edits = state.outline.update(&state.notes.plan, &best, &state.coverage);
        log.emit(Event::OutlineUpdated { edits, sections: state.outline.sections().to_vec() });
        for row in state.coverage.clone() {
            self.set_status_from_row(&row);
        }
        self.draft_skeleton()?;
        log.emit(Event::RoundFinished { new_evidence: new, new_sources: sources });
        let notes = &self.state.notes;
        let now = NoteQuality {
            covered: self.coverage.ratio(),
            scores: self.coverage.rows.iter().map(|row| row.score).sum(),
            domains: notes.domains(&notes.evidence).len() as u32,
        };
        let before = std::mem::replace(&mut self.quality, now);
        self.gain = NoteQuality {
            covered: now.covered - before.covered,
            scores: now.scores - before.scores,
            domains: now.domains.saturating_sub(before.domains),
        };
        log.flush().await
    }

    /// Most pages to read in a round, by its queries, its items and the budget.
    fn page_limit(&self, items: &[ItemId], queries: &[Query]) -> usize {
        let method = &self.ctx.question.method;
        let by_items = method.results_per_query.max(1) as usize * items.len().clamp(2, 5);
        let by_queries = match method.urls_per_query {
            0 => by_items,
            most => most as usize * queries.len().max(1),
        };
        let left = self.ctx.question.budget.pages.map_or(usize::MAX, |pages| pages as usize);
        by_items.min(by_queries).min(left)
    }

    /// Where the question asks for names, searches for those that the new hits lead to; as many as an item
    /// gets queries in a round.
    async fn follow_names(&mut self, items: &[ItemId]) -> Result<()> {
        let ctx = self.ctx;
        if !asks_for_names(&ctx.brief.question, ctx.brief.kind) {
            return Ok(());
        }
        let most = self.limits.breadth as usize;
        let mut next = Vec::new();
        for lead in self.hits.lead_names(&ctx.brief.question, items, most) {
            let Some(item) = self.state.notes.plan.item(lead.item) else {
                continue;
            };
            // A name from a private document is only searched for where that document is.
            let targets = match self.targets.policy().permit_lead(lead.hit, &lead.name) {
                (true, true) => self.targets.clone(),
                (true, false) => self.targets.folders_only(),
                _ => continue,
            };
            let mut queries = QueryBuilder {
                targets: &targets,
                question: ctx.question,
                sent_queries: &mut self.sent_queries,
            };
            // One word that is not known to be a person's name finds what was not asked.
            let is_bare = !lead.name.contains(' ') && !names_role(&ctx.brief.question);
            let text = match item.terms.first().filter(|_| is_bare) {
                Some(subject) => format!("{subject} {}", lead.name),
                None => lead.name,
            };
            let texts = vec![QueryText::new(Variation::Gap, text)];
            next.extend(queries.for_texts(item, texts, 1));
        }
        let usage = &mut self.state.usage;
        trim_to_budget(ctx.question, usage, &mut next, folder_count(ctx.providers));
        if next.is_empty() {
            return Ok(());
        }
        record_queries(&mut self.state.queries, &next);
        search::run_queries(ctx, &next, &mut self.hits, usage).await?;
        ctx.log.flush().await
    }
}
