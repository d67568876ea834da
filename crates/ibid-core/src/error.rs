//! One error type, classified by what the caller should do.
use std::fmt;

use crate::{FailureReason, ReadFailure};

/// The result type of all fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller should do. Determines exit codes and HTTP statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Invalid input: fix the named argument, field or file (exit 2).
    Usage,
    /// The operator must act: a key, a setting, a permission, a full disk (exit 4).
    Setup,
    /// Temporary: a network error, a rate limit, a busy store. Retry later.
    Transient,
    /// The budget is spent: finish with the results so far (exit 5 if there are none).
    Exhausted,
    /// A page, file or model returned something unusable; continue without it.
    Malformed,
    /// The requested object does not exist.
    NotFound,
    /// Cancelled by the user (exit 130).
    Cancelled,
    /// A bug in Ibid.
    Internal,
}

/// An error: what failed, the cause, and a hint.
///
/// Boxed, so that `Result` stays one word wide.
pub struct Error(Box<ErrorImpl>);

struct ErrorImpl {
    kind: ErrorKind,
    context: String,
    hint: Option<String>,
    reason: Option<FailureReason>,
    /// The HTTP status of the service that failed.
    status: Option<u16>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// The message for clients that must not see the causes.
    public_message: Option<String>,
}

impl Error {
    /// Creates an error of `kind` that occurred while `doing` something. `doing` names the field, file or service.
    pub fn new(kind: ErrorKind, doing: impl Into<String>) -> Error {
        Error(Box::new(ErrorImpl {
            kind,
            context: doing.into(),
            hint: None,
            reason: None,
            status: None,
            source: None,
            public_message: None,
        }))
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// Sets a hint: what the user can do, as one imperative sentence.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the reason, where it decides what is tried next.
    #[must_use]
    pub fn with_reason(mut self, reason: FailureReason) -> Error {
        self.0.reason = Some(reason);
        self
    }

    /// Sets the HTTP status of the service that failed, if known.
    #[must_use]
    pub fn with_status(mut self, status: Option<u16>) -> Error {
        self.0.status = status;
        self
    }

    /// Sets the only message and hint that the client sees. The causes are kept for the log.
    #[must_use]
    pub fn with_public_message(mut self, words: impl Into<String>, hint: Option<String>) -> Error {
        self.0.public_message = Some(words.into());
        self.0.hint = hint;
        self
    }

    /// The message for the client: that of [`Error::with_public_message`], or else the message with its causes.
    pub fn public_message(&self) -> String {
        self.0.public_message.clone().unwrap_or_else(|| self.chain())
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The reason of this error, or else of the error that caused it, if known.
    pub fn reason(&self) -> Option<&FailureReason> {
        let cause = || self.0.source.as_ref()?.downcast_ref::<Error>()?.reason();
        self.0.reason.as_ref().or_else(cause)
    }

    /// The HTTP status of the service that failed, or else that of the error that caused this one, if known.
    pub fn status(&self) -> Option<u16> {
        let cause = || self.0.source.as_ref()?.downcast_ref::<Error>()?.status();
        self.0.status.or_else(cause)
    }

    /// Why a page could not be read: the reason of this error, or else what its kind stands for.
    pub fn read_failure(&self) -> ReadFailure {
        match (self.reason(), self.kind()) {
            (Some(FailureReason::Read(failure)), _) => *failure,
            (_, ErrorKind::NotFound) => ReadFailure::NotFound,
            (_, ErrorKind::Transient) => ReadFailure::Timeout,
            (_, ErrorKind::Exhausted) => ReadFailure::TooLarge,
            (_, ErrorKind::Usage | ErrorKind::Setup) => ReadFailure::Unsupported,
            (_, ErrorKind::Malformed | ErrorKind::Cancelled | ErrorKind::Internal) => {
                ReadFailure::Broken
            }
        }
    }

    /// Whether a prompt did not fit the context window of the model; a shorter one may be answered.
    pub fn is_prompt_too_long(&self) -> bool {
        matches!(self.reason(), Some(FailureReason::PromptTooLong { .. }))
    }

    /// The hint, if any.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The message with all causes in one line: `while doing: cause: deeper cause`.
    pub fn chain(&self) -> String {
        let mut out = self.0.context.clone();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            out.push_str(": ");
            out.push_str(&cause.to_string());
            next = cause.source();
        }
        out
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.chain())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.context)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
