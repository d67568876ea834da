//! Arguments of the commands that serve: `serve`, `mcp`, `view`.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use ibid::config::Flag;

/// Arguments of `ibid serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Address and port; any address but loopback needs a token in IBID_TOKEN
    #[arg(long, value_name = "ADDR:PORT")]
    pub addr: Option<String>,
    /// Serve this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// Maximum number of runs at the same time
    #[arg(long, value_name = "N")]
    pub concurrency: Option<String>,
    /// Share the queue of runs with other servers through Temporal
    #[arg(long)]
    pub fleet: bool,
}

impl ServeArgs {
    /// The settings that these flags set.
    pub fn flags(&self) -> Vec<Flag> {
        let each = [
            ("serve.addr", "--addr", &self.addr),
            ("serve.concurrency", "--concurrency", &self.concurrency),
            ("serve.fleet", "--fleet", &self.fleet.then(|| "true".to_owned())),
        ];
        each.into_iter()
            .filter_map(|(name, flag, value)| {
                let value = value.clone()?;
                Some(Flag { name, flag, value })
            })
            .collect()
    }
}

/// Arguments of `ibid mcp`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    /// Serve this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// What to do instead of serving.
    #[command(subcommand)]
    pub action: Option<McpAction>,
}

/// What `ibid mcp` does instead of serving.
#[derive(Debug, Clone, Subcommand)]
pub enum McpAction {
    /// Print the configuration that an MCP client needs
    Config {
        /// claude-code, claude-desktop, codex, vscode, cursor, gemini, goose, librechat or openwebui
        #[arg(value_name = "CLIENT")]
        client: String,
    },
}

/// Arguments of `ibid view`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ViewArgs {
    /// Open this run: a run ID (r_…), the beginning of one, or `last` [default: list all runs]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Address and port [default: a free port on loopback]
    #[arg(long, value_name = "ADDR:PORT")]
    pub addr: Option<String>,
    /// Offer this folder of documents for questions asked in the browser (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// What to do instead of serving.
    #[command(subcommand)]
    pub action: Option<ViewAction>,
}

/// What `ibid view` does instead of serving.
#[derive(Debug, Clone, Subcommand)]
pub enum ViewAction {
    /// Write reports as a folder of HTML pages that needs no server
    Bundle {
        /// Run IDs (r_…), their beginnings, or `last` [default: every run with a report]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        /// The folder, created if missing
        #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        output: PathBuf,
    },
}

impl ViewArgs {
    /// The settings that these flags set.
    pub fn flags(&self) -> Vec<Flag> {
        let addr = self.addr.clone().unwrap_or_else(|| "127.0.0.1:0".to_owned());
        vec![Flag { name: "serve.addr", flag: "--addr", value: addr }]
    }
}
