//! The planned strategy: a few search tasks; every source is scored against the question; the best are read
//! whole and the next by their best chunks. What is missing is searched for while writing, or here if no
//! model writes.
use crate::llm_session::{LlmSession, LlmStep};
use crate::next_searches::PAGES_PER_REFINEMENT;
use ibid_core::Result;
use ibid_core::domain::{
    Coverage, ItemStatus, ModelRole, SearchEndpoint, SearchTask, StopReason, Variation,
};

use super::research_loop::ResearchLoop;

/// Maximum number of searches of a refinement.
const MAX_GAP_TASKS: usize = 2;

/// Runs one round of search tasks, then refinement. Returns why it ended.
pub(super) async fn gather(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
) -> Result<StopReason> {
    let method = &research.ctx.question.method;
    let most = method.max_initial_search_tasks.max(1) as usize;
    let pages = (method.top_m_full_text_sources + method.next_k_chunked_sources) as usize;
    let refinements = method.max_refinement_iterations;
    let max_rounds = method.max_iterations;
    let mut tasks = research.state.notes.plan.search_tasks.clone();
    if tasks.is_empty() {
        tasks = tasks_from_items(research);
    }
    tasks.truncate(most);
    let next = research.queries_for_tasks(&tasks, Variation::Original);
    let mut round = research.run_round(llm, next, Some(pages.max(1))).await?;
    // A writer asks for what it lacks; without a writer, the gaps are searched for here.
    let writer = llm.role_model(LlmStep::Write, ModelRole::Writer).is_some();
    let refinements = if writer { 0 } else { refinements };
    for _ in 0..refinements {
        if research.is_good() || research.state.rounds >= max_rounds {
            break;
        }
        if round.cut || research.is_spent() {
            return Ok(research.stop_out_of_calls());
        }
        if let Some(reason) = research.check_stop(llm).await? {
            return Ok(reason);
        }
        let tasks = gap_tasks(research);
        let next = research.queries_for_tasks(&tasks, Variation::Gap);
        if next.is_empty() {
            return Ok(StopReason::NoNewEvidence);
        }
        round = research.run_round(llm, next, Some(PAGES_PER_REFINEMENT)).await?;
        if round.new == 0 {
            return Ok(StopReason::NoNewEvidence);
        }
    }
    Ok(if research.is_good() { StopReason::CoverageReached } else { StopReason::MaxIterations })
}

/// Search tasks for a plan that has none: one for each open item, the second in the scholarly record.
fn tasks_from_items(research: &ResearchLoop<'_>) -> Vec<SearchTask> {
    let heart =
        if research.targets.has_news() { SearchEndpoint::News } else { SearchEndpoint::Search };
    let items = research.state.notes.plan.items().iter();
    let open =
        |item: &&ibid_core::domain::ChecklistItem| research.status(item.id) != ItemStatus::Done;
    let items = items.filter(open).enumerate();
    let task = |(nth, item): (usize, &ibid_core::domain::ChecklistItem)| SearchTask {
        query: item.query.clone(),
        endpoint: match nth {
            0 => heart,
            1 if research.targets.is_scholarly() => SearchEndpoint::Scholar,
            _ => SearchEndpoint::Search,
        },
        num_results: research.ctx.question.method.results_per_query,
        reasoning: item.asks.clone(),
    };
    items.map(task).collect()
}

/// Search tasks for what the items lack, worst item first.
fn gap_tasks(research: &ResearchLoop<'_>) -> Vec<SearchTask> {
    let mut rows: Vec<_> = research.coverage.rows.iter().collect();
    rows.retain(|row| matches!(row.state, Coverage::Open | Coverage::Partial));
    rows.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.id.cmp(&b.id)));
    let query = |row: &&ibid_core::domain::CoverageRow| research.coverage.gaps.get(&row.id);
    let task = |query: &str| SearchTask {
        query: query.to_owned(),
        endpoint: SearchEndpoint::Search,
        num_results: research.ctx.question.method.results_per_query,
        reasoning: "the items lack it".to_owned(),
    };
    rows.iter().filter_map(query).map(|it| task(&it.query)).take(MAX_GAP_TASKS).collect()
}
