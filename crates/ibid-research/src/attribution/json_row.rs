use serde_json::{Value, json};

use super::judge_support;
use ibid_core::ports::PairScorer;
use ibid_core::{Error, ErrorKind, Result};

/// Judges one row `{id, claim, source}`, where `source` is a text or a list of sentences, and returns `{id,
/// verdict, score, quote}`. The `id` may be any JSON value and is returned unchanged.
///
/// # Errors
/// [`ErrorKind::Usage`], naming the field at fault.
pub fn check_row(row: &Value, scorer: Option<&dyn PairScorer>) -> Result<Value> {
    let Some(fields) = row.as_object() else {
        return Err(field_error("a row", "write one object {id, claim, source} per line"));
    };
    let claim = match fields.get("claim") {
        Some(Value::String(claim)) if !claim.trim().is_empty() => claim,
        Some(Value::String(_)) => {
            return Err(field_error("field `claim`", "it is empty; write the claim"));
        }
        Some(_) => return Err(field_error("field `claim`", "write the claim as a string")),
        None => return Err(field_error("field `claim`", "it is missing; write the claim")),
    };
    let source = match fields.get("source") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(sentences)) => sentences
            .iter()
            .enumerate()
            .map(|(nth, it)| match it {
                Value::String(text) => Ok(text.clone()),
                _ => Err(field_error(
                    &format!("field `source[{nth}]`"),
                    "write every sentence as a string",
                )),
            })
            .collect::<Result<Vec<String>>>()?,
        Some(_) => {
            return Err(field_error("field `source`", "write a text or a list of sentences"));
        }
        None => {
            return Err(field_error(
                "field `source`",
                "it is missing; write a text or a list of sentences",
            ));
        }
    };
    let found = judge_support(claim, &source, scorer);
    Ok(json!({
        "id": fields.get("id").cloned().unwrap_or(Value::Null),
        "verdict": found.verdict,
        "score": (f64::from(found.score) * 1e4).round() / 1e4,
        "quote": found.quote,
    }))
}

fn field_error(field: &str, hint: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("reading {field} of a claim row")).with_hint(hint)
}
