//! The JSON object in a judge's answer, whatever stands around it.
use serde_json::Value;

/// The object that `answer` consists of, or else the one between its first `{` and its last `}`.
pub(crate) fn answer_object(answer: &str) -> Result<Value, String> {
    let inner = || {
        let from = answer.find('{')?;
        let to = answer.rfind('}')?;
        answer.get(from..=to)
    };
    let parsed: Option<Value> = serde_json::from_str(answer.trim())
        .ok()
        .or_else(|| inner().and_then(|text| serde_json::from_str(text).ok()));
    match parsed {
        Some(value) if value.is_object() => Ok(value),
        _ => Err("the answer holds no JSON object".to_owned()),
    }
}

/// The list in the field `name` of the object in `answer`.
pub(crate) fn answer_list(answer: &str, name: &str) -> Result<Vec<Value>, String> {
    match answer_object(answer)?.get_mut(name).map(Value::take) {
        Some(Value::Array(rows)) => Ok(rows),
        _ => Err(format!("the answer has no list `{name}`")),
    }
}

/// A number, also one written as text.
pub(crate) fn number_of(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
        .filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_bare_fenced_and_amid_words_and_nothing_else_is() {
        for text in ["{\"a\": [1]}", "```json\n{\"a\": [1]}\n```", "Here: {\"a\": [1]} - done"] {
            assert_eq!(answer_list(text, "a").unwrap(), [Value::from(1)], "{text}");
        }
        for text in ["", "[1]", "{\"a\": [1", "}{", "{\"b\": [1]}", "{\"a\": 1}"] {
            assert!(answer_list(text, "a").is_err(), "{text}");
        }
        assert_eq!(number_of(&Value::from("7.5")), Some(7.5));
        assert_eq!(number_of(&Value::from("NaN")), None);
    }
}
