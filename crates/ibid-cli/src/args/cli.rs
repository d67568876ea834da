//! The whole command line: a question or a command, and the options of every command.
use clap::{Args, Parser, ValueEnum};

use super::command::Command;
use super::question::AskArgs;

/// Deep research in which every quote is checked against its page.
#[derive(Debug, Parser)]
#[command(
    name = "ibid",
    version,
    disable_help_subcommand = true,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    max_term_width = 100
)]
pub struct Cli {
    /// A question without a command; the same as `run`.
    #[command(flatten)]
    pub ask: AskArgs,
    /// The command.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of every command.
    #[command(flatten)]
    pub common: GlobalArgs,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Only print errors, no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more about what happens
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub color: ColorMode,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorMode {
    /// If the output is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
