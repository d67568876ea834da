use std::borrow::Cow;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{AcceptOutcome, AcceptRequest, IdempotencyKey, Spending, ToolReservation};
use crate::Result;
use crate::domain::{Owner, RunId};
use crate::record::Envelope;

/// An organisation: users who share a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Org {
    /// Its id, chosen by the operator.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Daily limit for all its users together, US dollars; `None` means unlimited.
    pub daily_usd: Option<f64>,
    /// How many turns its runs have for one of an organisation of weight 1, where servers share a queue.
    #[serde(default = "default_weight")]
    pub weight: f64,
}

fn default_weight() -> f64 {
    1.0
}

/// Runs that wait for their first turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingRuns {
    /// Those of all owners.
    pub all: usize,
    /// Those of the owner who was asked for.
    pub own: usize,
}

/// A user account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// Its id, chosen by the operator.
    pub id: String,
    /// The user's name.
    pub name: String,
    /// The organisation of the user.
    pub org: Option<String>,
    /// Whether the user may run `ibid admin` commands.
    pub admin: bool,
    /// Whether the account is disabled.
    pub disabled: bool,
    /// Daily limit, US dollars; `None` means unlimited.
    pub daily_usd: Option<f64>,
    /// Maximum concurrent runs; the server's default if `None`.
    pub concurrency: Option<u32>,
}

/// An authenticated user with their organisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// The user.
    pub user: User,
    /// The user's organisation.
    pub org: Option<Org>,
}

impl Account {
    /// The owner recorded in runs that the user starts.
    pub fn owner(&self) -> Owner {
        Owner { user: self.user.id.clone(), org: self.user.org.clone() }
    }
}

/// A bearer token as stored. The token itself is known only to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiToken {
    /// SHA-256 of the token, in hexadecimal.
    pub hash: String,
    /// The first characters of the token, for telling tokens apart.
    pub prefix: String,
    /// The id of its user.
    pub user: String,
    /// Time of creation, RFC 3339.
    pub made_at: String,
}

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Time, RFC 3339.
    pub at: String,
    /// The acting user, or the operator.
    pub who: String,
    /// The action: `user.add`, `run.delete`, …
    pub what: String,
    /// The object of the action.
    pub on: String,
    /// The result: `ok`, or the reason for failure.
    pub outcome: String,
}

/// Names that users may not have, because the audit log and idempotency keys use them.
pub(crate) const RESERVED_USERS: [&str; 4] = ["operator", "nobody", "server", "webhooks"];

/// The owner of an idempotency key. Keys of different owners never collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOwner<'a> {
    /// The operator of the server.
    Operator,
    /// The server itself, for delivered webhooks.
    Webhooks,
    /// The user with this id.
    User(&'a str),
}

impl<'a> KeyOwner<'a> {
    /// The name under which stores keep the key and the audit log refers to the owner. A user with a reserved name,
    /// added before those were refused, is marked with a character that ids cannot contain.
    pub fn storage_name(self) -> Cow<'a, str> {
        match self {
            KeyOwner::Operator => "operator".into(),
            KeyOwner::Webhooks => "webhooks".into(),
            KeyOwner::User(id) if is_reserved_user(id) => format!("user:{id}").into(),
            KeyOwner::User(id) => id.into(),
        }
    }
}

/// Whether the name is reserved, in any spelling.
pub fn is_reserved_user(user: &str) -> bool {
    RESERVED_USERS.iter().any(|reserved_user| reserved_user.eq_ignore_ascii_case(user))
}

/// Whether a request was made before.
#[derive(Debug, Clone, PartialEq)]
pub enum IdempotencyStatus {
    /// It is new and has been recorded.
    New,
    /// It was made before and started this run.
    Same(RunId),
    /// A different request was made under the same key.
    Other,
}

/// A request with an idempotency key, and the run that it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyClaim {
    /// The sender.
    pub user: String,
    /// The key as sent.
    pub key: String,
    /// SHA-256 of the request, in hexadecimal.
    pub hash: String,
    /// The run.
    pub run: RunId,
    /// Time of the request, RFC 3339 in UTC.
    pub at: String,
}

/// User accounts, their spending, and the audit log.
///
/// Contract: when a writing call returns, its change is durable. Ids, prefixes and keys are compared exactly. Adding
/// an existing entry is an error of kind `Usage`, changing a missing one an error of kind `NotFound`. The audit log
/// is append-only.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Adds an organisation.
    async fn add_org(&self, org: &Org) -> Result<()>;
    /// Returns all organisations, by id.
    async fn orgs(&self) -> Result<Vec<Org>>;
    /// Sets [`Org::weight`]. Fails with `NotFound` for an unknown organisation.
    async fn set_weight(&self, org: &str, weight: f64) -> Result<()>;
    /// Adds a user. Fails with `NotFound` if the organisation does not exist.
    async fn add_user(&self, user: &User) -> Result<()>;
    /// Returns all users, by id.
    async fn users(&self) -> Result<Vec<User>>;
    /// Returns the user with this id.
    async fn user(&self, id: &str) -> Result<Option<User>>;
    /// Whether runs of this user id are stored, even if the user was removed.
    async fn has_runs(&self, user: &str) -> Result<bool>;
    /// Disables or enables a user.
    async fn set_disabled(&self, user: &str, disabled: bool) -> Result<()>;
    /// Removes a user with their tokens and schedules. Their runs are kept.
    async fn remove_user(&self, user: &str) -> Result<()>;
    /// Adds a token.
    async fn add_token(&self, token: &ApiToken) -> Result<()>;
    /// Returns all tokens, by user and time.
    async fn tokens(&self) -> Result<Vec<ApiToken>>;
    /// Revokes the tokens of a user that start with `prefix`.
    async fn revoke_tokens(&self, user: &str, prefix: &str) -> Result<()>;
    /// Returns the account of the token with this hash, unless its user is disabled.
    async fn account_by_token(&self, hash: &str) -> Result<Option<Account>>;
    /// Returns how many accepted runs wait for their first turn, on whichever server, and how many of them are of `user`, or of the operator.
    async fn waiting_runs(&self, user: Option<&str>) -> Result<WaitingRuns>;
    /// Returns how many accepted runs of each organisation wait for their first turn, on whichever server, most first. Users without an
    /// organisation and the operator come together, without a name.
    async fn waiting_runs_by_org(&self) -> Result<Vec<(Option<String>, usize)>>;
    /// Returns what was spent by runs that ended on `day` (`YYYY-MM-DD` in UTC), and what all open runs have
    /// reserved. Tools that started before `alive_since` (RFC 3339) without reporting their end are charged to their
    /// day.
    async fn spending(&self, owner: &Owner, day: &str, alive_since: &str) -> Result<Spending>;
    /// Accepts a run in one commit: checks the request against the account, writes the granted amount into the
    /// question's budget, and stores the run's first events, the idempotency key and an audit entry. Fails with
    /// `Exhausted` if the day's budget is spent or reserved; in that case, and for [`AcceptOutcome::Full`], only the
    /// audit entry is stored.
    async fn accept(
        &self,
        run: &RunId,
        events: &[Envelope],
        on: &AcceptRequest,
    ) -> Result<AcceptOutcome>;
    /// Returns the run that a request under this key started, or `None` if the key is new. Never returns `Queued` or
    /// `Full`.
    async fn find_request(&self, key: &IdempotencyKey) -> Result<Option<AcceptOutcome>>;
    /// Reserves what a tool may spend, US dollars, or `None` if nothing limits it. Fails with `Exhausted` if the
    /// day's budget is spent or reserved, and with `Transient` if the user has reached the concurrency limit.
    async fn reserve_for_tool(&self, booking: &ToolReservation) -> Result<Option<f64>>;
    /// Replaces a tool's reservation with what it spent, US dollars. Does not wait; if the process ends first, the
    /// whole reservation is charged.
    fn settle_reservation(&self, id: &str, usd: f64);
    /// Appends an entry to the audit log.
    async fn append_audit(&self, line: &AuditEntry) -> Result<()>;
    /// Returns the last `most` entries of the audit log, newest first.
    async fn audit_log(&self, most: u32) -> Result<Vec<AuditEntry>>;
    /// Records the claim, unless its user has used the key before.
    async fn claim_key(&self, claim: &KeyClaim) -> Result<IdempotencyStatus>;
    /// Deletes keys recorded before `at` (RFC 3339) and returns their number.
    async fn prune_keys(&self, at: &str) -> Result<u64>;
    /// Returns the runs that ended before `at` (RFC 3339).
    async fn runs_ended_before(&self, at: &str) -> Result<Vec<RunId>>;
}
