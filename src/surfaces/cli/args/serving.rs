//! The words of `serve`.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::config::Flag;

/// Where to serve, and what.
#[derive(Debug, Clone, Args)]
pub struct Serving {
    /// Address and port; any but loopback needs a token in IBID_TOKEN
    #[arg(long, value_name = "ADDR:PORT")]
    pub addr: Option<String>,
    /// Serve this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// Runs to work on at once
    #[arg(long, value_name = "N")]
    pub concurrency: Option<String>,
}

impl Serving {
    /// The settings that its flags set.
    pub fn flags(&self) -> Vec<Flag> {
        let each = [
            ("serve.addr", "--addr", &self.addr),
            ("serve.concurrency", "--concurrency", &self.concurrency),
        ];
        each.into_iter()
            .filter_map(|(name, flag, value)| {
                let value = value.clone()?;
                Some(Flag { name, flag, value })
            })
            .collect()
    }
}

/// Tools for another agent.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Tooling {
    /// Serve this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// What else.
    #[command(subcommand)]
    pub action: Option<ToolingAction>,
}

/// What else of tools.
#[derive(Debug, Clone, Subcommand)]
pub enum ToolingAction {
    /// Print what a host needs to find the tools
    Config {
        /// Which: claude-code, claude-desktop, codex, vscode, cursor, gemini, goose, librechat or openwebui
        #[arg(value_name = "CLIENT")]
        client: String,
    },
}
