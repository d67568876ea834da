use std::borrow::Cow;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Acceptance, Accepted, Booking, RequestKey, Spent};
use crate::domain::{Owner, RunId};
use crate::error::Result;
use crate::record::Envelope;

/// People who share a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Org {
    /// Its id, chosen by who adds it.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What its users may spend in a day together, US dollars; no bound without.
    pub daily_usd: Option<f64>,
}

/// Who may ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// The id, chosen by who adds the user.
    pub id: String,
    /// What they are called.
    pub name: String,
    /// The organisation they belong to.
    pub org: Option<String>,
    /// Whether they may do what `ibid admin` does.
    pub admin: bool,
    /// Whether they may not ask for now.
    pub disabled: bool,
    /// What they may spend in a day, US dollars; no bound without.
    pub daily_usd: Option<f64>,
    /// How many runs they may have at once; the server's bound without.
    pub concurrency: Option<u32>,
}

/// A user who was recognised, with what bounds them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Who.
    pub user: User,
    /// Of which organisation.
    pub org: Option<Org>,
}

impl Account {
    /// As whom they begin runs.
    pub fn owner(&self) -> Owner {
        Owner {
            user: self.user.id.clone(),
            org: self.user.org.clone(),
        }
    }
}

/// A bearer token as it is kept: what it was made of is known to its user alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token {
    /// SHA-256 of the token, in hexadecimal.
    pub hash: String,
    /// How it begins, by which people tell their tokens apart.
    pub prefix: String,
    /// Whose it is.
    pub user: String,
    /// When it was made, RFC 3339.
    pub made_at: String,
}

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// When, RFC 3339.
    pub at: String,
    /// Who: a user, or the one at the machine.
    pub who: String,
    /// Did what: `user.add`, `run.delete`, …
    pub what: String,
    /// On what.
    pub on: String,
    /// How it went: `ok`, or why not.
    pub outcome: String,
}

/// Names that no user may have: the program uses them for itself, in the audit log and for idempotency keys.
pub const RESERVED_USERS: [&str; 4] = ["operator", "nobody", "server", "webhooks"];

/// Whose idempotency keys these are. Keys of one never meet those of another, whatever a user is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOwner<'a> {
    /// Whoever runs the server.
    Operator,
    /// The server itself, for webhooks whose end was told.
    Webhooks,
    /// The user of this id.
    User(&'a str),
}

impl<'a> KeyOwner<'a> {
    /// How a store keeps it, and the audit log names it. A user who was added under a reserved name before that was refused is told
    /// apart by a sign that no id has.
    pub fn stored(self) -> Cow<'a, str> {
        match self {
            KeyOwner::Operator => "operator".into(),
            KeyOwner::Webhooks => "webhooks".into(),
            KeyOwner::User(id) if is_reserved(id) => format!("user:{id}").into(),
            KeyOwner::User(id) => id.into(),
        }
    }
}

/// Whether the program uses this name for itself, however it is written.
pub fn is_reserved(user: &str) -> bool {
    RESERVED_USERS
        .iter()
        .any(|it| it.eq_ignore_ascii_case(user))
}

/// Whether a request was made before.
#[derive(Debug, Clone, PartialEq)]
pub enum Remembered {
    /// It was not, and is remembered now.
    New,
    /// It was, and began this run.
    Same(RunId),
    /// Another was made under its key.
    Other,
}

/// Who may ask, for how much, and what they did.
///
/// Contract: what a writing call has returned from is durable. Ids, prefixes and keys are compared exactly. Adding what
/// is there is a fault of kind `Usage`, changing what is not there one of kind `NotFound`. The audit log only grows.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Adds an organisation.
    async fn add_org(&self, org: &Org) -> Result<()>;
    /// All organisations, by id.
    async fn orgs(&self) -> Result<Vec<Org>>;
    /// Adds a user. An organisation that is not there is `NotFound`.
    async fn add_user(&self, user: &User) -> Result<()>;
    /// All users, by id.
    async fn users(&self) -> Result<Vec<User>>;
    /// The user of this id.
    async fn user(&self, id: &str) -> Result<Option<User>>;
    /// Whether runs of a user of this id are stored, whether the user is still there or not.
    async fn owns_runs(&self, user: &str) -> Result<bool>;
    /// Whether a user may ask from now on.
    async fn disable(&self, user: &str, disabled: bool) -> Result<()>;
    /// Forgets a user and their tokens. Their runs stay.
    async fn remove_user(&self, user: &str) -> Result<()>;
    /// Adds a token.
    async fn add_token(&self, token: &Token) -> Result<()>;
    /// All tokens, by user and time.
    async fn tokens(&self) -> Result<Vec<Token>>;
    /// Takes back the tokens of a user that begin so.
    async fn revoke(&self, user: &str, prefix: &str) -> Result<()>;
    /// Whose token has this hash; nobody where its user is disabled.
    async fn identify(&self, hash: &str) -> Result<Option<Account>>;
    /// What was spent by what ended on the day `day`, `YYYY-MM-DD` in UTC, and what is reserved by all that has not ended;
    /// tools that began before `alive_since`, RFC 3339, and never said how they ended were charged to their day.
    async fn spent(&self, owner: &Owner, day: &str, alive_since: &str) -> Result<Spent>;
    /// Accepts a run in one commit: judges what it demands of the account, writes the grant into its question's budget,
    /// and keeps the run's first events, its request's key and a line of the audit log. `Exhausted` where the day's money
    /// is spent or reserved; then, and for [`Accepted::Full`], nothing but the line is kept.
    async fn accept(&self, run: &RunId, events: &[Envelope], on: &Acceptance) -> Result<Accepted>;
    /// What a request under this key began; `None` for a new one. Never says `Queued` or `Full`.
    async fn requested(&self, key: &RequestKey) -> Result<Option<Accepted>>;
    /// Reserves what a tool may spend, US dollars; `None` where nobody bounds it. `Exhausted` where the day's money is spent
    /// or reserved, `Transient` where the user has as much open as they may.
    async fn book(&self, booking: &Booking) -> Result<Option<f64>>;
    /// Charges what a tool spent, US dollars, instead of what it had reserved. Never waits, and may be lost with the process:
    /// then the whole reservation is charged.
    fn settle_booking(&self, id: &str, usd: f64);
    /// Charges what the models of a run have cost at most so far, US dollars, to be said before it ends; where that is not
    /// known, what was answered, or all it had reserved where a call was still on its way.
    async fn charge(&self, run: &RunId, usd: Option<f64>) -> Result<()>;
    /// Writes a line of the audit log.
    async fn audit(&self, line: &Audited) -> Result<()>;
    /// The last `most` lines of the audit log, latest first.
    async fn audited(&self, most: u32) -> Result<Vec<Audited>>;
    /// Remembers that `user` began `run` by a request with this `hash` under `key`, unless the key was used before.
    async fn remember(
        &self,
        user: &str,
        key: &str,
        hash: &str,
        run: &RunId,
        at: &str,
    ) -> Result<Remembered>;
    /// Forgets keys remembered before `at`, RFC 3339; how many.
    async fn forget_keys(&self, at: &str) -> Result<u64>;
    /// Runs that ended before `at`, RFC 3339.
    async fn ended_before(&self, at: &str) -> Result<Vec<RunId>>;
}
