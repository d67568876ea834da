//! What is printed, and in which form.
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// What to print.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Write the report, or the object of --json, to this file or directory
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
    /// Form of the report
    #[arg(short, long, value_name = "FORM")]
    pub format: Option<Form>,
    /// One JSON object at the end, instead of the report
    #[arg(long, conflicts_with_all = ["jsonl", "format"])]
    pub json: bool,
    /// One event a line as it happens, then that object
    #[arg(long, conflicts_with = "format")]
    pub jsonl: bool,
    /// Progress on stderr as JSON, one object a line
    #[arg(long, conflicts_with = "jsonl")]
    pub progress_json: bool,
    /// Two-letter language of the answer
    #[arg(long, value_name = "LANG")]
    pub lang: Option<String>,
    /// Leave out the quote footnotes
    #[arg(long)]
    pub no_quotes: bool,
    /// Fail (exit 6) unless all checks and the evidence gate pass
    #[arg(long)]
    pub strict: bool,
}

/// Form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// Markdown.
    #[default]
    Md,
    /// Every claim and citation as JSON.
    Json,
    /// One HTML file that needs nothing else.
    Html,
}
