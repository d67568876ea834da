//! Scores how well the research was done, by its events: search strategy and diversity of sources.
use std::collections::{BTreeMap, BTreeSet};

use ibid_core::domain::words::content_stems;
use ibid_core::domain::{QualityPart, Report, StopReason, public_address};
use ibid_core::record::{Envelope, Event, Run, SearchOutcome};

use super::answer::{score_part, share};

/// What a run did, in order.
#[derive(Default)]
pub(super) struct RunActivity {
    /// Engine, query and number of hits; `None` where the search failed.
    asked: Vec<(String, String, Option<u32>)>,
    /// How many pages of each site were read.
    read: BTreeMap<String, u32>,
    unread: usize,
    /// New evidence by round.
    rounds: Vec<u32>,
    /// Coverage after each round.
    coverage: Vec<f32>,
}

impl RunActivity {
    pub(super) fn from_events(events: &[Envelope]) -> RunActivity {
        let mut trail = RunActivity::default();
        for it in events {
            match &it.event {
                Event::SearchCompleted { engine, query, hits, outcome, .. } => {
                    let came = matches!(outcome, SearchOutcome::Ok | SearchOutcome::Empty);
                    let row = (engine.clone(), query.clone(), came.then_some(*hits));
                    trail.asked.push(row);
                }
                Event::ReadCompleted { source, .. } => {
                    *trail.read.entry(source.domain.clone()).or_default() += 1;
                }
                Event::ReadFailed { .. } => trail.unread += 1,
                Event::RoundFinished { new_evidence, .. } => trail.rounds.push(*new_evidence),
                Event::CoverageUpdated { ratio, .. } => trail.coverage.push(*ratio),
                _ => {}
            }
        }
        trail
    }

    /// One line for each search.
    pub(super) fn searches(&self) -> Vec<String> {
        let line = |row: &(String, String, Option<u32>)| {
            let came = match row.2 {
                Some(hits) => format!("{hits} hits"),
                None => "failed".to_owned(),
            };
            format!("{}: {} ({came})", row.0, row.1)
        };
        self.asked.iter().map(line).collect()
    }

    /// The sites read, those with most pages first.
    pub(super) fn domains(&self) -> Vec<String> {
        let mut all: Vec<_> = self.read.iter().collect();
        all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown = all.into_iter().take(MAX_SHOWN_SITES);
        shown.map(|(name, n)| format!("{} ({n})", public_address(name))).collect()
    }
}

/// Maximum number of sites named to a model.
const MAX_SHOWN_SITES: usize = 30;

/// The parts of the quality of the process.
pub(super) fn score_process(run: &Run, report: &Report, trail: &RunActivity) -> Vec<QualityPart> {
    vec![
        diversity(run, report),
        variety(trail),
        gate(run),
        search_yield(trail),
        read_success(trail),
        round_yield(trail),
        stop_score(report.method.stop),
    ]
}

/// Figures of a run for a model.
pub(super) fn facts(run: &Run, trail: &RunActivity) -> Vec<String> {
    let percent = |number: &f32| format!("{:.0} %", number * 100.0);
    let rounds: Vec<String> = trail.rounds.iter().map(u32::to_string).collect();
    let looks: Vec<String> = trail.coverage.iter().map(percent).collect();
    let read: u32 = trail.read.values().sum();
    let stop = run.stop_reason.map_or("", StopReason::phrase);
    vec![
        format!("pages read: {read}; not readable: {}", trail.unread),
        format!("new evidence by round: {}", or_none(&rounds)),
        format!("checklist answered, round by round: {}", or_none(&looks)),
        format!("stopped because: {stop}"),
    ]
}

fn or_none(all: &[String]) -> String {
    match all {
        [] => "none".to_owned(),
        all => all.join(", "),
    }
}

/// Distinct sites cited, relative to the number in the settings. The gate is not used, because it is lowered
/// to what a search found: that everything came from one site must show.
fn diversity(run: &Run, report: &Report) -> QualityPart {
    let asked = run.question.as_ref().map(|question| question.method.min_source_domains);
    let wanted = asked.unwrap_or(1).max(1) as usize;
    let mut voices: BTreeMap<&str, usize> = BTreeMap::new();
    let sources = report
        .claims()
        .flat_map(|claim| claim.citations())
        .filter_map(|citation| report.sources.get((citation.n as usize).wrapping_sub(1)));
    for it in sources {
        *voices.entry(it.domain.as_str()).or_default() += 1;
    }
    let all: usize = voices.values().sum();
    let most = voices.values().max().copied().unwrap_or(0);
    // Many sites count for little if one of them has nearly all the evidence.
    let spread = match voices.len() {
        0 => 0.0,
        1 => 1.0,
        _ => (2.0 * (1.0 - share(most, all))).min(1.0),
    };
    let score = share(voices.len().min(wanted), wanted) * (0.5 + 0.5 * spread);
    let why = format!(
        "distinct sites cited: {} of {wanted} wanted; the most cited one has {most} of {all} citations",
        voices.len()
    );
    score_part("diversity", 0.3, score, why)
}

/// How different queries are from those before them.
fn variety(trail: &RunActivity) -> QualityPart {
    let mut queries: Vec<&str> = Vec::new();
    for (_, query, _) in &trail.asked {
        if !queries.contains(&query.as_str()) {
            queries.push(query);
        }
    }
    let stems: Vec<BTreeSet<String>> =
        queries.iter().map(|query| content_stems(query).into_iter().collect()).collect();
    let news: Vec<f64> =
        stems.iter().enumerate().map(|(at, it)| 1.0 - max_similarity(it, &stems[..at])).collect();
    // Queries share the subject with the others: with half of its words new, one is as different as can be
    // expected.
    let score = match news.len() {
        0 => 0.0,
        n => news.iter().map(|number| (2.0 * number).min(1.0)).sum::<f64>() / n as f64,
    };
    let why = format!("distinct queries: {}", queries.len());
    score_part("variety", 0.2, score, why)
}

/// Largest share of words in common with any of `others`.
fn max_similarity(it: &BTreeSet<String>, others: &[BTreeSet<String>]) -> f64 {
    let likeness = |other: &BTreeSet<String>| {
        let both = it.intersection(other).count();
        both as f64 / it.union(other).count().max(1) as f64
    };
    others.iter().map(likeness).fold(0.0, f64::max)
}

/// How much of what the evidence gate requires was there.
fn gate(run: &Run) -> QualityPart {
    let Some(verdict) = &run.gate else {
        return score_part("gate", 0.15, 0.0, "the gate was never checked".to_owned());
    };
    let met = |there: u32, wanted: u32| share(there.min(wanted) as usize, wanted as usize);
    let wanted = &verdict.gate;
    let score = if verdict.pass {
        1.0
    } else {
        (met(verdict.evidence_records, wanted.min_evidence_records)
            + met(verdict.source_domains, wanted.min_source_domains))
            / 2.0
    };
    let why = match &verdict.reason {
        None => "the evidence gate passed".to_owned(),
        Some(reason) => format!("the evidence gate did not pass: {reason}"),
    };
    score_part("gate", 0.15, score, why)
}

/// Share of searches that found something.
fn search_yield(trail: &RunActivity) -> QualityPart {
    let found = |row: &&(String, String, Option<u32>)| row.2.is_some_and(|it| it > 0);
    let found = trail.asked.iter().filter(found).count();
    let all = trail.asked.len();
    let score = if all == 0 { 0.0 } else { share(found, all) };
    let engines: BTreeSet<&str> = trail.asked.iter().map(|pair| pair.0.as_str()).collect();
    let engines: Vec<&str> = engines.into_iter().collect();
    let why = format!("{found} of {all} searches found something ({})", engines.join(", "));
    score_part("searches", 0.1, score, why)
}

/// Share of pages that could be read.
fn read_success(trail: &RunActivity) -> QualityPart {
    let read = trail.read.values().sum::<u32>() as usize;
    let all = read + trail.unread;
    let score = if all == 0 { 0.0 } else { share(read, all) };
    score_part("reads", 0.1, score, format!("{read} of {all} pages could be read"))
}

/// Share of rounds that found something.
fn round_yield(trail: &RunActivity) -> QualityPart {
    let useful = trail.rounds.iter().filter(|round| **round > 0).count();
    let all = trail.rounds.len();
    let score = if all == 0 { 0.0 } else { share(useful, all) };
    let why = format!("{useful} of {all} rounds brought new evidence");
    score_part("rounds", 0.1, score, why)
}

/// Why gathering stopped: reaching the goal scores higher than being stopped.
fn stop_score(it: StopReason) -> QualityPart {
    let score = match it {
        StopReason::CoverageReached => 1.0,
        StopReason::TrustReached => 0.9,
        StopReason::NoNewEvidence => 0.8,
        StopReason::MaxIterations | StopReason::MaxResearchers | StopReason::UserFinish => 0.6,
        StopReason::BudgetUsd | StopReason::BudgetTime | StopReason::BudgetCalls => 0.4,
    };
    score_part("stop", 0.05, score, format!("stopped because {}", it.phrase()))
}
