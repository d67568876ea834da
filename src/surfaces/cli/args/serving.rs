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

/// Looking at runs in the browser.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Viewing {
    /// Which to begin with: r_…, the beginning of it, or `last`; the list of all without it
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Address and port; a free port of loopback without it
    #[arg(long, value_name = "ADDR:PORT")]
    pub addr: Option<String>,
    /// Serve this folder of documents, for questions asked there (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// What else.
    #[command(subcommand)]
    pub action: Option<ViewAction>,
}

/// What else of looking.
#[derive(Debug, Clone, Subcommand)]
pub enum ViewAction {
    /// Write reports as a folder of pages that needs no server
    Bundle {
        /// Which: r_…, the beginning of it, or `last`; every run with a report without it
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        /// The folder; it is made where it is not
        #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        output: PathBuf,
    },
}

impl Viewing {
    /// The settings that its flags set.
    pub fn flags(&self) -> Vec<Flag> {
        let addr = self
            .addr
            .clone()
            .unwrap_or_else(|| "127.0.0.1:0".to_owned());
        vec![Flag {
            name: "serve.addr",
            flag: "--addr",
            value: addr,
        }]
    }
}
