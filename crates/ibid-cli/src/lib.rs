//! The `ibid` command line. [`main`] takes the arguments and returns the exit code; `dispatch` maps each command to its module.
//!
//! Nothing here decides how research is done: that is in `ibid-research`, and the settings and the run queue are in `ibid`.
mod admin;
mod approval;
pub mod args;
mod ask;
mod batch;
mod changes;
mod check;
pub mod console;
mod dispatch;
mod doctor;
mod documents;
mod embedding_models;
mod engines;
mod evaluation;
mod exit;
mod export;
mod find_run;
mod fleet;
mod follow;
mod help;
mod indexing;
mod init;
mod input_files;
mod jsonl;
pub mod live;
mod log_subscriber;
mod mcp_sources;
mod model_notice;
mod online_eval;
mod plan;
mod plan_view;
pub mod progress;
pub mod progress_line;
mod progress_screen;
mod prompts;
mod question;
mod read_task;
mod replay;
mod report_output;
mod runs;
mod runtime;
mod schedules;
mod serve;
mod setup;
mod share;
mod signals;
mod sources;
mod ssrf_check;
mod terminal_report;
mod traces;
mod version;
mod viewer;

use std::ffi::OsString;

use ibid::config::ProcessEnv;

use args::ColorMode;
use console::Console;
use exit::ExitStatus;

/// Runs the command line `args`, whose first word is the program's name, and returns the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    let exit = match ProcessEnv::from_process() {
        Ok(env) => dispatch::run(&args, &env),
        Err(fault) => {
            let console = Console::from_process(ColorMode::Auto, false, false, &Default::default());
            console.print_error(&fault);
            ExitStatus::from_kind(fault.kind())
        }
    };
    exit as u8
}
