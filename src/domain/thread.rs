use serde::{Deserialize, Serialize};

use super::{Brief, Plan, RunId, Turn};

/// What a follow-up follows: the run before it, and what was said in the thread so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Follows {
    /// The run before it.
    pub run: RunId,
    /// The questions of the thread with their short answers, oldest first. Frozen here, because the runs
    /// before may be forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
}

/// Whether a question speaks of what its thread spoke of (row C11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// It follows no other.
    First,
    /// It goes on: what is known is kept, and nothing is asked back.
    Same,
    /// It begins anew.
    Shift,
}

/// What intake decided to do first (row C11's `intake_decision`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntakeDecision {
    /// Ask the person what the question leaves open.
    Clarify,
    /// Go on to the plan.
    Proceed,
}

/// A brief and a plan that a person gives, instead of having them made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// The refined question.
    pub brief: Brief,
    /// The plan.
    pub plan: Plan,
}

/// What a person says to a plan before anything is spent on it (row C10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Go by it.
    Go,
    /// Go by this one instead.
    Plan(Box<Given>),
    /// Make it anew, with these words in mind.
    Words(String),
}
