//! Round by round: ask for what is open, read what is found, weigh it, see what is covered.
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    Brief, Complexity, Coverage, Effort, Gate, GateVerdict, ItemId, Mode, Notes, Plan, Query,
    Question, StopReason, Usage, Variation,
};
use crate::error::{Error, Result};
use crate::record::{Event, Phase};
use crate::research::aid::Aid;
use crate::research::ask::shapes::QueryRow;
use crate::research::cover::{self, Standing};
use crate::research::gathered::Gathered;
use crate::research::read::{self, Shelf};
use crate::research::search::{self, Found};
use crate::research::searches;
use crate::research::unaided::{queries, score::Scale};
use crate::research::weigh;
use crate::seams::{Go, Log, World};

/// How far to go.
struct Pace {
    rounds: u32,
    breadth: u32,
}

impl Pace {
    /// By the method's numbers; a short answer takes one round, and effort `auto` goes by complexity.
    fn of(question: &Question, plan: &Plan) -> Pace {
        let method = &question.method;
        let mut rounds = method.depth.min(method.max_iterations).max(1);
        let mut breadth = method.breadth.max(1);
        if method.effort == Effort::Auto {
            (rounds, breadth) = match plan.complexity {
                Complexity::Simple => (rounds.min(1), breadth.min(3)),
                Complexity::Moderate => (rounds.min(2), breadth),
                Complexity::Complex => (rounds, breadth),
            };
        }
        if question.mode == Mode::Answer {
            (rounds, breadth) = (1, breadth.min(2));
        }
        Pace { rounds, breadth }
    }
}

pub(crate) async fn gather(
    world: &World,
    log: &Log,
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
    plan: Plan,
) -> Result<(Gathered, Scale)> {
    let pace = Pace::of(question, &plan);
    let mut scale = Scale::new(brief, &plan)?;
    let mut asked: BTreeSet<Vec<String>> = BTreeSet::new();
    let mut next = queries::first_round(question, brief, &plan, pace.breadth, &mut asked)?;
    let mut notes = Notes::new(plan);
    let mut found = Found::default();
    let mut shelf = Shelf::default();
    let mut standing = Standing::default();
    let mut usage = Usage::default();
    let mut sent: Vec<String> = Vec::new();
    let mut verdict = Gate::of(&question.method).judge(&notes, 0);
    let mut wave = 0;

    let stop = loop {
        if wave > 0
            && let Go::Finish(reason) = world.steering.go(&format!("wave-{}", wave + 1)).await?
        {
            log.emit(Event::RunFinishing { reason });
            break reason;
        }
        wave += 1;
        log.enter(Phase::Research, Some(wave));
        let items = items_of(&next);
        let cut = within_searches(question, &usage, &mut next, world.search.len());
        log.emit(Event::WaveStarted {
            items: items.clone(),
            queries: next.len() as u32,
        });
        sent.extend(next.iter().map(|it| it.text.clone()));
        let fault = search::search(world, log, &next, &mut found, &mut usage).await?;
        log.flush().await?;
        all_failed(fault, &found, &usage)?;

        let wanted = found
            .choose(world, log, question, brief, &items, &shelf)
            .await?;
        let fresh = read::read(
            world, log, question, wanted, &mut shelf, &mut notes, &mut usage,
        )
        .await?;
        log.flush().await?;
        let round = weigh::Round {
            question,
            brief,
            fresh: &fresh,
            wave,
        };
        let new_evidence = weigh::weigh(log, aid, &round, &mut scale, &mut notes, &shelf).await?;
        let usage_so_far = usage.with_models(&aid.usage());
        log.emit(Event::BudgetUpdated {
            usage: usage_so_far,
        });

        standing.update(brief, &notes, &mut scale, wave, found.domains())?;
        standing.judge(aid, brief, &notes, wave).await?;
        standing.tell(log);
        verdict = Gate::of(&question.method).judge(&notes, found.domains());
        log.emit(Event::GateJudged {
            verdict: verdict.clone(),
        });
        log.emit(Event::WaveFinished {
            new_evidence,
            new_sources: fresh.len() as u32,
        });
        log.flush().await?;

        if let Some(reason) = enough(&verdict, &standing, question, new_evidence, wave, &pace) {
            break reason;
        }
        if cut || spent(question, &usage, world.search.len()) {
            log.emit(Event::BudgetWarning {
                message: cover::spent_message(&usage),
            });
            break StopReason::BudgetCalls;
        }
        let thought = searches::thought_of(aid, brief, &notes.plan, &standing.rows, &sent).await?;
        next = open_queries(
            question,
            brief,
            &notes,
            &standing,
            &shelf,
            pace.breadth,
            &thought,
            &mut asked,
            log,
        );
        if next.is_empty() {
            break StopReason::NoNewEvidence;
        }
    };

    let failed: BTreeMap<String, String> = std::mem::take(&mut shelf.failed).into_iter().collect();
    let gathered = Gathered {
        notes,
        pages: shelf.into_pages(),
        coverage: standing.rows,
        gate: verdict,
        stop,
        usage,
        waves: wave,
        engines: world.search.iter().map(|it| it.name().to_owned()).collect(),
        queries: sent,
        failed: failed.into_iter().collect(),
    };
    Ok((gathered, scale))
}

fn items_of(queries: &[Query]) -> Vec<ItemId> {
    let all: BTreeSet<ItemId> = queries.iter().map(|it| it.item).collect();
    all.into_iter().collect()
}

/// Cuts the round to the searches that may still be sent; whether any fell away.
fn within_searches(
    question: &Question,
    usage: &Usage,
    next: &mut Vec<Query>,
    engines: usize,
) -> bool {
    let engines = engines.max(1) as u64;
    let by_searches = question
        .budget
        .searches
        .map(|it| it.saturating_sub(usage.searches));
    // Of the calls left, half are kept for reading.
    let by_calls = question
        .budget
        .calls
        .map(|it| it.saturating_sub(usage.calls()).div_ceil(2));
    let Some(left) = by_searches.into_iter().chain(by_calls).min() else {
        return false;
    };
    let room = (left / engines) as usize;
    let cut = next.len() > room;
    next.truncate(room);
    cut
}

fn spent(question: &Question, usage: &Usage, engines: usize) -> bool {
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
fn all_failed(fault: Option<Error>, found: &Found, usage: &Usage) -> Result<()> {
    match fault {
        Some(fault) if found.answered == 0 && usage.searches > 0 => Err(fault),
        _ => Ok(()),
    }
}

/// Whether looking may end, and why (rows B6, C3, D1, D11).
fn enough(
    verdict: &GateVerdict,
    standing: &Standing,
    question: &Question,
    new: u32,
    wave: u32,
    pace: &Pace,
) -> Option<StopReason> {
    if verdict.pass && standing.good(question.method.completeness_threshold) {
        return Some(StopReason::CoverageReached);
    }
    if new == 0 && wave > 1 {
        return Some(StopReason::NoNewEvidence);
    }
    (wave >= pace.rounds).then_some(StopReason::MaxIterations)
}

/// Queries for what is still open, each gap told (rows D6, E11).
#[allow(clippy::too_many_arguments, reason = "what a next round depends on")]
fn open_queries(
    question: &Question,
    brief: &Brief,
    notes: &Notes,
    standing: &Standing,
    shelf: &Shelf,
    breadth: u32,
    thought: &[QueryRow],
    asked: &mut BTreeSet<Vec<String>>,
    log: &Log,
) -> Vec<Query> {
    let mut next = Vec::new();
    for row in &standing.rows {
        if !matches!(row.state, Coverage::Open | Coverage::Partial) {
            continue;
        }
        let (Some(item), Some(gap)) = (notes.plan.item(row.id), standing.gaps.get(&row.id)) else {
            continue;
        };
        log.emit(Event::GapFound {
            item: row.id,
            gap: gap.text.clone(),
            gap_query: gap.query.clone(),
        });
        let own: Vec<(Variation, String)> = thought
            .iter()
            .filter(|it| it.item == item.id)
            .map(|it| (it.variation, it.query.trim().to_owned()))
            .collect();
        let most = breadth.min(3);
        let by_model = queries::given(question, item, own, most, asked);
        if by_model.is_empty() {
            let met = shelf.names_met(brief);
            next.extend(queries::gap_round(
                question, item, &gap.query, &met, most, asked,
            ));
        }
        next.extend(by_model);
    }
    next
}
