//! How well the research was done, by what its events say: search strategy and diversity of sources.
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::words::content_stems;
use crate::domain::{Part, Report, StopReason};
use crate::record::{Envelope, Event, Outcome, Run};

use super::answer::{part, share};

/// What a run did, in order.
#[derive(Default)]
pub(super) struct Trail {
    /// Engine, query, hits; `None` where the search failed.
    asked: Vec<(String, String, Option<u32>)>,
    /// How many pages of each voice were read.
    read: BTreeMap<String, u32>,
    unread: usize,
    /// New evidence by round.
    rounds: Vec<u32>,
    /// Share of the checklist after each look at it.
    coverage: Vec<f32>,
}

impl Trail {
    pub(super) fn of(events: &[Envelope]) -> Trail {
        let mut trail = Trail::default();
        for it in events {
            match &it.event {
                Event::SearchCompleted {
                    engine,
                    query,
                    hits,
                    outcome,
                    ..
                } => {
                    let came = matches!(outcome, Outcome::Ok | Outcome::Empty);
                    let row = (engine.clone(), query.clone(), came.then_some(*hits));
                    trail.asked.push(row);
                }
                Event::ReadCompleted { source, .. } => {
                    *trail.read.entry(source.domain.clone()).or_default() += 1;
                }
                Event::ReadFailed { .. } => trail.unread += 1,
                Event::WaveFinished { new_evidence, .. } => trail.rounds.push(*new_evidence),
                Event::CoverageUpdated { ratio, .. } => trail.coverage.push(*ratio),
                _ => {}
            }
        }
        trail
    }

    /// Every search in a line.
    pub(super) fn searches(&self) -> Vec<String> {
        let told = |it: &(String, String, Option<u32>)| {
            let came = match it.2 {
                Some(hits) => format!("{hits} hits"),
                None => "failed".to_owned(),
            };
            format!("{}: {} ({came})", it.0, it.1)
        };
        self.asked.iter().map(told).collect()
    }

    /// The voices read, those with most pages first.
    pub(super) fn domains(&self) -> Vec<String> {
        let mut all: Vec<_> = self.read.iter().collect();
        all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown = all.into_iter().take(SHOWN);
        shown.map(|(name, n)| format!("{name} ({n})")).collect()
    }
}

/// Voices named to a model at most.
const SHOWN: usize = 30;

/// The parts of the quality of the process.
pub(super) fn counted(run: &Run, report: &Report, trail: &Trail) -> Vec<Part> {
    vec![
        diversity(run, report),
        variety(trail),
        gate(run),
        searching(trail),
        reading(trail),
        yielding(trail),
        stop(report.method.stop),
    ]
}

/// What a model is told of a run in figures.
pub(super) fn facts(run: &Run, trail: &Trail) -> Vec<String> {
    let percent = |it: &f32| format!("{:.0} %", it * 100.0);
    let rounds: Vec<String> = trail.rounds.iter().map(u32::to_string).collect();
    let looks: Vec<String> = trail.coverage.iter().map(percent).collect();
    let read: u32 = trail.read.values().sum();
    let stop = run.stop_reason.map_or("", stopped);
    vec![
        format!("pages read: {read}; not readable: {}", trail.unread),
        format!("new evidence by round: {}", or_none(&rounds)),
        format!("checklist answered, look by look: {}", or_none(&looks)),
        format!("stopped because: {stop}"),
    ]
}

fn or_none(all: &[String]) -> String {
    match all {
        [] => "none".to_owned(),
        all => all.join(", "),
    }
}

fn stopped(it: StopReason) -> &'static str {
    match it {
        StopReason::CoverageReached => "enough is covered",
        StopReason::TrustReached => "the sources are trusted enough",
        StopReason::NoNewEvidence => "a round brought nothing new",
        StopReason::MaxIterations => "the rounds are used up",
        StopReason::BudgetUsd => "the money is spent",
        StopReason::BudgetTime => "the time is spent",
        StopReason::BudgetCalls => "the calls are spent",
        StopReason::UserFinish => "somebody asked for the end",
    }
}

/// Distinct voices cited, of as many as the settings ask for. The setting counts and not the gate that was lowered to
/// what a search brought: that all of it was one voice is what a judge must see.
fn diversity(run: &Run, report: &Report) -> Part {
    let asked = run.question.as_ref().map(|it| it.method.min_source_domains);
    let wanted = asked.unwrap_or(1).max(1) as usize;
    let mut voices: BTreeMap<&str, usize> = BTreeMap::new();
    let sources = report
        .claims()
        .flat_map(|it| it.citations())
        .filter_map(|it| report.sources.get((it.n as usize).wrapping_sub(1)));
    for it in sources {
        *voices.entry(it.domain.as_str()).or_default() += 1;
    }
    let all: usize = voices.values().sum();
    let most = voices.values().max().copied().unwrap_or(0);
    // Many voices of which one says nearly everything are not many.
    let spread = match voices.len() {
        0 => 0.0,
        1 => 1.0,
        _ => (2.0 * (1.0 - share(most, all))).min(1.0),
    };
    let score = share(voices.len().min(wanted), wanted) * (0.5 + 0.5 * spread);
    let why = format!(
        "distinct voices cited: {} of {wanted} wanted; the one cited most has {most} of {all} citations",
        voices.len()
    );
    part("diversity", 0.3, score, why)
}

/// How different queries are from those before them.
fn variety(trail: &Trail) -> Part {
    let mut queries: Vec<&str> = Vec::new();
    for (_, query, _) in &trail.asked {
        if !queries.contains(&query.as_str()) {
            queries.push(query);
        }
    }
    let stems: Vec<BTreeSet<String>> = queries
        .iter()
        .map(|it| content_stems(it).into_iter().collect())
        .collect();
    let news: Vec<f64> = stems
        .iter()
        .enumerate()
        .map(|(at, it)| 1.0 - nearest(it, &stems[..at]))
        .collect();
    // A query shares the subject with the others: with half of its words new it is as different as can be asked for.
    let score = match news.len() {
        0 => 0.0,
        n => news.iter().map(|it| (2.0 * it).min(1.0)).sum::<f64>() / n as f64,
    };
    let why = format!("distinct queries: {}", queries.len());
    part("variety", 0.2, score, why)
}

/// Largest share of words in common with one of `others`.
fn nearest(it: &BTreeSet<String>, others: &[BTreeSet<String>]) -> f64 {
    let likeness = |other: &BTreeSet<String>| {
        let both = it.intersection(other).count();
        both as f64 / it.union(other).count().max(1) as f64
    };
    others.iter().map(likeness).fold(0.0, f64::max)
}

/// How much of what the evidence gate asks for was there.
fn gate(run: &Run) -> Part {
    let Some(verdict) = &run.gate else {
        return part("gate", 0.15, 0.0, "the gate was never asked".to_owned());
    };
    let met = |there: u32, wanted: u32| share(there.min(wanted) as usize, wanted as usize);
    let wanted = &verdict.gate;
    let score = match verdict.pass {
        true => 1.0,
        false => {
            (met(verdict.evidence_records, wanted.min_evidence_records)
                + met(verdict.source_domains, wanted.min_source_domains))
                / 2.0
        }
    };
    let why = match &verdict.reason {
        None => "the evidence gate passed".to_owned(),
        Some(reason) => format!("the evidence gate did not pass: {reason}"),
    };
    part("gate", 0.15, score, why)
}

/// Searches that found something.
fn searching(trail: &Trail) -> Part {
    let found = |it: &&(String, String, Option<u32>)| it.2.is_some_and(|it| it > 0);
    let found = trail.asked.iter().filter(found).count();
    let all = trail.asked.len();
    let score = if all == 0 { 0.0 } else { share(found, all) };
    let engines: BTreeSet<&str> = trail.asked.iter().map(|it| it.0.as_str()).collect();
    let engines: Vec<&str> = engines.into_iter().collect();
    let why = format!(
        "{found} of {all} searches found something ({})",
        engines.join(", ")
    );
    part("searches", 0.1, score, why)
}

/// Pages that could be read.
fn reading(trail: &Trail) -> Part {
    let read = trail.read.values().sum::<u32>() as usize;
    let all = read + trail.unread;
    let score = if all == 0 { 0.0 } else { share(read, all) };
    part(
        "reads",
        0.1,
        score,
        format!("{read} of {all} pages could be read"),
    )
}

/// Rounds that brought something.
fn yielding(trail: &Trail) -> Part {
    let useful = trail.rounds.iter().filter(|it| **it > 0).count();
    let all = trail.rounds.len();
    let score = if all == 0 { 0.0 } else { share(useful, all) };
    let why = format!("{useful} of {all} rounds brought new evidence");
    part("rounds", 0.1, score, why)
}

/// Why looking stopped: an end that was reached is better than one that was forced.
fn stop(it: StopReason) -> Part {
    let score = match it {
        StopReason::CoverageReached => 1.0,
        StopReason::TrustReached => 0.9,
        StopReason::NoNewEvidence => 0.8,
        StopReason::MaxIterations | StopReason::UserFinish => 0.6,
        StopReason::BudgetUsd | StopReason::BudgetTime | StopReason::BudgetCalls => 0.4,
    };
    part(
        "stop",
        0.05,
        score,
        format!("stopped because {}", stopped(it)),
    )
}
