//! The `ibid` program: parse, configure, open, run.
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ibid::surfaces::cli::main(std::env::args_os().collect()))
}
