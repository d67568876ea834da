//! The `ibid` program: parse, configure, open, run.
use std::process::ExitCode;

use ibid::adapters::documents::child;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    // Ibid starts itself again, confined, to read files that may be hostile.
    if args.get(1).is_some_and(|it| it == child::COMMAND) {
        return child::child_main(&args[2..]);
    }
    ExitCode::from(ibid::surfaces::cli::main(args))
}
