//! Links by which anybody may read one report. What a link holds is chance; what the store keeps is its hash, so that neither the
//! store nor a copy of it lets anybody in, and every server of the store knows every link.
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::App;
use crate::domain::{RunId, Share, ShareMaker};
use crate::error::{Error, Kind, Result};
use crate::record::{Event, Run};

/// What stands between the run and the secret of a link.
const JOINT: char = '-';

/// Bytes of chance in a link.
const SECRET: usize = 32;

impl App {
    /// Makes a link to the report of an ended run and gives its token, which is kept nowhere else. It lasts `days`; `private` shows
    /// the quotes of local documents, too.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one without a report or for days out of bounds, `Transient` where another process
    /// works on the run.
    pub async fn share(
        &self,
        run: &RunId,
        days: u32,
        private: bool,
        maker: ShareMaker,
    ) -> Result<(String, Share)> {
        if !(1..=Share::MOST_DAYS).contains(&days) {
            let what = format!("a link lasts 1 to {} days, not {days}", Share::MOST_DAYS);
            return Err(
                Error::new(Kind::Usage, what).hint("name fewer days, and make another link later")
            );
        }
        let (store, past, lock) = self.looking_back(run).await?;
        if Run::of(run.clone(), &past).report.is_none() {
            let what = format!("run {run} has no report to share");
            return Err(
                Error::new(Kind::Usage, what).hint("see `ibid ls` for runs that are completed")
            );
        }
        // Its chance is the system's, whatever a run is seeded with.
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET]>());
        let until = self.moment() + SignedDuration::from_hours(24 * i64::from(days));
        let share = Share {
            key: hashed(&secret),
            until: until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            private,
            maker: Some(maker),
        };
        let event = Event::ReportShared {
            share: share.clone(),
        };
        self.add(run, &store, &past, event, lock).await?;
        let bare = run.as_str().trim_start_matches("r_");
        Ok((format!("{bare}{JOINT}{secret}"), share))
    }

    /// The moment that the clock of the program shows.
    pub fn moment(&self) -> Timestamp {
        let ms = i64::try_from(self.now_ms()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    /// Ends every link to the report of a run, and gives how many lasted until now.
    ///
    /// # Errors
    /// As [`App::share`].
    pub async fn unshare(&self, run: &RunId) -> Result<usize> {
        let (store, past, lock) = self.looking_back(run).await?;
        let shares = Run::of(run.clone(), &past).shares;
        let now = self.moment();
        let lasting = shares.iter().filter(|it| lasts(it, now)).count();
        if shares.is_empty() {
            lock.retire();
            return Ok(0);
        }
        self.add(run, &store, &past, Event::ReportUnshared {}, lock)
            .await?;
        Ok(lasting)
    }

    /// The run whose report a token leads to, and the link. `None` alike for a token that is none, one that has ended or was taken
    /// back, one whose maker's account is disabled or gone, and one of a run that is gone or has no report.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn shared(&self, token: &str) -> Result<Option<(Run, Share)>> {
        let Some((bare, secret)) = token.split_once(JOINT) else {
            return Ok(None);
        };
        let whole = URL_SAFE_NO_PAD
            .decode(secret)
            .is_ok_and(|it| it.len() == SECRET);
        let Ok(run) = format!("r_{bare}").parse::<RunId>() else {
            return Ok(None);
        };
        if !whole {
            return Ok(None);
        }
        let run = match self.run(&run).await {
            Err(fault) if fault.kind() == Kind::NotFound => return Ok(None),
            run => run?,
        };
        // Hashes are compared: how long that takes tells nothing of the secret.
        let key = hashed(secret);
        let now = self.moment();
        let share = run.shares.iter().find(|it| it.key == key && lasts(it, now));
        let Some(share) = share.cloned().filter(|_| run.report.is_some()) else {
            return Ok(None);
        };
        let maker = match (&share.maker, &run.owner) {
            (Some(ShareMaker::Operator), _) | (None, None) => None,
            (Some(ShareMaker::User(id)), _) => Some(id),
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

/// Whether a link has not ended at `now`; one whose end cannot be read has.
pub fn lasts(it: &Share, now: Timestamp) -> bool {
    it.until.parse::<Timestamp>().is_ok_and(|until| now < until)
}

fn hashed(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}
