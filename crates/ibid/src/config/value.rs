//! Kinds of settings, and validation of values.
use std::fmt;
use std::path::PathBuf;

/// The kind of values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// A whole number within inclusive bounds.
    Int(u64, u64),
    /// The same, or `none`.
    OptionalInt(u64, u64),
    /// A number within inclusive bounds.
    Float(f64, f64),
    /// The same, or `none`.
    OptionalFloat(f64, f64),
    /// `true` or `false`.
    Bool,
    /// One of these words; the second of a pair is the canonical form of the first.
    OneOf(&'static [(&'static str, &'static str)]),
    /// Any text, or none.
    Text,
    /// A path.
    Path,
    /// Paths; in the environment separated as in `PATH`.
    Paths,
    /// Words; in the environment separated by commas.
    List,
    /// A key or password, never shown.
    Secret,
}

/// A valid value.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    /// No value.
    None,
    /// A whole number.
    Whole(u64),
    /// A number.
    Real(f64),
    /// A boolean.
    Bool(bool),
    /// A word or path.
    Text(String),
    /// Words or paths.
    List(Vec<String>),
    /// A key or password, never shown.
    Secret(String),
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> SecretString {
        SecretString(text.into())
    }

    /// The text itself. The caller must not print it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("set")
    }
}

/// A value of a layer, not validated.
#[derive(Debug, Clone, PartialEq)]
pub enum RawValue {
    /// From the environment or a flag.
    Text(String),
    /// From a file.
    Whole(i64),
    /// From a file.
    Real(f64),
    /// From a file.
    Bool(bool),
    /// From a file.
    List(Vec<String>),
    /// From a file: a type that no setting takes.
    Other(&'static str),
}

impl SettingKind {
    /// Validates a value.
    ///
    /// # Errors
    /// What is allowed, as a phrase after "must be".
    pub fn validate(self, given: &RawValue) -> Result<SettingValue, String> {
        let invalid = || Err(self.to_string());
        match (self, given) {
            (
                SettingKind::OptionalInt(..) | SettingKind::OptionalFloat(..),
                RawValue::Text(text),
            ) if text == "none" => Ok(SettingValue::None),
            (SettingKind::Int(min, max) | SettingKind::OptionalInt(min, max), _) => {
                match as_integer(given) {
                    Some(it) if (min..=max).contains(&it) => Ok(SettingValue::Whole(it)),
                    _ => invalid(),
                }
            }
            (SettingKind::Float(min, max) | SettingKind::OptionalFloat(min, max), _) => {
                match as_float(given) {
                    Some(it) if (min..=max).contains(&it) => Ok(SettingValue::Real(it)),
                    _ => invalid(),
                }
            }
            (SettingKind::Bool, RawValue::Bool(it)) => Ok(SettingValue::Bool(*it)),
            (SettingKind::Bool, RawValue::Text(text)) => {
                match text.trim().to_lowercase().as_str() {
                    "true" | "1" | "yes" | "on" => Ok(SettingValue::Bool(true)),
                    "false" | "0" | "no" | "off" => Ok(SettingValue::Bool(false)),
                    _ => invalid(),
                }
            }
            (SettingKind::OneOf(words), RawValue::Text(text)) => words
                .iter()
                .find(|word| word.0.eq_ignore_ascii_case(text.trim()))
                .map_or_else(invalid, |pair| Ok(SettingValue::Text(pair.1.to_owned()))),
            (SettingKind::Text, RawValue::Text(text)) if text.trim().is_empty() => {
                Ok(SettingValue::None)
            }
            (SettingKind::Text, RawValue::Text(text)) => {
                Ok(SettingValue::Text(text.trim().to_owned()))
            }
            (SettingKind::Path, RawValue::Text(text)) if !text.is_empty() => {
                Ok(SettingValue::Text(text.clone()))
            }
            (SettingKind::Secret, RawValue::Text(text)) => Ok(SettingValue::Secret(text.clone())),
            (SettingKind::Paths, RawValue::Text(text)) => Ok(SettingValue::List(
                std::env::split_paths(text)
                    .map(|path| path.to_string_lossy().into_owned())
                    .filter(|it| !it.is_empty())
                    .collect(),
            )),
            (SettingKind::List, RawValue::Text(text)) => Ok(SettingValue::List(
                text.split(',')
                    .map(|part| part.trim().to_owned())
                    .filter(|it| !it.is_empty())
                    .collect(),
            )),
            (SettingKind::Paths | SettingKind::List, RawValue::List(items)) => {
                Ok(SettingValue::List(items.clone()))
            }
            _ => invalid(),
        }
    }

    /// The allowed values, for the documentation: `2–10`.
    pub fn bounds(self) -> String {
        match self {
            SettingKind::Int(min, max) => format!("{min}–{max}"),
            SettingKind::OptionalInt(min, max) => format!("{min}–{max} or `none`"),
            SettingKind::Float(min, max) => format!("{min}–{max}"),
            SettingKind::OptionalFloat(min, max) => format!("{min}–{max} or `none`"),
            SettingKind::Bool => "`true` or `false`".to_owned(),
            SettingKind::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{}`", word.0)).collect();
                words.join(", ")
            }
            SettingKind::Text => "text".to_owned(),
            SettingKind::Path => "path".to_owned(),
            SettingKind::Paths => "paths".to_owned(),
            SettingKind::List => "words".to_owned(),
            SettingKind::Secret => "secret".to_owned(),
        }
    }
}

impl fmt::Display for SettingKind {
    /// What is allowed, as a phrase after "must be".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingKind::Int(min, max) => write!(f, "a whole number from {min} to {max}"),
            SettingKind::OptionalInt(min, max) => {
                write!(f, "a whole number from {min} to {max}, or `none`")
            }
            SettingKind::Float(min, max) => write!(f, "a number from {min} to {max}"),
            SettingKind::OptionalFloat(min, max) => {
                write!(f, "a number from {min} to {max}, or `none`")
            }
            SettingKind::Bool => f.write_str("true or false"),
            SettingKind::OneOf(words) => {
                let words: Vec<&str> = words.iter().map(|word| word.0).collect();
                write!(f, "one of {}", words.join(", "))
            }
            SettingKind::Text => f.write_str("a text"),
            SettingKind::Path => f.write_str("a path"),
            SettingKind::Paths => f.write_str("a list of paths"),
            SettingKind::List => f.write_str("a list of words"),
            SettingKind::Secret => f.write_str("a text"),
        }
    }
}

fn as_integer(given: &RawValue) -> Option<u64> {
    match given {
        RawValue::Text(text) => text.trim().replace('_', "").parse().ok(),
        RawValue::Whole(it) => u64::try_from(*it).ok(),
        _ => None,
    }
}

fn as_float(given: &RawValue) -> Option<f64> {
    let it = match given {
        RawValue::Text(text) => text.trim().trim_start_matches('$').parse().ok()?,
        RawValue::Whole(it) => *it as f64,
        RawValue::Real(it) => *it,
        _ => return None,
    };
    it.is_finite().then_some(it)
}

impl fmt::Display for RawValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RawValue::Text(it) => write!(f, "`{}`", shortened(it)),
            RawValue::Whole(it) => write!(f, "`{it}`"),
            RawValue::Real(it) => write!(f, "`{it}`"),
            RawValue::Bool(it) => write!(f, "`{it}`"),
            RawValue::List(it) => write!(f, "a list of {}", it.len()),
            RawValue::Other(it) => f.write_str(it),
        }
    }
}

/// Maximum number of characters of an invalid value in an error message.
const SHOWN_CHARS: usize = 60;

/// At most [`SHOWN_CHARS`] characters of a value, on one line.
fn shortened(text: &str) -> String {
    let mut out: String =
        text.chars().take(SHOWN_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > SHOWN_CHARS {
        out.push('…');
    }
    out
}

impl SettingValue {
    /// The value for people. A secret is shown as `set`.
    pub fn to_display_string(&self) -> String {
        match self {
            SettingValue::None => "none".to_owned(),
            SettingValue::Whole(it) => it.to_string(),
            SettingValue::Real(it) => it.to_string(),
            SettingValue::Bool(it) => it.to_string(),
            SettingValue::Text(it) => it.clone(),
            SettingValue::List(items) => items.join(", "),
            SettingValue::Secret(_) => "set".to_owned(),
        }
    }

    /// The value as JSON. A secret is `"set"`.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            SettingValue::None => serde_json::Value::Null,
            SettingValue::Whole(it) => (*it).into(),
            SettingValue::Real(it) => (*it).into(),
            SettingValue::Bool(it) => (*it).into(),
            SettingValue::Text(it) => it.clone().into(),
            SettingValue::List(items) => items.clone().into(),
            SettingValue::Secret(_) => "set".into(),
        }
    }

    /// Makes paths absolute: relative to `base`, with `~` for the home directory.
    pub(super) fn resolve_paths(
        self,
        kind: SettingKind,
        base: &std::path::Path,
        home: Option<&str>,
    ) -> SettingValue {
        let resolve = |text: String| -> String {
            let expanded = match (text.strip_prefix('~'), home) {
                (Some(""), Some(home)) => PathBuf::from(home),
                (Some(rest), Some(home)) if rest.starts_with('/') => {
                    PathBuf::from(format!("{home}{rest}"))
                }
                _ => PathBuf::from(text),
            };
            base.join(expanded).to_string_lossy().into_owned()
        };
        match (kind, self) {
            (SettingKind::Path, SettingValue::Text(it)) => SettingValue::Text(resolve(it)),
            (SettingKind::Paths, SettingValue::List(items)) => {
                SettingValue::List(items.into_iter().map(resolve).collect())
            }
            (_, it) => it,
        }
    }
}
