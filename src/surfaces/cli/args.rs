//! The words of the command line.
mod admin;
mod afterwards;
mod exporting;
mod flags;
mod output;
mod serving;
mod turns;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub use admin::{AdminAction, NewUser, OrgAction, StoreAction, UserAction};
pub use afterwards::{Batch, Diff, Judge, Rate, Rerun, Sharing, Thumb};
pub use exporting::{Export, Exported, Shape};
pub use output::{Form, Output};
pub use serving::{Serving, Tooling, ToolingAction, ViewAction, Viewing};
pub use turns::{Approve, FollowUp, Planning, Turns};

/// Deep research whose every quote is checked against the page.
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
    /// Asked without a command: the same as `run`.
    #[command(flatten)]
    pub ask: Ask,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of every command.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Common {
    /// No progress; errors alone
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Tell more of what happens
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    /// When to colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub color: When,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum When {
    /// When a person is looking.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A question and how to answer it.
#[derive(Debug, Clone, Default, Args)]
pub struct Ask {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION", allow_hyphen_values = false)]
    pub question: Option<String>,
    /// Where to look.
    #[command(flatten)]
    pub sources: Sources,
    /// Let the model ask you up to three questions first, where yours leaves something open
    #[arg(long = "ask")]
    pub clarify: bool,
    /// What was said and planned before.
    #[command(flatten)]
    pub turns: Turns,
    /// How much to do.
    #[command(flatten)]
    pub work: Work,
    /// What to print.
    #[command(flatten)]
    pub output: Output,
}

/// Where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Sources")]
pub struct Sources {
    /// Search this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// Search engines outside, by name, or web, news, scholar, auto, none (repeatable, or with commas)
    #[arg(long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Search folders alone; nothing is asked outside but the model
    #[arg(long, conflicts_with = "engine")]
    pub only_local: bool,
    /// Only sources of this domain (repeatable)
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    pub domain: Vec<String>,
    /// No sources of this domain (repeatable)
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    pub not_domain: Vec<String>,
    /// Published on or after: 2020, 2020-05-01 or 30d
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Published on or before
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
}

/// A domain is not empty: one that is would hold for no source or for all, and nobody means either.
fn domain(text: &str) -> std::result::Result<String, String> {
    match text.trim() {
        "" => Err("it is empty; write a domain, as in example.org".to_owned()),
        domain => Ok(domain.to_owned()),
    }
}

/// How much to do. The bounds stand in the table of settings, which also judges the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Effort")]
pub struct Work {
    /// quick, standard, deep, max or auto
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
    /// checklist, planned, supervisor, coverage or auto
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: Option<String>,
    /// Queries a round for each open item of the checklist, 2 to 10
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub breadth: Option<String>,
    /// Rounds, 1 to 5
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub depth: Option<String>,
    /// Ask for every page and search anew, whatever is kept of earlier runs
    #[arg(long)]
    pub fresh: bool,
    /// Stop at '$2', 15m or 60calls, joined by | (repeatable)
    #[arg(long, value_name = "AMOUNT")]
    pub budget: Vec<String>,
    /// Language model as provider:model, or for one role as role=provider:model (repeatable)
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    /// Upper bound on rounds
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<String>,
    /// Share of the topics that must be covered, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub completeness_threshold: Option<String>,
    /// Tokens a page summary may have, 100 to 1000
    #[arg(long, value_name = "N")]
    pub summary_tokens: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer a question with a cited report
    Run(Ask),
    /// Answer in one line of at most 140 characters
    Answer(Ask),
    /// Find evidence without prose: passages by source, and how far each topic is covered
    Evidence(Ask),
    /// Show the plan for a question; spends nothing
    Plan(Planning),
    /// Ask on after a run, with what it has read
    #[command(name = "ask")]
    FollowUp(FollowUp),
    /// List runs, newest first
    Ls {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the report of a run
    Show {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN", required_unless_present = "last")]
        run: Option<String>,
        /// The newest run; the same as `last`
        #[arg(short = 'r', long, conflicts_with = "run")]
        last: bool,
        /// Which hosts were contacted for it, how often, and with how many bytes
        #[arg(long, conflicts_with_all = ["format", "no_quotes"])]
        egress: bool,
        /// How.
        #[command(flatten)]
        shape: Shape,
    },
    /// Open the report of a run in the browser
    Open {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN", default_value = "last")]
        run: String,
    },
    /// Look at your runs in the browser, served on this machine alone
    View(Viewing),
    /// Go on with an interrupted run
    Resume {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN", default_value = "last")]
        run: String,
        /// How.
        #[command(flatten)]
        output: Output,
    },
    /// Have a running run write with what it has
    Finish {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Say what you want to know besides, while a run goes on
    Steer {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN")]
        run: String,
        /// What to look into, as one clear question
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Say go to the plan of a run that waits for it
    Approve(Approve),
    /// Stop a run for good
    Cancel {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Write a run to a file: its report, or all of it as a recording
    Export(Export),
    /// Tell a recording again offline, or fork it with other settings
    Replay(Replay),
    /// Judge a run: how good its answer is, and how good its research
    Judge(Judge),
    /// Share a report: one HTML file to send, or a link that ends
    Share(Sharing),
    /// Say whether a report was good
    Rate(Rate),
    /// Show what all runs come to, beside what they should
    Stats {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what changed from one run to another
    Diff(Diff),
    /// Ask the question of a run again today, and say what changed
    Rerun(Rerun),
    /// Answer the questions of a file, many at a time
    Batch(Batch),
    /// Forget ended runs
    Rm {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Show the exact words behind a citation
    Cite {
        /// Which: r_…, the beginning of it, or `last`
        #[arg(value_name = "RUN")]
        run: String,
        /// Its number in the report; all without it
        #[arg(value_name = "N")]
        n: Option<u32>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the clean text of documents, or what they say to a task
    Read(Read),
    /// Search folders
    Search(Search),
    /// Check a text's claims against the sources it cites
    Check(Check),
    /// Set everything up in a few questions
    Init {
        /// Ask nothing; take what is found
        #[arg(short, long)]
        yes: bool,
    },
    /// List the search engines, and what each still needs
    Engines {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// Send each that is ready a small search
        #[arg(long = "try")]
        try_them: bool,
    },
    /// See and tend the folder indexes
    Index {
        /// What to do with them.
        #[command(subcommand)]
        action: IndexAction,
    },
    /// See and set settings
    Config {
        /// What to do with them.
        #[command(subcommand)]
        action: ConfigAction,
    },
    /// Users, organisations, the audit log and old runs of a server
    Admin {
        /// What to do with them.
        #[command(subcommand)]
        action: AdminAction,
    },
    /// Move runs between a file and a server
    Store {
        /// What to do.
        #[command(subcommand)]
        action: StoreAction,
    },
    /// Print completions for a shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one a command into a directory
    Man {
        /// Where to write them
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Serve runs over HTTP: an API, OpenAI's APIs, MCP
    Serve(Serving),
    /// Offer research as tools to another agent, over stdin and stdout
    Mcp(Tooling),
    /// Check the installation and say how to mend it
    Doctor {
        /// One JSON object
        #[arg(long)]
        json: bool,
        /// What the guard of the open web says to this address, as JSON; nothing is asked or looked up
        #[arg(long, value_name = "URL", conflicts_with = "json")]
        guard: Option<String>,
        /// The same for lines of {id, url}, with what is known of names (dns) and redirects (chain); `-` reads stdin
        #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "guard"], value_hint = ValueHint::FilePath)]
        guard_file: Option<PathBuf>,
    },
}

/// Telling a recording again. Whoever names a setting of the question forks it.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Without a setting of the question (Sources, Effort, --lang), the recording is told again \
                  without network, folder or key, and the exit code says whether report and events are byte \
                  for byte those recorded (0) or differ (6). With one, a new run answers from the recording \
                  what it was asked then, and asks the rest live."
)]
pub struct Replay {
    /// The recording; `-` reads stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Where to look as well.
    #[command(flatten)]
    pub sources: Sources,
    /// How much to do instead.
    #[command(flatten)]
    pub work: Work,
    /// What to print.
    #[command(flatten)]
    pub output: Output,
}

/// Searching folders.
#[derive(Debug, Clone, Args)]
pub struct Search {
    /// What to look for
    #[arg(value_name = "QUERY", required_unless_present = "queries")]
    pub query: Option<String>,
    /// Many queries: lines of {id, query}; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "query", value_hint = ValueHint::FilePath)]
    pub queries: Option<PathBuf>,
    /// Search this folder of documents (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Vec<PathBuf>,
    /// How many results
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub n: u32,
    /// JSON: one object a query and line
    #[arg(long)]
    pub json: bool,
}

/// Reading documents, also for a task.
#[derive(Debug, Clone, Args)]
pub struct Read {
    /// Files, folders with all their documents, or addresses of the web; `-` reads stdin
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Print what each document says to this, in its own sentences
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Language model that reads for the task, as provider:model (the role `summarizer`)
    #[arg(long, value_name = "MODEL", requires = "task")]
    pub model: Vec<String>,
    /// One JSON object a document and line
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
    /// The same
    #[arg(long)]
    pub jsonl: bool,
}

/// Checking claims.
#[derive(Debug, Clone, Args)]
pub struct Check {
    /// A Markdown text with citations, ours or another tool's; `-` reads stdin
    #[arg(value_name = "FILE", required_unless_present = "claims", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Instead of a text, lines of {id, claim, source}; `-` reads stdin
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
    /// Fetch from the web what is cited by address and found nowhere else
    #[arg(long)]
    pub web: bool,
    /// Language model that decides, as provider:model (the role `verifier`)
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    /// One JSON object; with --claims one a line
    #[arg(long)]
    pub json: bool,
    /// Write to this file, not to stdout
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Fail (exit 6) unless every claim is at least partly supported and every source found
    #[arg(long)]
    pub strict: bool,
}

/// What to do with folder indexes.
#[derive(Debug, Subcommand)]
pub enum IndexAction {
    /// Take a folder in, or bring its index up to date
    Add {
        /// The folder
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// List indexed folders
    Ls {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Forget the index of a folder; the folder itself stays
    Rm {
        /// The folder
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Show one setting, or all
    Get {
        /// Its name
        name: Option<String>,
        /// Say where each value comes from
        #[arg(long, visible_alias = "show-origin")]
        origins: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a setting into the user file
    Set {
        /// Its name
        name: String,
        /// Its value; lists as in the environment
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Print where settings and data are kept
    Path {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

impl Replay {
    /// Whether a setting of the question is named.
    pub fn forks(&self) -> bool {
        self.sources != Sources::default()
            || self.work != Work::default()
            || self.output.lang.is_some()
    }
}
