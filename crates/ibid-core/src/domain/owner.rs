use serde::{Deserialize, Serialize};

/// The owner of a run, for programs that serve several users.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The user's name.
    pub user: String,
    /// The user's organisation when the run was started, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
}
