use serde::{Deserialize, Serialize};

use super::ProvidedPlan;

/// Whether a question continues the topic of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicRelation {
    /// The first question of a thread.
    First,
    /// The same topic: known pages are reused, and no clarifying questions are asked.
    Same,
    /// A new topic.
    Shift,
}

/// The first step of a run, decided by intake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntakeDecision {
    /// Ask the user clarifying questions.
    Clarify,
    /// Continue with the plan.
    Proceed,
}

/// The user's reply to a plan that awaits approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Approve the plan.
    #[serde(rename = "go")]
    Approve,
    /// Use this plan instead.
    #[serde(rename = "plan")]
    ReplacePlan(Box<ProvidedPlan>),
    /// Make a new plan that takes this text into account.
    #[serde(rename = "words")]
    RequestChanges(String),
}
