use serde::{Deserialize, Serialize};

/// A link by which anybody may read the report of one run, as the run's record keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The SHA-256 of the link's secret, in hexadecimal digits. The secret itself is kept nowhere.
    pub key: String,
    /// The moment it ends, RFC 3339.
    pub until: String,
    /// Whether it shows the quotes of local documents.
    pub private: bool,
}

impl Share {
    /// Days a link lasts unless told otherwise, and at most.
    pub const DAYS: u32 = 7;
    /// See [`Share::DAYS`].
    pub const MOST_DAYS: u32 = 365;
}
