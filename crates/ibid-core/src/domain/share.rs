use serde::{Deserialize, Serialize};

/// A public link to the report of one run, as stored in the run's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareLink {
    /// SHA-256 of the link's secret, in hexadecimal. The secret itself is not stored.
    pub key: String,
    /// When the link expires, RFC 3339.
    pub until: String,
    /// Whether it shows quotes from local documents.
    pub private: bool,
    /// Who created it; the link is deleted with their account. `None` in links of earlier versions, which belong to
    /// the run's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<ShareCreator>,
}

/// The creator of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareCreator {
    /// The operator of the program.
    Operator,
    /// The user with this id.
    User(String),
}

impl ShareLink {
    /// Default lifetime of a link, in days.
    pub const DAYS: u32 = 7;
    /// Maximum lifetime of a link, days.
    pub const MAX_DAYS: u32 = 365;
}
