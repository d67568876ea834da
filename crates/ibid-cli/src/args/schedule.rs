//! Arguments of `ibid schedule`.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::question::{MethodArgs, SourceArgs};

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub enum ScheduleAction {
    /// Ask a question again at intervals, the first time at once
    Add(Box<AddScheduleArgs>),
    /// List schedules, newest first
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Pause a schedule: no rerun starts
    Pause(NamedSchedule),
    /// Resume a schedule; a rerun that was missed starts at once
    Resume(NamedSchedule),
    /// Make the next rerun due now
    Run(NamedSchedule),
    /// Delete a schedule; its runs stay
    Rm(NamedSchedule),
}

/// Arguments of `ibid schedule add`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "A server on the same store (`ibid serve`) starts the reruns, with the folders, engines and models that it serves. \
                  Each rerun is compared with the one before it. If no server runs when reruns are due, one is made up for."
)]
pub struct AddScheduleArgs {
    /// The question, in quotes
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// Time between two reruns, from 15m to 365d
    #[arg(long, value_name = "INTERVAL")]
    pub every: String,
    /// Send each rerun with its changes to this address, signed as webhooks of runs are
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    /// Write each rerun with its changes as a mail (.eml) into this directory of the server's machine
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub mail: Option<PathBuf>,
    /// Language of the report, as a two-letter code
    #[arg(long, value_name = "LANG")]
    pub lang: Option<String>,
    /// Print the schedule as a JSON object
    #[arg(long)]
    pub json: bool,
    /// Where to search.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How much to do.
    #[command(flatten)]
    pub work: MethodArgs,
}

/// A schedule on the command line.
#[derive(Debug, Clone, Args)]
pub struct NamedSchedule {
    /// Schedule ID (s_…), or the beginning of one
    #[arg(value_name = "SCHEDULE")]
    pub schedule: String,
}
