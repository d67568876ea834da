//! Words of the commands for who runs a server: `admin`, `store`.
use clap::{Args, Subcommand};

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Copy every run, its calls and pages, users, tokens and the audit log into another store
    #[command(
        after_help = "FROM and TO are a data directory or postgres://user:password@host/database; `here` is the store of \
                      the settings. A password in an argument is seen by others on the machine: put the address into \
                      IBID_STORE_URL and write `here`. Stopped midway, the same command goes on; what is there already \
                      and whole is left as it is. Remembered request keys are not copied: they hold for a day."
    )]
    Copy {
        /// Where from
        #[arg(value_name = "FROM")]
        from: String,
        /// Where to
        #[arg(value_name = "TO")]
        to: String,
    },
}

/// What to do with users and what they did.
#[derive(Debug, Subcommand)]
pub enum AdminAction {
    /// Users and their tokens
    User {
        /// What to do with them.
        #[command(subcommand)]
        action: UserAction,
    },
    /// Organisations: users who share a budget
    Org {
        /// What to do with them.
        #[command(subcommand)]
        action: OrgAction,
    },
    /// Who did what, latest first
    Audit {
        /// Lines at most
        #[arg(short, value_name = "N", default_value_t = 100)]
        n: u32,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Forget runs that ended long ago
    Purge {
        /// How long ago, as 30d; `retention_days` of the settings without
        #[arg(long, value_name = "DAYS", value_parser = days)]
        older_than: Option<u32>,
    },
}

/// What to do with users.
#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Add a user
    Add(NewUser),
    /// List users
    Ls {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Keep a user from asking, or let them ask again
    Disable {
        /// Who
        #[arg(value_name = "USER")]
        user: String,
        /// Let them ask again
        #[arg(long)]
        undo: bool,
    },
    /// Make a token for a user, shown this once; or take one back
    Token {
        /// Whose
        #[arg(value_name = "USER")]
        user: String,
        /// Take back the token that begins so, as `ls --json` shows it
        #[arg(long, value_name = "PREFIX")]
        revoke: Option<String>,
    },
    /// Forget a user and their tokens; their runs stay
    Rm {
        /// Who
        #[arg(value_name = "USER")]
        user: String,
    },
}

/// A user to add.
#[derive(Debug, Clone, Args)]
pub struct NewUser {
    /// Their id: letters, digits and . _ @ + -
    #[arg(value_name = "USER")]
    pub user: String,
    /// What they are called; the id without
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The organisation they belong to
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
    /// May do what `ibid admin` does
    #[arg(long)]
    pub admin: bool,
    /// US dollars they may spend in a day
    #[arg(long, value_name = "USD")]
    pub daily_usd: Option<f64>,
    /// Runs they may have at once
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u32>,
}

/// What to do with organisations.
#[derive(Debug, Subcommand)]
pub enum OrgAction {
    /// Add an organisation
    Add {
        /// Its id: letters, digits and . _ @ + -
        #[arg(value_name = "ORG")]
        org: String,
        /// What it is called; the id without
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// US dollars its users may spend in a day together
        #[arg(long, value_name = "USD")]
        daily_usd: Option<f64>,
    },
    /// List organisations
    Ls {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// `30d`, or `30`.
fn days(text: &str) -> std::result::Result<u32, String> {
    let digits = text.strip_suffix('d').unwrap_or(text);
    digits
        .parse()
        .map_err(|_| "write a number of days, as in 30d".to_owned())
}
