use serde::{Deserialize, Serialize};

/// Who reads a draft, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Critic {
    /// Looks for evidence that the answer needs and no sentence tells.
    Coverage,
    /// Looks for sentences that evidence denies or limits.
    Contradiction,
    /// Reads as the person who asked: whether it answers, is in order and does not repeat.
    Reader,
}

impl Critic {
    /// Every critic, in the order in which their objections are treated.
    pub const ALL: [Critic; 3] = [Critic::Coverage, Critic::Contradiction, Critic::Reader];

    /// Its name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Critic::Coverage => "coverage",
            Critic::Contradiction => "contradiction",
            Critic::Reader => "reader",
        }
    }
}

/// What a critic objects to in a draft, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// Who objects.
    pub critic: Critic,
    /// The model that objects; code if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The section, by its title; `None` for the short answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The sentence that is objected to, or the quote that is missing.
    pub sentence: String,
    /// What is wrong.
    pub why: String,
    /// What became of it.
    pub outcome: PatchOutcome,
}

/// What became of an objection. A patch adds a quote, removes a sentence or moves it; it never changes the words of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PatchOutcome {
    /// The quote was added to the section.
    Added,
    /// The sentence was removed.
    Removed,
    /// The sentence was moved.
    Moved {
        /// The section that has it now; `None` for the short answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// Nothing was changed.
    Rejected {
        /// The reason.
        because: String,
    },
}
