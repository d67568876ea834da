use std::fmt;

use serde::{Deserialize, Serialize};

/// A stranger's words: text of a page, a file or a search result.
///
/// It has no `Display`, so it cannot slip into a prompt, a log line or a report by `{}`;
/// whoever needs the words calls [`Untrusted::expose`] and owns what happens then.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// Marks `text` as a stranger's.
    pub fn new(text: impl Into<String>) -> Untrusted {
        Untrusted(text.into())
    }

    /// The words themselves.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Untrusted {
    /// The length alone: the words stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Untrusted({} bytes)", self.0.len())
    }
}
