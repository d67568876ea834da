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
    /// Who made it: it ends with their account. Of a link that does not say, made by an earlier version, whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<ShareMaker>,
}

/// Who made a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareMaker {
    /// Whoever runs the program.
    Operator,
    /// The user of this id.
    User(String),
}

impl Share {
    /// Days a link lasts unless told otherwise, and at most.
    pub const DAYS: u32 = 7;
    /// See [`Share::DAYS`].
    pub const MOST_DAYS: u32 = 365;
}
