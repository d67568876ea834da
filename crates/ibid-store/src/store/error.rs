//! An error of the database, described for the operator.
use std::time::Duration;

use ibid_core::retry::RetryPolicy;
use ibid_core::{Error, ErrorKind};

/// How to wait for a server that is away: longer than a restart takes, shorter than a person waits.
pub(super) const RECONNECT: RetryPolicy = RetryPolicy {
    tries: u32::MAX,
    first: Duration::from_millis(20),
    factor: 2,
    longest: Duration::from_secs(1),
    deadline: Duration::from_secs(30),
};

/// An error that several callers of one commit may get, each as an [`Error`] of its own.
#[derive(Debug, Clone)]
pub struct StoreError {
    pub(super) kind: ErrorKind,
    pub(super) doing: String,
    pub(super) cause: Option<String>,
    pub(super) hint: Option<&'static str>,
    /// Whether a single write broke a rule of the schema, so that the other writes of its commit may still succeed.
    pub(super) of_one: bool,
}

impl StoreError {
    /// The fault of a write that the contract forbids.
    pub(super) fn refused(kind: ErrorKind, doing: String) -> StoreError {
        StoreError { kind, doing, cause: None, hint: None, of_one: true }
    }

    pub(super) fn error(&self) -> Error {
        let mut error = Error::new(self.kind, self.doing.clone());
        if let Some(cause) = &self.cause {
            error = error.with_source(cause.clone());
        }
        if let Some(hint) = self.hint {
            error = error.with_hint(hint);
        }
        error
    }
}
