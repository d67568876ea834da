//! A planned report (rows A1 to A6): a few searches, every source scored against the question, the best read whole and the
//! next by their best chunks. What is still missing is asked for while writing (row A9), or here, where nobody writes.
use crate::domain::{Coverage, Endpoint, ItemStatus, ModelRole, SearchTask, StopReason, Variation};
use crate::error::Result;
use crate::research::aid::{Aid, Step};
use crate::research::searches::PAGES_OF_A_REFINEMENT;

use super::Gathering;

/// One round of search tasks, then refinement; why it ended.
pub(super) async fn gather(it: &mut Gathering<'_>, aid: &mut Aid<'_>) -> Result<StopReason> {
    let method = &it.question.method;
    let most = method.max_initial_search_tasks.max(1) as usize;
    let pages = (method.top_m_full_text_sources + method.next_k_chunked_sources) as usize;
    let refinements = method.max_refinement_iterations;
    let mut tasks = it.gathered.notes.plan.search_tasks.clone();
    if tasks.is_empty() {
        tasks = by_items(it);
    }
    tasks.truncate(most);
    let next = it.tasked(&tasks, Variation::Original);
    let mut round = it.round(aid, next, Some(pages.max(1))).await?;
    // A writer asks for what it lacks; without one, the gaps do.
    let writer = aid.mind(Step::Write, ModelRole::Writer).is_some();
    let refinements = if writer { 0 } else { refinements };
    for _ in 0..refinements {
        if it.good() {
            break;
        }
        if round.cut || it.spent() {
            return Ok(it.out_of_calls());
        }
        if let Some(reason) = it.hurried(aid).await? {
            return Ok(reason);
        }
        let wanted = gaps(it);
        let tasks = it.refining(aid, &wanted).await?;
        let next = it.tasked(&tasks, Variation::Gap);
        if next.is_empty() {
            return Ok(StopReason::NoNewEvidence);
        }
        round = it.round(aid, next, Some(PAGES_OF_A_REFINEMENT)).await?;
        if round.new == 0 {
            return Ok(StopReason::NoNewEvidence);
        }
    }
    Ok(match it.good() {
        true => StopReason::CoverageReached,
        false => StopReason::MaxIterations,
    })
}

/// The search tasks of a plan that names none: its heart, then its other items, one of them in the scholarly record.
fn by_items(it: &Gathering<'_>) -> Vec<SearchTask> {
    let heart = match it.places.has_news() {
        true => Endpoint::News,
        false => Endpoint::Search,
    };
    let items = it.gathered.notes.plan.items().iter();
    let open = |item: &&crate::domain::Item| it.status(item.id) != ItemStatus::Done;
    let items = items.filter(open).enumerate();
    let task = |(nth, item): (usize, &crate::domain::Item)| SearchTask {
        query: item.query.clone(),
        endpoint: match nth {
            0 => heart,
            1 if it.places.is_scholarly() => Endpoint::Scholar,
            _ => Endpoint::Search,
        },
        num_results: it.question.method.results_per_query,
        reasoning: item.asks.clone(),
    };
    items.map(task).collect()
}

/// What would find what the items lack, worst first.
fn gaps(it: &Gathering<'_>) -> Vec<String> {
    let mut rows: Vec<_> = it.standing.rows.iter().collect();
    rows.retain(|row| matches!(row.state, Coverage::Open | Coverage::Partial));
    rows.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.id.cmp(&b.id)));
    let query = |row: &&crate::domain::CoverageRow| it.standing.gaps.get(&row.id);
    rows.iter()
        .filter_map(query)
        .map(|it| it.query.clone())
        .collect()
}
