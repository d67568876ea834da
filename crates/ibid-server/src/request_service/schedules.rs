//! The schedules of a caller, and their reruns.
use std::sync::Arc;

use serde_json::{Value, json};

use super::caller::Caller;
use super::intake::RequestService;
use super::service::CallerService;
use super::submit::SubmitOutcome;
use crate::request::ResearchRequest;
use ibid::app::App;
use ibid::app::schedules::NewSchedule;
use ibid_core::ports::{EndedRerun, IdempotencyKey, Schedule};
use ibid_core::{Error, ErrorKind, Result};

impl RequestService {
    /// The application, for the work on schedules of every owner.
    pub(crate) fn schedule_app(&self) -> &App {
        &self.app
    }

    /// The service for the owner of a schedule.
    ///
    /// # Errors
    /// `NotFound` if the user is disabled, was removed or has changed organisation.
    pub(crate) async fn for_owner_of(
        self: &Arc<Self>,
        schedule: &Schedule,
    ) -> Result<CallerService> {
        let Some(owner) = &schedule.owner else {
            return Ok(self.for_caller(Caller::operator()));
        };
        match self.app.account_of(owner).await? {
            Some(account) => Ok(self.for_caller(Caller::from_owner(account))),
            None => Err(Error::new(ErrorKind::NotFound, "the user of the schedule is disabled")),
        }
    }
}

/// Checks that nobody is needed while a run of `request` works, and that the run sends no webhook of its own.
///
/// # Errors
/// `Usage`, naming the field.
pub fn check_schedulable(request: &ResearchRequest) -> Result<()> {
    let refused = |what: &str, hint: &str| {
        Err(Error::new(ErrorKind::Usage, format!("request.{what}")).with_hint(hint))
    };
    if request.requires_approval() {
        let hint = "leave `plan` out, or give the plan itself";
        return refused("plan must not wait for approval: nobody is there", hint);
    }
    if request.ask == Some(true) {
        return refused("ask must be false: nobody is there to answer", "leave `ask` out");
    }
    if request.webhook_url.is_some() {
        let hint = "give `webhook_url` beside `request`";
        return refused("webhook_url is not supported in a schedule", hint);
    }
    Ok(())
}

impl CallerService {
    /// Adds a schedule of the caller.
    ///
    /// # Errors
    /// Those of [`App::add_schedule`].
    pub async fn add_schedule(&self, new: NewSchedule) -> Result<Schedule> {
        self.redact_error(self.app().add_schedule(new).await)
    }

    /// The caller's schedules, newest first. The operator gets those of everybody.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn schedules(&self) -> Result<Vec<Schedule>> {
        let mut all = self.redact_error(self.app().schedules().await)?;
        all.retain(|schedule| self.owns(schedule));
        Ok(all)
    }

    /// The caller's schedule `id`.
    ///
    /// # Errors
    /// `NotFound` for an unknown schedule and one of another owner alike.
    pub async fn schedule(&self, id: &str) -> Result<Schedule> {
        let schedule = self.redact_error(self.app().schedule(id).await)?;
        if self.owns(&schedule) {
            return Ok(schedule);
        }
        Err(Error::new(ErrorKind::NotFound, "there is no such schedule"))
    }

    fn owns(&self, schedule: &Schedule) -> bool {
        let owner = &self.caller().owner;
        owner.is_none() || schedule.owner == *owner
    }

    /// Deletes the caller's schedule `id`.
    ///
    /// # Errors
    /// Those of [`CallerService::schedule`].
    pub async fn remove_schedule(&self, id: &str) -> Result<()> {
        let schedule = self.schedule(id).await?;
        self.redact_error(self.app().remove_schedule(&schedule.id).await)
    }

    /// Pauses or resumes the caller's schedule `id`.
    ///
    /// # Errors
    /// Those of [`CallerService::schedule`].
    pub async fn pause_schedule(&self, id: &str, paused: bool) -> Result<()> {
        let schedule = self.schedule(id).await?;
        self.redact_error(self.app().pause_schedule(&schedule.id, paused).await)
    }

    /// Makes the next rerun of the caller's schedule `id` due now.
    ///
    /// # Errors
    /// Those of [`CallerService::schedule`]; `Usage` if it is paused.
    pub async fn run_schedule_now(&self, id: &str) -> Result<()> {
        let schedule = self.schedule(id).await?;
        self.redact_error(self.app().run_schedule_now(&schedule.id).await)
    }

    /// The ended reruns of the caller's schedule `id`, newest first, at most `most`.
    ///
    /// # Errors
    /// Those of [`CallerService::schedule`].
    pub async fn ended_reruns(&self, id: &str, most: u32) -> Result<Vec<EndedRerun>> {
        let schedule = self.schedule(id).await?;
        self.redact_error(self.app().ended_reruns(&schedule.id, most).await)
    }

    /// Starts the next rerun of a schedule of the caller, or returns its run if it was started before.
    ///
    /// # Errors
    /// Those of [`CallerService::question`] and [`CallerService::accept`].
    pub(crate) async fn start_rerun(&self, schedule: &Schedule) -> Result<SubmitOutcome> {
        let mut request = ResearchRequest::parse(schedule.request.clone())?;
        // Stored pages and searches would hide what has changed.
        request.fresh.get_or_insert(true);
        let question = self.question(&request).await?;
        let nth = schedule.reruns + 1;
        let key = format!("schedule:{}:{nth}", schedule.id);
        let key = self.request_key(&key, schedule.request.to_string().as_bytes());
        // Longer than a day: no server may have run since the rerun was started.
        let key = IdempotencyKey { since: schedule.created_at.clone(), ..key };
        let extras: Value = json!({"api": "runs", "schedule": schedule.id, "rerun": nth});
        self.accept(question, Some(extras), Some(key)).await
    }
}
