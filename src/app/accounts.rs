//! Who may ask, for how much, and what they did, for a program that serves many.
use sha2::{Digest, Sha256};

use super::App;
use super::spending::KEY_MS;
use crate::domain::{Owner, RunId};
use crate::error::{Error, Kind, Result};
use crate::seams::{Account, Audited, KeyOwner, Org, Remembered, Spent, Token, User, is_reserved};

/// How every token begins, so that one that lies about is known for what it is.
const MARK: &str = "ibid_";

/// How often it is looked whether the owner of a run that is worked on may still ask.
const ACCOUNT_LOOK: std::time::Duration = std::time::Duration::from_secs(2);
/// How much of a token is kept and shown again, characters.
const PREFIX: usize = 13;
/// Longest id of a user or organisation, characters.
const ID_CHARS: usize = 100;
pub(super) const DAY_MS: i64 = 24 * 3600 * 1000;

impl App {
    /// Adds an organisation.
    ///
    /// # Errors
    /// `Usage` for one that is there, or an id that is none.
    pub async fn add_org(&self, org: &Org) -> Result<()> {
        id(&org.id)?;
        amount(org.daily_usd)?;
        self.accounts().await?.add_org(org).await
    }

    /// All organisations, by id.
    pub async fn orgs(&self) -> Result<Vec<Org>> {
        self.accounts().await?.orgs().await
    }

    /// Adds a user.
    ///
    /// # Errors
    /// `Usage` for one that is there, an id that is none or a name that the program uses for itself, `NotFound` for an organisation
    /// that is not.
    pub async fn add_user(&self, user: &User) -> Result<()> {
        id(&user.id)?;
        if is_reserved(&user.id) {
            let what = format!("`{}` is a name that Ibid uses for itself", user.id);
            return Err(Error::new(Kind::Usage, what).hint("choose another id"));
        }
        amount(user.daily_usd)?;
        let accounts = self.accounts().await?;
        if accounts.owns_runs(&user.id).await? && accounts.user(&user.id).await?.is_none() {
            let what = format!("runs of an earlier user `{}` are still stored", user.id);
            return Err(Error::new(Kind::Usage, what)
                .hint("choose another id, or remove those runs first: who has the id reads them"));
        }
        accounts.add_user(user).await
    }

    /// All users, by id.
    pub async fn users(&self) -> Result<Vec<User>> {
        self.accounts().await?.users().await
    }

    /// Whether a user may ask from now on.
    ///
    /// # Errors
    /// `NotFound` for one that is not there.
    pub async fn disable_user(&self, user: &str, disabled: bool) -> Result<()> {
        self.accounts().await?.disable(user, disabled).await
    }

    /// Forgets a user and their tokens; their runs stay.
    ///
    /// # Errors
    /// `NotFound` for one that is not there.
    pub async fn remove_user(&self, user: &str) -> Result<()> {
        self.accounts().await?.remove_user(user).await
    }

    /// A new token of a user. This is the only time that anybody sees it whole: what is kept is its hash.
    ///
    /// # Errors
    /// `NotFound` for a user that is not there.
    pub async fn add_token(&self, user: &str) -> Result<String> {
        let (one, two) = (self.parts.chance.bits(), self.parts.chance.bits());
        let words = format!("{MARK}{one:032x}{two:032x}");
        let token = Token {
            hash: hash(&words),
            prefix: words[..PREFIX].to_owned(),
            user: user.to_owned(),
            made_at: self.now(0),
        };
        self.accounts().await?.add_token(&token).await?;
        Ok(words)
    }

    /// All tokens, by user: how they begin, and never more.
    pub async fn tokens(&self) -> Result<Vec<Token>> {
        self.accounts().await?.tokens().await
    }

    /// Takes back a token of a user that begins so.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    pub async fn revoke_token(&self, user: &str, prefix: &str) -> Result<()> {
        self.accounts().await?.revoke(user, prefix).await
    }

    /// Whose token this is; nobody for one that was never given out or was taken back, and for a user who may not ask.
    pub async fn identify(&self, token: &str) -> Result<Option<Account>> {
        match App::hash_of_token(token) {
            Some(hash) => self.identify_by(&hash).await,
            None => Ok(None),
        }
    }

    /// What is kept of a token; `None` for what can be none.
    pub fn hash_of_token(token: &str) -> Option<String> {
        token.starts_with(MARK).then(|| hash(token))
    }

    /// As [`App::identify`], for who has kept the hash of a token and not the token.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn identify_by(&self, hash: &str) -> Result<Option<Account>> {
        self.accounts().await?.identify(hash).await
    }

    /// Whether the user of this id is there and may ask.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn may_ask(&self, user: &str) -> Result<bool> {
        let user = self.accounts().await?.user(user).await?;
        Ok(user.is_some_and(|it| !it.disabled))
    }

    /// Whether runs of this owner may go on: nobody's always, a user's while they are there and not disabled. Where the store
    /// cannot be read, nothing is stopped.
    pub(super) async fn may_spend(&self, user: Option<&str>) -> bool {
        match user {
            Some(user) => self.may_ask(user).await.unwrap_or(true),
            None => true,
        }
    }

    /// Resolves once runs of this owner may go on no longer.
    pub(super) async fn until_shut_out(&self, user: Option<&str>) {
        if user.is_none() {
            std::future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(ACCOUNT_LOOK).await;
            if !self.may_spend(user).await {
                return;
            }
        }
    }

    /// What the owner and their organisation have spent today (UTC) and what is reserved by what has not ended, and how many
    /// runs of the owner have not ended.
    pub async fn spent_today(&self, owner: &Owner) -> Result<Spent> {
        let now = self.now(0);
        let alive_since = self.alive_since();
        let accounts = self.accounts().await?;
        accounts.spent(owner, &now[..10], &alive_since).await
    }

    /// Writes down that `who` did `what` on what, and how that went.
    pub async fn audit(&self, who: &str, what: &str, on: &str, outcome: &str) -> Result<()> {
        let line = Audited {
            at: self.now(0),
            who: who.to_owned(),
            what: what.to_owned(),
            on: on.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.accounts().await?.audit(&line).await
    }

    /// The last `most` lines of the audit log, latest first.
    pub async fn audited(&self, most: u32) -> Result<Vec<Audited>> {
        self.accounts().await?.audited(most).await
    }

    /// Remembers for a day that `owner` begins `run` by the request `request` under `key`, before it is begun. Where the
    /// run of a request that is known is not there, it was cut off in between and may be begun under its id.
    pub async fn remember(
        &self,
        owner: KeyOwner<'_>,
        key: &str,
        request: &[u8],
        run: &RunId,
    ) -> Result<Remembered> {
        let accounts = self.accounts().await?;
        accounts.forget_keys(&self.now(-KEY_MS)).await?;
        let hash = hex::encode(Sha256::digest(request));
        let owner = owner.stored();
        accounts
            .remember(&owner, key, &hash, run, &self.now(0))
            .await
    }

    /// RFC 3339 in UTC, so many milliseconds from now.
    pub(super) fn now(&self, later: i64) -> String {
        let now = i64::try_from(self.parts.clock.unix_ms()).unwrap_or(0);
        let at = jiff::Timestamp::from_millisecond(now.saturating_add(later)).unwrap_or_default();
        at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }
}

fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// That `text` can be an id: it stands in logs and in addresses as it is.
fn id(text: &str) -> Result<()> {
    let plain = |it: char| it.is_ascii_alphanumeric() || "._@+-".contains(it);
    if text.is_empty() || text.len() > ID_CHARS || !text.chars().all(plain) {
        return Err(
            Error::new(Kind::Usage, format!("`{}` is no id", text.escape_debug()))
                .hint("use letters, digits and . _ @ + - alone, at most 100"),
        );
    }
    Ok(())
}

fn amount(usd: Option<f64>) -> Result<()> {
    match usd {
        Some(it) if !it.is_finite() || it < 0.0 => Err(Error::new(
            Kind::Usage,
            format!("{it} is no amount of money"),
        )
        .hint("give US dollars, 0 or more")),
        _ => Ok(()),
    }
}
