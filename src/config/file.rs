//! Settings in TOML files: reading with lines, writing with the comments kept.
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, TableLike, Value as Toml};

use super::origin::{Found, Origin, judge};
use super::value::{Given, Value};
use super::{SETTINGS, Setting};
use crate::error::{Error, Kind, Result};

/// The setting called `name`, or an error that suggests the nearest.
///
/// # Errors
/// Kind `Usage`.
pub fn setting(name: &str) -> Result<&'static Setting> {
    Setting::named(name).ok_or_else(|| unknown(name, String::new()))
}

fn unknown(name: &str, place: String) -> Error {
    let fault = Error::new(Kind::Usage, format!("{place}there is no setting `{name}`"));
    let near = SETTINGS
        .iter()
        .map(|it| (strsim::jaro_winkler(name, it.name), it.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|it| it.0 > 0.75);
    match near {
        Some((_, near)) => fault.hint(format!("did you mean `{near}`?")),
        None => fault.hint("see `ibid config get` for all settings"),
    }
}

/// The values of a file; none where it does not exist.
pub(super) fn read(path: &Path) -> Result<Vec<Found>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(fault) => {
            return Err(
                Error::new(Kind::Setup, format!("reading {}", path.display())).because(fault),
            );
        }
    };
    let parsed = Document::parse(text.as_str()).map_err(|fault| no_toml(path, &text, &fault))?;
    let mut found = Vec::new();
    collect(parsed.as_table(), "", path, &text, &mut found)?;
    Ok(found)
}

fn no_toml(path: &Path, text: &str, fault: &toml_edit::TomlError) -> Error {
    let place = fault
        .span()
        .map_or_else(String::new, |it| format!(" line {}", line(text, Some(it))));
    Error::new(Kind::Usage, format!("reading {}{place}", path.display()))
        .because(fault.message().to_owned())
}

/// The line, from 1, that a span begins on.
fn line(text: &str, span: Option<Range<usize>>) -> usize {
    let upto = span.map_or(0, |it| it.start).min(text.len());
    text.as_bytes()[..upto]
        .iter()
        .filter(|it| **it == b'\n')
        .count()
        + 1
}

fn collect(
    table: &dyn TableLike,
    prefix: &str,
    path: &Path,
    text: &str,
    found: &mut Vec<Found>,
) -> Result<()> {
    for (key, item) in table.iter() {
        let mut name = format!("{prefix}{key}");
        // A role is a name, or a table that holds the name as `model` beside what else the role has of its own.
        if key == "model" && Setting::named(&name).is_none() {
            name.truncate(prefix.len().saturating_sub(1));
        }
        if let Some(inner) = item.as_table_like() {
            collect(inner, &format!("{name}."), path, text, found)?;
            continue;
        }
        let span = item
            .span()
            .or_else(|| table.key(key).and_then(|it| it.span()));
        let origin = Origin::File(path.to_owned(), line(text, span));
        let setting = Setting::named(&name).ok_or_else(|| unknown(&name, format!("{origin}: ")))?;
        found.push(Found {
            setting,
            given: given(item),
            origin,
        });
    }
    Ok(())
}

fn given(item: &Item) -> Given {
    match item.as_value() {
        Some(Toml::String(it)) => Given::Text(it.value().clone()),
        Some(Toml::Integer(it)) => Given::Whole(*it.value()),
        Some(Toml::Float(it)) => Given::Real(*it.value()),
        Some(Toml::Boolean(it)) => Given::Bool(*it.value()),
        Some(Toml::Datetime(_)) => Given::Other("a date"),
        Some(Toml::Array(items)) => items
            .iter()
            .map(|it| it.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .map_or(Given::Other("a list of something else"), Given::List),
        Some(Toml::InlineTable(_)) | None => Given::Other("a table"),
    }
}

/// Writes one setting into the file at `path`, which is made where it does not exist. Comments and
/// order stay.
///
/// # Errors
/// Kind `Usage` for an unknown setting or a value out of bounds, kind `Setup` when the file cannot
/// be written; what was there stays.
pub fn write(path: &Path, name: &str, value: &str) -> Result<Value> {
    let setting = setting(name)?;
    let judged = judge(&Found {
        setting,
        given: Given::Text(value.to_owned()),
        origin: Origin::Flag("config set"),
    })?;
    let writing = |fault: std::io::Error| {
        Error::new(Kind::Setup, format!("writing {}", path.display()))
            .because(fault)
            .hint("check the permissions of the file and its directory")
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == ErrorKind::NotFound => String::new(),
        Err(fault) => return Err(writing(fault)),
    };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|fault: toml_edit::TomlError| no_toml(path, &text, &fault))?;
    put(&mut document, setting.name, &judged);
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(writing)?;
    }
    // Beside and then over: a crash or a full disk in between leaves the old file whole.
    let beside = path.with_extension("toml.new");
    std::fs::write(&beside, document.to_string()).map_err(writing)?;
    std::fs::rename(&beside, path).map_err(writing)?;
    Ok(judged)
}

fn put(document: &mut DocumentMut, name: &str, value: &Value) {
    let written = match value {
        Value::None => Toml::from("none"),
        Value::Whole(it) => Toml::from(i64::try_from(*it).unwrap_or(i64::MAX)),
        Value::Real(it) => Toml::from(*it),
        Value::Bool(it) => Toml::from(*it),
        Value::Text(it) | Value::Secret(it) => Toml::from(it.as_str()),
        Value::List(items) => Toml::from_iter(items.iter().map(String::as_str)),
    };
    let mut parts: Vec<&str> = name.split('.').collect();
    let Some(mut key) = parts.pop() else { return };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, part) in parts.into_iter().enumerate() {
        let entry = table.entry(part).or_insert(match depth {
            0 => Item::Table(toml_edit::Table::new()),
            _ => Item::Value(Toml::from(toml_edit::InlineTable::new())),
        });
        if entry.as_table_like().is_none() {
            // The name of a role's model moves into the role's table.
            let named = entry.as_value().filter(|_| depth > 0).cloned();
            *entry = match named {
                Some(named) => Item::Value(Toml::from_iter([("model", named)])),
                None => Item::Table(toml_edit::Table::new()),
            };
        }
        match entry.as_table_like_mut() {
            Some(inner) => table = inner,
            None => return,
        }
    }
    if table.get(key).is_some_and(Item::is_table_like) {
        match table.get_mut(key).and_then(Item::as_table_like_mut) {
            Some(inner) => table = inner,
            None => return,
        }
        key = "model";
    }
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = written;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, Item::Value(written));
        }
    }
}
