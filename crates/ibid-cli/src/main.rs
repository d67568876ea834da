//! The `ibid` program: parse, configure, open, run.
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    // Ibid starts itself again, confined, to read files that may be hostile.
    if let Some(confined) = ibid::app::run_confined_parser(&args) {
        return confined;
    }
    ExitCode::from(ibid_cli::main(args))
}
