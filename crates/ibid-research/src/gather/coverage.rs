//! The coverage strategy: broad queries first, folders before outside engines; then only topics that are not
//! covered, with narrower queries and one for each gap, until every topic has evidence.
use std::collections::BTreeSet;

use crate::heuristic::queries::{QueryBuilder, STANDARD_BREADTH};
use crate::llm_session::LlmSession;
use ibid_core::Result;
use ibid_core::domain::{Coverage, ItemStatus, Query, StopReason, Variation, is_public};

use super::research_loop::ResearchLoop;

/// Variations that the first round asks for a topic, as far as breadth allows: the broadest first.
const FIRST: [Variation; 3] = [Variation::Broader, Variation::Original, Variation::Rephrased];
/// Maximum number of sites excluded to find other independent sources.
const KNOWN_SITES: usize = 5;

/// Gathers round by round. Returns why it ended.
pub(super) async fn gather(
    research: &mut ResearchLoop<'_>,
    llm: &mut LlmSession<'_>,
) -> Result<StopReason> {
    // Local folders are tried first; outside engines only where the result is poor.
    let whole = research.targets.clone();
    let apart = whole.split();
    if let Some((local, _)) = &apart {
        research.targets = local.clone();
    }
    let mut next = broad_queries(research)?;
    let mut round = research.run_round(llm, next, None).await?;
    if let Some((_, outside)) = apart
        && !research.is_good()
        && !round.cut
        && !research.is_spent()
    {
        if let Some(reason) = research.check_stop(llm).await? {
            return Ok(reason);
        }
        research.targets = outside;
        let asked = std::mem::take(&mut research.sent_queries);
        next = broad_queries(research)?;
        research.sent_queries.extend(asked);
        round = research.run_round(llm, next, None).await?;
    }
    research.targets = whole;
    let mut is_widened = false;
    loop {
        // Before the gate accepts fewer sites than are wanted, one search leaves out those that are known.
        let other_sites = match is_widened {
            true => Vec::new(),
            false => other_site_queries(research)?,
        };
        is_widened |= !other_sites.is_empty();
        if let Some(reason) = research.stop_reason(round.new)
            && (other_sites.is_empty()
                || research.state.rounds >= research.limits.rounds
                || round.cut
                || research.is_spent())
        {
            return Ok(reason);
        }
        if round.cut || research.is_spent() {
            return Ok(research.stop_out_of_calls());
        }
        if let Some(reason) = research.check_stop(llm).await? {
            return Ok(reason);
        }
        next = narrower_queries(research)?;
        next.extend(research.gap_queries(llm).await?);
        next.extend(other_sites);
        if next.is_empty() {
            return Ok(StopReason::NoNewEvidence);
        }
        round = research.run_round(llm, next, None).await?;
    }
}

/// The broad queries of every topic that is not covered.
fn broad_queries(research: &mut ResearchLoop<'_>) -> Result<Vec<Query>> {
    let breadth = research.limits.breadth.max(1);
    let first = &FIRST[..FIRST.len().min(breadth as usize)];
    open_item_queries(research, first, breadth.saturating_sub(STANDARD_BREADTH))
}

/// The narrower queries of every topic that is not covered.
fn narrower_queries(research: &mut ResearchLoop<'_>) -> Result<Vec<Query>> {
    open_item_queries(research, &[Variation::Narrower], 0)
}

fn open_item_queries(
    research: &mut ResearchLoop<'_>,
    wanted: &[Variation],
    more: u32,
) -> Result<Vec<Query>> {
    let mut next = Vec::new();
    for item in research.state.notes.plan.items() {
        if research.status(item.id) == ItemStatus::Done {
            continue;
        }
        let mut queries = QueryBuilder {
            targets: &research.targets,
            question: research.ctx.question,
            sent_queries: &mut research.sent_queries,
        };
        next.extend(queries.variations(research.ctx.brief, item, wanted, more)?);
    }
    Ok(next)
}

/// Where fewer sites have evidence than are wanted: a query for the first open topic, or else the first
/// item, without the sites that have.
fn other_site_queries(research: &mut ResearchLoop<'_>) -> Result<Vec<Query>> {
    let gate = &research.state.gate;
    let notes = &research.state.notes;
    // The address that a private document states is not sent to engines.
    let public = notes.sources.iter().filter(|source| is_public(source.kind));
    let public: BTreeSet<&str> = public.map(|public| public.domain.as_str()).collect();
    let known: BTreeSet<String> = notes
        .domains(&notes.evidence)
        .into_iter()
        .filter(|domain| domain.contains('.') && !domain.contains('/'))
        .filter(|domain| public.contains(domain))
        .take(KNOWN_SITES)
        .map(str::to_owned)
        .collect();
    let wanted = research.ctx.question.method.min_source_domains;
    if gate.source_domains >= wanted || known.is_empty() {
        return Ok(Vec::new());
    }
    let open = research.coverage.rows.iter().find(|row| row.state == Coverage::Open);
    let items = notes.plan.items();
    let item = open.and_then(|row| notes.plan.item(row.id)).unwrap_or(&items[0]);
    // This query was sent before, but without the exclusions.
    let mut queries = QueryBuilder {
        targets: &research.targets,
        question: research.ctx.question,
        sent_queries: &mut BTreeSet::new(),
    };
    let mut next = queries.variations(research.ctx.brief, item, &[Variation::Original], 0)?;
    for query in &mut next {
        query.not_domains.extend(known.iter().cloned());
        query.variation = Variation::Gap;
    }
    Ok(next)
}
