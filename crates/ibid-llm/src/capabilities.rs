//! What is known of each model before it is asked: the table `models.toml`.
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::prices::Price;
use super::request::{Parameter, SchemaMode};
use ibid_core::{Error, Kind, Result};

/// How the reasoning of a model is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// The model does not reason.
    None,
    /// A word sets the effort.
    Effort,
    /// A number of tokens sets it. Unless a number is sent, models of Anthropic do not reason.
    Budget,
    /// A word sets the effort, in the form of Anthropic's API.
    Adaptive,
    /// It is on or off.
    Toggle,
    /// It cannot be controlled.
    Always,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCapabilities {
    /// How its reasoning is controlled; `None` if unknown.
    #[serde(default)]
    pub reasoning: Option<Reasoning>,
    /// The words of effort that it accepts, lowest first.
    #[serde(default)]
    pub efforts: Vec<String>,
    /// The word of effort that holds if none is sent.
    #[serde(default)]
    pub default_effort: Option<String>,
    /// Parameters that it answers with an error.
    #[serde(default)]
    pub refuses: Vec<Parameter>,
    /// Parameters that it answers with an error while it reasons.
    #[serde(default)]
    pub refuses_thinking: Vec<Parameter>,
    /// How it accepts a JSON schema, if not as its provider's other models do.
    #[serde(default)]
    pub schemas: Option<SchemaMode>,
    /// Context window in tokens, prompt and answer together.
    #[serde(default)]
    pub window: Option<u32>,
    /// Maximum tokens of an answer, including reasoning.
    #[serde(default)]
    pub max_output: Option<u32>,
    /// The list price; unknown if `None`.
    #[serde(default)]
    pub price: Option<Price>,
    /// The date on which the facts were read.
    #[serde(default)]
    pub as_of: Option<String>,
    /// The URL at which the facts were read.
    #[serde(default)]
    pub source: Option<String>,
}

/// Rows by provider, then by model name or prefix.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ModelTable(BTreeMap<String, BTreeMap<String, ModelCapabilities>>);

/// Providers that resell another's models at the same prices, under the same names.
const SAME: &[(&str, &str)] = &[("openai-responses", "openai"), ("vertex", "gemini")];

/// OpenRouter's names for model vendors, and ours. It charges the vendors' own prices.
const MAKERS: &[(&str, &str)] =
    &[("openai", "openai"), ("anthropic", "anthropic"), ("google", "gemini"), ("x-ai", "xai")];

impl ModelTable {
    /// The table that is part of the program.
    pub fn embedded() -> &'static ModelTable {
        static TABLE: OnceLock<ModelTable> = OnceLock::new();
        // A test reads the table as well. If it cannot be parsed, it is empty and nothing is known.
        TABLE.get_or_init(|| {
            toml_edit::de::from_str(include_str!("models.toml")).unwrap_or_default()
        })
    }

    /// The embedded table with the rows of `text`, a file of the same form, which win.
    ///
    /// # Errors
    /// `Usage` if `text` is not of this form.
    pub fn with_rows(text: &str) -> Result<ModelTable> {
        let own: ModelTable = toml_edit::de::from_str(text).map_err(|cause| {
            Error::new(Kind::Usage, "reading the table of models").with_source(cause)
        })?;
        let mut table = ModelTable::embedded().clone();
        for (provider, rows) in own.0 {
            table.0.entry(provider).or_default().extend(rows);
        }
        Ok(table)
    }

    /// The list price of `model` at `provider`, by the longest prefix of its name; only a date or a word such as
    /// `latest` may follow the prefix. `None` means unknown, not free: a model that is not in the table may cost
    /// anything, even if its name starts like a known one.
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
        if provider == "openrouter" {
            if model.ends_with(":free") {
                return Some(Price::default());
            }
            if let Some(row) = self.find(provider, model, is_edition) {
                return row.price;
            }
            let (maker, model) = model.split_once('/')?;
            let maker = MAKERS.iter().find(|it| it.0 == maker)?.1;
            return self.find(maker, model, is_edition)?.price;
        }
        self.find(original(provider), model, is_edition)?.price
    }

    /// What is known of `model` at `provider`: the row with the longest prefix of its name. A model with a longer name,
    /// such as a later version, is taken to be alike. Empty if there is no row.
    pub fn capabilities(&self, provider: &str, model: &str) -> ModelCapabilities {
        let alike = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphabetic());
        let maker = || {
            let (maker, model) = model.split_once('/').filter(|_| provider == "openrouter")?;
            let maker = MAKERS.iter().find(|it| it.0 == maker)?.1;
            self.find(maker, model, alike)
        };
        let row = self.find(original(provider), model, alike).or_else(maker);
        row.cloned().unwrap_or_default()
    }

    /// The row of `provider` with the longest name that `model` begins with and whose rest `fits`.
    fn find(
        &self,
        provider: &str,
        model: &str,
        fits: impl Fn(&str) -> bool,
    ) -> Option<&ModelCapabilities> {
        // OpenRouter writes versions with a dot where the vendor has a dash; local servers differ in case.
        let plain = |name: &str| name.replace('.', "-").to_lowercase();
        let model = plain(model);
        let rows = self.0.get(provider)?.iter().filter(|(name, row)| {
            let rest = model.strip_prefix(&plain(name));
            name.as_str() == "*" && row.price.is_some() || rest.is_some_and(&fits)
        });
        rows.max_by_key(|row| row.0.len()).map(|row| row.1)
    }

    #[cfg(test)]
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &str, &ModelCapabilities)> {
        self.0.iter().flat_map(|(provider, rows)| {
            rows.iter().map(|(name, row)| (provider.as_str(), name.as_str(), row))
        })
    }
}

fn original(provider: &str) -> &str {
    SAME.iter().find(|pair| pair.0 == provider).map_or(provider, |pair| pair.1)
}

/// Whether the rest of a model name only identifies an edition: `-2025-08-07`, `-latest`, `-preview-09-2025`. A
/// single digit is a version, and so another model.
fn is_edition(rest: &str) -> bool {
    if rest.is_empty() {
        return true;
    }
    let Some(rest) = rest.strip_prefix(['-', '@']) else {
        return false;
    };
    rest.split('-').all(|word| {
        let is_number = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_digit());
        is_number || matches!(word, "latest" | "preview" | "exp" | "beta")
    })
}
