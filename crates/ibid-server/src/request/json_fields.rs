//! The fields of a JSON request.
use serde_json::{Map, Value};

use super::dialogue::{DIALOGUE, MAX_TURN_CHARS};
use super::validate::{is_symbols_only, validate_question};
use ibid::config::{Flag, SETTINGS, value};
use ibid_core::domain::Mode;
use ibid_core::{Error, Kind, Result};
use ibid_report::escape::single_line;

/// Most names in a list of engines, domains or folders.
const MAX_NAMES: usize = 50;
/// Longest name in such a list, characters.
const MAX_NAME_CHARS: usize = 500;

/// Fields that set a setting: field, setting.
const SETTING_FIELDS: &[(&str, &str)] = &[
    ("effort", "effort"),
    ("strategy", "strategy"),
    ("breadth", "breadth"),
    ("depth", "depth"),
    ("max_iterations", "max_iterations"),
    ("completeness_threshold", "completeness_threshold"),
    ("summaryTokens", "summary_tokens"),
    ("summary_tokens", "summary_tokens"),
    ("max_sources", "max_sources"),
    ("fresh", "fresh"),
];

/// Whether `name` is a field of a research request.
pub(crate) fn is_field(name: &str) -> bool {
    OTHER_FIELDS.contains(&name) || SETTING_FIELDS.iter().any(|it| it.0 == name)
}

/// The fields of `budget`.
const BUDGET_FIELDS: [&str; 6] = ["usd", "seconds", "calls", "searches", "pages", "tokens"];

/// Every other field.
const OTHER_FIELDS: &[&str] = &[
    "question",
    "query",
    "context",
    "mode",
    "output",
    "engines",
    "only_local",
    "folders",
    "domains",
    "not_domains",
    "since",
    "until",
    "language",
    "model",
    DIALOGUE,
    "ask",
    "plan",
    "follows",
    "budget",
];

/// The error for a wrong value: `{field} {what}`.
pub(super) fn invalid_field(field: &str, what: &str) -> Error {
    Error::new(Kind::Usage, format!("{field} {what}"))
}

/// Typed access to the fields of a request. `null` counts as missing. Every method fails with `Usage`, naming the field.
pub(super) struct JsonFields<'v>(pub(super) &'v Map<String, Value>);

impl JsonFields<'_> {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    pub(super) fn question(&self) -> Result<String> {
        let both = [self.get("question"), self.get("query")];
        let given = match both {
            [Some(it), None] | [None, Some(it)] => it,
            [None, None] => {
                return Err(invalid_field("question", "is missing")
                    .with_hint("write {\"question\": \"…\"}"));
            }
            [Some(_), Some(_)] => {
                return Err(invalid_field(
                    "question",
                    "and query mean the same; give only one of them",
                ));
            }
        };
        match given {
            // Accept symbols beyond ASCII here, since no JSON schema can tell them from letters; the question is checked again later.
            Value::String(it) if is_symbols_only(it) => Ok(it.trim().to_owned()),
            Value::String(it) => validate_question(it, false),
            _ => Err(invalid_field("question", "must be a text")),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(it)) if it.chars().count() > MAX_TURN_CHARS => {
                Err(invalid_field(name, &format!("is longer than {MAX_TURN_CHARS} characters")))
            }
            // Forms send empty fields.
            Some(Value::String(it)) => Ok(Some(it.trim().to_owned()).filter(|it| !it.is_empty())),
            Some(_) => Err(invalid_field(name, "must be a text")),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(it)) => Ok(*it),
            Some(_) => Err(invalid_field(name, "must be true or false")),
        }
    }

    pub(super) fn text_list(&self, name: &str) -> Result<Vec<String>> {
        let rows = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(rows)) => rows,
            Some(_) => return Err(invalid_field(name, "must be a list of texts")),
        };
        if rows.len() > MAX_NAMES {
            return Err(invalid_field(name, &format!("has more than {MAX_NAMES} entries")));
        }
        let each = |it: &Value| match it.as_str().map(str::trim) {
            Some("") | None => {
                Err(invalid_field(name, "must be a list of texts, none of them empty"))
            }
            Some(it) if it.chars().count() > MAX_NAME_CHARS => Err(invalid_field(
                name,
                &format!("has an entry longer than {MAX_NAME_CHARS} characters"),
            )),
            Some(it) => Ok(it.to_owned()),
        };
        rows.iter().map(each).collect()
    }

    pub(super) fn mode(&self) -> Result<Option<Mode>> {
        let (name, it) = match (self.get("mode"), self.get("output")) {
            (Some(it), _) => ("mode", it),
            (None, Some(it)) => ("output", it),
            (None, None) => return Ok(None),
        };
        match it.as_str() {
            Some("report") => Ok(Some(Mode::Report)),
            Some("answer") => Ok(Some(Mode::Answer)),
            Some("evidence") => Ok(Some(Mode::Evidence)),
            _ => Err(invalid_field(name, "must be report, answer or evidence")),
        }
    }

    pub(super) fn settings(&self) -> Result<Vec<Flag>> {
        let mut flags = Vec::new();
        for (field, name) in SETTING_FIELDS {
            if let Some(it) = self.get(field) {
                flags.push(to_flag(name, field, it)?);
            }
        }
        let bounds = match self.get("budget") {
            None => return Ok(flags),
            Some(Value::Object(it)) => it,
            Some(_) => {
                return Err(invalid_field("budget", "must be an object, as in {\"seconds\": 300}"));
            }
        };
        for (name, it) in bounds.iter().filter(|it| !it.1.is_null()) {
            if !BUDGET_FIELDS.contains(&name.as_str()) {
                return Err(invalid_field(
                    "budget",
                    &format!("has no field `{}`", single_line(name)),
                )
                .with_hint(format!("the fields are {}", BUDGET_FIELDS.join(", "))));
            }
            flags.push(to_flag(&format!("budget.{name}"), "budget", it)?);
        }
        Ok(flags)
    }
}

/// Converts a field to a flag of the setting `name`. Its value is validated when the settings are resolved.
fn to_flag(name: &str, field: &'static str, value: &Value) -> Result<Flag> {
    let known = SETTINGS.iter().find(|it| it.name == name);
    let is_boolean = known.is_some_and(|it| it.kind == value::SettingKind::Bool);
    if is_boolean && !value.is_boolean() {
        return Err(invalid_field(field, "must be true or false"));
    }
    let value = match value {
        Value::String(it) => it.clone(),
        // `5.0` is a whole number, too.
        Value::Number(it) => match it.as_f64() {
            Some(n) if it.is_f64() && n.fract() == 0.0 && n.abs() < 1e15 => format!("{n:.0}"),
            _ => it.to_string(),
        },
        Value::Bool(it) => it.to_string(),
        _ => {
            return Err(invalid_field(field, "must be a text, a number, true or false"));
        }
    };
    match known {
        Some(it) => Ok(Flag { name: it.name, flag: field, value }),
        None => Err(Error::new(Kind::Internal, format!("unknown setting `{name}`"))),
    }
}
