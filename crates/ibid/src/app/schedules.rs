//! Schedules: questions that a server asks again at intervals.
use serde_json::Value;

use super::App;
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{Account, EndedRerun, Schedule, StartedRerun};
use ibid_core::{Error, ErrorKind, Result};

const MINUTE_SECS: u64 = 60;
const HOUR_SECS: u64 = 60 * MINUTE_SECS;
const DAY_SECS: u64 = 24 * HOUR_SECS;
/// Shortest time between two reruns, in seconds.
const MIN_INTERVAL_SECS: u64 = 15 * MINUTE_SECS;
/// Longest time between two reruns, in seconds.
const MAX_INTERVAL_SECS: u64 = 365 * DAY_SECS;
/// Maximum number of schedules of a user.
const MAX_SCHEDULES: usize = 100;
/// How long a rerun that could not start waits before it is tried again, at most, in seconds.
const MAX_POSTPONED_SECS: u64 = HOUR_SECS;
/// How long a server has the delivery of a rerun to itself without renewing its claim, in milliseconds.
const DELIVERY_CLAIM_MS: i64 = 120_000;

/// A schedule to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchedule {
    /// The request as JSON, as `POST /v1/runs` takes it.
    pub request: Value,
    /// Time between two reruns, in seconds.
    pub interval_secs: u64,
    /// Where a webhook is sent after each rerun.
    pub webhook_url: Option<String>,
    /// The directory into which each rerun is written as a mail.
    pub mail_dir: Option<String>,
}

/// Parses an interval such as `7d`, `12h` or `30m`, into seconds; `field` names it in the error.
///
/// # Errors
/// `Usage` if it is not such a text, shorter than 15 minutes or longer than 365 days.
pub fn parse_interval(field: &str, text: &str) -> Result<u64> {
    let invalid = |why: &str| {
        Error::new(ErrorKind::Usage, format!("{field} {why}"))
            .with_hint("write minutes, hours or days, from 15m to 365d, such as 7d")
    };
    let text = text.trim();
    let units = [('m', MINUTE_SECS), ('h', HOUR_SECS), ('d', DAY_SECS)];
    let parsed = units.iter().find_map(|(unit, secs)| {
        let number = text.strip_suffix(*unit)?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        number.parse::<u64>().ok()?.checked_mul(*secs)
    });
    let secs = parsed.ok_or_else(|| invalid("must be an interval such as 7d, 12h or 30m"))?;
    match secs {
        MIN_INTERVAL_SECS..=MAX_INTERVAL_SECS => Ok(secs),
        0..MIN_INTERVAL_SECS => Err(invalid("must be at least 15m")),
        _ => Err(invalid("must be at most 365d")),
    }
}

/// An interval in its largest unit: `7d`.
pub fn interval_text(secs: u64) -> String {
    let units = [("d", DAY_SECS), ("h", HOUR_SECS)];
    let whole = units.iter().find(|unit| secs.is_multiple_of(unit.1));
    let (unit, of) = whole.copied().unwrap_or(("m", MINUTE_SECS));
    format!("{}{unit}", secs / of)
}

impl App {
    /// Adds a schedule for the owner of this app. The first rerun is due at once.
    ///
    /// # Errors
    /// `Exhausted` if a user has as many schedules as allowed; when the store cannot be written.
    pub async fn add_schedule(&self, new: NewSchedule) -> Result<Schedule> {
        let store = self.store().await?;
        if self.owner.is_some() && store.schedules().await?.len() >= MAX_SCHEDULES {
            let what = format!("a user has at most {MAX_SCHEDULES} schedules");
            return Err(Error::new(ErrorKind::Exhausted, what).with_hint("delete one first"));
        }
        let now = self.timestamp_after(0);
        let schedule = Schedule {
            id: self.new_run_id().as_str().replacen("r_", "s_", 1),
            owner: self.owner.clone(),
            request: new.request,
            interval_secs: new.interval_secs,
            next_at: now.clone(),
            paused: false,
            webhook_url: new.webhook_url,
            mail_dir: new.mail_dir,
            reruns: 0,
            active_run: None,
            latest_run: None,
            previous_run: None,
            last_error: None,
            created_at: now,
        };
        store.add_schedule(&schedule).await?;
        Ok(schedule)
    }

    /// The schedules, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn schedules(&self) -> Result<Vec<Schedule>> {
        match self.store_if_any().await? {
            Some(store) => store.schedules().await,
            None => Ok(Vec::new()),
        }
    }

    /// A schedule by its id.
    ///
    /// # Errors
    /// `NotFound` for one that does not exist or belongs to another owner.
    pub async fn schedule(&self, id: &str) -> Result<Schedule> {
        let found = match self.store_if_any().await? {
            Some(store) => store.schedule(id).await?,
            None => None,
        };
        found.ok_or_else(|| schedule_not_found(id))
    }

    /// Deletes a schedule. Its runs stay.
    ///
    /// # Errors
    /// `NotFound` for one that does not exist or belongs to another owner.
    pub async fn remove_schedule(&self, id: &str) -> Result<()> {
        require_schedule(id, self.store().await?.remove_schedule(id).await?)
    }

    /// Pauses a schedule or resumes it. One that was due meanwhile is due at once.
    ///
    /// # Errors
    /// `NotFound` for one that does not exist or belongs to another owner.
    pub async fn pause_schedule(&self, id: &str, paused: bool) -> Result<()> {
        require_schedule(id, self.store().await?.set_schedule_paused(id, paused).await?)
    }

    /// Makes the next rerun of a schedule due now.
    ///
    /// # Errors
    /// `NotFound` for one that does not exist or belongs to another owner, `Usage` for one that is paused.
    pub async fn run_schedule_now(&self, id: &str) -> Result<()> {
        if self.schedule(id).await?.paused {
            let what = format!("schedule {id} is paused");
            return Err(Error::new(ErrorKind::Usage, what).with_hint("resume it first"));
        }
        let now = self.timestamp_after(0);
        require_schedule(id, self.store().await?.set_schedule_time(id, &now).await?)
    }

    /// Whether its next rerun has been due for `ms` milliseconds without a start.
    pub fn is_overdue(&self, schedule: &Schedule, ms: i64) -> bool {
        let waits = !schedule.paused && schedule.active_run.is_none();
        waits && schedule.next_at <= self.timestamp_after(-ms)
    }

    /// The schedules that a server has to do something for now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn pending_schedules(&self) -> Result<Vec<Schedule>> {
        self.store().await?.pending_schedules(&self.timestamp_after(0)).await
    }

    /// The account of the owner of a schedule, as it is now. `None` if the user is disabled, was removed or has changed organisation.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn account_of(&self, owner: &Owner) -> Result<Option<Account>> {
        let accounts = self.accounts().await?;
        let Some(user) = accounts.user(&owner.user).await? else {
            return Ok(None);
        };
        if user.disabled || user.org != owner.org {
            return Ok(None);
        }
        let orgs = accounts.orgs().await?;
        let org = orgs.into_iter().find(|org| Some(&org.id) == user.org.as_ref());
        Ok(Some(Account { user, org }))
    }

    /// Records that the next rerun of `schedule` has started as `run`. Returns whether this call recorded it. Intervals that were
    /// missed are skipped.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_rerun_start(&self, schedule: &Schedule, run: &RunId) -> Result<bool> {
        let rerun = StartedRerun {
            schedule: schedule.id.clone(),
            nth: schedule.reruns + 1,
            run: run.clone(),
            next_at: self.next_time(schedule),
        };
        self.store().await?.record_rerun_start(&rerun).await
    }

    /// Tries the next rerun of `schedule` again after an hour at most, because it could not start for `reason`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn postpone_rerun(&self, schedule: &Schedule, reason: &str) -> Result<bool> {
        let secs = schedule.interval_secs.min(MAX_POSTPONED_SECS);
        let next_at = self.timestamp_after(milliseconds(secs));
        let store = self.store().await?;
        store.postpone_rerun(&schedule.id, schedule.reruns, &next_at, reason).await
    }

    /// Reserves the delivery of the active rerun of `schedule` for two minutes. Returns false if another server delivers it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn claim_delivery(&self, schedule: &Schedule) -> Result<bool> {
        let (now, until) = (self.timestamp_after(0), self.timestamp_after(DELIVERY_CLAIM_MS));
        let store = self.store().await?;
        store.claim_delivery(&schedule.id, schedule.reruns, &now, &until).await
    }

    /// Extends the claim of [`App::claim_delivery`] by two minutes.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn renew_delivery_claim(&self, schedule: &Schedule) -> Result<bool> {
        let until = self.timestamp_after(DELIVERY_CLAIM_MS);
        let store = self.store().await?;
        store.claim_delivery(&schedule.id, schedule.reruns, &until, &until).await
    }

    /// Records that the active rerun of a schedule was delivered, or why not.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_delivery(&self, rerun: &EndedRerun, error: Option<&str>) -> Result<()> {
        self.store().await?.record_delivery(rerun, error).await
    }

    /// The ended reruns of a schedule, newest first, at most `most`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn ended_reruns(&self, id: &str, most: u32) -> Result<Vec<EndedRerun>> {
        self.store().await?.ended_reruns(id, most).await
    }

    /// The current time, as schedules store it.
    pub fn schedule_time(&self) -> String {
        self.timestamp_after(0)
    }

    /// The first time after now that is a whole number of intervals after the one that is due.
    fn next_time(&self, schedule: &Schedule) -> String {
        let now = self.current_time().as_millisecond();
        let due = schedule.next_at.parse::<jiff::Timestamp>();
        let due = due.map_or(now, |due| due.as_millisecond());
        let interval = milliseconds(schedule.interval_secs).max(1);
        let late = (now - due).max(0) % interval;
        self.timestamp_after(interval - late)
    }
}

fn milliseconds(secs: u64) -> i64 {
    i64::try_from(secs.saturating_mul(1000)).unwrap_or(i64::MAX)
}

fn require_schedule(id: &str, changed: bool) -> Result<()> {
    if changed { Ok(()) } else { Err(schedule_not_found(id)) }
}

fn schedule_not_found(id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no schedule {}", id.escape_debug()))
        .with_hint("see `ibid schedule ls`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_a_unit_and_bounds() {
        for (text, secs) in [("15m", 900), ("1h", 3600), ("7d", 604_800), (" 365d ", 31_536_000)] {
            assert_eq!(parse_interval("--every", text).unwrap(), secs, "{text}");
        }
        for text in ["", "7", "d", "14m", "366d", "-7d", "1.5h", "7w", "99999999999999999d", "+7d"]
        {
            let fault = parse_interval("--every", text).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Usage, "{text}");
            assert!(fault.to_string().starts_with("--every must be "), "{fault}");
            assert!(fault.hint().unwrap().contains("365d"));
        }
        for text in ["7d", "36h", "15m", "90m", "1h"] {
            assert_eq!(interval_text(parse_interval("every", text).unwrap()), text);
        }
    }
}
