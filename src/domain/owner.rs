use serde::{Deserialize, Serialize};

/// Whose a run is, where a program serves more than one person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The user.
    pub user: String,
    /// The organisation that the user belonged to when the run was begun, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
}
