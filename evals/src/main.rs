//! `evals COMPONENT`: measures a part of Ibid beside a floor or a peer.
use std::process::ExitCode;

mod extract;
mod retrieve;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        return usage();
    }
    let component = args.remove(0);
    let outcome = match component.as_str() {
        "extract" => extract::run(&args),
        "retrieve" => retrieve::run(&args),
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
    let text = "usage: evals extract DIR…   main-content extraction against gold pages\n\
                \x20      evals retrieve DIR…  ranking of a folder against relevance judgements\n";
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    ExitCode::from(2)
}
