//! One search for somebody who reads for themselves: no run, no plan, nothing written.
use crate::domain::{Hit, Question, Usage};
use crate::error::Result;
use crate::record::Event;
use crate::seams::{Log, World};

use super::query_policy::QueryPolicy;
use super::search::{Found, search};
use super::shelf::Shelf;
use super::unaided::queries::{Places, plainly};
use super::{intake, plan};

/// What a search came to.
#[derive(Debug, Clone, Default)]
pub struct Looked {
    /// Best first, each document once, sites kept apart.
    pub hits: Vec<Hit>,
    /// Who did not answer, with the reason, one line each.
    pub faults: Vec<String>,
}

/// What those who search in `world` have on the words of `question`, at most `most` hits: asked as a run asks its first query, the
/// next of a kind where one fails, fused and ranked like its hits.
///
/// # Errors
/// `Usage` for a question without words, `Cancelled` when stopped. An engine that fails is no error but one of the faults.
pub async fn look_up(world: &World, log: &Log, question: &Question, most: usize) -> Result<Looked> {
    let brief = intake::unaided(question)?;
    let plan = plan::unaided(&brief)?;
    let Some(item) = plan.items().first() else {
        return Ok(Looked::default());
    };
    let policy = QueryPolicy::asked(question);
    let queries = plainly(
        &Places::of(&world.search, &question.text, policy),
        question,
        item,
    );
    let (mut found, mut usage) = (Found::default(), Usage::default());
    let mut told = log.follow();
    search(world, log, &queries, &mut found, &mut usage).await?;
    let mut faults = Vec::new();
    while let Ok(it) = told.try_recv() {
        if let Event::SearchCompleted {
            engine,
            error: Some(why),
            ..
        } = it.event
        {
            faults.push(format!("{engine}: {why}"));
        }
    }
    let shelf = Shelf::default();
    let items = [item.id];
    let hits = found.choose(world, log, &brief, &items, &shelf, most);
    let hits = hits.await?;
    Ok(Looked { hits, faults })
}
