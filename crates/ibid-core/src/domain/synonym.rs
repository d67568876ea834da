//! Two names of one thing, as documents explain them.
use serde::{Deserialize, Serialize};

/// Two names of one thing, learned from documents: "basal cell carcinoma (BCC)", "hypertension, also called high blood
/// pressure".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Synonym {
    /// The full name, or the one that is explained.
    pub name: String,
    /// The short form, or the other name.
    pub other: String,
    /// How many documents explain it.
    pub documents: u64,
    /// The name that both are explained by, where no document explains one by the other: "basal cell carcinoma" of "basal cell skin
    /// cancer" and "BCC".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}
