//! One error type, sorted by what the caller should do about it.
use std::fmt;

/// The result of every fallible step.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do. Exit codes and HTTP statuses follow from it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The caller's words are off: mend the argument, field or file that is named (exit 2).
    Usage,
    /// The operator must act: a key, a setting, a permission, a full disk (exit 4).
    Setup,
    /// Try again later: a network fault, a rate limit, a busy store.
    Transient,
    /// The budget is spent: write with what there is (exit 5 when that is nothing).
    Exhausted,
    /// A page, a file or a model gave something that cannot be used; go on without it.
    Malformed,
    /// What was asked for is not there.
    NotFound,
    /// Stopped on request (exit 130).
    Cancelled,
    /// A fault of Ibid's own; worth a bug report.
    Internal,
}

/// What went wrong, while doing what, and what would help.
///
/// Boxed inside, so that a `Result` stays one word wide.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    doing: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// What is said in place of the chain to whoever must not see it.
    told: Option<String>,
}

impl Error {
    /// An error of `kind` while `doing` something. `doing` names the field, file or service at fault.
    pub fn new(kind: Kind, doing: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            doing: doing.into(),
            hint: None,
            source: None,
            told: None,
        }))
    }

    /// The cause below this error.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// What the reader can do about it, as one imperative sentence.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same, of which whoever asked is told `words` and `hint` alone. The chain stays, for the log.
    #[must_use]
    pub fn told_as(mut self, words: impl Into<String>, hint: Option<String>) -> Error {
        self.0.told = Some(words.into());
        self.0.hint = hint;
        self
    }

    /// What whoever asked is told: the words of [`Error::told_as`], or the whole chain.
    pub fn told(&self) -> String {
        self.0.told.clone().unwrap_or_else(|| self.chain())
    }

    /// What the caller can do.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The hint, where there is one.
    pub fn help(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The whole chain in one line: `while doing: cause: deeper cause`.
    pub fn chain(&self) -> String {
        let mut out = self.0.doing.clone();
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
        f.write_str(&self.0.doing)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|it| it as _)
    }
}
