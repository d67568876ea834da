//! `evals COMPONENT [ARGUMENTS…]`: measures a part of Ibid on real data. `README.md` beside this tells how.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement's figures are its output, and a terminal is its only surface"
)]

mod align;
mod answers;
mod attribution;
mod collection;
mod conflicts;
mod crash;
mod dates;
mod documents;
mod extract;
mod fit;
mod injection;
mod libraries;
mod linear;
mod load;
mod meaning;
mod memory;
mod multi_hop;
mod overlap;
mod peers;
mod program;
mod quotes;
mod recordings;
mod reports;
mod rerank;
mod retrieve;
mod sets;
mod speed;
mod strategies;
mod web;

use std::process::ExitCode;

/// What can go wrong in a measurement: a sentence for the person who runs it.
type Fault = Box<dyn std::error::Error>;

/// What a measuring program gives back.
type Outcome = Result<(), Fault>;

const USAGE: &str = "usage: evals COMPONENT [ARGUMENTS…]    (see evals/README.md)
  quotes        every citation of many runs against the stored pages
  speed         start, runs, memory, reading and indexing against their bounds
  answers       what reports answer, and whether they keep to the matter
  strategies    the four ways to gather, on the same questions
  crash         kills at random moments and at every named point
  attribution   claims against sources
  conflicts     documents that answer one question differently
  documents     every file through the readers
  linear        documents written to be slow to read, from 64 kB to 8 MB
  extract       main-content extraction against gold pages, beside other extractors
  dates         publication dates of pages against gold dates, beside htmldate
  retrieve      ranking on judged collections, beside BM25 and its libraries
  multihop      the same asked in several steps
  rerank        passages in order of graded judgements
  memory        peak memory of indexing 100,000 passages, and of searching them
  load          many runs at once on a server that is running
  web           many pages of the web at once, beside the slowest, and their memory
  injection     pages that give orders, and a model that obeys them
  reports       what reports look like, beside those of other systems
  recordings    recorded calls of real interfaces through the wires
  fit           the trees of the main-text extraction, fitted again";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let outcome: Outcome = match args.first().map(String::as_str) {
        Some("quotes") => quotes::run(rest),
        Some("speed") => speed::run(rest),
        Some("strategies") => strategies::run(rest),
        Some("answers") => answers::run(rest),
        Some("crash") => crash::run(rest),
        Some("attribution") => attribution::run(rest),
        Some("conflicts") => conflicts::run(rest),
        Some("dates") => dates::run(rest).map_err(Into::into),
        Some("documents") => documents::run(rest).map_err(Into::into),
        Some("linear") => linear::run(rest),
        Some("extract") => extract::run(rest).map_err(Into::into),
        Some("fit") => fit::run(rest).map_err(Into::into),
        Some("injection") => injection::run(rest),
        Some("recordings") => recordings::run(rest),
        Some("reports") => reports::run(rest),
        Some("retrieve") => retrieve::run(rest, retrieve::Way::Once).map_err(Into::into),
        Some("multihop") => retrieve::run(rest, retrieve::Way::Steps).map_err(Into::into),
        Some("rerank") => rerank::run(rest).map_err(Into::into),
        Some("load") => load::run(rest),
        Some("web") => web::run(rest),
        Some("memory") => memory::run(rest),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("evals: {fault}");
            ExitCode::FAILURE
        }
    }
}
