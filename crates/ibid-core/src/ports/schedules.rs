use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

use crate::Result;
use crate::domain::{Owner, RunId};
use crate::record::RunStatus;

/// A question that is asked again at intervals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Schedule {
    /// Its id, `s_…`.
    pub id: String,
    /// Whose runs the reruns are; `None` for the operator.
    pub owner: Option<Owner>,
    /// The request as JSON, as `POST /v1/runs` takes it.
    pub request: Value,
    /// Time between two reruns, in seconds.
    pub interval_secs: u64,
    /// When the next rerun is due, RFC 3339 in UTC.
    pub next_at: String,
    /// Whether no rerun starts.
    pub paused: bool,
    /// Where a webhook is sent after each rerun.
    pub webhook_url: Option<String>,
    /// The directory on the server into which each rerun is written as a mail.
    pub mail_dir: Option<String>,
    /// How many reruns have started.
    pub reruns: u64,
    /// The rerun that has started and has not been delivered.
    pub active_run: Option<RunId>,
    /// The newest rerun that ended with a report.
    pub latest_run: Option<RunId>,
    /// The rerun with a report before that one.
    pub previous_run: Option<RunId>,
    /// Why the last rerun could not start or not be delivered.
    pub last_error: Option<String>,
    /// Time of creation, RFC 3339 in UTC.
    pub created_at: String,
}

impl Schedule {
    /// The text of the question.
    pub fn question(&self) -> &str {
        let text = ["question", "query"].iter().find_map(|key| self.request[*key].as_str());
        text.unwrap_or_default().trim()
    }
}

/// A rerun that has started.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedRerun {
    /// The id of the schedule.
    pub schedule: String,
    /// Its number, from 1.
    pub nth: u64,
    /// Its run.
    pub run: RunId,
    /// When the next rerun is due, RFC 3339 in UTC.
    pub next_at: String,
}

/// A rerun that has ended and was delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedRerun {
    /// The id of the schedule.
    pub schedule: String,
    /// Its number, from 1.
    pub nth: u64,
    /// Its run.
    pub run: RunId,
    /// The run that its report is compared with.
    pub compared_with: Option<RunId>,
    /// How it ended.
    pub status: RunStatus,
    /// Whether it has a report, so that the next one is compared with it.
    pub has_report: bool,
    /// When it was delivered, RFC 3339 in UTC.
    pub at: String,
}

/// The schedules of reruns.
///
/// Contract: when a writing call returns, its change is durable. What does not exist or belongs to another owner is
/// `None` or `false`. Of several callers that record the start of one rerun, or claim its delivery, one gets `true`.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Adds a schedule.
    async fn add_schedule(&self, schedule: &Schedule) -> Result<()>;
    /// Returns the schedule with this id.
    async fn schedule(&self, id: &str) -> Result<Option<Schedule>>;
    /// Returns all schedules, newest first.
    async fn schedules(&self) -> Result<Vec<Schedule>>;
    /// Deletes a schedule; its runs stay.
    async fn remove_schedule(&self, id: &str) -> Result<bool>;
    /// Pauses a schedule or resumes it.
    async fn set_schedule_paused(&self, id: &str, paused: bool) -> Result<bool>;
    /// Sets when the next rerun is due.
    async fn set_schedule_time(&self, id: &str, next_at: &str) -> Result<bool>;
    /// Returns the schedules with work at `at`: a rerun that is due, or one that has ended and is not being delivered.
    async fn pending_schedules(&self, at: &str) -> Result<Vec<Schedule>>;
    /// Records that a rerun has started, unless that is recorded.
    async fn record_rerun_start(&self, rerun: &StartedRerun) -> Result<bool>;
    /// Sets the time of the next rerun, after `reruns` have started, because it could not start for `reason`.
    async fn postpone_rerun(
        &self,
        id: &str,
        reruns: u64,
        next_at: &str,
        reason: &str,
    ) -> Result<bool>;
    /// Reserves the delivery of rerun `nth` until `until`, unless another caller has reserved it past `now`.
    async fn claim_delivery(&self, id: &str, nth: u64, now: &str, until: &str) -> Result<bool>;
    /// Records that a rerun was delivered, or why not.
    async fn record_delivery(&self, rerun: &EndedRerun, error: Option<&str>) -> Result<()>;
    /// Returns the ended reruns of a schedule, newest first, at most `most`.
    async fn ended_reruns(&self, id: &str, most: u32) -> Result<Vec<EndedRerun>>;
}
