//! Arguments of the commands that work on documents: `search`, `read`, `check`, `index`.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Arguments of `ibid search`.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    /// What to search for
    #[arg(value_name = "QUERY", required_unless_present = "queries")]
    pub query: Option<String>,
    /// Run many queries from lines of {id, query}; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "query", value_hint = ValueHint::FilePath)]
    pub queries: Option<PathBuf>,
    /// Search this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// Number of results per query
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub n: u32,
    /// Print one JSON object per query and line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `ibid read`.
#[derive(Debug, Clone, Args)]
pub struct ReadArgs {
    /// Files, folders with all their documents, or web addresses; `-` reads stdin
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Print what each document says about this task, in its own sentences
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Language model that reads for the task, as provider:model (the role `summarizer`)
    #[arg(long, value_name = "MODEL", requires = "task")]
    pub model: Vec<String>,
    /// Print one JSON object per document and line
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
    /// The same as --json
    #[arg(long)]
    pub jsonl: bool,
}

/// Arguments of `ibid check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// A Markdown text with citations, by Ibid or another tool; `-` reads stdin
    #[arg(value_name = "FILE", required_unless_present = "claims", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Check lines of {id, claim, source} instead of a text; `-` reads stdin
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["file", "folder", "web", "model", "output", "strict"],
        value_hint = ValueHint::FilePath
    )]
    pub claims: Option<PathBuf>,
    /// Look for the sources in this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// Fetch sources that are cited by web address and not found locally
    #[arg(long)]
    pub web: bool,
    /// Language model that decides, as provider:model (the role `verifier`)
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    /// Print one JSON object; with --claims, one per line
    #[arg(long)]
    pub json: bool,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Fail (exit 6) unless every claim is at least partly supported and every source is found
    #[arg(long)]
    pub strict: bool,
}

/// What to do with the indexes of folders.
#[derive(Debug, Subcommand)]
pub enum IndexAction {
    /// Index a folder with the vectors of its passages, or bring its index up to date
    Add {
        /// The folder
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// List indexed folders
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Bring the index of a folder up to date and show the names that it has learned
    Show {
        /// The folder
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Delete the index of a folder, but not the folder
    Rm {
        /// The folder
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}
