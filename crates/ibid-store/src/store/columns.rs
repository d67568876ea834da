//! How values are stored in columns.
use ibid_core::ports::{RunCommand, StepState};

/// The state of a call, as columns of `steps`.
pub(super) struct StepColumns {
    pub(super) state: &'static str,
    pub(super) answer: Option<String>,
    pub(super) cost_usd: f64,
    pub(super) kind: Option<String>,
    pub(super) message: Option<String>,
}

impl From<&StepState> for StepColumns {
    fn from(state: &StepState) -> StepColumns {
        let intended = StepColumns {
            state: "intended",
            answer: None,
            cost_usd: 0.0,
            kind: None,
            message: None,
        };
        match state {
            StepState::Intended => intended,
            StepState::Answered(answered) => StepColumns {
                state: "answered",
                answer: Some(answered.answer.to_string()),
                cost_usd: answered.cost_usd,
                ..intended
            },
            StepState::Failed { kind, message } => StepColumns {
                state: "failed",
                kind: Some(enum_word(kind)),
                message: Some(message_text(message)),
                ..intended
            },
        }
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
