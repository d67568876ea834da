//! The commands.
use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::admin::{AdminAction, StoreAction};
use super::documents::{CheckArgs, IndexAction, ReadArgs, SearchArgs};
use super::engines::EnginesAction;
use super::export::ExportArgs;
use super::interaction::ApproveArgs;
use super::output::OutputArgs;
use super::question::{AskArgs, FollowUpArgs, PlanArgs};
use super::review::{
    BatchArgs, DiffArgs, JudgeArgs, RateArgs, ReplayArgs, RerunArgs, ShareArgs, ShowArgs,
    TracesArgs,
};
use super::schedule::ScheduleAction;
use super::serve::{McpArgs, ServeArgs, ViewArgs};
use super::setup::{ConfigAction, DoctorArgs, ModelsAction};

/// The commands, in the order of the reference; `help.rs` groups them for the front page.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer a question with a cited report
    Run(AskArgs),
    /// Answer a question in one line of at most 140 characters
    Answer(AskArgs),
    /// Collect passages by source, without prose, and show how far each topic is covered
    Evidence(AskArgs),
    /// Show the plan for a question without spending anything
    Plan(PlanArgs),
    /// Ask a follow-up question on a finished run, reusing its sources
    #[command(name = "ask")]
    FollowUp(FollowUpArgs),
    /// List runs, newest first
    #[command(alias = "list")]
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print the report of a run
    Show(ShowArgs),
    /// List traces: the input, progress and result of runs and of other tools
    Traces(TracesArgs),
    /// Open the report of a run in the browser
    Open {
        /// Run ID (r_…), the beginning of one, or `last`
        #[arg(value_name = "RUN", default_value = "last")]
        run: String,
    },
    /// Browse your runs in the browser, served on this machine only
    View(ViewArgs),
    /// Continue an interrupted run
    Resume {
        /// Run ID (r_…), the beginning of one, or `last` for the newest that has not ended
        #[arg(value_name = "RUN", default_value = "last")]
        run: String,
        /// What to print.
        #[command(flatten)]
        output: OutputArgs,
    },
    /// End a run early and write the report from what it has found
    Finish {
        /// Run ID (r_…), the beginning of one, or `last`
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Add a question to a run in progress
    Steer {
        /// Run ID (r_…), the beginning of one, or `last`
        #[arg(value_name = "RUN")]
        run: String,
        /// What else to look into, as one clear question
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Approve a pending plan
    Approve(ApproveArgs),
    /// Stop a run for good, without a report
    Cancel {
        /// Run ID (r_…), the beginning of one, or `last`
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Write a run's report, plan or recording to a file
    Export(ExportArgs),
    /// Replay a recording offline, or fork it with other settings
    Replay(ReplayArgs),
    /// Score a run's answer and its research
    Judge(JudgeArgs),
    /// Share a report as one HTML file or as a link that expires
    Share(ShareArgs),
    /// Rate a report up or down
    Rate(RateArgs),
    /// Show aggregate metrics against targets
    Stats {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what changed between two runs
    Diff(DiffArgs),
    /// Ask the question of a run again today, and show what changed
    Rerun(RerunArgs),
    /// Ask a question again at intervals, and deliver what has changed
    Schedule {
        /// What to do.
        #[command(subcommand)]
        action: ScheduleAction,
    },
    /// Answer a file of questions, several at a time
    Batch(BatchArgs),
    /// Delete finished runs
    Rm {
        /// Run ID (r_…), the beginning of one, or `last`
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Show the exact quote behind a citation
    Cite {
        /// Run ID (r_…), the beginning of one, or `last`
        #[arg(value_name = "RUN")]
        run: String,
        /// Number of the citation in the report [default: all]
        #[arg(value_name = "N")]
        n: Option<u32>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print documents as clean text, or summarize what they say about a task
    Read(ReadArgs),
    /// Search folders of documents
    Search(SearchArgs),
    /// Check a text's claims against the sources it cites
    Check(CheckArgs),
    /// Set up Ibid in a few questions
    Init {
        /// Do not prompt; use the keys and programs found on this machine
        #[arg(short, long)]
        yes: bool,
    },
    /// List the search engines and what each still needs, or manage MCP servers as sources
    Engines {
        /// What to do; without it, list them.
        #[command(subcommand)]
        action: Option<EnginesAction>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        /// Send a small search to each engine that is ready
        #[arg(long = "try")]
        try_them: bool,
    },
    /// Manage the indexes of folders
    Index {
        /// What to do.
        #[command(subcommand)]
        action: IndexAction,
    },
    /// Manage the embedding models on this machine
    Models {
        /// What to do.
        #[command(subcommand)]
        action: ModelsAction,
    },
    /// Show or change settings
    Config {
        /// What to do.
        #[command(subcommand)]
        action: ConfigAction,
    },
    /// Manage a server's users, organisations, audit log and old runs
    Admin {
        /// What to do.
        #[command(subcommand)]
        action: AdminAction,
    },
    /// Copy runs between stores, or free space in the object store
    Store {
        /// What to do.
        #[command(subcommand)]
        action: StoreAction,
    },
    /// Print version, commit, target, features and the hashes of the models
    Version {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print completions for a shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command into a directory
    Man {
        /// Directory for the pages
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Serve research over HTTP: Ibid's API, OpenAI-compatible APIs, MCP
    Serve(ServeArgs),
    /// Serve research tools to another agent over stdin and stdout (MCP)
    Mcp(McpArgs),
    /// Check the installation and show how to fix what is wrong
    Doctor(DoctorArgs),
}
