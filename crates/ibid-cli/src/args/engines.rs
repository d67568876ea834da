//! The arguments of `ibid engines`.
use clap::{Args, Subcommand};

/// The actions of `ibid engines`.
#[derive(Debug, Subcommand)]
pub enum EnginesAction {
    /// A change of the configuration file.
    #[command(flatten)]
    Change(EnginesChange),
    /// List the search engines and MCP servers
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// The actions of `ibid engines` that change the configuration file.
#[derive(Debug, Subcommand)]
pub enum EnginesChange {
    /// Add a source to your configuration file
    Add {
        /// What to add.
        #[command(subcommand)]
        source: AddedSource,
    },
    /// Remove an MCP server from your configuration file
    Rm {
        /// Its name
        name: String,
    },
}

/// What `ibid engines add` adds.
#[derive(Debug, Subcommand)]
pub enum AddedSource {
    /// An MCP server: `ibid engines add mcp NAME URL`, or `ibid engines add mcp NAME -- COMMAND ARGS…`
    Mcp(AddMcpArgs),
}

/// The arguments of `ibid engines add mcp`.
#[derive(Debug, Args)]
pub struct AddMcpArgs {
    /// Name of the source: lower-case letters, digits and hyphens
    pub name: String,
    /// The address of a server that speaks streamable HTTP
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub url: Option<String>,
    /// The variable that holds the bearer token of the server
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub token_env: Option<String>,
    /// Name of an environment variable to pass to the program (repeatable)
    #[arg(long, value_name = "VARIABLE")]
    pub env: Vec<String>,
    /// The tool that searches, if it is not named search
    #[arg(long, value_name = "TOOL")]
    pub search: Option<String>,
    /// The tool that returns a document, if it is not named fetch
    #[arg(long, value_name = "TOOL")]
    pub fetch: Option<String>,
    /// The program and its arguments
    #[arg(last = true)]
    pub command: Vec<String>,
}
