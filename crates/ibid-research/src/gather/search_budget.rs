//! The search budget: what may still be sent.
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::search::HitPool;
use ibid_core::domain::{ItemId, Query, Question, Usage, Vertical};
use ibid_core::ports::{Providers, SearchProvider};
use ibid_core::{Error, Result};

/// Adds the words of `queries` to `asked`, each once.
pub(super) fn record_queries(asked: &mut Vec<String>, queries: &[Query]) {
    for it in queries {
        if !asked.iter().any(|had| had == it.text()) {
            asked.push(it.text().to_owned());
        }
    }
}

/// How many searches one folder query makes. An outside query makes one, or a few where engines fail.
pub(super) fn folder_count(providers: &Providers) -> usize {
    let local =
        |provider: &&Arc<dyn SearchProvider>| provider.verticals().contains(&Vertical::Local);
    providers.search.iter().filter(local).count().max(1)
}

pub(super) fn query_items(queries: &[Query]) -> Vec<ItemId> {
    let all: BTreeSet<ItemId> = queries.iter().map(|query| query.item).collect();
    all.into_iter().collect()
}

/// Cuts the queries to what the budget allows. Returns whether any were dropped.
pub(super) fn trim_to_budget(
    question: &Question,
    usage: &Usage,
    next: &mut Vec<Query>,
    engines: usize,
) -> bool {
    let engines = engines.max(1) as u64;
    let by_searches = question.budget.searches_left(usage);
    // Half of the remaining calls are kept for reading.
    let by_calls = question.budget.calls_left(usage).map(|calls_left| calls_left.div_ceil(2));
    let Some(left) = by_searches.into_iter().chain(by_calls).min() else {
        return false;
    };
    let room = (left / engines) as usize;
    let cut = next.len() > room;
    next.truncate(room);
    cut
}

pub(super) fn is_search_budget_spent(question: &Question, usage: &Usage, engines: usize) -> bool {
    let budget = &question.budget;
    budget.calls.is_some_and(|calls| usage.calls() + engines as u64 >= calls)
        || budget.searches.is_some_and(|searches| usage.searches + engines as u64 > searches)
        || budget.pages.is_some_and(|pages| usage.pages >= pages)
}

/// Returns the fault if not a single search succeeded, which ends the run.
pub(super) fn ensure_any_answered(
    fault: Option<Error>,
    found: &HitPool,
    usage: &Usage,
) -> Result<()> {
    match fault {
        Some(fault) if found.answered == 0 && usage.searches > 0 => Err(fault),
        _ => Ok(()),
    }
}
