//! Words of the commands that look back at runs, or ask many questions: `judge`, `rate`, `stats`, `diff`, `rerun`, `batch`.
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{Output, Sources, Work};
use crate::domain::Share;

/// Judging a run.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without a model, code judges by what it counts. With one (the role `judge`, or the model of every \
                  role), the model's scores count within what code counted. docs/judging.md tells the formula."
)]
pub struct Judge {
    /// Which: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// Language model that judges, as provider:model or judge=provider:model; `none` counts alone
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    /// Bound of judging: '$0.10', 50ktokens or 2m, joined by | (repeatable)
    #[arg(long, value_name = "AMOUNT")]
    pub budget: Vec<String>,
}

/// A reader's thumb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Thumb {
    /// Good.
    Up,
    /// Not good.
    Down,
}

/// Rating a report.
#[derive(Debug, Clone, Args)]
pub struct Rate {
    /// Which: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Which way the thumb points
    #[arg(value_name = "THUMB")]
    pub thumb: Thumb,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// What changed between two runs.
#[derive(Debug, Clone, Args)]
pub struct Diff {
    /// The earlier run: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub before: String,
    /// The later one
    #[arg(value_name = "OTHER")]
    pub after: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// Sharing a report.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without --link it writes one HTML file to send to somebody. With --link it makes a link that a server of the \
                  same store (`ibid serve`) answers, without signing in. Quotes of local documents are kept back unless \
                  --include-private is given; the sentences of the report stay."
)]
pub struct Sharing {
    /// Which: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Write the HTML file here; into the current directory otherwise
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with_all = ["link", "revoke"])]
    pub output: Option<PathBuf>,
    /// Make a link, and print it
    #[arg(long)]
    pub link: bool,
    /// How many days the link lasts, 1 to 365
    #[arg(long, value_name = "N", default_value_t = Share::DAYS, value_parser = clap::value_parser!(u32).range(1..=i64::from(Share::MOST_DAYS)))]
    pub days: u32,
    /// Show the quotes of local documents, too
    #[arg(long, conflicts_with = "revoke")]
    pub include_private: bool,
    /// End every link to the report
    #[arg(long, conflicts_with = "link")]
    pub revoke: bool,
}

/// Asking a question again.
#[derive(Debug, Clone, Args)]
pub struct Rerun {
    /// Which: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Look only for what was published since the day it was asked
    #[arg(long)]
    pub since_last: bool,
    /// What to print.
    #[command(flatten)]
    pub output: Output,
}

/// Answering many questions.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "FILE holds one JSON object a line: {\"id\": …, \"prompt\": \"…\"} (`question` or `query` will do). Each \
                  answered row becomes a line {\"id\", \"prompt\", \"article\"} of OUT at once. The same command goes on \
                  where it stopped: rows that are in OUT are passed over, interrupted ones are resumed, failed ones tried \
                  again."
)]
pub struct Batch {
    /// The questions; `-` reads stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Where the articles go; `OUT.runs` beside it keeps which run belongs to which row
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Questions worked on at once, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Where to look.
    #[command(flatten)]
    pub sources: Sources,
    /// How much to do for each.
    #[command(flatten)]
    pub work: Work,
    /// Two-letter language of the answers
    #[arg(long, value_name = "LANG", help_heading = "Output")]
    pub lang: Option<String>,
    /// Leave out the quote footnotes
    #[arg(long, help_heading = "Output")]
    pub no_quotes: bool,
    /// Fail (exit 6) unless all checks and the evidence gate pass for every row
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
