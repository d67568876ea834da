//! `evals COMPONENT [ARGUMENTS…]`: measures a part of Ibid on real data. `README.md` beside this tells how.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement's figures are its output, and a terminal is its only surface"
)]

mod attribution;
mod crash;
mod program;
mod quotes;
mod sets;
mod speed;

use std::process::ExitCode;

/// What can go wrong in a measurement: a sentence for the person who runs it.
type Fault = Box<dyn std::error::Error>;

/// What a measuring program gives back.
type Outcome = Result<(), Fault>;

const USAGE: &str =
    "usage: evals quotes|speed|crash|attribution [ARGUMENTS…]    (see evals/README.md)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let outcome: Outcome = match args.first().map(String::as_str) {
        Some("quotes") => quotes::run(rest),
        Some("speed") => speed::run(rest),
        Some("crash") => crash::run(rest),
        Some("attribution") => attribution::run(rest),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr().lock(), "evals: {fault}");
use std::process::ExitCode;

mod documents;
mod extract;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        return usage();
    }
    let component = args.remove(0);
    let outcome = match component.as_str() {
        "documents" => documents::run(&args),
        "extract" => extract::run(&args),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("evals {component}: {message}\n").as_bytes(),
            );
            eprintln!("evals: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    let text = "usage: evals COMPONENT …\n  \
        documents --child IBID DIR…   every file through the readers\n  \
        extract [--pages] DIR…        main-content extraction against gold pages\n";
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    ExitCode::from(2)
}
