use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::{Approval, Owner, Page, PageHash, RunId, Traffic, Usage, Vote};
use crate::record::{Envelope, RunStatus};
use crate::{ErrorKind, Result};

use super::schedules::Schedules;
use super::traces::ToolTraces;

/// One line of `ibid ls`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The run's id.
    pub run_id: RunId,
    /// Its status.
    pub status: RunStatus,
    /// The question.
    pub question: String,
    /// Time of its first event, RFC 3339.
    pub started_at: String,
    /// Time of its last event, RFC 3339.
    pub updated_at: String,
    /// Resources used.
    pub usage: Usage,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ErrorKind>,
    /// The composite quality score, 0 to 1, if the run was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<f64>,
    /// The reader's rating, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Vote>,
    /// The preceding run, for a follow-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
    /// The owner, if the program serves several users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// `seq` of its last event. Data derived from the events is valid while this is unchanged.
    #[serde(skip)]
    pub seq: u64,
}

impl RunRow {
    /// Whether the run failed only because nothing that it read is about its question.
    pub fn has_no_answer(&self) -> bool {
        self.status == RunStatus::Failed && self.failure == Some(ErrorKind::NotFound)
    }
}

/// An external call and its answer, if any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalCall {
    /// Hash of provider, request and ordinal.
    pub key: String,
    /// The provider: `search:local`, `read:files`, `steering`.
    #[serde(rename = "door")]
    pub provider: String,
    /// The request as JSON.
    #[serde(rename = "asked")]
    pub request: serde_json::Value,
    /// Its state.
    pub state: JournalCallState,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalCallState {
    /// Recorded and possibly sent; after a crash, the outcome is unknown.
    Intended,
    /// Answered.
    Answered(StoredAnswer),
    /// Failed; kept for replay, retried on resume.
    Failed {
        /// The error's kind.
        kind: crate::ErrorKind,
        /// The error's message with its causes.
        message: String,
        /// The error's reason, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<crate::FailureReason>,
        /// The HTTP status of the service, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The error's hint, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// The answer as JSON; pages by their hash.
    pub answer: serde_json::Value,
    /// The cost in US dollars.
    pub cost_usd: f64,
}

/// A command sent to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCommand {
    /// Finish with the evidence so far.
    Finish,
    /// Cancel the run.
    Cancel,
    /// Answers to clarifying questions, one each; an empty list continues without answers.
    Reply(Vec<String>),
    /// The reply to the plan.
    Approve(Approval),
    /// An additional question.
    Steer(String),
}

/// Stores runs, events, answers and pages.
///
/// Contract: when a writing call returns, its data survives `kill -9` and power loss. Events of a run are stored in
/// `seq` order without gaps; appending an existing `seq` is an error. A store that cannot write reports it with kind
/// `Setup` (full disk, read-only) and loses nothing.
#[async_trait]
pub trait Store: ToolTraces + Schedules {
    /// Appends events to a run; the first event creates it.
    async fn append(&self, run: &RunId, events: &[Envelope]) -> Result<()>;
    /// Returns the events of a run after `seq`, in order. Fails with `NotFound` for an unknown run.
    async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>>;
    /// Returns the summary of a run. Fails with `NotFound` for an unknown run.
    async fn run_row(&self, run: &RunId) -> Result<RunRow>;
    /// Returns all runs, newest first.
    async fn runs(&self) -> Result<Vec<RunRow>>;
    /// Returns the newest runs, newest first, at most `most`.
    async fn latest_runs(&self, most: u32) -> Result<Vec<RunRow>>;
    /// Deletes a run: its events, its calls, and pages that no other run uses.
    async fn remove_run(&self, run: &RunId) -> Result<()>;

    /// Records that a call is about to be sent: a new one, or one that failed or whose outcome is unknown. Refuses
    /// calls that are already answered, so that none is sent twice.
    async fn begin_call(&self, run: &RunId, step: &JournalCall) -> Result<()>;
    /// Records how a call ended, before the answer is used. Never overwrites an answer.
    async fn finish_call(&self, run: &RunId, key: &str, state: &JournalCallState) -> Result<()>;
    /// As [`Store::finish_call`], for a call that returned `page`; stores page and answer in one commit.
    async fn finish_call_with_page(
        &self,
        run: &RunId,
        key: &str,
        state: &JournalCallState,
        page: &Page,
    ) -> Result<()>;
    /// Returns all calls of a run, in the order recorded.
    async fn steps(&self, run: &RunId) -> Result<Vec<JournalCall>>;

    /// Stores a page for a run. Pages with equal content are stored once.
    async fn save_page(&self, run: &RunId, page: &Page) -> Result<()>;
    /// Returns the page with this hash.
    async fn page(&self, hash: &PageHash) -> Result<Option<Page>>;

    /// Adds to the traffic of a run, by host.
    async fn add_traffic(&self, run: &RunId, traffic: &BTreeMap<String, Traffic>) -> Result<()>;
    /// Returns the traffic of a run, by host.
    async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>>;

    /// Charges the maximum cost of a run's model calls so far, US dollars; call it before the run ends. With `None`,
    /// charges the answered calls, or the whole reservation if a call is still in flight.
    async fn charge(&self, run: &RunId, usd: Option<f64>) -> Result<()>;

    /// Sends a command to a run.
    async fn send_command(&self, run: &RunId, command: RunCommand) -> Result<()>;
    /// Returns the commands sent to a run, oldest first.
    async fn commands(&self, run: &RunId) -> Result<Vec<RunCommand>>;

    /// Returns the pages of a run, by hash.
    async fn run_pages(&self, run: &RunId) -> Result<Vec<PageHash>>;
    /// Returns the URLs of all pages, most recently stored first.
    async fn page_urls(&self) -> Result<Vec<(PageHash, String)>>;
    /// Drops at once the events of past months in which every run has ended and changed last before `before`, an RFC 3339 time, where
    /// the store has them by month. The runs are to be removed afterwards. Returns the number of months.
    async fn drop_event_months(&self, _before: &str) -> Result<u64> {
        Ok(0)
    }
    /// Deletes the bodies of pages outside the database that were stored before `before` and that no page uses. Returns
    /// how many.
    async fn sweep_pages(&self, _before: jiff::Timestamp) -> Result<u64> {
        Ok(0)
    }
    /// Waits for all earlier writes, including those whose caller was dropped.
    async fn drain(&self) -> Result<()>;
    /// Checks the store for damage. Damage is an error of kind `Setup`.
    async fn check_integrity(&self) -> Result<()>;
    /// The location for display: a file, or a server and its database. Never contains a password.
    fn location(&self) -> String;
    /// A view of the store for `owner`: runs of others do not exist in it, and new runs must be the owner's. Pages
    /// are accessible through the runs that use them.
    fn for_owner(&self, owner: &Owner) -> Arc<dyn Store>;
    /// A view of the store for the process that holds `run` since [`RunLease::epoch`]: once another process has taken
    /// the run over, writes to it fail with kind `Transient`, checked in the same commit. `None` if a lease cannot be
    /// lost while its process lives.
    fn fenced(&self, _run: &RunId, _epoch: u64) -> Option<Arc<dyn Store>> {
        None
    }
}

/// Ensures that only one process works on a run at a time, across machines.
///
/// Contract: only one caller holds a run until its [`RunLease`] is dropped or its process ends.
#[async_trait]
pub trait RunLocks: Send + Sync {
    /// Acquires a run, or returns `None` if it is held already.
    async fn acquire(&self, run: &RunId) -> Result<Option<Box<dyn RunLease>>>;
    /// Whether a run is held.
    async fn is_held(&self, run: &RunId) -> Result<bool>;
    /// The id of this process among those that may take over its runs; `None` if no process takes over runs.
    fn worker_id(&self) -> Option<String> {
        None
    }
    /// Whether another process has taken a run over from this one.
    async fn is_taken_over(&self, _run: &RunId) -> Result<bool> {
        Ok(false)
    }
    /// How many runs this process has acquired that another had begun: its process is gone, or left them while they waited for input.
    fn takeovers(&self) -> u64 {
        0
    }
    /// Returns the accepted, unfinished runs whose process is gone: killed, or silent until its locks expired.
    /// Calling this marks the caller as alive. `None` if no process takes over runs.
    async fn abandoned_runs(&self) -> Result<Option<Vec<RunId>>> {
        Ok(None)
    }
    /// Returns at most `most` accepted, unfinished runs that no process holds, chosen at random. `None` if no process takes over runs.
    async fn unheld_runs(&self, _most: u32) -> Result<Option<Vec<RunId>>> {
        Ok(None)
    }
}

/// The exclusive right to work on a run, released when dropped.
pub trait RunLease: Send + Sync {
    /// Whether it is still held. It can be lost if the locks are reached over a network.
    fn is_valid(&self) -> bool {
        true
    }
    /// How often the run had been taken over when it was acquired; `None` if a lease cannot be lost.
    fn epoch(&self) -> Option<u64> {
        None
    }
    /// Releases a run that has ended and removes its lock.
    fn release(self: Box<Self>);
}
