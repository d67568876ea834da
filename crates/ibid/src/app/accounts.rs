//! Accounts of a server with several users: organisations, users, API tokens, spending, the audit log.
use sha2::{Digest, Sha256};

use super::App;
use super::spending::KEY_MS;
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{
    Account, ApiToken, AuditEntry, IdempotencyStatus, KeyClaim, KeyOwner, Org, Spending, User,
    is_reserved_user,
};
use ibid_core::{Error, ErrorKind, Result};

/// The prefix of every token, so that a leaked one is recognised.
const TOKEN_PREFIX: &str = "ibid_";

/// How often the owner of an active run is checked for being disabled.
const ACCOUNT_POLL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(2);
/// Characters of a token that are stored and shown.
const SHOWN_PREFIX_CHARS: usize = 13;
/// Maximum length of an id of a user or organisation, in characters.
const ID_CHARS: usize = 100;
pub(super) const DAY_MS: i64 = 24 * 3600 * 1000;

impl App {
    /// Adds an organisation.
    ///
    /// # Errors
    /// `Usage` for an id that is taken or invalid.
    pub async fn add_org(&self, org: &Org) -> Result<()> {
        validate_id(&org.id)?;
        validate_amount(org.daily_usd)?;
        validate_weight(org.weight)?;
        self.accounts().await?.add_org(org).await
    }

    /// Changes how many turns an organisation has for one of an organisation of weight 1. It applies to the runs that are accepted
    /// from now on.
    ///
    /// # Errors
    /// `Usage` for a weight out of bounds, `NotFound` for an unknown organisation.
    pub async fn set_org_weight(&self, org: &str, weight: f64) -> Result<()> {
        validate_weight(weight)?;
        self.accounts().await?.set_weight(org, weight).await
    }

    /// All organisations, by id.
    pub async fn orgs(&self) -> Result<Vec<Org>> {
        self.accounts().await?.orgs().await
    }

    /// Adds a user.
    ///
    /// # Errors
    /// `Usage` for an id that is taken, invalid or reserved, `NotFound` for an unknown organisation.
    pub async fn add_user(&self, user: &User) -> Result<()> {
        validate_id(&user.id)?;
        if is_reserved_user(&user.id) {
            let what = format!("the user id `{}` is reserved", user.id);
            return Err(Error::new(ErrorKind::Usage, what).with_hint("choose another id"));
        }
        validate_amount(user.daily_usd)?;
        let accounts = self.accounts().await?;
        if accounts.has_runs(&user.id).await? && accounts.user(&user.id).await?.is_none() {
            let what = format!("an earlier user `{}` still has stored runs", user.id);
            return Err(Error::new(ErrorKind::Usage, what).with_hint(
                "choose another id, or remove those runs first: a new user with this id could read them",
            ));
        }
        accounts.add_user(user).await
    }

    /// All users, by id.
    pub async fn users(&self) -> Result<Vec<User>> {
        self.accounts().await?.users().await
    }

    /// Disables a user, or enables them again. The runs of a disabled user stop.
    ///
    /// # Errors
    /// `NotFound` for an unknown user.
    pub async fn disable_user(&self, user: &str, disabled: bool) -> Result<()> {
        self.accounts().await?.set_disabled(user, disabled).await
    }

    /// Deletes a user and their tokens. Their runs stay.
    ///
    /// # Errors
    /// `NotFound` for an unknown user.
    pub async fn remove_user(&self, user: &str) -> Result<()> {
        self.accounts().await?.remove_user(user).await
    }

    /// Makes a token for a user. Only its hash is stored, so it cannot be shown again.
    ///
    /// # Errors
    /// `NotFound` for an unknown user.
    pub async fn add_token(&self, user: &str) -> Result<String> {
        let (one, two) = (self.components.chance.next_u128(), self.components.chance.next_u128());
        let token = format!("{TOKEN_PREFIX}{one:032x}{two:032x}");
        let row = ApiToken {
            hash: hash(&token),
            prefix: token[..SHOWN_PREFIX_CHARS].to_owned(),
            user: user.to_owned(),
            made_at: self.timestamp_after(0),
        };
        self.accounts().await?.add_token(&row).await?;
        Ok(token)
    }

    /// All tokens, by user, each with its prefix only.
    pub async fn tokens(&self) -> Result<Vec<ApiToken>> {
        self.accounts().await?.tokens().await
    }

    /// Revokes the tokens of a user that begin with `prefix`.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub async fn revoke_token(&self, user: &str, prefix: &str) -> Result<()> {
        self.accounts().await?.revoke_tokens(user, prefix).await
    }

    /// The account of a token; `None` for an unknown or revoked token and for a disabled user.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn identify(&self, token: &str) -> Result<Option<Account>> {
        match App::hash_token(token) {
            Some(hash) => self.identify_by_hash(&hash).await,
            None => Ok(None),
        }
    }

    /// The hash of a token as it is stored; `None` for what cannot be a token.
    pub fn hash_token(token: &str) -> Option<String> {
        token.starts_with(TOKEN_PREFIX).then(|| hash(token))
    }

    /// Like [`App::identify`], by the hash of the token.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn identify_by_hash(&self, hash: &str) -> Result<Option<Account>> {
        self.accounts().await?.account_by_token(hash).await
    }

    /// Whether the user exists and is not disabled.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn may_ask(&self, user: &str) -> Result<bool> {
        let user = self.accounts().await?.user(user).await?;
        Ok(user.is_some_and(|user| !user.disabled))
    }

    /// Whether runs of this owner may continue: those of the operator (`None`) always, those of a user while the user exists and is not
    /// disabled. True when the store cannot be read.
    pub(super) async fn may_spend(&self, user: Option<&str>) -> bool {
        match user {
            Some(user) => self.may_ask(user).await.unwrap_or(true),
            None => true,
        }
    }

    /// Resolves when runs of this owner may no longer continue.
    pub(super) async fn until_disabled(&self, user: Option<&str>) {
        if user.is_none() {
            std::future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(ACCOUNT_POLL_INTERVAL).await;
            if !self.may_spend(user).await {
                return;
            }
        }
    }

    /// What the owner and their organisation have spent today (UTC), what their unended runs and tool calls have reserved, and the number
    /// of those runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn spent_today(&self, owner: &Owner) -> Result<Spending> {
        let now = self.timestamp_after(0);
        let alive_since = self.reservation_cutoff();
        let accounts = self.accounts().await?;
        accounts.spending(owner, &now[..10], &alive_since).await
    }

    /// Adds a line to the audit log: `who` did `what` to `on`, with this outcome.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_audit(&self, who: &str, what: &str, on: &str, outcome: &str) -> Result<()> {
        let entry = AuditEntry {
            at: self.timestamp_after(0),
            who: who.to_owned(),
            what: what.to_owned(),
            on: on.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.accounts().await?.append_audit(&entry).await
    }

    /// The last `limit` lines of the audit log, latest first.
    pub async fn audit_log(&self, limit: u32) -> Result<Vec<AuditEntry>> {
        self.accounts().await?.audit_log(limit).await
    }

    /// Remembers for a day that the request with this body and idempotency key of `owner` starts `run`. To be called before the start: when
    /// the run of a known request does not exist, the request was interrupted and may start it under its id.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn remember_request(
        &self,
        owner: KeyOwner<'_>,
        key: &str,
        request: &[u8],
        run: &RunId,
    ) -> Result<IdempotencyStatus> {
        let accounts = self.accounts().await?;
        accounts.prune_keys(&self.timestamp_after(-KEY_MS)).await?;
        let claim = KeyClaim {
            user: owner.storage_name().into_owned(),
            key: key.to_owned(),
            hash: hex::encode(Sha256::digest(request)),
            run: run.clone(),
            at: self.timestamp_after(0),
        };
        accounts.claim_key(&claim).await
    }
}

fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// Checks an id. Ids appear in logs and URLs without escaping.
fn validate_id(text: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@+-".contains(c);
    if text.is_empty() || text.len() > ID_CHARS || !text.chars().all(plain) {
        return Err(Error::new(ErrorKind::Usage, format!("invalid id `{}`", text.escape_debug()))
            .with_hint("use 1 to 100 letters, digits and . _ @ + -"));
    }
    Ok(())
}

fn validate_weight(weight: f64) -> Result<()> {
    if (0.001..=1000.0).contains(&weight) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("invalid weight {weight}"))
        .with_hint("give a number from 0.001 to 1000"))
}

fn validate_amount(usd: Option<f64>) -> Result<()> {
    match usd {
        Some(it) if !it.is_finite() || it < 0.0 => {
            Err(Error::new(ErrorKind::Usage, format!("invalid amount of money {it}"))
                .with_hint("give US dollars, 0 or more"))
        }
        _ => Ok(()),
    }
}
