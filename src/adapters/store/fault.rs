//! A fault of a write, in terms of what the operator can do.
use crate::error::{Error, Kind};

/// A fault that several callers of one commit must hear of, each as an [`Error`] of its own.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) doing: String,
    pub(super) cause: Option<String>,
    pub(super) hint: Option<&'static str>,
    /// Whether one write broke a rule of the schema: its neighbours in the commit are innocent.
    pub(super) of_one: bool,
}

impl Fault {
    /// A write that the contract forbids.
    pub(super) fn refused(kind: Kind, doing: String) -> Fault {
        Fault {
            kind,
            doing,
            cause: None,
            hint: None,
            of_one: true,
        }
    }

    pub(super) fn error(&self) -> Error {
        let mut error = Error::new(self.kind, self.doing.clone());
        if let Some(cause) = &self.cause {
            error = error.because(cause.clone());
        }
        if let Some(hint) = self.hint {
            error = error.hint(hint);
        }
        error
    }
}
