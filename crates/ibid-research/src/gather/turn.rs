//! One turn of a round: every active researcher decides, then all searches are sent, then all pages are read.
use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};

use crate::concurrency::MAX_CALLS_IN_FLIGHT;
use crate::heuristic::queries::{QueryBuilder, QueryText};
use crate::llm_session::{LlmSession, LlmStep};
use crate::{read, search, weigh};
use ibid_core::domain::{
    Evidence, Hit, ModelRole, Query, SourceId, SupervisorSettings, public_address,
};
use ibid_core::record::Event;
use ibid_core::{ErrorKind, Result};

use super::names;
use super::page_views;
use super::research_loop::ResearchLoop;
use super::researcher::{self, Researcher, ResearcherStep};
use super::search_budget::{ensure_any_answered, folder_count, record_queries, trim_to_budget};

/// Chunks of 4,000 characters weighed of a page that a researcher fetches.
const MAX_FETCHED_CHUNKS: usize = 2;

/// Runs one turn of all active researchers. Returns the number of new pages.
pub(super) async fn run_turn(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
    team: &SupervisorSettings,
    round: u32,
    units: &mut [Researcher],
) -> Result<u32> {
    let moves = researcher_steps(research, llm, team, units).await?;
    let now = research.ctx.providers.clock.unix_ms();
    let mut searching: Vec<(usize, Vec<String>)> = Vec::new();
    let mut reading: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut viewing: Vec<(usize, ResearcherStep)> = Vec::new();
    for (nth, next) in moves {
        match units[nth].apply_step(next, team, now) {
            Some(ResearcherStep::Search(queries)) => searching.push((nth, queries)),
            Some(ResearcherStep::Read(hits)) => reading.push((nth, hits)),
            Some(step @ (ResearcherStep::FindInPage(..) | ResearcherStep::ReadOn(_))) => {
                viewing.push((nth, step));
            }
            _ => {}
        }
    }
    let active: Vec<usize> =
        searching.iter().map(|it| it.0).chain(reading.iter().map(|it| it.0)).collect();
    if !searching.is_empty() {
        run_searches(research, units, searching).await?;
    }
    let read = match reading.is_empty() {
        true => 0,
        false => fetch_pages(research, llm, round, units, reading).await?,
    };
    for nth in active {
        units[nth].count_idle_turn(now);
    }
    for (nth, step) in viewing {
        page_views::view_page(research, round, &mut units[nth], &step)?;
    }
    Ok(read)
}

/// The next step of each active researcher.
async fn researcher_steps(
    research: &ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
    team: &SupervisorSettings,
    units: &mut [Researcher],
) -> Result<Vec<(usize, ResearcherStep)>> {
    let plan = &research.state.notes.plan;
    let alone = |unit: &Researcher| {
        let words = plan
            .item(unit.item)
            .map(|item| researcher::first_queries(unit, item, research.limits.breadth));
        researcher::decide_by_heuristics(research, unit, words.unwrap_or_default())
    };
    let active = units.iter().enumerate().filter(|pair| pair.1.is_active());
    let Some(role_model) = llm.role_model(LlmStep::Research, ModelRole::Researcher) else {
        return Ok(active.map(|(nth, unit)| (nth, alone(unit))).collect());
    };
    let searching = !research.targets.is_empty();
    let mut asking = Vec::new();
    let mut moves = Vec::new();
    for (nth, unit) in active {
        if unit.by_code {
            moves.push((nth, alone(unit)));
            continue;
        }
        let asked =
            researcher::decide_by_model(role_model, research.ctx.brief, searching, team, unit);
        asking.push(async move { (nth, asked.await) });
    }
    let answers: Vec<_> = stream::iter(asking).buffered(MAX_CALLS_IN_FLIGHT).collect().await;
    let mut broken = Vec::new();
    for (nth, (model, answer)) in answers {
        llm.record_usage(LlmStep::Research, ModelRole::Researcher, model);
        let next = match answer {
            Ok(next) => next.narrow_queries(research.targets.policy()),
            Err(fault) => {
                // A spent budget is not an error of the researcher.
                if fault.kind() != ErrorKind::Exhausted {
                    broken.push(nth);
                }
                llm.fall_back(LlmStep::Research, ModelRole::Researcher, fault)?;
                alone(&units[nth])
            }
        };
        moves.push((nth, next));
    }
    for nth in broken {
        units[nth].continue_by_code();
    }
    moves.sort_by_key(|pair| pair.0);
    Ok(moves)
}

/// Sends the searches of a turn and shows each researcher its hits.
async fn run_searches(
    research: &mut ResearchLoop<'_>,
    units: &mut [Researcher],
    searching: Vec<(usize, Vec<String>)>,
) -> Result<()> {
    let mut next: Vec<Query> = Vec::new();
    let mut whose: Vec<usize> = Vec::new();
    for (nth, words) in &searching {
        let unit = &units[*nth];
        let Some(item) = research.state.notes.plan.item(unit.item) else {
            continue;
        };
        let variation = researcher::search_variation(unit);
        let own = words.iter().map(|word| QueryText::new(variation, word.clone()));
        let own = own.collect();
        let most = words.len() as u32;
        let mut queries = QueryBuilder {
            targets: &research.targets,
            question: research.ctx.question,
            sent_queries: &mut research.sent_queries,
        };
        let own = queries.for_texts(item, own, most);
        whose.extend(own.iter().map(|_| *nth));
        next.extend(own);
    }
    let ctx = research.ctx;
    trim_to_budget(ctx.question, &research.state.usage, &mut next, folder_count(ctx.providers));
    record_queries(&mut research.state.queries, &next);
    let by: Vec<(&Query, Option<&str>)> = next
        .iter()
        .zip(&whose)
        .map(|(query, nth)| (query, Some(units[*nth].id.as_str())))
        .collect();
    let (state, pool) = (&mut research.state, &mut research.hits);
    let fault = search::run_queries_as(ctx, &by, pool, &mut state.usage).await?;
    ctx.log.flush().await?;
    ensure_any_answered(fault, pool, &state.usage)?;
    for (query, nth) in next.iter().zip(&whose) {
        units[*nth].queries.push(query.text().to_owned());
    }
    for (nth, words) in searching {
        let unit = &mut units[nth];
        let found = pool
            .hits_for_researcher(ctx, (&unit.topic, unit.item), &unit.queries, &state.pages)
            .await?;
        ctx.log.emit_as(
            Some(&unit.id),
            Event::SearchPrepared {
                found: found.unread as u32,
                shown: found.shown.len() as u32,
                llm_calls_in_preprocess: 0,
            },
        );
        let words = words.join(" | ");
        unit.trail.push(match (found.unread, found.tried) {
            (0, 1..) => {
                format!("search_web {words}: 0 new hits; all known hits were tried before")
            }
            (unread, _) => format!("search_web {words}: {unread} hits"),
        });
        unit.hits = found.shown;
    }
    Ok(())
}

/// Whose finding it is: of those who wanted the page and have its item, or else of another who has it, or else of the first.
fn credited_researchers(
    units: &[Researcher],
    wanted_by: &[usize],
    finding: &Evidence,
) -> Vec<usize> {
    let on_item = |unit: &Researcher| finding.items.contains(&unit.item);
    let own: Vec<usize> = wanted_by.iter().copied().filter(|nth| on_item(&units[*nth])).collect();
    if !own.is_empty() {
        return own;
    }
    let other = units.iter().position(|unit| unit.is_active() && on_item(unit));
    other.or(wanted_by.first().copied()).into_iter().collect()
}

/// Reads the pages of a turn and weighs them. The findings stay with their researchers until the round ends.
async fn fetch_pages(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
    round: u32,
    units: &mut [Researcher],
    reading: Vec<(usize, Vec<usize>)>,
) -> Result<u32> {
    let mut wanted: Vec<(Hit, Vec<usize>)> = Vec::new();
    for (nth, hits) in &reading {
        for at in hits {
            let Some(hit) = units[*nth].hits.get(*at) else {
                continue;
            };
            // A page that several researchers want in the same turn is read once, in the name of the first.
            match wanted.iter_mut().find(|pair| pair.0.key() == hit.key()) {
                Some((_, by)) if !by.contains(nth) => by.push(*nth),
                Some(_) => {}
                None if research.state.pages.is_tried(hit.key()) => {}
                None => wanted.push((hit.clone(), vec![*nth])),
            }
        }
    }
    let ctx = research.ctx;
    let by: Vec<(Hit, Option<&str>)> =
        wanted.iter().map(|(hit, by)| (hit.clone(), Some(units[by[0]].id.as_str()))).collect();
    let fresh = read::read_pages_as(ctx, by, &mut research.state).await?;
    ctx.log.flush().await?;
    let sources: Vec<_> = fresh.iter().map(|pair| pair.1).collect();
    let round = weigh::WeighContext {
        log: ctx.log,
        question: ctx.question,
        brief: ctx.brief,
        fresh: &sources,
        round,
        chunks: Some(MAX_FETCHED_CHUNKS),
        ranker: Some(ctx.providers.ranker.as_ref()),
    };
    let state = &research.state;
    let scorer = &mut research.scorer;
    let found = weigh::find_evidence(llm, &round, scorer, &state.notes, &state.pages).await?;
    let policy = research.targets.policy();
    names::learn_names(policy, ctx.brief, &state.notes, found.iter());
    credit_findings(research, units, &wanted, &fresh, &found);
    for (nth, _) in reading {
        let unit = &mut units[nth];
        let prepared = research.hits.hits_for_researcher(
            ctx,
            (&unit.topic, unit.item),
            &unit.queries,
            &state.pages,
        );
        unit.hits = prepared.await?.shown;
    }
    Ok(fresh.len() as u32)
}

/// Weighs the pages that were read before there was a plan and that no researcher wanted: the user was shown what they say. Returns how
/// much evidence and how many pages there were.
pub(super) async fn weigh_prefetched(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
    round: u32,
) -> Result<(u32, u32)> {
    let pages = research.state.pages.take_all_prefetched();
    if pages.is_empty() {
        return Ok((0, 0));
    }
    let ctx = research.ctx;
    let round = weigh::WeighContext {
        log: ctx.log,
        question: ctx.question,
        brief: ctx.brief,
        fresh: &pages,
        round,
        chunks: Some(MAX_FETCHED_CHUNKS),
        ranker: Some(ctx.providers.ranker.as_ref()),
    };
    let new = weigh::weigh(llm, &round, &mut research.scorer, &mut research.state).await?;
    Ok((new, pages.len() as u32))
}

/// Gives each researcher the findings on the pages of a turn, and a line about each page it wanted.
fn credit_findings(
    research: &ResearchLoop<'_>,
    units: &mut [Researcher],
    wanted: &[(Hit, Vec<usize>)],
    fresh: &[(usize, SourceId)],
    found: &[Evidence],
) {
    let state = &research.state;
    for (at, (hit, by)) in wanted.iter().enumerate() {
        let source = fresh.iter().find(|pair| pair.0 == at).map(|pair| pair.1);
        let of_page = found.iter().filter(|it| Some(it.source) == source);
        let mut shares: BTreeMap<usize, Vec<Evidence>> = BTreeMap::new();
        for finding in of_page {
            for to in credited_researchers(units, by, finding) {
                shares.entry(to).or_default().push(finding.clone());
            }
        }
        for nth in by {
            let outcome = match (source, state.pages.failed().get(&hit.url)) {
                (None, Some(unread)) => researcher::read_failure_text(unread),
                _ => format!("{} findings", shares.get(nth).map_or(0, Vec::len)),
            };
            units[*nth].trail.push(format!("fetch_url {}: {outcome}", public_address(&hit.url)));
            if let Some(id) = source {
                page_views::add_read_page(research, &mut units[*nth], id);
            }
        }
        for (to, findings) in shares {
            if !by.contains(&to) {
                let count = findings.len();
                units[to].trail.push(format!(
                    "{count} findings on your topic in {}, which another researcher read",
                    public_address(&hit.url)
                ));
            }
            units[to].findings.extend(findings);
            if let Some(id) = source {
                page_views::add_read_page(research, &mut units[to], id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::evidence;
    use ibid_core::domain::ItemId;

    #[test]
    fn a_finding_is_of_the_researcher_on_whose_item_it_is() {
        let unit = |item: u32| {
            Researcher::new(item, ItemId::new(item), "topic".to_owned(), "query".to_owned(), 0)
        };
        let units = [unit(1), unit(2)];
        let finding = |items: &[u32]| evidence(1, items);
        assert_eq!(credited_researchers(&units, &[0], &finding(&[2])), [1]);
        assert_eq!(credited_researchers(&units, &[0], &finding(&[2, 1])), [0]);
        assert_eq!(credited_researchers(&units, &[0], &finding(&[3])), [0]);
        assert_eq!(credited_researchers(&units, &[0, 1], &finding(&[2, 1])), [0, 1]);
        assert_eq!(credited_researchers(&units, &[0, 1], &finding(&[2])), [1]);
    }
}
