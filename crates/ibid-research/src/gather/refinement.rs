//! The searches of the rounds after the first: for what a writer lacks, and what items lack.
use crate::heuristic::queries::{QueryBuilder, QueryText};
use crate::llm_session::LlmSession;
use crate::next_searches;
use crate::next_searches::PAGES_PER_REFINEMENT;
use crate::query_policy::add_subject;
use ibid_core::Result;
use ibid_core::domain::words::stem_overlap;
use ibid_core::domain::{ChecklistItem, Coverage, Plan, Query, SearchTask, Variation};
use ibid_core::ports::CheckpointDecision;
use ibid_core::record::Event;

use super::research_loop::ResearchLoop;

/// Maximum number of queries for the gap of one item in a round.
const MAX_GAP_QUERIES: u32 = 3;

impl ResearchLoop<'_> {
    /// Runs one more round for what a writer lacks. Returns whether it found anything. `nth` counts these rounds from 1.
    pub(crate) async fn refine_round(
        &mut self,
        llm: &mut LlmSession<'_>,
        wanted: &[SearchTask],
        nth: u32,
    ) -> Result<bool> {
        if self.is_spent() || self.state.rounds >= self.ctx.question.method.max_iterations {
            return Ok(false);
        }
        let step = format!("refine-{nth}");
        if let CheckpointDecision::Finish(reason) =
            self.ctx.providers.steering.checkpoint(&step).await?
        {
            self.ctx.log.emit(Event::RunFinishing { reason });
            return Ok(false);
        }
        let policy = self.targets.policy();
        // The writer was shown pages, so its words are searched for only as far as the policy allows.
        let permitted = wanted.iter().filter_map(|task| {
            let query = add_subject(self.ctx.brief, policy.narrow(&task.query)?);
            Some(SearchTask { query, ..task.clone() })
        });
        let tasks: Vec<SearchTask> = permitted.collect();
        let next = self.queries_for_tasks(&tasks, Variation::Gap);
        if next.is_empty() {
            return Ok(false);
        }
        self.is_refining = true;
        let round = self.run_round(llm, next, Some(PAGES_PER_REFINEMENT)).await?;
        Ok(round.new > 0)
    }

    /// The new queries of search tasks, each assigned to the nearest item.
    pub(super) fn queries_for_tasks(
        &mut self,
        tasks: &[SearchTask],
        variation: Variation,
    ) -> Vec<Query> {
        let mut next = Vec::new();
        for task in tasks {
            let Some(item) = nearest_item(&self.state.notes.plan, &task.query) else {
                continue;
            };
            let mut queries = QueryBuilder {
                targets: &self.targets,
                question: self.ctx.question,
                sent_queries: &mut self.sent_queries,
            };
            next.extend(queries.for_task(item, task, variation));
        }
        next
    }

    /// Queries for every item that is not covered, and for what the sources of the draft disagree on. Emits the gap of each.
    pub(super) async fn gap_queries(&mut self, llm: &mut LlmSession<'_>) -> Result<Vec<Query>> {
        let ctx = self.ctx;
        let disputes = self.disputes.take();
        let (state, targets, hits) = (&self.state, &self.targets, &self.hits);
        let (plan, policy) = (&state.notes.plan, targets.policy());
        let rows = &self.coverage.rows;
        let proposed = next_searches::propose_queries(llm, ctx.brief, targets, state, rows).await?;
        let has_private_word = |word: &str| {
            state.pages.has_private_word(&state.notes, word) || hits.has_private_word(word)
        };
        let mut queries =
            QueryBuilder { targets, question: ctx.question, sent_queries: &mut self.sent_queries };
        let most = self.limits.breadth.min(MAX_GAP_QUERIES);
        let mut next = Vec::new();
        for row in rows {
            if !matches!(row.state, Coverage::Open | Coverage::Partial) {
                continue;
            }
            let (Some(item), Some(gap)) = (plan.item(row.id), self.coverage.gaps.get(&row.id))
            else {
                continue;
            };
            ctx.log.emit(Event::GapFound {
                item: row.id,
                gap: gap.text.clone(),
                gap_query: gap.query.clone(),
            });
            // The model was shown no page, so its own words may be searched for.
            let item_queries = proposed.iter().filter(|query| query.item == item.id);
            let texts = item_queries.filter_map(|query| {
                if let Some(syntax) = &query.pubmed {
                    policy.narrow_own_query(syntax, &has_private_word);
                }
                Some(QueryText {
                    variation: query.variation,
                    text: add_subject(
                        ctx.brief,
                        policy.narrow_own_query(&query.query, &has_private_word)?,
                    ),
                    pubmed: query.pubmed.clone(),
                })
            });
            let by_model = queries.for_texts(item, texts.collect(), most);
            if by_model.is_empty() {
                let met = state.pages.title_names(ctx.brief, &state.notes, policy);
                next.extend(queries.for_gap(item, &gap.query, &met, most));
            }
            next.extend(by_model);
        }
        for (id, text) in &disputes {
            if let Some(item) = plan.item(*id) {
                ctx.log.emit(Event::GapFound {
                    item: *id,
                    gap: "the sources of the draft disagree, and none says why".to_owned(),
                    gap_query: text.clone(),
                });
                next.extend(queries.for_gap(item, text, &[], 1));
            }
        }
        Ok(next)
    }
}

/// The item whose words are nearest to a query.
fn nearest_item<'p>(plan: &'p Plan, query: &str) -> Option<&'p ChecklistItem> {
    let near = |it: &ChecklistItem| stem_overlap(query, &format!("{} {}", it.asks, it.query));
    let items = plan.items().iter();
    items.reduce(|best, it| if near(it) > near(best) { it } else { best })
}
