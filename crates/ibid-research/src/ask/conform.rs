//! Fits a value into the shape of a schema where its meaning is plain.
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

/// Most elements of a list that has no `maxItems` of its own.
const MAX_LIST_ITEMS: usize = 1_000;

/// Fewest other fields of an object in which a missing text is taken for empty.
const MIN_OTHER_FIELDS: usize = 3;

/// Deepest level at which schemas are followed.
const MAX_SCHEMA_DEPTH: usize = 24;

/// Most fields searched of an object that only wraps the answer.
const MAX_WRAPPER_FIELDS: usize = 16;

/// Whether anything had to be changed.
pub(super) type HasChanged = bool;

/// `value` in the shape of `schema`.
///
/// # Errors
/// A sentence that names the place and what is wrong there.
pub(super) fn conform(value: &Value, schema: &Value) -> Result<(Value, HasChanged), String> {
    root(value, schema, 3)
}

/// The name and element schema of the only list that `schema` asks for: `{"evidence": [..]}`.
pub(super) fn only_list(schema: &Value) -> Option<(&str, &Value)> {
    let fields = schema.get("properties")?.as_object()?;
    let (name, list) = fields.iter().next().filter(|_| fields.len() == 1)?;
    let items = list.get("items")?;
    (kind(list) == "array").then_some((name.as_str(), items))
}

fn root(value: &Value, schema: &Value, depth: usize) -> Result<(Value, HasChanged), String> {
    let mut conformer = Conformer { changed: false };
    let fault = match conformer.any(value, schema, &ValuePath::Root, 0) {
        Ok(it) => return Ok((it, conformer.changed)),
        Err(it) => it,
    };
    if depth == 0 {
        return Err(fault);
    }
    // The only list asked for, given bare, or one element of it.
    if let Some((name, _)) = only_list(schema)
        && is_unwrapped_field(value, name)
    {
        let wrapped = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
        if let Ok((it, _)) = root(&wrapped, schema, 0) {
            return Ok((it, true));
        }
    }
    let inside: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().take(MAX_WRAPPER_FIELDS).collect(),
        Value::Array(items) if items.len() == 1 => items.iter().collect(),
        Value::String(_) => vec![value],
        _ => Vec::new(),
    };
    for inner in inside {
        let found = match inner {
            Value::Object(_) | Value::Array(_) => root(inner, schema, depth - 1).ok(),
            // A string that holds JSON, as in the arguments of tools.
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                let start = text.len() - text.trim_start().len();
                let read = super::lenient_json::parse_at(text, start);
                read.value.and_then(|value| root(&value, schema, depth - 1).ok())
            }
            _ => None,
        };
        if let Some((it, _)) = found {
            return Ok((it, true));
        }
    }
    Err(fault)
}

/// Whether `value` may belong under `name`, and is not an object that already has that field.
fn is_unwrapped_field(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => {
            !fields.is_empty()
                && !fields.keys().any(|key| normalize_key(key) == normalize_key(name))
        }
        _ => false,
    }
}

/// The type that a schema names; of several, the first that is not `null`.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(it)) => it,
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).find(|text| *text != "null").unwrap_or_default()
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "",
    }
}

fn nullable(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(it)) => it == "null",
        Some(Value::Array(all)) => all.iter().any(|it| it == "null"),
        _ => false,
    }
}

/// The place of a value, for messages. It is only formatted when there is an error.
enum ValuePath<'a> {
    Root,
    Field(&'a ValuePath<'a>, &'a str),
    Element(&'a ValuePath<'a>, usize),
}

impl ValuePath<'_> {
    fn describe(&self) -> String {
        match self {
            ValuePath::Root => String::new(),
            ValuePath::Field(ValuePath::Root, name) => (*name).to_owned(),
            ValuePath::Field(above, name) => format!("{}.{name}", above.describe()),
            ValuePath::Element(above, nth) => format!("{}[{nth}]", above.describe()),
        }
    }

    fn fault(&self, what: &str) -> String {
        match self {
            ValuePath::Root => format!("the answer {what}"),
            _ => format!("`{}` {what}", self.describe()),
        }
    }
}

struct Conformer {
    changed: HasChanged,
}

impl Conformer {
    fn any(
        &mut self,
        value: &Value,
        schema: &Value,
        path: &ValuePath<'_>,
        depth: usize,
    ) -> Result<Value, String> {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(path.fault("is nested too deeply"));
        }
        if nullable(schema) && is_null_like(value, kind(schema)) {
            self.changed |= !value.is_null();
            return Ok(Value::Null);
        }
        match kind(schema) {
            "object" => self.object(value, schema, path, depth),
            "array" => self.list(value, schema, path, depth),
            "string" => self.text(value, schema, path),
            "integer" => self.integer(value, path),
            "number" => self.number(value, path),
            "boolean" => self.boolean(value, path),
            _ => Ok(value.clone()),
        }
    }

    fn object(
        &mut self,
        value: &Value,
        schema: &Value,
        path: &ValuePath<'_>,
        depth: usize,
    ) -> Result<Value, String> {
        let given = match value {
            Value::Object(it) => it,
            Value::Array(items) if items.len() == 1 && items[0].is_object() && depth > 0 => {
                self.changed = true;
                return self.object(&items[0], schema, path, depth);
            }
            _ => {
                return Err(
                    path.fault(&format!("is {} instead of an object", json_type_name(value)))
                );
            }
        };
        let Some(wanted) = schema.get("properties").and_then(Value::as_object) else {
            return Ok(value.clone());
        };
        let mut found = Map::new();
        let mut missing = Vec::new();
        let mut used = 0;
        for (name, inner) in wanted {
            let field = given.get(name).or_else(|| {
                let alike = given.iter().find(|pair| {
                    normalize_key(pair.0) == normalize_key(name) && !wanted.contains_key(pair.0)
                });
                self.changed |= alike.is_some();
                alike.map(|pair| pair.1)
            });
            match field {
                Some(it) => {
                    used += 1;
                    let it = self.any(it, inner, &ValuePath::Field(path, name), depth + 1)?;
                    found.insert(name.clone(), it);
                }
                None => missing.push((name, inner)),
            }
        }
        let required: HashSet<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let present = found.keys().filter(|key| required.contains(key.as_str())).count();
        let most = present * 2 >= required.len();
        let is_lost = |(name, inner): &&(&String, &Value)| {
            required.contains(name.as_str()) && kind(inner) != "array"
        };
        let one_lost = present >= MIN_OTHER_FIELDS && missing.iter().filter(is_lost).count() == 1;
        for (name, inner) in missing {
            if !required.contains(name.as_str()) {
                continue;
            }
            self.changed = true;
            // A list missing from an otherwise complete object is empty, and so is a text if only lists are missing besides. Checks decide
            // whether that is enough.
            let empty = match kind(inner) {
                _ if nullable(inner) => Value::Null,
                "array" if most => Value::Array(Vec::new()),
                "string" if one_lost && inner.get("enum").is_none() => Value::from(""),
                _ => return Err(path.fault(&format!("has no `{name}`"))),
            };
            found.insert(name.clone(), empty);
        }
        if used == 0 && !wanted.is_empty() {
            return Err(path.fault("has none of the fields asked for"));
        }
        self.changed |= used < given.len();
        Ok(Value::Object(found))
    }

    fn list(
        &mut self,
        value: &Value,
        schema: &Value,
        path: &ValuePath<'_>,
        depth: usize,
    ) -> Result<Value, String> {
        let nothing = Value::Null;
        let inner = schema.get("items").unwrap_or(&nothing);
        let given: Vec<Value> = match value {
            Value::Array(it) => return self.elements(it, schema, path, depth),
            Value::Null => Vec::new(),
            Value::Object(fields) => elements_of(fields, inner),
            Value::String(it) if matches!(kind(inner), "integer" | "number") => numbers_in(it),
            Value::String(it) if it.trim().is_empty() => Vec::new(),
            Value::String(it) if kind(inner) == "string" => lines(it),
            it => vec![it.clone()],
        };
        self.changed = true;
        self.elements(&given, schema, path, depth)
    }

    /// The list `given`, in the form that the `schema` of the list demands.
    fn elements(
        &mut self,
        given: &[Value],
        schema: &Value,
        path: &ValuePath<'_>,
        depth: usize,
    ) -> Result<Value, String> {
        let nothing = Value::Null;
        let inner = schema.get("items").unwrap_or(&nothing);
        let most = bound(schema);
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let mut first_fault = None;
        for (nth, it) in given.iter().enumerate() {
            if found.len() == most {
                self.changed = true;
                break;
            }
            match self.any(it, inner, &ValuePath::Element(path, nth), depth + 1) {
                // A list longer than allowed mostly repeats itself.
                Ok(it) => {
                    if given.len() <= most || seen.insert(it.to_string()) {
                        found.push(it);
                    } else {
                        self.changed = true;
                    }
                }
                Err(it) => {
                    self.changed = true;
                    first_fault.get_or_insert(it);
                }
            }
        }
        match first_fault {
            Some(it) if found.is_empty() => Err(it),
            _ => Ok(Value::Array(found)),
        }
    }

    fn text(
        &mut self,
        value: &Value,
        schema: &Value,
        path: &ValuePath<'_>,
    ) -> Result<Value, String> {
        let text = match value {
            Value::String(it) => it.clone(),
            other => {
                self.changed = true;
                text_from(other).ok_or_else(|| {
                    path.fault(&format!("is {} instead of a string", json_type_name(other)))
                })?
            }
        };
        let Some(allowed) = schema.get("enum").and_then(Value::as_array) else {
            return Ok(Value::String(text));
        };
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        if allowed.contains(&text.as_str()) {
            return Ok(Value::String(text));
        }
        self.changed = true;
        let meant = normalize_key(&text);
        let numbers = numbers_in(&text);
        let is_meant = |it: &&&str| {
            normalize_key(it) == meant
                // `Q1: what it costs`, or an id given as a bare number.
                || (text.len() > it.len()
                    && text.get(..it.len()).is_some_and(|head| head.eq_ignore_ascii_case(it))
                    && text[it.len()..].starts_with([':', ' ', '.', ',', ')', '-']))
                || (numbers.len() == 1
                    && text.trim().chars().all(|c| c.is_ascii_digit())
                    && it.trim_start_matches(|c: char| c.is_ascii_alphabetic()) == text.trim())
        };
        match allowed.iter().find(is_meant) {
            Some(it) => Ok(Value::String((*it).to_owned())),
            None => Err(path.fault(&format!(
                "is \"{}\"; it must be one of {}",
                truncate_chars(&text, 40),
                truncate_chars(&allowed.join(", "), 300)
            ))),
        }
    }

    fn integer(&mut self, value: &Value, path: &ValuePath<'_>) -> Result<Value, String> {
        if value.is_i64() || value.is_u64() {
            return Ok(value.clone());
        }
        self.changed = true;
        let found = match value {
            Value::Number(it) => it
                .as_f64()
                .filter(|number| number.fract() == 0.0 && number.abs() < 9e15)
                .map(|number| Value::Number((number as i64).into())),
            Value::String(it) => match it.trim().parse::<i64>() {
                Ok(it) => Some(Value::Number(it.into())),
                Err(_) => only_element(numbers_in(it)),
            },
            Value::Array(items) => {
                only_element(items.clone()).filter(|value| value.is_i64() || value.is_u64())
            }
            Value::Object(fields) => only_element(fields.values().cloned().collect())
                .filter(|value| value.is_i64() || value.is_u64()),
            _ => None,
        };
        found.ok_or_else(|| {
            path.fault(&format!("is {} instead of a whole number", json_type_name(value)))
        })
    }

    fn number(&mut self, value: &Value, path: &ValuePath<'_>) -> Result<Value, String> {
        if value.is_number() {
            return Ok(value.clone());
        }
        self.changed = true;
        let found = match value {
            Value::String(it) => {
                let (text, scale) = match it.trim().strip_suffix('%') {
                    Some(it) => (it.trim(), 0.01),
                    None => (it.trim(), 1.0),
                };
                text.parse::<f64>()
                    .ok()
                    .and_then(|parsed| Number::from_f64(parsed * scale))
                    .map(Value::Number)
            }
            _ => None,
        };
        found
            .ok_or_else(|| path.fault(&format!("is {} instead of a number", json_type_name(value))))
    }

    fn boolean(&mut self, value: &Value, path: &ValuePath<'_>) -> Result<Value, String> {
        if value.is_boolean() {
            return Ok(value.clone());
        }
        self.changed = true;
        let word = match value {
            Value::String(it) => normalize_key(it),
            Value::Number(it) => it.to_string(),
            _ => String::new(),
        };
        match word.as_str() {
            "true" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(path.fault(&format!("is {} instead of true or false", json_type_name(value)))),
        }
    }
}

fn bound(schema: &Value) -> usize {
    schema
        .get("maxItems")
        .and_then(Value::as_u64)
        .map_or(MAX_LIST_ITEMS, |it| usize::try_from(it).unwrap_or(MAX_LIST_ITEMS))
}

fn is_null_like(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => true,
        Value::String(it) => {
            let it = it.trim();
            kind != "string" && it.is_empty() || matches!(it, "null" | "None" | "none")
        }
        _ => false,
    }
}

/// The elements of a list that was given as an object: `{"items": [..]}`, `{"1": {..}, "2": {..}}`, or one
/// element.
fn elements_of(fields: &Map<String, Value>, schema: &Value) -> Vec<Value> {
    let whole = Value::Object(fields.clone());
    let mut alone = Conformer { changed: false };
    if alone.any(&whole, schema, &ValuePath::Root, 1).is_ok() {
        return vec![whole];
    }
    let mut lists = fields.values().filter_map(Value::as_array);
    if let (Some(it), None) = (lists.next(), lists.next()) {
        return it.clone();
    }
    let counted = fields.keys().all(|key| key.bytes().any(|b| b.is_ascii_digit()));
    if counted || fields.values().all(Value::is_object) {
        return fields.values().cloned().collect();
    }
    vec![whole]
}

fn only_element(mut values: Vec<Value>) -> Option<Value> {
    if values.len() == 1 { values.pop() } else { None }
}

/// The whole numbers in a text, ranges (`12-14`) expanded.
fn numbers_in(text: &str) -> Vec<Value> {
    let mut found: Vec<i64> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let range = matches!(rest[..start].trim(), "-" | "–" | "to");
        let tail = &rest[start..];
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        if let Ok(number) = tail[..end].parse::<i64>() {
            match found.last().copied() {
                Some(from) if range && number > from && number - from <= 50 => {
                    found.extend(from + 1..=number);
                }
                _ => found.push(number),
            }
        }
        rest = &tail[end..];
        if found.len() > MAX_LIST_ITEMS {
            break;
        }
    }
    found.into_iter().map(|number| Value::Number(number.into())).collect()
}

/// The lines of a text as a list, without bullets or numbers.
fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| line.trim().trim_start_matches(['-', '*', '•']).trim())
        .filter(|it| !it.is_empty())
        .map(|it| Value::String(it.to_owned()))
        .collect()
}

/// A text given as a number, a boolean, a list of words, or an object with a single text.
fn text_from(value: &Value) -> Option<String> {
    match value {
        Value::String(it) => Some(it.clone()),
        Value::Number(it) => Some(it.to_string()),
        Value::Bool(it) => Some(it.to_string()),
        Value::Null => None,
        Value::Array(items) => {
            let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            words.filter(|word| !word.is_empty()).map(|word| word.join(" "))
        }
        Value::Object(fields) => {
            let named = ["text", "query", "value", "name", "title", "content"];
            let found = named.iter().find_map(|it| fields.get(*it)?.as_str());
            let only = || {
                let mut texts = fields.values().filter_map(Value::as_str);
                texts.next().filter(|_| texts.next().is_none())
            };
            found.or_else(only).map(str::to_owned)
        }
    }
}

/// A name in lower case without separators: `Key Terms`, `key-terms` and `keyTerms` are one.
fn normalize_key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The first `most` characters.
fn truncate_chars(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_text_may_be_missing_from_an_otherwise_complete_object() {
        let text = json!({"type": "string"});
        let schema = json!({
            "type": "object",
            "properties": {"a": text, "b": text, "c": text, "d": text, "e": {"type": "array", "items": text}},
            "required": ["a", "b", "c", "d", "e"],
        });
        let found = conform(&json!({"a": "1", "b": "2", "c": "3"}), &schema).map(|it| it.0);
        assert_eq!(found, Ok(json!({"a": "1", "b": "2", "c": "3", "d": "", "e": []})));
        assert!(conform(&json!({"a": "1", "b": "2", "e": ["x"]}), &schema).is_err());
    }
}
