//! The tables: how often each kind of fault happened, and what held.
use std::collections::{BTreeMap, BTreeSet};

use super::check::{Breach, Invariant};
use super::script::KINDS;
use super::web::Trouble;
use super::{inside, outside};

/// Prints what came of scripts in this process; returns how many invariants do not hold.
pub(super) fn inside(outcomes: &[inside::ScriptOutcome], verbose: bool) -> usize {
    header();
    for kind in KINDS {
        let hit = outcomes.iter().filter(|it| it.fired.contains(kind));
        row(kind.name, hit.map(|it| it.breaches.as_slice()));
    }
    let all = Invariant::ALL.into_iter();
    invariants(all, &outcomes.iter().map(|it| it.breaches.as_slice()).collect::<Vec<_>>());
    endings(outcomes.iter().map(|it| it.ending.as_str()));
    let sessions: u32 = outcomes.iter().map(|it| it.sessions).sum();
    let quotes: usize = outcomes.iter().map(|it| it.quotes).sum();
    let stopped: u32 = outcomes.iter().map(|it| it.stopped).sum();
    println!("{sessions} sessions, {stopped} of them stopped by the store; {quotes} quotes");
    for it in outcomes.iter().filter(|it| verbose || !it.breaches.is_empty()) {
        let script = &it.script;
        let faults: Vec<&str> = it.fired.iter().map(|kind| kind.name).collect();
        println!(
            "seed {}: {} {:?} {:?}, {}: {}",
            script.seed,
            script.strategy.as_str(),
            script.effort,
            script.mode,
            it.ending,
            faults.join("; ")
        );
        tell(&it.breaches);
    }
    outcomes.iter().map(|it| it.breaches.len()).sum()
}

/// Prints what came of scripts on the program; returns how many invariants do not hold.
pub(super) fn outside(outcomes: &[outside::ProgramOutcome], verbose: bool) -> usize {
    header();
    for trouble in Trouble::ALL {
        let hit = outcomes.iter().filter(|it| it.fired.contains(&trouble));
        row(trouble.name(), hit.map(|it| it.breaches.as_slice()));
    }
    // These runs have no model and no limit, so spending is not judged.
    let judged = Invariant::ALL.into_iter().filter(|it| *it != Invariant::Spend);
    invariants(judged, &outcomes.iter().map(|it| it.breaches.as_slice()).collect::<Vec<_>>());
    endings(outcomes.iter().map(|it| it.ending.as_str()));
    let sessions: u32 = outcomes.iter().map(|it| it.sessions).sum();
    let stopped: u32 = outcomes.iter().map(|it| it.stopped).sum();
    println!("{sessions} sessions, {stopped} of them stopped by the store");
    for it in outcomes.iter().filter(|it| verbose || !it.breaches.is_empty()) {
        let faults: Vec<&str> = it.fired.iter().map(|trouble| trouble.name()).collect();
        println!("real seed {}, {}: {}", it.seed, it.ending, faults.join("; "));
        tell(&it.breaches);
    }
    outcomes.iter().map(|it| it.breaches.len()).sum()
}

fn header() {
    println!("| kind of fault | scripts hit | every invariant held |\n| --- | --- | --- |");
}

fn row<'a>(name: &str, hit: impl Iterator<Item = &'a [Breach]>) {
    let hit: Vec<&[Breach]> = hit.collect();
    let held = hit.iter().filter(|breaches| breaches.is_empty()).count();
    println!("| {name} | {} | {held} |", hit.len());
}

fn invariants(judged: impl Iterator<Item = Invariant>, all: &[&[Breach]]) {
    println!("| invariant | scripts in which it held |\n| --- | --- |");
    for invariant in judged {
        let is_broken = |breaches: &&&[Breach]| breaches.iter().any(|it| it.0 == invariant);
        let broken = all.iter().filter(is_broken).count();
        println!("| {} | {} of {} |", invariant.text(), all.len() - broken, all.len());
    }
}

fn endings<'a>(all: impl Iterator<Item = &'a str>) {
    let mut endings: BTreeMap<&str, usize> = BTreeMap::new();
    all.for_each(|ending| *endings.entry(ending).or_default() += 1);
    let endings: Vec<String> = endings.iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!("endings: {}", endings.join(" · "));
}

fn tell(breaches: &[Breach]) {
    for (invariant, text) in breaches.iter().collect::<BTreeSet<_>>() {
        println!("  {}: {text}", invariant.text());
    }
}
