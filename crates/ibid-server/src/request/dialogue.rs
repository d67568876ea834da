//! The conversation before a question.
use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::{MAX_TEXT_CHARS, read_fields};
use ibid_core::domain::DialogueTurn;

/// Maximum number of turns of a dialogue.
const MAX_TURNS: usize = 50;

/// The JSON field with the conversation before the question.
pub const DIALOGUE: &str = "followUpDialogue";

#[derive(Deserialize)]
struct DialogueField {
    #[serde(rename = "followUpDialogue")]
    turns: Vec<DialogueTurn>,
}

/// Reads the turns of a dialogue from a JSON list.
///
/// # Errors
/// A message that names the position of the wrong turn.
pub fn parse_turns(rows: &Value) -> std::result::Result<Vec<DialogueTurn>, String> {
    let field: DialogueField =
        read_fields(json!({DIALOGUE: rows})).map_err(|fault| fault.message)?;
    check_turns(&field.turns)?;
    Ok(field.turns)
}

/// Checks the number and the lengths of the turns.
///
/// # Errors
/// A message that names the position of the wrong turn.
pub(super) fn check_turns(turns: &[DialogueTurn]) -> std::result::Result<(), String> {
    if turns.len() > MAX_TURNS {
        return Err(format!("{DIALOGUE} has {} turns; at most {MAX_TURNS}", turns.len()));
    }
    for (nth, turn) in turns.iter().enumerate() {
        let sides = [&turn.system, &turn.assistant, &turn.user];
        let mut texts = sides.iter().filter_map(|side| side.as_deref());
        if texts.clone().all(|text| text.trim().is_empty()) {
            return Err(format!("{DIALOGUE}[{nth}] has no text in system, assistant or user"));
        }
        let lengths = texts.by_ref().map(|text| text.chars().count());
        if let Some(length) = lengths.max().filter(|length| *length > MAX_TEXT_CHARS) {
            return Err(format!(
                "{DIALOGUE}[{nth}] is {length} characters long; at most {MAX_TEXT_CHARS}"
            ));
        }
    }
    Ok(())
}
