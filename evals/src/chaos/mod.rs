//! Do promises hold whatever fails? Scripts of faults, drawn from seeds, and what must hold after each.
//!
//! A script says how a run is asked and what goes wrong at which call: engines, pages, models and the reranker that fail in
//! every way, a clock that jumps, a disk that is full or slow, a process that is killed, a power loss, a user who stops it. The
//! run is resumed until it ends. Then the store is read by SQL and held against the books of the world.
//!
//! `evals chaos [--scripts N] [--first SEED] [--seed SEED [--keep DIR]] [-v]`
mod check;
mod disk;
mod inside;
mod left;
mod model;
mod ports;
mod script;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use futures_util::{StreamExt, stream};

use super::program::{flag, number};
use super::{Measured, Outcome};
use check::Invariant;
use script::{KINDS, Script};

/// Scripts at a time: a script mostly waits for the disk.
const AT_ONCE: usize = 4;

/// Says that this process may mount file systems that no other process sees.
const MOUNTS: &str = "--mounts";

/// Plays scripts and prints how often each kind of fault happened, and what did not hold.
pub(crate) fn run(args: &[String]) -> Outcome {
    scripts(args, 500)
}

/// One script for each kind of fault.
pub(crate) fn small(args: &[String]) -> Outcome {
    scripts(args, KINDS.len())
}

fn scripts(args: &[String], count: usize) -> Outcome {
    let count = number(args, "--scripts", count)?;
    let first = number(args, "--first", 0)? as u64;
    let seeds: Vec<u64> = match flag(args, "--seed") {
        Some(seed) => vec![seed.parse()?],
        None => (first..first + count as u64).collect(),
    };
    let has_mounts = args.iter().any(|arg| arg == MOUNTS);
    if !has_mounts && disk::may_mount() {
        return in_own_mounts(args, seeds.len());
    }
    if !has_mounts {
        println!("store: disk full is not measured; only root may mount a small disk");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let keep = flag(args, "--keep").map(Path::new);
    let began = Instant::now();
    let outcomes = runtime.block_on(play_all(&seeds, has_mounts, keep));
    let breaches = show(&outcomes, args.iter().any(|arg| arg == "-v"));
    println!("{} scripts in {:.0} s", outcomes.len(), began.elapsed().as_secs_f64());
    match breaches {
        0 => Ok(Measured::new(outcomes.len(), "scripts")),
        n => Err(format!("{n} invariants do not hold").into()),
    }
}

/// Runs this program again where it may mount small disks, which vanish with it.
fn in_own_mounts(args: &[String], count: usize) -> Outcome {
    let done = Command::new("unshare")
        .arg("--mount")
        .arg(std::env::current_exe()?)
        .args(["chaos", MOUNTS, "--scripts", &count.to_string()])
        .args(args)
        .status()?;
    if !done.success() {
        return Err("a script failed".into());
    }
    Ok(Measured::new(count, "scripts"))
}

/// Plays the scripts, each in a folder of its own, which is `keep` where one is named.
async fn play_all(seeds: &[u64], can_mount: bool, keep: Option<&Path>) -> Vec<inside::Outcome> {
    let playing = stream::iter(seeds).map(|seed| async move {
        let script = Script::from_seed(*seed, can_mount);
        let played = match (keep, tempfile::tempdir()) {
            (Some(home), _) => inside::play(script.clone(), home).await,
            (None, Ok(home)) => inside::play(script.clone(), home.path()).await,
            (None, Err(error)) => Err(error.into()),
        };
        played.unwrap_or_else(|error| inside::Outcome::unplayed(script, &error))
    });
    playing.buffered(AT_ONCE).collect().await
}

/// Prints the tables; returns how many invariants do not hold.
fn show(outcomes: &[inside::Outcome], verbose: bool) -> usize {
    println!("kind of fault                            | scripts hit by it | with every invariant held");
    for kind in KINDS {
        let hit: Vec<_> = outcomes.iter().filter(|it| it.fired.contains(kind)).collect();
        let held = hit.iter().filter(|it| it.breaches.is_empty()).count();
        println!("{:40} | {:17} | {held}", kind.name, hit.len());
    }
    for invariant in Invariant::ALL {
        let broken = |it: &&inside::Outcome| it.breaches.iter().any(|breach| breach.0 == invariant);
        let n = outcomes.iter().filter(broken).count();
        println!("{:46} {}/{}", invariant.text(), outcomes.len() - n, outcomes.len());
    }
    let mut endings: BTreeMap<&str, usize> = BTreeMap::new();
    outcomes.iter().for_each(|it| *endings.entry(&it.ending).or_default() += 1);
    let endings: Vec<String> = endings.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let sessions: u32 = outcomes.iter().map(|it| it.sessions).sum();
    let quotes: usize = outcomes.iter().map(|it| it.quotes).sum();
    println!("endings: {} · {sessions} sessions · {quotes} quotes", endings.join(", "));
    for it in outcomes {
        let told: BTreeSet<_> = it.breaches.iter().collect();
        if verbose || !told.is_empty() {
            let faults: Vec<&str> = it.fired.iter().map(|kind| kind.name).collect();
            let script = &it.script;
            println!(
                "seed {}: {} {:?} {:?}, {}: {}",
                script.seed,
                script.strategy.as_str(),
                script.effort,
                script.mode,
                it.ending,
                faults.join("; ")
            );
        }
        for (invariant, text) in told {
            println!("  {}: {text}", invariant.text());
        }
    }
    outcomes.iter().map(|it| it.breaches.len()).sum()
}
