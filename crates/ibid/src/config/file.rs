//! Settings in TOML files: read with line numbers, written with comments preserved.
use std::io;
use std::ops::Range;
use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, TableLike, Value as Toml};

use super::origin::{LayerValue, SettingOrigin, validate};
use super::table::{SETTINGS, Setting};
use super::value::{RawValue, SettingValue};
use ibid_core::{Error, ErrorKind, Result};

/// The table of the MCP servers, which `mcp_sources.rs` reads.
pub(super) const MCP_TABLE: &str = "mcp_sources";
/// The least Jaro-Winkler similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.75;

/// The setting `name`.
///
/// # Errors
/// `Usage` for an unknown name, with the most similar one as a hint.
pub fn find_setting(name: &str) -> Result<&'static Setting> {
    Setting::by_name(name).ok_or_else(|| unknown(name, String::new()))
}

fn unknown(name: &str, place: String) -> Error {
    let fault = Error::new(ErrorKind::Usage, format!("{place}there is no setting `{name}`"));
    let near = SETTINGS
        .iter()
        .map(|setting| (strsim::jaro_winkler(name, setting.name), setting.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|pair| pair.0 > MIN_SIMILARITY);
    match near {
        Some((_, near)) => fault.with_hint(format!("did you mean `{near}`?")),
        None => fault.with_hint("see `ibid config get` for all settings"),
    }
}

/// The values in a file; none if it does not exist.
pub(super) fn read(path: &Path) -> Result<Vec<LayerValue>> {
    let Some(text) = read_text(path)? else { return Ok(Vec::new()) };
    let parsed = Document::parse(text.as_str()).map_err(|fault| toml_error(path, &text, &fault))?;
    let mut found = Vec::new();
    collect(parsed.as_table(), "", path, &text, &mut found)?;
    Ok(found)
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read_text(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => {
            Err(Error::new(ErrorKind::Setup, format!("reading {}", path.display()))
                .with_source(fault))
        }
    }
}

pub(super) fn toml_error(path: &Path, text: &str, fault: &toml_edit::TomlError) -> Error {
    let place = fault
        .span()
        .map_or_else(String::new, |it| format!(" line {}", line_number(text, Some(it))));
    Error::new(ErrorKind::Usage, format!("reading {}{place}", path.display()))
        .with_source(fault.message().to_owned())
}

/// The line on which a span begins, from 1.
fn line_number(text: &str, span: Option<Range<usize>>) -> usize {
    let upto = span.map_or(0, |span| span.start).min(text.len());
    text.as_bytes()[..upto].iter().filter(|it| **it == b'\n').count() + 1
}

fn collect(
    table: &dyn TableLike,
    prefix: &str,
    path: &Path,
    text: &str,
    found: &mut Vec<LayerValue>,
) -> Result<()> {
    for (key, item) in table.iter() {
        // Not settings, but a table for each MCP server.
        if prefix.is_empty() && key == MCP_TABLE {
            continue;
        }
        let mut name = format!("{prefix}{key}");
        // The value of a role is the name of its model, or a table with the name as `model` and the fields of its endpoint.
        if key == "model" && Setting::by_name(&name).is_none() {
            name.truncate(prefix.len().saturating_sub(1));
        }
        if let Some(inner) = item.as_table_like() {
            collect(inner, &format!("{name}."), path, text, found)?;
            continue;
        }
        let span = item.span().or_else(|| table.key(key).and_then(|key| key.span()));
        let origin = SettingOrigin::File(path.to_owned(), line_number(text, span));
        let setting =
            Setting::by_name(&name).ok_or_else(|| unknown(&name, format!("{origin}: ")))?;
        found.push(LayerValue { setting, given: raw_value(item), origin });
    }
    Ok(())
}

fn raw_value(item: &Item) -> RawValue {
    match item.as_value() {
        Some(Toml::String(it)) => RawValue::Text(it.value().clone()),
        Some(Toml::Integer(it)) => RawValue::Whole(*it.value()),
        Some(Toml::Float(it)) => RawValue::Real(*it.value()),
        Some(Toml::Boolean(it)) => RawValue::Bool(*it.value()),
        Some(Toml::Datetime(_)) => RawValue::Other("a date"),
        Some(Toml::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .map_or(RawValue::Other("a list of something else"), RawValue::List),
        Some(Toml::InlineTable(_)) | None => RawValue::Other("a table"),
    }
}

/// Writes one setting into the file at `path`, and creates the file if needed. Keeps comments and order.
///
/// # Errors
/// `Usage` for an unknown setting or an invalid value, `Setup` when the file cannot be written; the old file then stays.
pub fn write(path: &Path, name: &str, value: &str) -> Result<SettingValue> {
    let setting = find_setting(name)?;
    let value = validate(&LayerValue {
        setting,
        given: RawValue::Text(value.to_owned()),
        origin: SettingOrigin::Flag("config set"),
    })?;
    let mut document = open(path)?;
    insert(&mut document, setting.name, &value);
    // A later line with the former name would take precedence.
    if let Some((table, key)) = setting.former_name().and_then(|name| name.split_once('.'))
        && let Some(table) = document.get_mut(table).and_then(Item::as_table_like_mut)
    {
        table.remove(key);
    }
    save(path, &document)?;
    Ok(value)
}

/// Removes one setting from the file at `path`, so that its default applies. Keeps comments and order.
///
/// # Errors
/// `Usage` for an unknown setting, `Setup` when the file cannot be written; the old file then stays.
pub fn unset(path: &Path, name: &str) -> Result<()> {
    let setting = find_setting(name)?;
    let mut document = open(path)?;
    let mut parts: Vec<&str> = setting.name.split('.').collect();
    let Some(key) = parts.pop() else { return Ok(()) };
    let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for part in parts {
        table = table.and_then(|it| it.get_mut(part)).and_then(Item::as_table_like_mut);
    }
    match table.and_then(|table| table.remove(key)) {
        Some(_) => save(path, &document),
        None => Ok(()),
    }
}

fn write_error(path: &Path, fault: std::io::Error) -> Error {
    Error::new(ErrorKind::Setup, format!("writing {}", path.display()))
        .with_source(fault)
        .with_hint("check the permissions of the file and its directory")
}

/// The file at `path`; empty if there is none.
pub(super) fn open(path: &Path) -> Result<DocumentMut> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => String::new(),
        Err(fault) => return Err(write_error(path, fault)),
    };
    text.parse().map_err(|fault: toml_edit::TomlError| toml_error(path, &text, &fault))
}

pub(super) fn save(path: &Path, document: &DocumentMut) -> Result<()> {
    let writing = |fault| write_error(path, fault);
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(writing)?;
    }
    // Written to a temporary file and renamed: a crash or a full disk leaves the old file intact.
    let temporary = path.with_extension("toml.new");
    std::fs::write(&temporary, document.to_string()).map_err(writing)?;
    std::fs::rename(&temporary, path).map_err(writing)
}

fn insert(document: &mut DocumentMut, name: &str, value: &SettingValue) {
    let written = match value {
        SettingValue::None => Toml::from("none"),
        SettingValue::Whole(it) => Toml::from(i64::try_from(*it).unwrap_or(i64::MAX)),
        SettingValue::Real(it) => Toml::from(*it),
        SettingValue::Bool(it) => Toml::from(*it),
        SettingValue::Text(it) | SettingValue::Secret(it) => Toml::from(it.as_str()),
        SettingValue::List(items) => Toml::from_iter(items.iter().map(String::as_str)),
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
            // `role = "name"` becomes `role = { model = "name" }`.
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
