//! How values are stored in columns.
use serde::{Deserialize, Serialize};

use ibid_core::FailureReason;
use ibid_core::ports::{JournalCallState, RunCommand};

/// The state of a call, as columns of `steps`.
pub(super) struct StepColumns {
    pub(super) state: &'static str,
    pub(super) answer: Option<String>,
    pub(super) cost_usd: f64,
    pub(super) kind: Option<String>,
    pub(super) message: Option<String>,
}

impl From<&JournalCallState> for StepColumns {
    fn from(state: &JournalCallState) -> StepColumns {
        let intended = StepColumns {
            state: "intended",
            answer: None,
            cost_usd: 0.0,
            kind: None,
            message: None,
        };
        match state {
            JournalCallState::Intended => intended,
            JournalCallState::Answered(answered) => StepColumns {
                state: "answered",
                answer: Some(answered.answer.to_string()),
                cost_usd: answered.cost_usd,
                ..intended
            },
            JournalCallState::Failed { kind, message, reason, status, hint } => StepColumns {
                state: "failed",
                answer: FailureDetails {
                    reason: reason.clone(),
                    status: *status,
                    hint: hint.clone(),
                }
                .to_column(),
                kind: Some(enum_word(kind)),
                message: Some(message_text(message)),
                ..intended
            },
        }
    }
}

/// What is known of a failed call besides its kind and message. It is stored in the column of the answer, which a failed
/// call does not have.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct FailureDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<FailureReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl FailureDetails {
    fn to_column(&self) -> Option<String> {
        let is_empty = self.reason.is_none() && self.status.is_none() && self.hint.is_none();
        (!is_empty).then(|| serde_json::json!(self).to_string())
    }

    /// The details in a column. Rows of earlier versions have none.
    pub(super) fn from_column(answer: Option<&str>) -> FailureDetails {
        answer.and_then(|answer| serde_json::from_str(answer).ok()).unwrap_or_default()
    }
}

/// The column of a message: the message itself, or JSON where it contains what PostgreSQL cannot store.
fn message_text(message: &str) -> String {
    if message.contains('\0') || message.starts_with('"') {
        serde_json::Value::from(message).to_string()
    } else {
        message.to_owned()
    }
}

/// The message in a column.
pub(super) fn parse_message(text: &str) -> String {
    if text.starts_with('"') {
        serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
    } else {
        text.to_owned()
    }
}

/// The column of a command: its word, or JSON where it has content.
pub(super) fn command_text(command: &RunCommand) -> String {
    match command {
        RunCommand::Finish | RunCommand::Cancel => enum_word(command),
        RunCommand::Reply(_) | RunCommand::Approve(_) | RunCommand::Steer(_) => {
            serde_json::json!(command).to_string()
        }
    }
}

/// The command in a column.
pub(super) fn parse_command(text: &str) -> Option<RunCommand> {
    parse_enum_word(text).or_else(|| serde_json::from_str(text).ok())
}

/// The word that an enum without content has in JSON.
pub(super) fn enum_word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The enum without content behind its word in JSON.
pub(super) fn parse_enum_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

/// Replaces the null character, which PostgreSQL cannot store.
pub(super) fn without_null(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}
