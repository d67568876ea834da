//! Searches by the question's own words while a model refines the question and plans, and reads the best pages.
//!
//! What the plan then asks for is not sent again, and pages already read are weighed with those of the first round. The user
//! sees quotes within seconds, as a draft that the first round replaces.
use crate::cover::CoverContext;
use crate::heuristic::queries::QueryBuilder;
use crate::intake;
use crate::page_set::PageSet;
use crate::plan;
use crate::read;
use crate::run_context::RunContext;
use crate::search::{self, HitPool};
use crate::weigh;
use crate::write::best_first;
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{
    EvidenceGate, EvidenceId, ModelRole, Plan, Question, Source, SourceId, Usage,
};
use ibid_core::ports::{EventLog, Providers};

use super::research_loop::ResearchLoop;
use super::search_budget::{folder_count, record_queries, trim_to_budget};

/// Items of the heuristic plan that are searched for, each in its own words.
const MAX_ITEMS: usize = 2;
/// Maximum number of pages that are read.
const MAX_PAGES: usize = 8;
/// A limited budget is spent on it by at most one part in this many.
const BUDGET_PARTS: u64 = 4;

/// What was found before there was a plan.
pub(crate) struct Prefetch {
    hits: HitPool,
    pages: PageSet,
    sources: Vec<Source>,
    usage: Usage,
    queries: Vec<String>,
}

impl Prefetch {
    /// The stems of the words of the pages that were read, and of their titles.
    pub(crate) fn words(&self) -> BTreeSet<String> {
        let pages = self.sources.iter().filter_map(|source| self.pages.page(source));
        pages
            .flat_map(|page| [page.title.as_str(), page.text().expose()])
            .flat_map(content_stems)
            .collect()
    }
}

/// Searches for `question` and reads the best pages; `None` where the plan is there at once, the user may still change what is
/// asked, or earlier runs have read pages that may be enough.
///
/// # Errors
/// `Cancelled`. Searches and pages that fail are left to the first round.
pub(crate) async fn prefetch(
    providers: &Providers,
    log: &EventLog,
    question: &Question,
) -> Result<Option<Prefetch>> {
    let waits_for_model = providers.models.get(ModelRole::Planner).is_some();
    let is_asked_back = question.approve || question.clarify;
    let continues = question.follows.is_some() || !question.dialogue.is_empty();
    if !waits_for_model
        || is_asked_back
        || continues
        || question.given.is_some()
        || !providers.known.is_empty()
    {
        return Ok(None);
    }
    let brief = intake::refine_by_heuristics(question)?;
    let plan = plan::build_heuristic_plan(&brief)?;
    let ctx = RunContext { providers, log, question, brief: &brief };
    let mut research = ResearchLoop::new(ctx, plan)?;
    research.run_ahead().await?;
    Ok(Some(research.into_prefetch()))
}

impl<'a> ResearchLoop<'a> {
    /// The state of gathering after a prefetch: its hits, pages and usage, and no evidence.
    pub(crate) fn after_prefetch(
        ctx: RunContext<'a>,
        plan: Plan,
        found: Option<Prefetch>,
    ) -> Result<ResearchLoop<'a>> {
        let mut research = ResearchLoop::new(ctx, plan)?;
        if let Some(found) = found {
            research.hits = found.hits;
            let state = &mut research.state;
            state.pages = found.pages;
            state.notes.sources = found.sources;
            state.usage = found.usage;
            state.queries = found.queries;
        }
        Ok(research)
    }

    fn into_prefetch(mut self) -> Prefetch {
        self.hits.stop_keeping();
        let state = self.state;
        Prefetch {
            hits: self.hits,
            pages: state.pages,
            sources: state.notes.sources,
            usage: state.usage,
            queries: state.queries,
        }
    }

    /// Searches, reads, and drafts what the pages say.
    async fn run_ahead(&mut self) -> Result<()> {
        // Outside engines wait for the plan where folders may be enough.
        if let Some((folders, _)) = self.targets.split() {
            self.targets = folders;
        }
        let ctx = self.ctx;
        let budget = &ctx.question.budget;
        let plan = &self.state.notes.plan;
        let first = plan.items()[0].id;
        let asked: Vec<_> = plan.items().iter().take(MAX_ITEMS).map(|item| item.id).collect();
        let mut queries = QueryBuilder {
            targets: &self.targets,
            question: ctx.question,
            sent_queries: &mut self.sent_queries,
        };
        let mut next = queries.first_round(ctx.brief, plan, 1)?;
        next.retain(|query| asked.contains(&query.item));
        // Searches and reads share the calls; each has its own limit beside them.
        let room = |own: Option<u64>, calls_made: u64| {
            let calls = budget.calls.map(|most| (most / BUDGET_PARTS).saturating_sub(calls_made));
            let limits = [own.map(|most| most / BUDGET_PARTS), calls];
            limits.into_iter().flatten().min().map_or(usize::MAX, |room| room as usize)
        };
        next.truncate(room(budget.searches, 0));
        trim_to_budget(ctx.question, &self.state.usage, &mut next, folder_count(ctx.providers));
        // The item of the question itself is the only one that every plan has.
        next.iter_mut().for_each(|query| query.item = first);
        if next.is_empty() {
            return Ok(());
        }
        self.hits = HitPool::keeping_answers();
        record_queries(&mut self.state.queries, &next);
        // If nothing can be reached, the first round says so.
        search::run_queries(ctx, &next, &mut self.hits, &mut self.state.usage).await?;
        ctx.log.flush().await?;
        let room = room(budget.pages, self.state.usage.calls()).min(MAX_PAGES);
        let wanted = self.hits.choose_to_read(ctx, &[first], &self.state.pages, room).await?;
        let keys: Vec<String> = wanted.iter().map(|hit| hit.key().to_owned()).collect();
        let wanted = wanted.into_iter().map(|hit| (hit, None)).collect();
        let fresh = read::read_pages_as(ctx, wanted, &mut self.state).await?;
        self.draft_from_words(&fresh.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
        for (nth, source) in fresh {
            self.state.pages.add_prefetched(&keys[nth], source);
        }
        ctx.log.flush().await
    }

    /// Emits a draft of what the words alone find on the pages. The evidence is not recorded: it is for a plan that no one sees.
    fn draft_from_words(&mut self, fresh: &[SourceId]) -> Result<()> {
        let RunContext { log, question, brief, .. } = self.ctx;
        let state = &mut self.state;
        let round = weigh::WeighContext {
            log,
            question,
            brief,
            fresh,
            round: 1,
            chunks: None,
            ranker: None,
        };
        self.scorer.learn_synonyms(&self.hits.synonyms);
        let found =
            weigh::find_evidence_by_words(&round, &mut self.scorer, &state.notes, &state.pages)?;
        if found.is_empty() {
            return Ok(());
        }
        for mut evidence in found {
            evidence.id = EvidenceId::new(state.notes.evidence.len() as u32 + 1);
            state.notes.evidence.push(evidence);
        }
        let domains = self.hits.domain_count();
        let cover = CoverContext { brief, notes: &state.notes, round: 1 };
        self.coverage.update(cover, &mut self.scorer, domains)?;
        state.coverage = self.coverage.final_rows();
        state.gate = EvidenceGate::from_settings(&question.method).judge(&state.notes, domains);
        let best = best_first(&state.notes, state.notes.evidence.iter());
        state.outline.update(&state.notes.plan, &best, &state.coverage);
        self.draft_skeleton()
    }
}
