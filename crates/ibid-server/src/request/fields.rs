//! Reads JSON objects as typed fields. An error names the path of the field.
use std::fmt::Display;

use serde::Deserializer;
use serde::de::{Deserialize, DeserializeOwned, Error as _};
use serde_json::Value;

use ibid_core::{Error, ErrorKind};
use ibid_report::escape::truncate;

/// Maximum length of the text of a field, in characters.
pub const MAX_TEXT_CHARS: usize = 4_000;
/// Maximum number of names in a list of engines, domains or folders.
const MAX_NAMES: usize = 50;
/// Maximum length of a name in such a list, in characters.
const MAX_NAME_CHARS: usize = 500;

/// How much of a field's name and of an error is repeated, in characters.
const MAX_SHOWN_CHARS: usize = 300;
/// How much an unknown name must resemble a known one to be taken for it.
const MIN_SIMILARITY: f64 = 0.85;

/// A field that is missing, unknown or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The path of the field, as in `budget.usd`; empty if the value is not an object.
    pub(crate) field: String,
    /// What is wrong; names the field.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

/// The message of an error for a caller. Fields are validated as flags, whose names it does not have: "flag breadth: breadth must be …".
pub(crate) fn caller_message(error: &Error) -> String {
    let message = error.public_message();
    let what = message.strip_prefix("flag ").and_then(|rest| rest.split_once(": "));
    what.map_or_else(|| message.clone(), |(_, what)| what.to_owned())
}

impl FieldError {
    /// The error at `path`, which serde reports in the words of `fault`.
    fn new(path: &str, fault: &str) -> FieldError {
        let path = truncate(path, MAX_SHOWN_CHARS);
        let fault = truncate(fault, MAX_SHOWN_CHARS * 4);
        if fault.starts_with("unknown field `") {
            return unknown_field(path, &fault);
        }
        let missing = fault.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        let field = match missing {
            Some(name) if path == "." => name.to_owned(),
            Some(name) => format!("{path}.{name}"),
            None => path,
        };
        let message = match &*fault {
            _ if missing.is_some() => format!("{field} is missing"),
            it if ["must ", "is ", "has "].iter().any(|verb| it.starts_with(verb)) => {
                format!("{field} {it}")
            }
            it => format!("{field}: {it}"),
        };
        FieldError { field, message, hint: None }
    }
}

/// The error for an unknown field, with the nearest known one or the list of all. serde names these only in its message.
fn unknown_field(path: String, fault: &str) -> FieldError {
    let known = fault.rsplit_once("expected ").map_or("", |parts| parts.1);
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let name = path.rsplit('.').next().unwrap_or_default();
    let scored = known.iter().map(|text| (strsim::jaro_winkler(name, text), *text));
    let hint = match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((score, nearest)) if score >= MIN_SIMILARITY => format!("did you mean {nearest}?"),
        _ => format!("the fields are {}", known.join(", ")),
    };
    let message = format!("there is no field `{path}`");
    FieldError { field: path, message, hint: Some(hint) }
}

impl From<FieldError> for Error {
    fn from(fault: FieldError) -> Error {
        let error = Error::new(ErrorKind::Usage, fault.message);
        match fault.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// Reads the object `value` as `T`.
///
/// # Errors
/// The first field that is missing, unknown or wrong.
pub(crate) fn read_fields<T: DeserializeOwned>(value: Value) -> Result<T, FieldError> {
    if !value.is_object() {
        return Err(FieldError {
            field: String::new(),
            message: "the request is not a JSON object".to_owned(),
            hint: None,
        });
    }
    serde_path_to_error::deserialize(value)
        .map_err(|error| FieldError::new(&error.path().to_string(), &error.inner().to_string()))
}

/// Deserializes a text and trims it. Blank counts as missing, because forms send empty fields.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    if text.chars().count() > MAX_TEXT_CHARS {
        return Err(invalid::<D>(format!("is longer than {MAX_TEXT_CHARS} characters")));
    }
    Ok(Some(text.trim().to_owned()).filter(|it| !it.is_empty()))
}

/// Deserializes a text that must not be blank, and trims it.
pub(crate) fn nonblank<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    match text.trim() {
        "" => Err(invalid::<D>("is empty")),
        text => Ok(text.to_owned()),
    }
}

/// Deserializes a list of names, none of them blank, and trims them.
pub(crate) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let Some(names) = Option::<Vec<String>>::deserialize(from)? else { return Ok(None) };
    if names.len() > MAX_NAMES {
        return Err(invalid::<D>(format!("has more than {MAX_NAMES} entries")));
    }
    let each = names.iter().map(|name| match name.trim() {
        "" => Err(invalid::<D>("has an empty entry")),
        name if name.chars().count() > MAX_NAME_CHARS => {
            Err(invalid::<D>(format!("has an entry longer than {MAX_NAME_CHARS} characters")))
        }
        name => Ok(name.to_owned()),
    });
    each.collect::<Result<_, _>>().map(Some)
}

/// Deserializes the value of a setting, which is checked when the settings are resolved.
pub(crate) fn setting<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(it) => Ok(Some(it)),
        // `5.0` is a whole number, too.
        Value::Number(it) => Ok(Some(match whole_number(&it.clone().into()) {
            Some(whole) => whole.to_string(),
            None => it.to_string(),
        })),
        _ => Err(invalid::<D>("must be a text or a number")),
    }
}

/// Deserializes a whole number, also written as `5.0`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        it => whole_number(&it).map(Some).ok_or_else(|| invalid::<D>("must be a whole number")),
    }
}

/// Deserializes an object. The code that serde derives would accept a list in place of it.
pub(crate) fn object<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct ObjectVisitor<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for ObjectVisitor<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_unit<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
            T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Some)
        }
    }
    from.deserialize_any(ObjectVisitor(std::marker::PhantomData))
}

fn invalid<'de, D: Deserializer<'de>>(what: impl Display) -> D::Error {
    D::Error::custom(what)
}

/// A whole number, also written as `5.0`.
pub(crate) fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
        (0.0..1e15).contains(&number).then_some(number as u64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::request::ResearchRequest;

    fn fault(value: serde_json::Value) -> (String, Option<String>) {
        let fault = ResearchRequest::parse(value).unwrap_err();
        (fault.to_string(), fault.hint().map(str::to_owned))
    }

    #[test]
    fn an_error_names_the_path_of_the_field() {
        for (value, said) in [
            (json!({"question": 5}), "question: invalid type: integer `5`, expected a string"),
            (json!({"question": "why?", "engines": ["a", 1]}), "engines[1]: invalid type"),
            (json!({"question": "why?", "domains": [" "]}), "domains has an empty entry"),
            (json!({"question": "why?", "budget": {"usd": []}}), "budget.usd must be a text or"),
            (json!({"question": "why?", "budget": []}), "budget: invalid type: sequence"),
            (json!({"question": "why?", "budget": {"eur": 1}}), "there is no field `budget.eur`"),
            (json!({"question": "why?", "plan": 1}), "plan must be auto, require_approval or"),
            (json!([]), "the request is not a JSON object"),
        ] {
            let (message, _) = fault(value.clone());
            assert!(message.starts_with(said), "{value}: {message}");
        }
        let (message, hint) = fault(json!({"question": "why?", "max_iteration": 1}));
        assert_eq!(message, "there is no field `max_iteration`");
        assert_eq!(hint.as_deref(), Some("did you mean max_iterations?"));
        let (_, hint) = fault(json!({"question": "why?", "budget": {"zzz": 1}}));
        let all = "the fields are usd, seconds, calls, searches, pages, tokens";
        assert_eq!(hint.as_deref(), Some(all));
    }

    #[test]
    fn null_counts_as_missing_and_a_whole_number_may_have_a_point() {
        let request = ResearchRequest::parse(json!({
            "question": null, "query": "why?", "breadth": 5.0, "depth": null, "budget": null,
            "context": " ", "engines": [], "mode": null, "output": "answer", "plan": null,
        }));
        let request = request.unwrap();
        assert_eq!(request.text().unwrap(), "why?");
        let flags = request.flags();
        assert_eq!((flags.len(), flags[0].name, &*flags[0].value), (1, "breadth", "5"));
        assert!(request.dialogue().is_empty());
        assert_eq!(request.engine_names(), ["none"]);
        assert_eq!(request.mode(), Some(ibid_core::domain::OutputMode::Answer));
    }
}
