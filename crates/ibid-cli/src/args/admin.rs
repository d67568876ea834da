//! Arguments of the commands that manage a server: `admin`, `store`.
use clap::{Args, Subcommand};

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Copy all runs with their calls and pages, users, tokens and the audit log into another store
    #[command(
        after_help = "FROM and TO are each a data directory, postgres://user:password@host/database, or `here` for the \
                      store of the settings. Other users of the machine can see a password in an argument: put the \
                      address into IBID_STORE_URL and write `here` instead. To continue after a stop, run the same \
                      command again; complete copies are kept. Idempotency keys of requests are not copied; they \
                      expire after a day. Schedules are not copied: add them again. Pages in an object store are read with the credentials in the environment, \
                      and each is compared after it was copied."
    )]
    Copy {
        /// The store to copy from
        #[arg(value_name = "FROM")]
        from: String,
        /// The store to copy to
        #[arg(value_name = "TO")]
        to: String,
        /// The object store that has the pages of FROM, or `none`; if not given, `pages.url`
        #[arg(long, value_name = "URL")]
        from_pages: Option<String>,
        /// The object store for the pages of TO, or `none` to put them into its database; if not given, `pages.url`
        #[arg(long, value_name = "URL")]
        to_pages: Option<String>,
    },
    /// Delete from the object store what belongs to no page: the pages of deleted runs, once they are a day old
    #[command(
        after_help = "A purge of old runs does this too. It is needed only after `ibid rm`, to free the space."
    )]
    Sweep,
}

/// What to do on a server.
#[derive(Debug, Subcommand)]
pub enum AdminAction {
    /// Manage users and their tokens
    User {
        /// What to do.
        #[command(subcommand)]
        action: UserAction,
    },
    /// Manage organisations, whose users share a budget
    Org {
        /// What to do.
        #[command(subcommand)]
        action: OrgAction,
    },
    /// Show the audit log, newest first
    Audit {
        /// Maximum number of lines
        #[arg(short, value_name = "N", default_value_t = 100)]
        n: u32,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Delete runs that ended long ago
    Purge {
        /// Age in days, such as 30d [default: the setting `retention_days`]
        #[arg(long, value_name = "DAYS", value_parser = parse_days)]
        older_than: Option<u32>,
    },
}

/// What to do with users.
#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Add a user
    Add(NewUserArgs),
    /// List users
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Disable a user, or enable them again
    Disable {
        /// ID of the user
        #[arg(value_name = "USER")]
        user: String,
        /// Enable the user again
        #[arg(long)]
        undo: bool,
    },
    /// Create a token for a user and print it once, or revoke one
    Token {
        /// ID of the user
        #[arg(value_name = "USER")]
        user: String,
        /// Revoke the token with this prefix (`ls --json` shows prefixes)
        #[arg(long, value_name = "PREFIX")]
        revoke: Option<String>,
    },
    /// Delete a user and their tokens, but not their runs
    Rm {
        /// ID of the user
        #[arg(value_name = "USER")]
        user: String,
    },
}

/// Arguments of `ibid admin user add`.
#[derive(Debug, Clone, Args)]
pub struct NewUserArgs {
    /// ID of the user: letters, digits and . _ @ + -
    #[arg(value_name = "USER")]
    pub user: String,
    /// Display name [default: the ID]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// ID of their organisation
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
    /// Make them an administrator, who may do what `ibid admin` does
    #[arg(long)]
    pub admin: bool,
    /// Maximum US dollars to spend per day
    #[arg(long, value_name = "USD")]
    pub daily_usd: Option<f64>,
    /// Maximum number of runs at the same time
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u32>,
}

/// What to do with organisations.
#[derive(Debug, Subcommand)]
pub enum OrgAction {
    /// Add an organisation
    Add {
        /// ID of the organisation: letters, digits and . _ @ + -
        #[arg(value_name = "ORG")]
        org: String,
        /// Display name [default: the ID]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Maximum US dollars that its users may spend together per day
        #[arg(long, value_name = "USD")]
        daily_usd: Option<f64>,
        /// How many turns its runs have for one of an organisation of weight 1, in a fleet
        #[arg(long, value_name = "N", default_value_t = 1.0)]
        weight: f64,
    },
    /// Change how many turns an organisation has in a fleet
    Weight {
        /// ID of the organisation
        #[arg(value_name = "ORG")]
        org: String,
        /// Turns for one of an organisation of weight 1: 0.001 to 1000
        #[arg(value_name = "N")]
        weight: f64,
    },
    /// List organisations
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// Parses `30d` or `30`.
fn parse_days(text: &str) -> std::result::Result<u32, String> {
    let digits = text.strip_suffix('d').unwrap_or(text);
    digits.parse().map_err(|_| "write a number of days, such as 30d".to_owned())
}
