//! A question, where to search for its answer, and how much to do.
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::interaction::InteractionArgs;
use super::output::OutputArgs;
use ibid::config::Flag;

/// A question and how to answer it.
#[derive(Debug, Clone, Default, Args)]
pub struct AskArgs {
    /// The question, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION", allow_hyphen_values = false)]
    pub question: Option<String>,
    /// Where to search.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Before the run, let the model ask up to three clarifying questions if yours is ambiguous
    #[arg(long, alias = "ask")]
    pub clarify: bool,
    /// Plans, approval and earlier conversation.
    #[command(flatten)]
    pub turns: InteractionArgs,
    /// How much to do.
    #[command(flatten)]
    pub work: MethodArgs,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Where to search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Sources")]
pub struct SourceArgs {
    /// Search this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// Search this engine, or one of web, news, scholar, auto, none (repeatable or comma-separated)
    #[arg(long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Search folders only; nothing but the model is contacted
    #[arg(long, conflicts_with = "engine")]
    pub only_local: bool,
    /// Only use sources of this domain (repeatable)
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    pub domain: Vec<String>,
    /// Exclude sources of this domain (repeatable)
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    pub not_domain: Vec<String>,
    /// Only use sources published on or after this date: 2020, 2020-05-01 or 30d
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only use sources published on or before this date
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// The only folders to search, from `--input`.
    #[arg(skip)]
    pub input_folders: Option<Vec<PathBuf>>,
}

/// Refuses an empty domain, which would match either every source or none.
fn domain(text: &str) -> std::result::Result<String, String> {
    match text.trim() {
        "" => Err("the domain is empty; write one such as example.org".to_owned()),
        domain => Ok(domain.to_owned()),
    }
}

/// How much to do. The table of settings holds the ranges and validates the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Effort")]
pub struct MethodArgs {
    /// quick, standard, deep, max or auto
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
    /// checklist, planned, supervisor, coverage or auto
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: Option<String>,
    /// Queries per round for each open item of the checklist, 2 to 10
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub breadth: Option<String>,
    /// Rounds, 1 to 5
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub depth: Option<String>,
    /// Request every page and search again instead of reusing those of earlier runs
    #[arg(long)]
    pub fresh: bool,
    /// Stop at '$2', 15m or 60calls; join several with | (repeatable)
    #[arg(long, value_name = "AMOUNT")]
    pub budget: Vec<String>,
    /// Language model as provider:model, or for one role as role=provider:model (repeatable)
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    /// Maximum number of rounds
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<String>,
    /// Share of the topics that must be covered, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub completeness_threshold: Option<String>,
    /// Maximum tokens of a page summary, 100 to 1000
    #[arg(long, value_name = "N")]
    pub summary_tokens: Option<String>,
    /// The settings from `--input`.
    #[arg(skip)]
    pub input: Vec<Flag>,
}

/// Arguments of `ibid plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// What to plan.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Let the planner model make the plan, within the budget
    #[arg(long, conflicts_with = "plan")]
    pub model_plan: bool,
}

/// Arguments of `ibid ask`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "The follow-up is a new run. It uses the folders, engines, filters, models, mode, effort and budget of the \
                  finished run unless options say otherwise."
)]
pub struct FollowUpArgs {
    /// The finished run: a run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The follow-up question.
    #[command(flatten)]
    pub ask: AskArgs,
}
