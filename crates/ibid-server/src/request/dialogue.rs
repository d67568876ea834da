//! The conversation before a question.
use serde::Deserialize as _;
use serde_json::Value;

use ibid_core::domain::DialogueTurn;

/// Most turns of a dialogue.
const MAX_TURNS: usize = 50;
/// Longest text of a turn, characters.
pub(super) const MAX_TURN_CHARS: usize = 4_000;

/// The JSON field with the conversation before the question.
pub const DIALOGUE: &str = "followUpDialogue";

/// Reads the turns of a dialogue from a JSON list.
///
/// # Errors
/// A message that names the position of the wrong turn.
pub fn parse_turns(rows: &Value) -> std::result::Result<Vec<DialogueTurn>, String> {
    let Value::Array(rows) = rows else {
        return Err(format!("{DIALOGUE} must be a list"));
    };
    if rows.len() > MAX_TURNS {
        return Err(format!("{DIALOGUE} has {} turns; at most {MAX_TURNS}", rows.len()));
    }
    let mut found = Vec::new();
    for (nth, row) in rows.iter().enumerate() {
        let turn = DialogueTurn::deserialize(row)
            .map_err(|fault| format!("{DIALOGUE}[{nth}] is not a valid turn: {fault}"))?;
        let sides = [&turn.system, &turn.assistant, &turn.user];
        if sides.iter().all(|it| it.as_deref().unwrap_or_default().trim().is_empty()) {
            return Err(format!("{DIALOGUE}[{nth}] is empty; it needs system, assistant or user"));
        }
        if let Some(long) = sides
            .iter()
            .filter_map(|it| it.as_deref())
            .find(|it| it.chars().count() > MAX_TURN_CHARS)
        {
            return Err(format!(
                "{DIALOGUE}[{nth}] is {} characters long; at most {MAX_TURN_CHARS}",
                long.chars().count()
            ));
        }
        found.push(turn);
    }
    Ok(found)
}
