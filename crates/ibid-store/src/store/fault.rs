//! A fault of the database, described for the operator.
use ibid_core::{Error, Kind};

/// A fault that several callers of one commit may get, each as an [`Error`] of its own.
#[derive(Debug, Clone)]
pub struct StoreFault {
    pub(super) kind: Kind,
    pub(super) doing: String,
    pub(super) cause: Option<String>,
    pub(super) hint: Option<&'static str>,
    /// Whether a single write broke a rule of the schema, so that the other writes of its commit may still succeed.
    pub(super) of_one: bool,
}

impl StoreFault {
    /// The fault of a write that the contract forbids.
    pub(super) fn refused(kind: Kind, doing: String) -> StoreFault {
        StoreFault { kind, doing, cause: None, hint: None, of_one: true }
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
