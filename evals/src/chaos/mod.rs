//! Do promises hold whatever fails? Scripts of faults, drawn from seeds, and what must hold after each.
//!
//! A script says how a run is asked and what goes wrong at which call: engines, pages, models and the reranker that fail in
//! every way, a clock that jumps, a disk that is full or slow, a process that is killed, a power loss, a user who stops it. The
//! run is resumed until it ends. Then the store is read by SQL and held against the books of the world.
//!
//! Other scripts run the program itself over a web on loopback that fails, and stop it, kill it and fill its disk.
//!
//! `evals chaos [--scripts N] [--real N] [--ibid PATH] [--first SEED] [--seed SEED [--keep DIR]] [-v]`, and
//! `evals chaos --fleet`: see [`fleet`]
mod check;
mod disk;
mod fleet;
mod inside;
mod left;
mod model;
mod outside;
mod ports;
mod script;
mod table;
mod web;
mod world;

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use futures_util::{StreamExt, stream};

use super::program::{binary, flag, number};
use super::{Fault, Measured, Outcome};
use script::Script;

/// Scripts at a time: a script mostly waits for the disk.
const AT_ONCE: usize = 4;

/// Says that this process may mount file systems that no other process sees.
const MOUNTS: &str = "--mounts";

/// Plays scripts and prints how often each kind of fault happened, and what did not hold.
pub(crate) fn run(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--fleet") {
        return fleet::run(args);
    }
    scripts(args, 500, 70)
}

/// A few scripts of both sorts.
pub(crate) fn small(args: &[String]) -> Outcome {
    scripts(args, 24, 2)
}

fn scripts(args: &[String], count: usize, real: usize) -> Outcome {
    let count = number(args, "--scripts", count)?;
    let real = number(args, "--real", real)?;
    let first = number(args, "--first", 0)? as u64;
    let is_inside = args.iter().any(|arg| arg == MOUNTS);
    if !is_inside && disk::may_mount() {
        return in_own_mounts(args, count, real);
    }
    if !is_inside {
        println!("store: disk full is not measured; only root may mount a small disk");
    }
    let (seeds, real) = match flag(args, "--seed") {
        Some(seed) => (vec![seed.parse()?], 0),
        None => ((first..first + count as u64).collect(), real),
    };
    let is_verbose = args.iter().any(|arg| arg == "-v");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let keep = flag(args, "--keep").map(Path::new);
    let began = Instant::now();
    let outcomes = runtime.block_on(play_all(&seeds, is_inside, keep));
    let mut breaches = table::inside(&outcomes, is_verbose);
    println!("{} scripts in {:.0} s", outcomes.len(), began.elapsed().as_secs_f64());
    if real > 0 {
        let began = Instant::now();
        let outcomes = play_real(args, first..first + real as u64, is_inside)?;
        breaches += table::outside(&outcomes, is_verbose);
        println!("{} scripts on the program in {:.0} s", real, began.elapsed().as_secs_f64());
    }
    match breaches {
        0 => Ok(Measured::new(seeds.len() + real, "scripts")),
        n => Err(format!("{n} invariants do not hold").into()),
    }
}

/// Runs this program again where it may mount small disks, which vanish with it.
fn in_own_mounts(args: &[String], count: usize, real: usize) -> Outcome {
    let done = Command::new("unshare")
        .arg("--mount")
        .arg(std::env::current_exe()?)
        .args(["chaos", MOUNTS])
        .args(args)
        .args(["--scripts", &count.to_string(), "--real", &real.to_string()])
        .envs(crate::program::model_variable())
        .status()?;
    if !done.success() {
        return Err("a script failed".into());
    }
    Ok(Measured::new(count + real, "scripts"))
}

/// Plays the scripts of these seeds on the program itself, some at a time.
fn play_real(
    args: &[String],
    seeds: std::ops::Range<u64>,
    can_mount: bool,
) -> Result<Vec<outside::ProgramOutcome>, Fault> {
    let binary = binary(args)?;
    let next = Mutex::new(seeds);
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut played = Vec::new();
        while let Some(seed) = take() {
            let outcome = tempfile::tempdir()
                .map_err(Fault::from)
                .and_then(|home| outside::play(seed, &binary, home.path(), can_mount));
            played.push(
                outcome.unwrap_or_else(|error| outside::ProgramOutcome::unplayed(seed, &error)),
            );
        }
        played
    };
    let mut outcomes: Vec<outside::ProgramOutcome> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    outcomes.sort_by_key(|outcome| outcome.seed);
    Ok(outcomes)
}

/// Plays the scripts, each in a folder of its own, which is `keep` where one is named.
async fn play_all(
    seeds: &[u64],
    can_mount: bool,
    keep: Option<&Path>,
) -> Vec<inside::ScriptOutcome> {
    let playing = stream::iter(seeds).map(|seed| async move {
        let script = Script::from_seed(*seed, can_mount);
        let played = match (keep, tempfile::tempdir()) {
            (Some(home), _) => inside::play(script.clone(), home).await,
            (None, Ok(home)) => inside::play(script.clone(), home.path()).await,
            (None, Err(error)) => Err(error.into()),
        };
        played.unwrap_or_else(|error| inside::ScriptOutcome::unplayed(script, &error))
    });
    playing.buffered(AT_ONCE).collect().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds whose scripts once found a fault of the program: a prompt that was asked twice was counted twice.
    const ONCE_FAILED: [u64; 2] = [14, 391];

    #[test]
    fn scripts_that_once_found_a_fault_hold() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let outcomes = runtime.map(|runtime| runtime.block_on(play_all(&ONCE_FAILED, true, None)));
        for it in outcomes.expect("a runtime") {
            assert!(it.breaches.is_empty() && it.sessions > 0, "{:?}", it.breaches);
        }
    }
}
