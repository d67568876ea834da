//! Prompts from templates.
use ibid_core::ports::{Prompt, Schema};
use serde_json::{Value, json};

/// `template` with every `{{name}}` replaced by its value. Values are not searched for names.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let value = after.split_once("}}").and_then(|(name, rest)| {
            let value = values.iter().find(|value| value.0 == name)?;
            Some((value.1, rest))
        });
        match value {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// A question to a judge at temperature 0 whose answer is an object with one list of rows, each with these fields.
pub(crate) fn list_prompt(
    text: String,
    list: &str,
    fields: &[(&str, Value)],
    max_tokens: u32,
) -> Prompt {
    let names: Vec<&str> = fields.iter().map(|field| field.0).collect();
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
    let json = json!({
        "type": "object", "required": [list], "additionalProperties": false,
        "properties": {list: {"type": "array", "items": {
            "type": "object", "required": names, "additionalProperties": false,
            "properties": properties,
        }}},
    });
    Prompt {
        schema: Some(Schema { name: list.to_owned(), json }),
        temperature: Some(0.0),
        max_tokens: Some(max_tokens),
        ..Prompt::from_text(list, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_searched_for_names() {
        let text = fill("{{a}}-{{b}}-{{c}}-{{", &[("a", "{{b}}"), ("b", "2")]);
        assert_eq!(text, "{{b}}-2-{{c}}-{{");
    }
}
