//! A single search outside of a run.
use ibid_core::Result;
use ibid_core::domain::{Hit, Question, Usage};
use ibid_core::ports::{EventLog, Providers};
use ibid_core::record::Event;

use super::heuristic::queries::{SearchTargets, plain_queries};
use super::page_set::PageSet;
use super::query_policy::QueryPolicy;
use super::run_context::RunContext;
use super::search::{HitPool, run_queries};
use super::{intake, plan};

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct LookupResult {
    /// The hits, best first; each document once, sites spread out.
    pub hits: Vec<Hit>,
    /// The engines that failed, each with its error, one per line.
    pub faults: Vec<String>,
}

/// Searches with `providers` for the words of `question` and returns at most `most` hits. Engines are asked
/// as for the first query of a run, the next of a kind where one fails, and the hits are fused and ranked the
/// same way.
///
/// # Errors
/// `Usage` for a question without words; `Cancelled` when stopped. The error of an engine is listed in the
/// faults.
pub async fn look_up(
    providers: &Providers,
    log: &EventLog,
    question: &Question,
    most: usize,
) -> Result<LookupResult> {
    let brief = intake::refine_by_heuristics(question)?;
    let plan = plan::build_heuristic_plan(&brief)?;
    let Some(item) = plan.items().first() else {
        return Ok(LookupResult::default());
    };
    let policy = QueryPolicy::from_question(question);
    let queries = plain_queries(
        &SearchTargets::new(&providers.search, &question.text, policy),
        question,
        item,
    );
    let (mut pool, mut usage) = (HitPool::default(), Usage::default());
    let mut events = log.subscribe();
    let ctx = RunContext { providers, log, question, brief: &brief };
    run_queries(ctx, &queries, &mut pool, &mut usage).await?;
    let mut faults = Vec::new();
    while let Ok(envelope) = events.try_recv() {
        if let Event::SearchCompleted { engine, error: Some(why), .. } = envelope.event {
            faults.push(format!("{engine}: {why}"));
        }
    }
    let pages = PageSet::default();
    let items = [item.id];
    let hits = pool.choose_to_read(ctx, &items, &pages, most).await?;
    Ok(LookupResult { hits, faults })
}
