//! What may still be sent, and what was.
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{ItemId, Query, Question, Usage, Vertical};
use crate::error::{Error, Result};
use crate::research::search::Found;
use crate::seams::{SearchProvider, World};

/// Adds the words of `queries` to those asked so far, each once.
pub(super) fn note(asked: &mut Vec<String>, queries: &[Query]) {
    for it in queries {
        if !asked.iter().any(|had| had == it.text()) {
            asked.push(it.text().to_owned());
        }
    }
}

/// How many searches a query to folders is; a query to the outside is one, or few where engines fail.
pub(super) fn folders(world: &World) -> usize {
    let local = |it: &&Arc<dyn SearchProvider>| it.verticals().contains(&Vertical::Local);
    world.search.iter().filter(local).count().max(1)
}

pub(super) fn items_of(queries: &[Query]) -> Vec<ItemId> {
    let all: BTreeSet<ItemId> = queries.iter().map(|it| it.item).collect();
    all.into_iter().collect()
}

/// Cuts the round to the searches that may still be sent; whether any fell away.
pub(super) fn within_searches(
    question: &Question,
    usage: &Usage,
    next: &mut Vec<Query>,
    engines: usize,
) -> bool {
    let engines = engines.max(1) as u64;
    let by_searches = question.budget.searches_left(usage);
    // Of the calls left, half are kept for reading.
    let by_calls = question.budget.calls_left(usage).map(|it| it.div_ceil(2));
    let Some(left) = by_searches.into_iter().chain(by_calls).min() else {
        return false;
    };
    let room = (left / engines) as usize;
    let cut = next.len() > room;
    next.truncate(room);
    cut
}

pub(super) fn spent(question: &Question, usage: &Usage, engines: usize) -> bool {
    let budget = &question.budget;
    budget
        .calls
        .is_some_and(|it| usage.calls() + engines as u64 >= it)
        || budget
            .searches
            .is_some_and(|it| usage.searches + engines as u64 > it)
        || budget.pages.is_some_and(|it| usage.pages >= it)
}

/// When no search came back at all, the run ends with what they failed with (row E11).
pub(super) fn all_failed(fault: Option<Error>, found: &Found, usage: &Usage) -> Result<()> {
    match fault {
        Some(fault) if found.answered == 0 && usage.searches > 0 => Err(fault),
        _ => Ok(()),
    }
}
