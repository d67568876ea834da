//! Topics that must be covered (rows D2 to D8, D10): short and broad first, folders before the outside, then only what is not
//! covered, each gap by its own query and closer, until every topic has its proof.
use std::collections::BTreeSet;

use crate::domain::{Coverage, ItemStatus, Query, StopReason, Variation, is_public};
use crate::error::Result;
use crate::research::aid::Aid;
use crate::research::unaided::queries;

use super::Gathering;

/// What the first round asks for a topic, as far as breadth allows: the step back first.
const FIRST: [Variation; 3] = [
    Variation::Broader,
    Variation::Original,
    Variation::Rephrased,
];
/// Sites that are left out where one voice says everything.
const KNOWN_SITES: usize = 5;

/// Round after round; why it ended.
pub(super) async fn gather(it: &mut Gathering<'_>, aid: &mut Aid<'_>) -> Result<StopReason> {
    // What is at hand is judged first; the outside is asked where it is poor (row D10).
    let whole = it.places.clone();
    let apart = whole.apart();
    if let Some((local, _)) = &apart {
        it.places = local.clone();
    }
    let mut next = first(it)?;
    let mut round = it.round(aid, next, None).await?;
    if let Some((_, outside)) = apart
        && !it.good()
        && !round.cut
        && !it.spent()
    {
        if let Some(reason) = it.hurried(aid).await? {
            return Ok(reason);
        }
        it.places = outside;
        let asked = std::mem::take(&mut it.asked);
        next = first(it)?;
        it.asked.extend(asked);
        round = it.round(aid, next, None).await?;
    }
    it.places = whole;
    loop {
        if let Some(reason) = it.enough(round.new) {
            return Ok(reason);
        }
        if round.cut || it.spent() {
            return Ok(it.out_of_calls());
        }
        if let Some(reason) = it.hurried(aid).await? {
            return Ok(reason);
        }
        next = closer(it)?;
        next.extend(it.for_what_is_open(aid).await?);
        next.extend(elsewhere(it)?);
        if next.is_empty() {
            return Ok(StopReason::NoNewEvidence);
        }
        round = it.round(aid, next, None).await?;
    }
}

/// The broad queries of every topic that is not covered.
fn first(it: &mut Gathering<'_>) -> Result<Vec<Query>> {
    varied(
        it,
        &FIRST[..FIRST.len().min(it.pace.breadth.max(1) as usize)],
    )
}

/// The closer queries of what is not covered.
fn closer(it: &mut Gathering<'_>) -> Result<Vec<Query>> {
    varied(it, &[Variation::Narrower])
}

fn varied(it: &mut Gathering<'_>, wanted: &[Variation]) -> Result<Vec<Query>> {
    let mut next = Vec::new();
    for item in it.gathered.notes.plan.items() {
        if it.status(item.id) == ItemStatus::Done {
            continue;
        }
        next.extend(queries::varied(
            &it.places,
            it.question,
            it.brief,
            item,
            wanted,
            &mut it.asked,
        )?);
    }
    Ok(next)
}

/// Where too few sites speak although there are more: the first open topic, or the heart, without the sites that do
/// (row D8).
fn elsewhere(it: &mut Gathering<'_>) -> Result<Vec<Query>> {
    let gate = &it.gathered.gate;
    let notes = &it.gathered.notes;
    // The address that a private document gives as its own is not told to engines.
    let public = notes.sources.iter().filter(|it| is_public(it.kind));
    let public: BTreeSet<&str> = public.map(|it| it.domain.as_str()).collect();
    let known: BTreeSet<String> = notes
        .domains(&notes.evidence)
        .into_iter()
        .filter(|it| it.contains('.') && !it.contains('/'))
        .filter(|it| public.contains(it))
        .take(KNOWN_SITES)
        .map(str::to_owned)
        .collect();
    if gate.source_domains >= gate.gate.min_source_domains || known.is_empty() {
        return Ok(Vec::new());
    }
    let open = it
        .standing
        .rows
        .iter()
        .find(|it| it.state == Coverage::Open);
    let items = notes.plan.items();
    let item = open
        .and_then(|row| notes.plan.item(row.id))
        .unwrap_or(&items[0]);
    let mut anew = BTreeSet::new();
    let mut next = queries::varied(
        &it.places,
        it.question,
        it.brief,
        item,
        &[Variation::Original],
        &mut anew,
    )?;
    for query in &mut next {
        query.not_domains.extend(known.iter().cloned());
        query.variation = Variation::Gap;
    }
    Ok(next)
}
