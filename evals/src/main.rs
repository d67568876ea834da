//! `evals COMPONENT`: measures a part of Ibid beside a floor or a peer.
mod attribution;

use std::process::ExitCode;

/// What a measuring program gives back.
type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let outcome: Outcome = match args.first().map(String::as_str) {
        Some("attribution") => attribution::run(rest),
        _ => Err("usage: evals attribution [FOLDER]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr().lock(), "evals: {fault}");
use std::process::ExitCode;

mod extract;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        return usage();
    }
    let component = args.remove(0);
    let outcome = match component.as_str() {
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
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    let text = "usage: evals extract DIR…   main-content extraction against gold pages\n";
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    ExitCode::from(2)
}
