//! What to search for next (rows A9, B4, D3).
use crate::domain::{Brief, Coverage, CoverageRow, Endpoint, Item, ModelRole, Plan, SearchTask};
use crate::error::Result;

use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{QueriesAsk, QueryRow, RefineSearchAsk},
};
use super::query_policy::QueryPolicy;

/// Searches of a refinement, and pages read in one (row A9).
const A_REFINEMENT: usize = 2;
pub(crate) const PAGES_OF_A_REFINEMENT: usize = 3;

/// The queries that a model thinks of for what is still open, each for PubMed too where that is asked; none without a model.
pub(crate) async fn thought_of(
    aid: &mut Aid<'_>,
    brief: &Brief,
    policy: &QueryPolicy,
    plan: &Plan,
    rows: &[CoverageRow],
    searched: &[String],
    pubmed: bool,
) -> Result<Vec<QueryRow>> {
    let role = ModelRole::Researcher;
    // Its words may leave, so nothing is shown to it that may not.
    let shown = |it: &String| policy.may_be_shown(it);
    let searched: Vec<String> = searched.iter().filter(|it| shown(it)).cloned().collect();
    let rows: Vec<CoverageRow> = rows
        .iter()
        .map(|it| CoverageRow {
            gap: it.gap.clone().filter(shown),
            proof: None,
            ..it.clone()
        })
        .collect();
    let open: Vec<(&Item, Option<&CoverageRow>)> = rows
        .iter()
        .filter(|it| matches!(it.state, Coverage::Open | Coverage::Partial))
        .filter_map(|row| Some((plan.item(row.id)?, Some(row))))
        .collect();
    let Some(mind) = aid.mind(Step::Cover, role).filter(|_| !open.is_empty()) else {
        return Ok(Vec::new());
    };
    let asked = QueriesAsk {
        question: brief.asked(),
        items: &open,
        searched: &searched,
        pubmed,
    };
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked.prompt()?, |it| asked.check(it)).await;
    aid.settle(Step::Cover, role, model);
    match answer {
        Ok(it) => Ok(asked.sound(&it.value).into_iter().cloned().collect()),
        Err(fault) => aid.without(Step::Cover, role, fault).map(|()| Vec::new()),
    }
}

/// The searches for what a draft lacks, at most two: by a model where there is one, else its words as they are. `usual` is how
/// many hits are asked for.
pub(crate) async fn refining(
    aid: &mut Aid<'_>,
    brief: &Brief,
    policy: &QueryPolicy,
    usual: u32,
    searched: &[String],
    wanted: &[String],
) -> Result<Vec<SearchTask>> {
    let role = ModelRole::Planner;
    let plain = || {
        let task = |query: &String| SearchTask {
            query: query.clone(),
            endpoint: Endpoint::Search,
            num_results: usual,
            reasoning: "the draft lacks it".to_owned(),
        };
        wanted
            .iter()
            .take(A_REFINEMENT)
            .map(task)
            .collect::<Vec<_>>()
    };
    let mind = aid.mind(Step::Refine, role);
    let Some(mind) = mind.filter(|_| !wanted.is_empty()) else {
        return Ok(plain());
    };
    let asked = RefineSearchAsk {
        question: brief.asked(),
        topics: wanted,
        searched,
        usual,
    };
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked.prompt()?, |it| asked.check(it)).await;
    aid.settle(Step::Refine, role, model);
    match answer {
        Ok(it) => Ok(asked
            .sound(it.value)
            .into_iter()
            .filter_map(|it| {
                Some(SearchTask {
                    query: policy.narrowed(&it.query)?,
                    ..it
                })
            })
            .take(A_REFINEMENT)
            .collect()),
        Err(fault) => aid.without(Step::Refine, role, fault).map(|()| plain()),
    }
}
