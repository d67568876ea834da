//! The child process that parses documents.

/// Runs this process as the confined parser of documents where `args` ask for it. Otherwise registers this program as one that can be
/// started so; untrusted documents are parsed in such children from then on.
///
/// Call it first in `main`, with the arguments of the process, and exit with the code that it returns, if any. A program that does not
/// call it parses untrusted HTML, Markdown, JSON and text in its own process, and reads no PDF, Word or EPUB files:
/// see [`Parser`](ibid_extract::Parser).
pub fn run_confined_parser(args: &[std::ffi::OsString]) -> Option<std::process::ExitCode> {
    use ibid_extract::{Parser, child};
    if args.get(1).is_some_and(|arg| arg == child::COMMAND) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        return Some(child::child_main(&args[2..], &path));
    }
    Parser::register_current();
    None
}
