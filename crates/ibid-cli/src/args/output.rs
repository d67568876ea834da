//! What to print, and in which format.
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};

pub use ibid_report::ReportFormat;

/// What to print.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the report, or the object of --json, to this file or directory
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
    /// Format of the report
    #[arg(short, long, value_name = "FORM", value_parser = form_parser())]
    pub format: Option<ReportFormat>,
    /// Print one JSON object at the end instead of the report
    #[arg(long, conflicts_with_all = ["jsonl", "format"])]
    pub json: bool,
    /// Print each event as a line of JSON when it happens, then the object of --json
    #[arg(long, conflicts_with = "format")]
    pub jsonl: bool,
    /// Print progress on stderr as one JSON object per line
    #[arg(long, conflicts_with = "jsonl")]
    pub progress_json: bool,
    /// Show the run full screen, with keys to finish, steer, cancel and leave
    #[arg(long, conflicts_with_all = ["jsonl", "progress_json"])]
    pub live: bool,
    /// Language of the answer, as a two-letter code
    #[arg(long, value_name = "LANG")]
    pub lang: Option<String>,
    /// Leave out the footnotes with quotes
    #[arg(long)]
    pub no_quotes: bool,
    /// Fail (exit 6) unless all checks and the evidence gate pass
    #[arg(long)]
    pub strict: bool,
}

/// Parses the name of a format, or one of its aliases.
pub(super) fn form_parser() -> impl TypedValueParser<Value = ReportFormat> {
    PossibleValuesParser::new(ReportFormat::ALL.iter().map(|form| form_value(*form)))
        .try_map(|name| ReportFormat::from_name(&name).ok_or("unknown format"))
}

/// A format as the help lists it.
pub(super) fn form_value(form: ReportFormat) -> PossibleValue {
    let info = form.info();
    PossibleValue::new(info.name).aliases(info.aliases).help(info.label)
}
