//! How a stored report is printed, and the forms it is written in.
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};

use super::Form;
use crate::surfaces::export::Options;
use crate::surfaces::export::references::styled;

/// How a stored report is printed.
#[derive(Debug, Clone, Default, Args)]
pub struct Shape {
    /// Form of the report
    #[arg(short, long, value_name = "FORM")]
    pub format: Option<Form>,
    /// The final object of the run
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Leave out the quote footnotes
    #[arg(long)]
    pub no_quotes: bool,
    /// Style of the form `bibliography`: apa, vancouver, nature, …
    #[arg(long, value_name = "STYLE")]
    pub style: Option<String>,
}

/// Writing a run to a file.
#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Which: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Form of the report; or `plan`, for `ibid run --plan`; or `recording`, for `ibid replay`
    #[arg(short, long, value_name = "FORM")]
    pub format: Option<Exported>,
    /// The final object of the run
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Leave out the quote footnotes
    #[arg(long)]
    pub no_quotes: bool,
    /// Style of the form `bibliography`: apa, vancouver, nature, …
    #[arg(long, value_name = "STYLE", conflicts_with = "json")]
    pub style: Option<String>,
    /// Write to this file or directory, not to stdout
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
}

/// What a run is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exported {
    /// Its report.
    Report(Form),
    /// The plan, for `ibid run --plan`.
    Plan,
    /// The question, every call with its answer, every page and every event.
    Recording,
}

impl ValueEnum for Exported {
    fn value_variants<'a>() -> &'a [Exported] {
        static ALL: LazyLock<Vec<Exported>> = LazyLock::new(|| {
            let forms = Form::ALL.iter().copied().map(Exported::Report);
            forms.chain([Exported::Plan, Exported::Recording]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Exported::Report(form) => form.to_possible_value(),
            Exported::Plan => {
                Some(PossibleValue::new("plan").help("The plan, for `ibid run --plan`"))
            }
            Exported::Recording => Some(
                PossibleValue::new("recording")
                    .help("The question, every call with its answer, every page and every event"),
            ),
        }
    }
}

impl Export {
    /// How the report is printed, where one is.
    pub fn shape(&self) -> Shape {
        Shape {
            format: match self.format {
                Some(Exported::Report(form)) => Some(form),
                Some(Exported::Plan | Exported::Recording) | None => None,
            },
            json: self.json,
            no_quotes: self.no_quotes,
            style: self.style.clone(),
        }
    }
}

impl Shape {
    /// The form asked for: by its name, by a style, or by the name of the file it goes to.
    pub fn form(&self, to: Option<&Path>) -> Option<Form> {
        if self.json {
            return Some(Form::Json);
        }
        let by_style = self.style.as_ref().map(|_| Form::Bibliography);
        self.format.or(by_style).or_else(|| Form::of_path(to?))
    }

    /// How it is made.
    pub fn options(&self) -> Options<'_> {
        Options {
            quotes: !self.no_quotes,
            style: self.style.as_deref().unwrap_or(styled::DEFAULT),
        }
    }
}
