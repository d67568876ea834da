//! `evals COMPONENT [ARGUMENTS…]`: measures a part of Ibid on real data. `README.md` beside this tells how.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement's figures are its output, and a terminal is its only surface"
)]

mod align;
mod answers;
mod attribution;
mod chaos;
mod collection;
mod components;
mod conflicts;
mod crash;
mod dates;
mod documents;
mod extract;
mod fact;
mod fleet;
mod fleet_simulation;
mod generated;
mod injection;
mod judge;
mod judged;
mod libraries;
mod linear;
mod load;
mod meaning;
mod measured;
mod memory;
mod multi_hop;
mod overlap;
mod peers;
mod program;
mod questions;
mod quotes;
mod race;
mod recordings;
mod reports;
mod rerank;
mod retrieve;
mod rubrics;
mod sets;
mod speed;
mod strategies;
mod train_extractor;
mod web;

use std::process::{Command, ExitCode};
use std::time::Instant;

use components::{COMPONENTS, Component, Form};
use measured::Measured;

/// What can go wrong in a measurement: a sentence for the person who runs it.
type Fault = Box<dyn std::error::Error>;

/// What a measuring program gives back: how much it measured.
type Outcome = Result<Measured, Fault>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let done = match args.first().map(String::as_str) {
        Some("all") if rest == ["--small"] => all(),
        Some(web::READER) => web::read_all(rest),
        Some(name) => match COMPONENTS.iter().find(|component| component.name == name) {
            Some(it) => one(it, rest),
            None => Err(usage().into()),
        },
        None => Err(usage().into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("evals: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let lines: Vec<String> = COMPONENTS
        .iter()
        .map(|component| format!("  {:14}{}", component.name, component.text))
        .collect();
    format!(
        "usage: evals COMPONENT [ARGUMENTS…]    (see evals/README.md)
       evals COMPONENT --small    its logic on a little data, without its bounds on speed and memory
       evals all --small
{}",
        lines.join("\n")
    )
}

/// Runs a component, whole or small.
fn one(component: &Component, args: &[String]) -> Result<(), Fault> {
    let is_small = args.iter().any(|arg| arg == "--small");
    let args: Vec<String> = args.iter().filter(|arg| *arg != "--small").cloned().collect();
    let Form { data, run } = if is_small { &component.small } else { &component.run };
    // Vectors of the sample library, made anew in each home, would be most of the time.
    if is_small && !matches!(component.name, "answers" | "questions") {
        program::compare_words_alone();
    }
    // JSON on stdout stands alone.
    let as_json = args.iter().any(|arg| arg == "--json");
    let say = |line: &str| if as_json { eprintln!("{line}") } else { println!("{line}") };
    say(&measured::header(component.name, data, &args));
    say(&run(&args)?.line()?);
    Ok(())
}

/// Runs the small form of every component, each in a process of its own, and prints one line for each.
fn all() -> Result<(), Fault> {
    println!("{}", measured::header("all", "the small form of every component", &[]));
    let (begun, mut failed) = (Instant::now(), 0);
    for it in COMPONENTS {
        let began = Instant::now();
        let output = Command::new(std::env::current_exe()?).args([it.name, "--small"]).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.lines().last().unwrap_or_default();
        let outcome = if output.status.success() { last } else { "FAILED" };
        println!("{:14}{:6.1} s  {outcome}", it.name, began.elapsed().as_secs_f64());
        if !output.status.success() {
            failed += 1;
            println!("{said}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    println!("{:14}{:6.1} s  {failed} failed", "all", begun.elapsed().as_secs_f64());
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} components failed", COMPONENTS.len()).into()),
    }
}
