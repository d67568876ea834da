//! What is printed, and in which form.
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};

pub use crate::surfaces::export::Form;

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
    /// The run on the whole screen, with keys to finish, steer, cancel and leave
    #[arg(long, conflicts_with_all = ["jsonl", "progress_json"])]
    pub live: bool,
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

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Form] {
        Form::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let it = self.about();
        Some(PossibleValue::new(it.name).aliases(it.also).help(it.label))
    }
}
