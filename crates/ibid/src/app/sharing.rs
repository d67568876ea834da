//! Share links: whoever has one may read one report. A link contains a random secret. The store holds only its hash, so that nobody can
//! make a link from a copy of the store; every server of the store accepts every link.
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::App;
use ibid_core::domain::{RunId, ShareCreator, ShareLink};
use ibid_core::record::{Event, Run};
use ibid_core::{Error, ErrorKind, Result};

/// Separates the run id from the secret in a token.
const TOKEN_SEPARATOR: char = '-';

/// Random bytes in a link.
const SECRET_BYTES: usize = 32;

impl App {
    /// Makes a link to the report of an ended run and returns its token, which is stored nowhere. The link is valid for `days`; `private`
    /// shows the quotes of local documents too.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one without a report or for `days` out of range, `Transient` if another process
    /// works on the run.
    pub async fn share(
        &self,
        run: &RunId,
        days: u32,
        private: bool,
        maker: ShareCreator,
    ) -> Result<(String, ShareLink)> {
        if !(1..=ShareLink::MAX_DAYS).contains(&days) {
            let what = format!("a link is valid for 1 to {} days, not {days}", ShareLink::MAX_DAYS);
            return Err(Error::new(ErrorKind::Usage, what).with_hint("choose 1 to 365 days"));
        }
        let locked = self.lock_ended_run(run).await?;
        if locked.run.report.is_none() {
            let what = format!("run {run} has no report to share");
            return Err(Error::new(ErrorKind::Usage, what)
                .with_hint("see `ibid ls` for runs that are completed"));
        }
        // From the system's generator, not from the one that tests may seed.
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>());
        let until = self.current_time() + SignedDuration::from_hours(24 * i64::from(days));
        let share = ShareLink {
            key: hash_secret(&secret),
            until: until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            private,
            maker: Some(maker),
        };
        let event = Event::ReportShared { share: share.clone() };
        self.append_event(locked, event).await?;
        let run_name = run.as_str().trim_start_matches("r_");
        Ok((format!("{run_name}{TOKEN_SEPARATOR}{secret}"), share))
    }

    /// Revokes every link to the report of a run. Returns how many were active.
    ///
    /// # Errors
    /// Those of [`App::share`].
    pub async fn unshare(&self, run: &RunId) -> Result<usize> {
        let locked = self.lock_ended_run(run).await?;
        let shares = &locked.run.shares;
        let now = self.current_time();
        let active = shares.iter().filter(|share| is_active(share, now)).count();
        if shares.is_empty() {
            locked.lease.release();
            return Ok(0);
        }
        self.append_event(locked, Event::ReportUnshared {}).await?;
        Ok(active)
    }

    /// The run that a token leads to, and its link. `None` for an invalid, expired or revoked token alike, and where the account of its
    /// maker is disabled or deleted, or the run is deleted or has no report.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn shared_report(&self, token: &str) -> Result<Option<(Run, ShareLink)>> {
        let Some((bare, secret)) = token.split_once(TOKEN_SEPARATOR) else {
            return Ok(None);
        };
        let is_secret = URL_SAFE_NO_PAD.decode(secret).is_ok_and(|it| it.len() == SECRET_BYTES);
        let Ok(run) = format!("r_{bare}").parse::<RunId>() else {
            return Ok(None);
        };
        if !is_secret {
            return Ok(None);
        }
        let run = match self.run(&run).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(None),
            run => run?,
        };
        // Comparing hashes leaks nothing about the secret through timing.
        let key = hash_secret(secret);
        let now = self.current_time();
        let share = run.shares.iter().find(|share| share.key == key && is_active(share, now));
        let Some(share) = share.cloned().filter(|_| run.report.is_some()) else {
            return Ok(None);
        };
        let maker = match (&share.maker, &run.owner) {
            (Some(ShareCreator::Operator), _) | (None, None) => None,
            (Some(ShareCreator::User(id)), _) => Some(id),
            (None, Some(owner)) => Some(&owner.user),
        };
        if let Some(user) = maker
            && !self.may_ask(user).await?
        {
            return Ok(None);
        }
        Ok(Some((run, share)))
    }
}

/// Whether a link is valid at `now`. One whose end cannot be parsed is not.
pub fn is_active(share: &ShareLink, now: Timestamp) -> bool {
    share.until.parse::<Timestamp>().is_ok_and(|until| now < until)
}

fn hash_secret(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}
