//! Arguments of the commands that look back at runs or repeat them: `show`, `traces`, `judge`, `rate`, `diff`, `share`, `rerun`, `replay`,
//! `batch`.
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};

use super::export::RenderArgs;
use super::output::OutputArgs;
use super::question::{MethodArgs, SourceArgs};
use ibid_core::domain::{ShareLink, Vote};

/// Arguments of `ibid show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// Run ID (r_…), the beginning of one, or `last` [default: last]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Show the newest run; the same as `last`
    #[arg(short = 'r', long, conflicts_with = "run")]
    pub last: bool,
    /// Show which hosts the run contacted, how often and with how many bytes
    #[arg(long, conflicts_with_all = ["format", "no_quotes"])]
    pub egress: bool,
    /// How to print the report.
    #[command(flatten)]
    pub render: RenderArgs,
}

/// Arguments of `ibid traces`.
#[derive(Debug, Clone, Args)]
pub struct TracesArgs {
    /// ID of a trace or of a run, the beginning of one, or `last` for the newest run [default: list all traces, newest first]
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Only list traces of this tool; runs are `deep_research` and `agentic_search`
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    pub tool: Option<String>,
    /// Print one JSON object, in a list one per line
    #[arg(long)]
    pub json: bool,
    /// Maximum number of traces in the list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, conflicts_with = "id", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// Arguments of `ibid judge`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without a model, scores come from counts alone. With a model (the role `judge`, or the model of every \
                  role), its scores are bounded by these counts. docs/judging.md has the formula."
)]
pub struct JudgeArgs {
    /// Run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Language model that judges, as provider:model or judge=provider:model; `none` uses counts alone
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    /// Limit on judging: '$0.10', 50ktokens or 2m, several joined with | (repeatable)
    #[arg(long, value_name = "AMOUNT")]
    pub budget: Vec<String>,
}

/// Arguments of `ibid rate`.
#[derive(Debug, Clone, Args)]
pub struct RateArgs {
    /// Run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Your rating
    #[arg(value_name = "RATING", value_parser = vote_parser())]
    pub vote: Vote,
    /// Reason for the rating
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Parses a rating.
fn vote_parser() -> impl TypedValueParser<Value = Vote> {
    let up = PossibleValue::new(Vote::Up.as_str()).help("Good");
    let down = PossibleValue::new(Vote::Down.as_str()).help("Not good");
    PossibleValuesParser::new([up, down])
        .map(|name| if name == Vote::Up.as_str() { Vote::Up } else { Vote::Down })
}

/// Arguments of `ibid diff`.
#[derive(Debug, Clone, Args)]
pub struct DiffArgs {
    /// The earlier run: a run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub before: String,
    /// The later run
    #[arg(value_name = "OTHER")]
    pub after: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `ibid share`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without --link, the command writes one HTML file that you can send. With --link, it prints a link that a server on \
                  the same store (`ibid serve`) answers without a login. Quotes from local documents are left out unless \
                  you add --include-private; the sentences of the report stay."
)]
pub struct ShareArgs {
    /// Run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Write the HTML file here [default: the current directory]
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with_all = ["link", "revoke"])]
    pub output: Option<PathBuf>,
    /// Create a link and print it
    #[arg(long)]
    pub link: bool,
    /// Days until the link expires, 1 to 365
    #[arg(long, value_name = "N", default_value_t = ShareLink::DAYS, value_parser = clap::value_parser!(u32).range(1..=i64::from(ShareLink::MAX_DAYS)))]
    pub days: u32,
    /// Include quotes from local documents
    #[arg(long, conflicts_with = "revoke")]
    pub include_private: bool,
    /// Revoke every link to the report
    #[arg(long, conflicts_with = "link")]
    pub revoke: bool,
}

/// Arguments of `ibid rerun`.
#[derive(Debug, Clone, Args)]
pub struct RerunArgs {
    /// Run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Only use sources published since the day the question was asked
    #[arg(long)]
    pub since_last: bool,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `ibid replay`. Any setting of the question makes the replay a fork.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without a setting of the question (Sources, Effort, --lang), the recording is replayed without network, \
                  folders or keys. The exit code says whether report and events are byte for byte as recorded (0) or \
                  differ (6). With such a setting, a new run takes recorded answers for recorded calls and makes all \
                  other calls live."
)]
pub struct ReplayArgs {
    /// The recording; `-` reads stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Where else to search.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How much to do instead.
    #[command(flatten)]
    pub work: MethodArgs,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ReplayArgs {
    /// Whether an option changes a setting of the question.
    pub fn has_overrides(&self) -> bool {
        self.sources != SourceArgs::default()
            || self.work != MethodArgs::default()
            || self.output.lang.is_some()
    }
}

/// Arguments of `ibid batch`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "FILE has one JSON object per line: {\"id\": …, \"prompt\": \"…\"} (or `question` or `query` instead of `prompt`). \
                  Each answer is written at once as a line {\"id\", \"prompt\", \"article\"} of OUT. To continue after a \
                  stop, run the same command again: it skips rows in OUT, resumes interrupted runs and retries failed \
                  ones."
)]
pub struct BatchArgs {
    /// The questions, one JSON object per line; `-` reads stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Write the answers here; OUT.runs beside it records the run of each row
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Also write the answers in this benchmark's format, next to OUT
    #[arg(long, value_name = "BENCHMARK", default_value = "drb")]
    pub format: BatchFormat,
    /// Questions to work on at the same time, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Where to search.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How much to do for each question.
    #[command(flatten)]
    pub work: MethodArgs,
    /// Language of the answers, as a two-letter code
    #[arg(long, value_name = "LANG", help_heading = "Output")]
    pub lang: Option<String>,
    /// Leave out the footnotes with quotes
    #[arg(long, help_heading = "Output")]
    pub no_quotes: bool,
    /// Fail (exit 6) unless all checks and the evidence gate pass for every row
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}

/// A benchmark whose repository reads answers of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BatchFormat {
    /// DeepResearch Bench: OUT itself
    #[default]
    Drb,
    /// DeepResearch Bench II: OUT.drb2/idx-ID.md
    Drb2,
    /// ResearchRubrics: OUT.researchrubrics/ID.md
    Researchrubrics,
    /// ReportBench: OUT.reportbench/ID.json
    Reportbench,
    /// ScholarQA-CS: OUT.scholarqa.jsonl
    Scholarqa,
}
