//! Words about turns: plans, approval, what was said before.
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Ask;
use crate::domain::{Mode, Turn};

/// What was said and planned before.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Turns")]
pub struct Turns {
    /// Go by this plan, which `ibid plan --json` wrote and you may have edited; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// Show the plan and wait for your word before anything is spent on it
    #[arg(long, conflicts_with = "no_ask")]
    pub approve: bool,
    /// Ask nothing back; the same as IBID_NO_PROMPT=1
    #[arg(long, conflicts_with = "clarify")]
    pub no_ask: bool,
    /// What was said before: a JSON list of {system, assistant, user}; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub dialogue: Option<PathBuf>,
    /// Question and settings as a JSON object {query, breadth, depth, mode, …}; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// The turns that `input` holds.
    #[arg(skip)]
    pub said: Vec<Turn>,
    /// The mode that `input` names.
    #[arg(skip)]
    pub mode: Option<Mode>,
}

/// Showing a plan.
#[derive(Debug, Clone, Args)]
pub struct Planning {
    /// What to plan.
    #[command(flatten)]
    pub ask: Ask,
    /// Have the planner model make it, inside the budget
    #[arg(long, conflicts_with = "plan")]
    pub model_plan: bool,
}

/// Asking on after a run.
#[derive(Debug, Clone, Args)]
pub struct FollowUp {
    /// Which run to follow: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// What to ask on.
    #[command(flatten)]
    pub ask: Ask,
}

/// A word on a plan that waits.
#[derive(Debug, Clone, Args)]
pub struct Approve {
    /// Which: r_…, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Go by this plan instead; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// Have the planner make it anew, with these words in mind
    #[arg(long, value_name = "WORDS", conflicts_with = "plan")]
    pub change: Option<String>,
}
