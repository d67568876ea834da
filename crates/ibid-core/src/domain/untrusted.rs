use std::fmt;

use serde::{Deserialize, Serialize};

/// Untrusted text: content of a page, a file or a search result.
///
/// It does not implement `Display`, so that it cannot be formatted into a prompt, log line or report by accident.
/// Call [`Untrusted::expose`] to read it.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// Marks `text` as untrusted.
    pub fn new(text: impl Into<String>) -> Untrusted {
        Untrusted(text.into())
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Untrusted {
    /// Prints only the length, to keep the text out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Untrusted({} bytes)", self.0.len())
    }
}
