//! A supervisor sends out researchers in waves and is done when the gate says so (rows C3 to C9, C12).
//!
//! The researchers of a wave work side by side in step: all decide, then all their searches are sent together, then all their
//! pages read. So they share what was found and read without paying for anything twice, and the same run always tells the same
//! story in the same order, which a replay holds it to.
use futures_util::{StreamExt, stream};

use crate::domain::{
    Coverage, GateStatus, Hit, ItemId, ModelRole, Query, RuntimeProgress, StopReason, Team,
    UnitProgress,
};
use crate::error::{Kind, Result};
use crate::record::Event;
use crate::research::AT_ONCE;
use crate::research::aid::{Aid, Counting, Step};
use crate::research::ask::{
    self,
    shapes::{LeadAction, SuperviseAsk, Supervised},
};
use crate::research::unaided::queries::{self, Words};
use crate::research::{cover, read, search, weigh};
use crate::seams::Go;

use super::Gathering;
use super::allowance::{all_failed, folders, note, within_searches};
use super::bullets;
use super::names;
use super::researcher::{self, Move, Unit};
use super::sent::Sent;

/// Chunks of 4,000 characters weighed of a page that a researcher fetches (row C8).
const FETCHED: usize = 2;
/// Thoughts and refusals in a row before code decides: who only thinks, or only wants to be done, does not supervise.
const PATIENCE: u32 = 2;
/// Thoughts shown again.
const THOUGHTS: usize = 5;

/// What a supervisor remembers.
#[derive(Default)]
struct Lead {
    decisions: u32,
    dispatched: u32,
    skipped: u32,
    gate: Option<GateStatus>,
    refused: Option<String>,
    idle: u32,
    thoughts: Vec<String>,
    /// What researchers said, with what it rests on, best first within each.
    notes: Vec<String>,
    /// What they found, in the words of its sources.
    raw: Vec<String>,
    units: Vec<UnitProgress>,
}

/// What it decides.
enum Decision {
    Dispatch(Vec<Sent>),
    Complete,
    Think(String),
}

/// Wave after wave; why it ended.
pub(super) async fn gather(it: &mut Gathering<'_>, aid: &mut Aid<'_>) -> Result<StopReason> {
    let team = it.pace.team;
    let mut lead = Lead::default();
    let mut new = 0;
    for _ in 0..it.question.method.max_iterations.max(1) {
        if let Some(reason) = it.hurried(aid).await? {
            return Ok(reason);
        }
        if it.spent() {
            return Ok(it.out_of_calls());
        }
        lead.decisions += 1;
        let mut decision = by_model(it, aid, &lead, &team).await?;
        if lead.idle >= PATIENCE && !matches!(decision, Some(Decision::Dispatch(_))) {
            decision = None;
        }
        let decision = match decision {
            Some(decision) => decision,
            None => unaided(it, &lead, &team, new),
        };
        match decision {
            Decision::Think(thought) => {
                lead.idle += 1;
                lead.thoughts.push(thought);
            }
            Decision::Complete => {
                let gate = &it.gathered.gate;
                let pass = gate.pass;
                lead.gate = Some(if pass {
                    GateStatus::Pass
                } else {
                    GateStatus::Retry
                });
                lead.refused.clone_from(&gate.reason);
                lead.idle += 1;
                tell(it, &lead);
                if pass {
                    return Ok(StopReason::CoverageReached);
                }
                // Nobody is left to ask, and the gate still says no.
                if open(it).is_empty() || lead.dispatched >= team.max_researcher_iterations {
                    return Ok(StopReason::NoNewEvidence);
                }
            }
            Decision::Dispatch(sent) => {
                lead.idle = 0;
                let wave = wave(it, aid, &mut lead, &team, sent).await?;
                let Some(wave) = wave else {
                    return Ok(StopReason::MaxIterations);
                };
                new = wave.new;
                if let Some(reason) = wave.ended {
                    return Ok(reason);
                }
                if it.good() {
                    lead.gate = Some(GateStatus::Pass);
                    tell(it, &lead);
                    return Ok(StopReason::CoverageReached);
                }
                if wave.new == 0 && it.gathered.waves > 1 {
                    return Ok(StopReason::NoNewEvidence);
                }
            }
        }
    }
    Ok(StopReason::MaxIterations)
}

/// The items that want more, worst first.
fn open(it: &Gathering<'_>) -> Vec<ItemId> {
    if it.standing.rows.is_empty() {
        return it
            .gathered
            .notes
            .plan
            .items()
            .iter()
            .map(|it| it.id)
            .collect();
    }
    let rows = it.standing.rows.iter();
    let mut rows: Vec<_> = rows
        .filter(|it| matches!(it.state, Coverage::Open | Coverage::Partial))
        .collect();
    rows.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.id.cmp(&b.id)));
    rows.iter().map(|it| it.id).collect()
}

/// What code decides: a researcher for each item that wants more, worst first, and the end when there is none.
fn unaided(it: &Gathering<'_>, lead: &Lead, team: &Team, new: u32) -> Decision {
    let waves = it.gathered.waves;
    let open = open(it);
    if open.is_empty() || (waves > 0 && new == 0) || lead.idle > PATIENCE + 1 {
        return Decision::Complete;
    }
    let at_once = open
        .into_iter()
        .take(team.max_concurrent_research_units as usize);
    let sent = at_once.filter_map(|id| {
        let item = it.gathered.notes.plan.item(id)?;
        let gap = it.standing.gaps.get(&id);
        Some(Sent {
            item: id,
            topic: gap.map_or_else(
                || item.asks.clone(),
                |gap| format!("{} {}", item.asks, gap.text),
            ),
            query: gap.map_or_else(|| item.query.clone(), |it| it.query.clone()),
        })
    });
    Decision::Dispatch(sent.collect())
}

/// What a model decides; nothing without one.
async fn by_model(
    gathering: &Gathering<'_>,
    aid: &mut Aid<'_>,
    lead: &Lead,
    team: &Team,
) -> Result<Option<Decision>> {
    let role = ModelRole::Planner;
    let Some(mind) = aid.mind(Step::Supervise, role) else {
        return Ok(None);
    };
    let it = gathering;
    let mut rows = it.standing.rows.clone();
    if rows.is_empty() {
        rows = cover::unseen(&it.gathered.notes.plan);
    }
    let gate = match (&lead.refused, &it.gathered.gate.reason) {
        (Some(reason), _) => format!("ResearchComplete was rejected: {reason}"),
        (None, Some(reason)) => format!("not yet: {reason}"),
        (None, None) => "would pass".to_owned(),
    };
    let so_far = format!(
        "{} waves, {} of {} researchers, {} searches, {} pages",
        it.gathered.waves,
        lead.dispatched,
        team.max_researcher_iterations,
        it.gathered.usage.searches,
        it.gathered.usage.pages
    );
    let notes = bullets::compressed(&lead.notes, team);
    let raw = bullets::beside(&lead.raw, team);
    let from = lead.thoughts.len().saturating_sub(THOUGHTS);
    let asked = SuperviseAsk {
        question: it.brief.asked(),
        rows: &rows,
        notes: &notes,
        raw: &raw,
        gate: &gate,
        so_far: &so_far,
        thoughts: &lead.thoughts[from..],
        most: team.max_concurrent_research_units as usize,
    };
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked.prompt()?, |it: &Supervised| asked.check(it)).await;
    aid.settle(Step::Supervise, role, model);
    match answer {
        Ok(it) => Ok(Some(match it.value.action {
            LeadAction::ResearchComplete => Decision::Complete,
            LeadAction::Think => Decision::Think(it.value.thought.trim().to_owned()),
            LeadAction::ConductResearch => {
                let units = asked.sound(&it.value).into_iter();
                Decision::Dispatch(units.map(|unit| Sent::by(gathering, unit)).collect())
            }
        })),
        Err(fault) => aid.without(Step::Supervise, role, fault).map(|()| None),
    }
}

/// What a wave came to.
struct Wave {
    new: u32,
    /// Why nothing comes after it.
    ended: Option<StopReason>,
}

/// One wave of researchers; nothing where no more may be sent out.
async fn wave(
    it: &mut Gathering<'_>,
    aid: &mut Aid<'_>,
    lead: &mut Lead,
    team: &Team,
    sent: Vec<Sent>,
) -> Result<Option<Wave>> {
    let left = team
        .max_researcher_iterations
        .saturating_sub(lead.dispatched);
    let room = team.max_concurrent_research_units.min(left) as usize;
    lead.skipped += sent.len().saturating_sub(room) as u32;
    if room == 0 {
        tell(it, lead);
        return Ok(None);
    }
    let now = it.world.clock.unix_ms();
    let mut units: Vec<Unit> = Vec::new();
    for sent in sent.into_iter().take(room) {
        lead.dispatched += 1;
        let nth = lead.dispatched;
        units.push(Unit::sent_out(nth, sent.item, sent.topic, sent.query, now));
    }
    let mut items: Vec<ItemId> = units.iter().map(|it| it.item).collect();
    items.sort_unstable();
    items.dedup();
    let nth = it.begin_wave(items, units.len());
    lead.units = units.iter().map(|it| it.progress(0)).collect();
    tell(it, lead);
    it.log.flush().await?;

    let mut read = 0;
    let mut ended = None;
    let mut turn = 0;
    while units.iter().any(Unit::is_active) {
        turn += 1;
        if turn > 1 {
            ended = halted(it, nth, turn, &mut units).await?;
            if ended.is_some() {
                break;
            }
        }
        read += step(it, aid, team, nth, &mut units).await?;
    }
    let mut new = 0;
    lead.units.clear();
    for unit in &units {
        let kept = unit.records(team);
        for at in &kept {
            let finding = unit.findings[*at].clone();
            weigh::admit(it.log, Some(&unit.id), &mut it.gathered.notes, finding);
        }
        new += kept.len() as u32;
        let notes = &it.gathered.notes;
        let found = unit.findings.iter();
        lead.raw
            .extend(found.map(|finding| bullets::raw(&unit.id, finding, notes)));
        let before = lead.notes.len();
        lead.notes.extend(unit.said().map(|it| it.0.clone()));
        if lead.notes.len() == before {
            let claims = kept.iter().map(|at| unit.findings[*at].claim.clone());
            lead.notes.extend(claims);
        }
        lead.units.push(unit.progress(kept.len() as u32));
    }
    it.end_wave(aid, new, read).await?;
    tell(it, lead);
    it.log.flush().await?;
    Ok(Some(Wave { new, ended }))
}

/// Whether a wave must be broken off between two turns; its researchers end with what they have.
async fn halted(
    it: &Gathering<'_>,
    wave: u32,
    turn: u32,
    units: &mut [Unit],
) -> Result<Option<StopReason>> {
    let at = format!("wave-{wave}-turn-{turn}");
    let reason = match it.world.steering.go(&at).await? {
        Go::Finish(reason) => {
            it.log.emit(Event::RunFinishing { reason });
            Some(reason)
        }
        Go::On if it.spent() => Some(it.out_of_calls()),
        Go::On => None,
    };
    let Some(reason) = reason else {
        return Ok(None);
    };
    let now = it.world.clock.unix_ms();
    let told = match reason {
        StopReason::BudgetTime => "research unit timed out",
        _ => "research unit was stopped",
    };
    for unit in units.iter_mut().filter(|it| it.is_active()) {
        unit.fails(told.to_owned(), now);
    }
    Ok(Some(reason))
}

/// One turn of all who are at work: decide, search, read, weigh. How many pages are new.
async fn step(
    it: &mut Gathering<'_>,
    aid: &mut Aid<'_>,
    team: &Team,
    wave: u32,
    units: &mut [Unit],
) -> Result<u32> {
    let moves = decided(it, aid, team, units).await?;
    let now = it.world.clock.unix_ms();
    let mut searching: Vec<(usize, Vec<String>)> = Vec::new();
    let mut reading: Vec<(usize, Vec<usize>)> = Vec::new();
    for (nth, next) in moves {
        match units[nth].takes(next, team, now) {
            Some(Move::Search(queries)) => searching.push((nth, queries)),
            Some(Move::Read(hits)) => reading.push((nth, hits)),
            _ => {}
        }
    }
    if !searching.is_empty() {
        searched(it, units, searching).await?;
    }
    match reading.is_empty() {
        true => Ok(0),
        false => fetched(it, aid, wave, units, reading).await,
    }
}

/// What each researcher who is at work does next.
async fn decided(
    it: &Gathering<'_>,
    aid: &mut Aid<'_>,
    team: &Team,
    units: &mut [Unit],
) -> Result<Vec<(usize, Move)>> {
    let plan = &it.gathered.notes.plan;
    let alone = |unit: &Unit| {
        let words = plan
            .item(unit.item)
            .map(|item| researcher::first_words(unit, item, it.pace.breadth));
        researcher::unaided(it, unit, words.unwrap_or_default())
    };
    let active = units.iter().enumerate().filter(|it| it.1.is_active());
    let Some(mind) = aid.mind(Step::Research, ModelRole::Researcher) else {
        return Ok(active.map(|(nth, unit)| (nth, alone(unit))).collect());
    };
    let searching = !it.places.is_nowhere();
    let mut asking = Vec::new();
    let mut moves = Vec::new();
    for (nth, unit) in active {
        if unit.by_code {
            moves.push((nth, alone(unit)));
            continue;
        }
        let asked = researcher::decide(
            mind,
            it.brief.asked(),
            &it.brief.lang,
            searching,
            team,
            unit,
        );
        asking.push(async move { (nth, asked.await) });
    }
    let answers: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
    let mut broken = Vec::new();
    for (nth, (model, answer)) in answers {
        aid.settle(Step::Research, ModelRole::Researcher, model);
        let next = match answer {
            Ok(next) => next.narrowed(it.places.policy()),
            Err(fault) => {
                // Money that is spent is no fault of the researcher.
                if fault.kind() != Kind::Exhausted {
                    broken.push(nth);
                }
                aid.without(Step::Research, ModelRole::Researcher, fault)?;
                alone(&units[nth])
            }
        };
        moves.push((nth, next));
    }
    for nth in broken {
        units[nth].goes_on_by_code();
    }
    moves.sort_by_key(|it| it.0);
    Ok(moves)
}

/// Sends the searches of a turn, and shows each researcher what it may read.
async fn searched(
    it: &mut Gathering<'_>,
    units: &mut [Unit],
    searching: Vec<(usize, Vec<String>)>,
) -> Result<()> {
    let mut next: Vec<Query> = Vec::new();
    let mut whose: Vec<usize> = Vec::new();
    for (nth, words) in &searching {
        let unit = &units[*nth];
        let Some(item) = it.gathered.notes.plan.item(unit.item) else {
            continue;
        };
        let variation = researcher::variation(unit);
        let own = words.iter().map(|it| Words::plain(variation, it.clone()));
        let own = own.collect();
        let most = words.len() as u32;
        let own = queries::given(&it.places, it.question, item, own, most, &mut it.asked);
        whose.extend(own.iter().map(|_| *nth));
        next.extend(own);
    }
    let (world, log) = (it.world, it.log);
    within_searches(it.question, &it.gathered.usage, &mut next, folders(world));
    note(&mut it.gathered.queries, &next);
    let by: Vec<(&Query, Option<&str>)> = next
        .iter()
        .zip(&whose)
        .map(|(query, nth)| (query, Some(units[*nth].id.as_str())))
        .collect();
    let got = &mut it.gathered;
    let fault = search::search_as(world, log, &by, &mut it.found, &mut got.usage).await?;
    log.flush().await?;
    all_failed(fault, &it.found, &got.usage)?;
    for (nth, words) in searching {
        let unit = &mut units[nth];
        let (hits, found) = it
            .found
            .prepared(world, log, it.brief, unit.item, &got.shelf)
            .await?;
        log.emit_as(
            Some(&unit.id),
            Event::SearchPrepared {
                found: found as u32,
                shown: hits.len() as u32,
                llm_calls_in_preprocess: 0,
            },
        );
        unit.trail
            .push(format!("search_web {}: {found} hits", words.join(" | ")));
        unit.hits = hits;
    }
    Ok(())
}

/// Reads the pages of a turn and weighs them; what was found waits with its researcher until the wave ends.
async fn fetched(
    it: &mut Gathering<'_>,
    aid: &mut Aid<'_>,
    wave: u32,
    units: &mut [Unit],
    reading: Vec<(usize, Vec<usize>)>,
) -> Result<u32> {
    let mut wanted: Vec<(Hit, usize)> = Vec::new();
    for (nth, hits) in &reading {
        for at in hits {
            let Some(hit) = units[*nth].hits.get(*at) else {
                continue;
            };
            // Another researcher may want the same page in the same turn: it is read once, for the first.
            let twice = wanted.iter().any(|it| it.0.key() == hit.key());
            if !twice && !it.gathered.shelf.tried(hit.key()) {
                wanted.push((hit.clone(), *nth));
            }
        }
    }
    let (world, log, question) = (it.world, it.log, it.question);
    let got = &mut it.gathered;
    let by: Vec<(Hit, Option<&str>)> = wanted
        .iter()
        .map(|(hit, nth)| (hit.clone(), Some(units[*nth].id.as_str())))
        .collect();
    let fresh = read::read_as(
        world,
        log,
        question,
        by,
        &mut got.shelf,
        &mut got.notes,
        &mut got.usage,
    )
    .await?;
    log.flush().await?;
    let sources: Vec<_> = fresh.iter().map(|it| it.1).collect();
    let round = weigh::Round {
        question,
        brief: it.brief,
        fresh: &sources,
        wave,
        chunks: Some(FETCHED),
    };
    let found = weigh::found(log, aid, &round, &mut it.scale, &got.notes, &got.shelf).await?;
    let policy = it.places.policy();
    names::learn(policy, it.brief, &got.notes, found.iter());
    for (at, (hit, nth)) in wanted.iter().enumerate() {
        let unit = &mut units[*nth];
        let source = fresh.iter().find(|it| it.0 == at).map(|it| it.1);
        let own: Vec<_> = found
            .iter()
            .filter(|it| Some(it.source) == source)
            .cloned()
            .collect();
        let outcome = match (source, got.shelf.failed().get(&hit.url)) {
            (None, Some(reason)) => researcher::told(reason),
            _ => format!("{} findings", own.len()),
        };
        unit.trail.push(format!("fetch_url {}: {outcome}", hit.url));
        unit.findings.extend(own);
    }
    for (nth, _) in reading {
        let unit = &mut units[nth];
        let prepared = it
            .found
            .prepared(world, log, it.brief, unit.item, &got.shelf);
        unit.hits = prepared.await?.0;
    }
    Ok(fresh.len() as u32)
}

/// Tells how it stands (row C2).
fn tell(it: &Gathering<'_>, lead: &Lead) {
    let notes = &it.gathered.notes;
    let domains = notes.domains(&notes.evidence);
    let gate = it.gathered.gate.gate;
    let progress = RuntimeProgress {
        supervisor_iteration: lead.decisions,
        dispatched_research_units: lead.dispatched,
        skipped_research_units: lead.skipped,
        quality_gate_status: lead.gate.unwrap_or(GateStatus::None),
        quality_gate_reason: lead.refused.clone(),
        evidence_record_count: notes.evidence.len() as u32,
        source_domain_count: domains.len() as u32,
        source_domains: domains.into_iter().map(str::to_owned).collect(),
        min_evidence_records: gate.min_evidence_records,
        min_cited_records: gate.min_cited_records,
        min_source_domains: gate.min_source_domains,
        research_units: lead.units.clone(),
    };
    it.log.emit(Event::RuntimeProgress { progress });
}
