//! Plans, approval and earlier conversation.
use std::path::PathBuf;

use clap::{Args, ValueHint};

use ibid::app::plan_file::PlanFile;
use ibid_core::domain::{DialogueTurn, OutputMode};

/// Plans, approval and earlier conversation.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Interaction")]
pub struct InteractionArgs {
    /// Use this plan, as written by `ibid plan --json` and possibly edited; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// Show the plan and wait for your approval before spending anything on it
    #[arg(long, conflicts_with = "no_prompt")]
    pub approve: bool,
    /// Do not prompt; same as IBID_NO_PROMPT=1
    #[arg(long, alias = "no-ask", conflicts_with = "clarify")]
    pub no_prompt: bool,
    /// Who asks, and what for: guides the plan and the tone, and is never searched for
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// Earlier conversation as a JSON list of {system, assistant, user}; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub dialogue: Option<PathBuf>,
    /// Question and settings as a JSON object {query, breadth, depth, mode, …}; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// The earlier conversation from `input`.
    #[arg(skip)]
    pub input_dialogue: Vec<DialogueTurn>,
    /// The mode from `input`.
    #[arg(skip)]
    pub mode: Option<OutputMode>,
    /// The plan from `input`.
    #[arg(skip)]
    pub input_plan: Option<PlanFile>,
    /// The run to follow up, from `input`.
    #[arg(skip)]
    pub follows: Option<String>,
}

/// Arguments of `ibid approve`.
#[derive(Debug, Clone, Args)]
pub struct ApproveArgs {
    /// Run ID (r_…), the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Use this plan instead; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// Do not approve yet; let the planner make a new plan with this change
    #[arg(long, value_name = "WORDS", conflicts_with = "plan")]
    pub change: Option<String>,
}
