//! Arguments that print or export a stored report.
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};

use super::output::{ReportFormat, form_parser, form_value};
use ibid_report::ExportOptions;
use ibid_report::references::bibliography;

/// How to print a stored report.
#[derive(Debug, Clone, Default, Args)]
pub struct RenderArgs {
    /// Format of the report
    #[arg(short, long, value_name = "FORM", value_parser = form_parser())]
    pub format: Option<ReportFormat>,
    /// Print the JSON object of the run instead
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Leave out the footnotes with quotes
    #[arg(long)]
    pub no_quotes: bool,
    /// Citation style of the format `bibliography`: apa, vancouver, nature, …
    #[arg(long, value_name = "STYLE")]
    pub style: Option<String>,
}

/// Arguments of `ibid export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Format of the report, `plan` for `ibid run --plan`, or `recording` for `ibid replay`
    #[arg(short, long, value_name = "FORM")]
    pub format: Option<ExportKind>,
    /// Print the JSON object of the run instead
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Leave out the footnotes with quotes
    #[arg(long)]
    pub no_quotes: bool,
    /// Citation style of the format `bibliography`: apa, vancouver, nature, …
    #[arg(long, value_name = "STYLE", conflicts_with = "json")]
    pub style: Option<String>,
    /// Write to this file or directory instead of stdout
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
}

/// What to export of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportKind {
    /// Its report.
    Report(ReportFormat),
    /// The plan, for `ibid run --plan`.
    Plan,
    /// The question, and every call with its answer, page and event.
    Recording,
}

impl ValueEnum for ExportKind {
    fn value_variants<'a>() -> &'a [ExportKind] {
        static ALL: LazyLock<Vec<ExportKind>> = LazyLock::new(|| {
            let forms = ReportFormat::ALL.iter().copied().map(ExportKind::Report);
            forms.chain([ExportKind::Plan, ExportKind::Recording]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            ExportKind::Report(form) => Some(form_value(*form)),
            ExportKind::Plan => {
                Some(PossibleValue::new("plan").help("The plan, for `ibid run --plan`"))
            }
            ExportKind::Recording => Some(
                PossibleValue::new("recording")
                    .help("The question, and every call with its answer, page and event"),
            ),
        }
    }
}

impl ExportArgs {
    /// The arguments for printing the report.
    pub fn render_args(&self) -> RenderArgs {
        RenderArgs {
            format: match self.format {
                Some(ExportKind::Report(form)) => Some(form),
                Some(ExportKind::Plan | ExportKind::Recording) | None => None,
            },
            json: self.json,
            no_quotes: self.no_quotes,
            style: self.style.clone(),
        }
    }
}

impl RenderArgs {
    /// The format chosen by name, by a style, or by the extension of the output file `to`.
    pub fn form(&self, to: Option<&Path>) -> Option<ReportFormat> {
        if self.json {
            return Some(ReportFormat::Json);
        }
        let by_style = self.style.as_ref().map(|_| ReportFormat::Bibliography);
        self.format.or(by_style).or_else(|| ReportFormat::from_path(to?))
    }

    /// The options for rendering the report.
    pub fn options(&self) -> ExportOptions<'_> {
        ExportOptions {
            quotes: !self.no_quotes,
            style: self.style.as_deref().unwrap_or(bibliography::DEFAULT),
        }
    }
}
