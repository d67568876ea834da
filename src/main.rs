//! The `ibid` program: parse, configure, open, run.
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some((first, rest)) = args.split_first()
        && first == ibid::adapters::documents::child::COMMAND
    {
        return ibid::adapters::documents::child::child_main(rest);
    }
    ExitCode::SUCCESS
}
