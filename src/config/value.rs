//! What a setting takes, and judging what was given.
use std::fmt;
use std::path::PathBuf;

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number within bounds, both included.
    Whole(u64, u64),
    /// The same, or `none`.
    MaybeWhole(u64, u64),
    /// A number within bounds, both included.
    Real(f64, f64),
    /// The same, or `none`.
    MaybeReal(f64, f64),
    /// `true` or `false`.
    Bool,
    /// One of these words; the second of a pair is what the first stands for.
    OneOf(&'static [(&'static str, &'static str)]),
    /// Any words, or none.
    Text,
    /// A path.
    Path,
    /// Paths; in the environment parted as in `PATH`.
    Paths,
    /// Words; in the environment parted by commas.
    Words,
    /// A key or password: kept, used, never shown.
    Secret,
}

/// A value that was judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    None,
    /// A whole number.
    Whole(u64),
    /// A number.
    Real(f64),
    /// Whether or not.
    Bool(bool),
    /// A word or path.
    Text(String),
    /// Words or paths.
    List(Vec<String>),
    /// What is never shown.
    Secret(String),
}

/// A setting that is used and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// What must not be shown.
    pub fn new(words: impl Into<String>) -> Secret {
        Secret(words.into())
    }

    /// The words themselves, for who needs them.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("set")
    }
}

/// What was found in a layer, not judged yet.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
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
    /// From a file: something no setting takes.
    Other(&'static str),
}

impl Kind {
    /// Judges what was given; the error says what is allowed.
    ///
    /// # Errors
    /// One phrase that goes after "must be".
    pub fn judge(self, given: &Given) -> Result<Value, String> {
        let wrong = || Err(self.to_string());
        match (self, given) {
            (Kind::MaybeWhole(..) | Kind::MaybeReal(..), Given::Text(text)) if text == "none" => {
                Ok(Value::None)
            }
            (Kind::Whole(min, max) | Kind::MaybeWhole(min, max), _) => match whole(given) {
                Some(it) if (min..=max).contains(&it) => Ok(Value::Whole(it)),
                _ => wrong(),
            },
            (Kind::Real(min, max) | Kind::MaybeReal(min, max), _) => match real(given) {
                Some(it) if (min..=max).contains(&it) => Ok(Value::Real(it)),
                _ => wrong(),
            },
            (Kind::Bool, Given::Bool(it)) => Ok(Value::Bool(*it)),
            (Kind::Bool, Given::Text(text)) => match text.trim().to_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok(Value::Bool(true)),
                "false" | "0" | "no" | "off" => Ok(Value::Bool(false)),
                _ => wrong(),
            },
            (Kind::OneOf(words), Given::Text(text)) => words
                .iter()
                .find(|it| it.0.eq_ignore_ascii_case(text.trim()))
                .map_or_else(wrong, |it| Ok(Value::Text(it.1.to_owned()))),
            (Kind::Text, Given::Text(text)) if text.trim().is_empty() => Ok(Value::None),
            (Kind::Text, Given::Text(text)) => Ok(Value::Text(text.trim().to_owned())),
            (Kind::Path, Given::Text(text)) if !text.is_empty() => Ok(Value::Text(text.clone())),
            (Kind::Secret, Given::Text(text)) => Ok(Value::Secret(text.clone())),
            (Kind::Paths, Given::Text(text)) => Ok(Value::List(
                std::env::split_paths(text)
                    .map(|it| it.to_string_lossy().into_owned())
                    .filter(|it| !it.is_empty())
                    .collect(),
            )),
            (Kind::Words, Given::Text(text)) => Ok(Value::List(
                text.split(',')
                    .map(|it| it.trim().to_owned())
                    .filter(|it| !it.is_empty())
                    .collect(),
            )),
            (Kind::Paths | Kind::Words, Given::List(items)) => Ok(Value::List(items.clone())),
            _ => wrong(),
        }
    }

    /// Its values as a column of the documentation: `2–10`.
    pub fn bounds(self) -> String {
        match self {
            Kind::Whole(min, max) => format!("{min}–{max}"),
            Kind::MaybeWhole(min, max) => format!("{min}–{max} or `none`"),
            Kind::Real(min, max) => format!("{min}–{max}"),
            Kind::MaybeReal(min, max) => format!("{min}–{max} or `none`"),
            Kind::Bool => "`true` or `false`".to_owned(),
            Kind::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|it| format!("`{}`", it.0)).collect();
                words.join(", ")
            }
            Kind::Text => "text".to_owned(),
            Kind::Path => "path".to_owned(),
            Kind::Paths => "paths".to_owned(),
            Kind::Words => "words".to_owned(),
            Kind::Secret => "secret".to_owned(),
        }
    }
}

impl fmt::Display for Kind {
    /// What is allowed, to go after "must be".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Whole(min, max) => write!(f, "a whole number from {min} to {max}"),
            Kind::MaybeWhole(min, max) => {
                write!(f, "a whole number from {min} to {max}, or `none`")
            }
            Kind::Real(min, max) => write!(f, "a number from {min} to {max}"),
            Kind::MaybeReal(min, max) => write!(f, "a number from {min} to {max}, or `none`"),
            Kind::Bool => f.write_str("true or false"),
            Kind::OneOf(words) => {
                let words: Vec<&str> = words.iter().map(|it| it.0).collect();
                write!(f, "one of {}", words.join(", "))
            }
            Kind::Text => f.write_str("a text"),
            Kind::Path => f.write_str("a path"),
            Kind::Paths => f.write_str("a list of paths"),
            Kind::Words => f.write_str("a list of words"),
            Kind::Secret => f.write_str("a text"),
        }
    }
}

fn whole(given: &Given) -> Option<u64> {
    match given {
        Given::Text(text) => text.trim().replace('_', "").parse().ok(),
        Given::Whole(it) => u64::try_from(*it).ok(),
        _ => None,
    }
}

fn real(given: &Given) -> Option<f64> {
    let it = match given {
        Given::Text(text) => text.trim().trim_start_matches('$').parse().ok()?,
        Given::Whole(it) => *it as f64,
        Given::Real(it) => *it,
        _ => return None,
    };
    it.is_finite().then_some(it)
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Text(it) => write!(f, "`{}`", shortened(it)),
            Given::Whole(it) => write!(f, "`{it}`"),
            Given::Real(it) => write!(f, "`{it}`"),
            Given::Bool(it) => write!(f, "`{it}`"),
            Given::List(it) => write!(f, "a list of {}", it.len()),
            Given::Other(it) => f.write_str(it),
        }
    }
}

/// At most 60 characters of what somebody gave, on one line.
fn shortened(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(60)
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    if text.chars().count() > 60 {
        out.push('…');
    }
    out
}

impl Value {
    /// As a person reads it; a secret shows that it is there and nothing else.
    pub fn shown(&self) -> String {
        match self {
            Value::None => "none".to_owned(),
            Value::Whole(it) => it.to_string(),
            Value::Real(it) => it.to_string(),
            Value::Bool(it) => it.to_string(),
            Value::Text(it) => it.clone(),
            Value::List(items) => items.join(", "),
            Value::Secret(_) => "set".to_owned(),
        }
    }

    /// As JSON; a secret is `"set"`.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::None => serde_json::Value::Null,
            Value::Whole(it) => (*it).into(),
            Value::Real(it) => (*it).into(),
            Value::Bool(it) => (*it).into(),
            Value::Text(it) => it.clone().into(),
            Value::List(items) => items.clone().into(),
            Value::Secret(_) => "set".into(),
        }
    }

    /// Makes relative paths absolute: they are meant from `base`, and `~` is the home directory.
    pub(super) fn anchored(self, kind: Kind, base: &std::path::Path, home: Option<&str>) -> Value {
        let anchor = |text: String| -> String {
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
            (Kind::Path, Value::Text(it)) => Value::Text(anchor(it)),
            (Kind::Paths, Value::List(items)) => {
                Value::List(items.into_iter().map(anchor).collect())
            }
            (_, it) => it,
        }
    }
}
