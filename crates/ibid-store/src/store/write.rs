//! The writes that a store takes.
use std::collections::BTreeMap;

use super::error::StoreError;
use ibid_core::domain::{Owner, Page, PageHash, RunId, Traffic};
use ibid_core::ports::{
    AcceptOutcome, AcceptRequest, JournalCall, JournalCallState, RunCommand, ToolReservation,
};
use ibid_core::record::Envelope;
use ibid_core::{Error, ErrorKind, Result};

/// The rows that a read or a write may see: those of all owners, or of one.
#[derive(Debug, Clone, Default)]
pub struct OwnerScope(pub(super) Option<Owner>);

impl OwnerScope {
    pub(super) fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    /// User and organisation as parameters of a statement: no user means all owners, an empty organisation none.
    pub(super) fn parameters(&self) -> (Option<String>, String) {
        match &self.0 {
            Some(owner) => (Some(owner.user.clone()), owner.org.clone().unwrap_or_default()),
            None => (None, String::new()),
        }
    }

    /// Whether a run of `owner` is within the scope.
    pub(super) fn admits(&self, owner: Option<&Owner>) -> bool {
        let key = |owner: &Owner| (owner.user.clone(), owner.org.clone().unwrap_or_default());
        self.0.is_none() || self.0.as_ref().map(key) == owner.map(key)
    }
}

/// A write with its limits.
#[derive(Debug)]
pub(super) struct ScopedWrite {
    pub(super) scope: OwnerScope,
    /// The run whose lease the writer holds, and the epoch of the lease.
    pub(super) fence: Option<(RunId, u64)>,
    pub(super) write: WriteOp,
}

impl ScopedWrite {
    /// Whether the write may leave the rows of all owners visible in its transaction.
    pub(super) fn shows_all_rows(&self) -> bool {
        matches!(self.write, WriteOp::Run(_, RunChange::Remove) | WriteOp::Accept(_))
    }

    /// The run that the write changes and the epoch of the lease on it, if the writer holds a lease on that run.
    pub(super) fn lease(&self) -> Option<(&RunId, u64)> {
        let (run, epoch) = self.fence.as_ref()?;
        (self.write.run() == Some(run)).then_some((run, *epoch))
    }
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteOutcome {
    Written,
    Accepted(AcceptOutcome),
    /// US dollars that may be spent, if there is a limit.
    Granted(Option<f64>),
}

/// A run that is to be accepted.
#[derive(Debug)]
pub struct AcceptRun {
    pub(super) run: RunId,
    pub(super) events: Vec<Envelope>,
    pub(super) on: AcceptRequest,
}

/// One write.
#[derive(Debug)]
pub enum WriteOp {
    /// Adds events with their JSON to a run, which the first event creates.
    Append(RunId, Vec<Envelope>, Vec<String>),
    /// Changes a run that exists.
    Run(RunId, RunChange),
    Accept(Box<AcceptRun>),
    Reserve(Box<ToolReservation>),
    /// The id of a reservation and what its tool has spent, in US dollars.
    SettleReservation(String, f64),
    /// Changes nothing. It is done when all writes before it are.
    Barrier,
}

/// A change of a run that exists.
#[derive(Debug)]
pub enum RunChange {
    BeginStep(JournalCall),
    /// The key of a call, its state, and the page that it returned.
    FinishStep(String, JournalCallState, Option<StoredPage>),
    SavePage(StoredPage),
    Command(RunCommand),
    Traffic(BTreeMap<String, Traffic>),
    /// What to charge for the run, US dollars; `None` charges what its calls cost.
    Charge(Option<f64>),
    Remove,
}

impl WriteOp {
    /// The run that is written to.
    pub(super) fn run(&self) -> Option<&RunId> {
        match self {
            WriteOp::Append(run, ..) | WriteOp::Run(run, _) => Some(run),
            WriteOp::Accept(accepted) => Some(&accepted.run),
            WriteOp::Reserve(_) | WriteOp::SettleReservation(..) | WriteOp::Barrier => None,
        }
    }

    /// The run whose followers are to look at it after the write: it has new events or commands, or is gone.
    pub(super) fn told_run(&self) -> Option<&RunId> {
        match self {
            WriteOp::Append(run, ..)
            | WriteOp::Run(run, RunChange::Command(_) | RunChange::Remove) => Some(run),
            WriteOp::Accept(accepted) => Some(&accepted.run),
            _ => None,
        }
    }

    /// Whether the write decides on or changes what an account may spend. Such writes are done one after the other.
    pub(super) fn concerns_account(&self) -> bool {
        matches!(self, WriteOp::Accept(_) | WriteOp::Reserve(_) | WriteOp::SettleReservation(..))
    }

    pub(super) fn append(run: &RunId, events: &[Envelope]) -> Result<WriteOp> {
        let bodies = encode_events(events).map_err(|cause| {
            Error::new(ErrorKind::Internal, "writing an event as JSON").with_source(cause)
        })?;
        Ok(WriteOp::Append(run.clone(), events.to_vec(), bodies))
    }

    pub(super) fn finish_call(
        run: &RunId,
        key: &str,
        state: &JournalCallState,
        page: Option<StoredPage>,
    ) -> WriteOp {
        let change = RunChange::FinishStep(key.to_owned(), state.clone(), page);
        WriteOp::Run(run.clone(), change)
    }
}

/// The JSON of each event.
pub(super) fn encode_events(events: &[Envelope]) -> serde_json::Result<Vec<String>> {
    events.iter().map(serde_json::to_string).collect()
}

/// A page as the columns of its row.
#[derive(Debug)]
pub struct StoredPage {
    pub(super) hash: PageHash,
    /// Its JSON; empty if it is in an object.
    pub(super) body: String,
    pub(super) url: String,
    /// The key of the object that has its JSON; empty if the row has it.
    pub(super) object: String,
    /// The SHA-256 of the JSON, in hexadecimal; empty if the store uses no objects.
    pub(super) digest: String,
}

impl StoredPage {
    pub(super) fn from_page(page: &Page) -> Result<StoredPage> {
        let body = serde_json::to_string(page).map_err(|cause| {
            Error::new(ErrorKind::Internal, "writing a page as JSON").with_source(cause)
        })?;
        Ok(StoredPage {
            hash: page.hash().clone(),
            body,
            url: page.url.replace('\0', ""),
            object: String::new(),
            digest: String::new(),
        })
    }
}

/// Why a write was not done.
pub(super) enum WriteError {
    Refused(StoreError),
    Database(sqlx::Error),
}

impl From<sqlx::Error> for WriteError {
    fn from(cause: sqlx::Error) -> WriteError {
        WriteError::Database(cause)
    }
}

/// Refuses a write for the reason `why`.
pub(super) fn refused<T>(kind: ErrorKind, why: String) -> std::result::Result<T, WriteError> {
    Err(WriteError::Refused(StoreError::refused(kind, why)))
}

/// Refuses a write to a run that another process has taken.
pub(super) fn taken_over_error<T>(run: &RunId) -> std::result::Result<T, WriteError> {
    let fault = StoreError {
        hint: Some("it continues there; see its progress with `ibid show`"),
        ..StoreError::refused(
            ErrorKind::Transient,
            format!("run {run} was taken over by another process"),
        )
    };
    Err(WriteError::Refused(fault))
}
