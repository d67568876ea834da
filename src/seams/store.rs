use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::{Approval, Owner, Page, PageHash, RunId, Traffic, Usage, Vote};
use crate::error::Result;
use crate::record::{Envelope, RunStatus};

use super::traces::Traces;

/// One line of `ibid ls`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Whose.
    pub run_id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// What was asked.
    pub question: String,
    /// Time of its first event, RFC 3339.
    pub started_at: String,
    /// Time of its last event, RFC 3339.
    pub updated_at: String,
    /// What was spent.
    pub usage: Usage,
    /// How good it is, 0 to 1, where it was judged: the composite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<f64>,
    /// What a reader thought of it, where one said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Vote>,
    /// The run that it follows, if it is a follow-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
    /// Whose it is, where the program serves more than one person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The number of its last event: what is made of its events is as they are as long as this is the same.
    #[serde(skip)]
    pub seq: u64,
}

/// A call to the outside: asked, and perhaps answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Hash of door, what is asked, ordinal.
    pub key: String,
    /// Which door: `search:local`, `read:files`, `steering`.
    pub door: String,
    /// What is asked, as JSON.
    pub asked: serde_json::Value,
    /// How far it came.
    pub state: StepState,
}

/// How far a call came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Written down, perhaps sent: after a crash it is in doubt.
    Intended,
    /// Answered.
    Answered(Answered),
    /// Failed; kept for replay, tried again on resume.
    Failed {
        /// The error's kind.
        kind: crate::error::Kind,
        /// The error's chain.
        message: String,
    },
}

/// An answer as kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The answer as JSON; pages by their hash.
    pub answer: serde_json::Value,
    /// What it cost, US dollars.
    pub cost_usd: f64,
}

/// What somebody asks of a run from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Write with what there is.
    Finish,
    /// Stop for good.
    Cancel,
    /// What the person says to clarifying questions, one answer each; an empty list goes on without.
    Reply(Vec<String>),
    /// What the person says to the plan.
    Approve(Approval),
    /// What the person wants to know besides.
    Steer(String),
}

/// Keeps runs, events, answers and pages.
///
/// Contract: when a writing call returns, what it wrote survives `kill -9` and power loss. Events of
/// a run are kept in `seq` order without gaps; appending a `seq` that is there already is an error.
/// A store that cannot write says so with kind `Setup` (full disk, read-only) and loses nothing.
#[async_trait]
pub trait Store: Traces {
    /// Adds events to a run, which begins with its first.
    async fn append(&self, run: &RunId, events: &[Envelope]) -> Result<()>;
    /// The events of a run after `seq`, in order. An unknown run is `NotFound`.
    async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>>;
    /// One run's row. An unknown run is `NotFound`.
    async fn row(&self, run: &RunId) -> Result<RunRow>;
    /// All runs, newest first.
    async fn runs(&self) -> Result<Vec<RunRow>>;
    /// The newest runs, newest first, at most so many.
    async fn latest(&self, most: u32) -> Result<Vec<RunRow>>;
    /// Forgets a run: its events, its steps, and pages no other run holds.
    async fn remove(&self, run: &RunId) -> Result<()>;

    /// Writes down that a call is about to be sent: a new one, or one that failed or was in doubt.
    /// A call that is answered already is refused, so that it cannot be sent twice.
    async fn intend(&self, run: &RunId, step: &Step) -> Result<()>;
    /// Writes down how a call ended, before anyone uses the answer. An answer is never overwritten.
    async fn settle(&self, run: &RunId, key: &str, state: &StepState) -> Result<()>;
    /// As [`Store::settle`] of a call that `page` answers; page and answer are kept in one commit.
    async fn settle_page(
        &self,
        run: &RunId,
        key: &str,
        state: &StepState,
        page: &Page,
    ) -> Result<()>;
    /// A call as far as it came.
    async fn recall(&self, run: &RunId, key: &str) -> Result<Option<Step>>;
    /// All calls of a run, in the order intended.
    async fn steps(&self, run: &RunId) -> Result<Vec<Step>>;

    /// Keeps a page for a run; one row a content, however often it is kept.
    async fn keep_page(&self, run: &RunId, page: &Page) -> Result<()>;
    /// The page with this hash.
    async fn page(&self, hash: &PageHash) -> Result<Option<Page>>;

    /// Adds to what left the machine for a run, by host.
    async fn note_traffic(&self, run: &RunId, traffic: &BTreeMap<String, Traffic>) -> Result<()>;
    /// What left the machine for a run, by host.
    async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>>;

    /// Leaves an order for a run.
    async fn order(&self, run: &RunId, order: Order) -> Result<()>;
    /// The orders left for a run, oldest first.
    async fn orders(&self, run: &RunId) -> Result<Vec<Order>>;

    /// The pages that a run holds, by hash.
    async fn held(&self, run: &RunId) -> Result<Vec<PageHash>>;
    /// The address of every page, those kept last first.
    async fn addresses(&self) -> Result<Vec<(PageHash, String)>>;
    /// Waits for every write that was asked for before, also those whose caller went away.
    async fn drain(&self) -> Result<()>;
    /// Looks for damage. What is damaged is a fault of kind `Setup`.
    async fn check(&self) -> Result<()>;
    /// Where it is, for people: a file, or a server and its database. Never a password.
    fn place(&self) -> String;
    /// The same store as `owner` may see and change it: runs of others are not there, and a run that is
    /// begun through it must be theirs. Pages are reached through the runs that hold them.
    fn as_owner(&self, owner: &Owner) -> Arc<dyn Store>;
    /// The same store for who holds `run` since [`Hold::epoch`]: once another has taken the run, what is written to it through this
    /// is refused with kind `Transient`, in the very commit. `None` where no hold can be lost before its process ends.
    fn fenced(&self, _run: &RunId, _epoch: u64) -> Option<Arc<dyn Store>> {
        None
    }
}

/// Sees to it that one process works on a run at a time, on whichever machine.
///
/// Contract: of all who take a run, one has it until its [`Hold`] is dropped or its process is gone.
#[async_trait]
pub trait Locks: Send + Sync {
    /// Takes a run; `None` when it is worked on already.
    async fn take(&self, run: &RunId) -> Result<Option<Box<dyn Hold>>>;
    /// Whether somebody works on a run.
    async fn held(&self, run: &RunId) -> Result<bool>;
    /// By what this process is told from others that may take over its runs; `None` where no process does.
    fn taker(&self) -> Option<String> {
        None
    }
    /// Whether another process has taken a run since this one did.
    async fn taken_by_another(&self, _run: &RunId) -> Result<bool> {
        Ok(false)
    }
    /// The runs that servers accepted, that have not ended, and whose last taker is gone: killed, or not heard of for so long
    /// that its locks have expired. Who has asked this counts as alive from then on. `None` where no process takes over from
    /// another.
    async fn abandoned(&self) -> Result<Option<Vec<RunId>>> {
        Ok(None)
    }
}

/// A run that is held: let go when dropped.
pub trait Hold: Send + Sync {
    /// Whether it is still held. It may be lost where what keeps it is reached over a network.
    fn kept(&self) -> bool {
        true
    }
    /// How often the run had changed hands when it was taken, where a hold may be lost to another process.
    fn epoch(&self) -> Option<u64> {
        None
    }
    /// Lets go of a run that has ended, and takes away what marked it.
    fn retire(self: Box<Self>);
}
