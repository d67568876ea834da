use serde::{Deserialize, Serialize};

use super::Given;

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
