//! The value of every setting, with its origin.
use std::time::Duration;

use serde::{Deserialize as _, Deserializer};
use serde_json::{Map, Value};

use super::origin::SettingOrigin;
use super::table::{SETTINGS, Setting};
use super::value::{SecretString, SettingKind, SettingValue};

/// The value that won for each setting, in the order of [`SETTINGS`].
#[derive(Debug, Clone)]
pub struct ResolvedSettings(pub(super) Vec<(SettingValue, SettingOrigin)>);

impl ResolvedSettings {
    /// Setting, value and origin, in the order of [`SETTINGS`].
    pub fn rows(&self) -> impl Iterator<Item = (&'static Setting, &SettingValue, &SettingOrigin)> {
        SETTINGS.iter().zip(&self.0).map(|(setting, (value, origin))| (setting, value, origin))
    }

    /// The settings whose name is `prefix` and a last part, by that part. A text that is not set is empty; `auto` as strategy is null.
    pub(super) fn table(&self, prefix: &str) -> Map<String, Value> {
        let rows = self.rows().filter_map(|(setting, value, _)| {
            let key = setting.name.strip_prefix(prefix).filter(|key| !key.contains('.'))?;
            let is_text = matches!(setting.kind, SettingKind::Text | SettingKind::Path);
            let value = match value {
                SettingValue::None if is_text => Value::from(""),
                SettingValue::Text(word) if key == "strategy" && word == "auto" => Value::Null,
                _ => value.to_json(),
            };
            Some((key.to_owned(), value))
        });
        rows.collect()
    }

    /// All settings, those of a table as an object under its name.
    pub(super) fn tree(&self) -> Map<String, Value> {
        let mut tree = self.table("");
        for name in
            ["budget", "embedding", "fleet", "mcp", "rerank", "vectors", "serve", "telemetry"]
        {
            tree.insert(name.to_owned(), Value::Object(self.table(&format!("{name}."))));
        }
        tree
    }

    fn get(&self, name: &str) -> &SettingValue {
        self.rows().find(|row| row.0.name == name).map_or(&SettingValue::None, |row| row.1)
    }

    pub(super) fn secret(&self, name: &str) -> Option<SecretString> {
        match self.get(name) {
            SettingValue::Secret(it) if !it.trim().is_empty() => Some(SecretString::new(it.trim())),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> &str {
        match self.get(name) {
            SettingValue::Text(it) => it,
            _ => "",
        }
    }
}

/// Reads seconds.
pub(super) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_secs)
}

/// Reads milliseconds.
pub(super) fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

/// Reads hours.
pub(super) fn hours<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(|count| Duration::from_secs(3600 * count))
}
