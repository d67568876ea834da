//! What is known of each model before it is asked: the table `models.toml`.
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::prices::Price;
use ibid_core::{Error, ErrorKind, Result};

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

impl Reasoning {
    /// Whether a request can say how much the model reasons.
    pub(crate) fn can_be_set(self) -> bool {
        !matches!(self, Reasoning::None | Reasoning::Always)
    }
}

/// A parameter of a request that some models refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// The sampling temperature.
    Temperature,
    /// Stop sequences.
    Stop,
    /// The maximum number of tokens of the answer.
    MaxTokens,
    /// The schema of the answer.
    #[serde(rename = "response_format")]
    Schema,
    /// The effort of reasoning.
    #[serde(rename = "reasoning_effort")]
    Effort,
    /// The request for token counts in a stream.
    #[serde(rename = "stream_options")]
    StreamUsage,
}

impl Parameter {
    /// The parameter that a service calls `name`, in whichever dialect.
    pub fn from_name(name: &str) -> Option<Parameter> {
        let name = name.to_lowercase().replace(['_', '.', ' '], "");
        let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
        Some(match () {
            () if holds(&["temperature", "topp"]) => Parameter::Temperature,
            () if holds(&["streamoptions"]) => Parameter::StreamUsage,
            () if holds(&["reasoning", "think", "effort"]) => Parameter::Effort,
            () if holds(&["maxtokens", "maxcompletiontokens", "maxoutputtokens", "numpredict"]) => {
                Parameter::MaxTokens
            }
            () if holds(&["responseformat", "schema", "outputconfig", "outputformat"])
                || holds(&["textformat", "structuredoutput", "toolchoice", "tools"]) =>
            {
                Parameter::Schema
            }
            () if holds(&["stop"]) => Parameter::Stop,
            () => return None,
        })
    }
}

/// How a provider is asked for structured output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The provider enforces the schema.
    Native,
    /// The provider enforces JSON; the schema is part of the prompt.
    JsonMode,
    /// The model must call a tool whose arguments have the schema.
    Tool,
    /// Nothing is enforced; the schema is part of the prompt.
    Prompted,
}

/// Fewest tokens of a window or an answer that a row may have.
const MIN_TOKENS: u32 = 256;

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

impl ModelCapabilities {
    /// What no model can have, with the name of its field.
    fn check(&self) -> std::result::Result<(), String> {
        for (name, tokens) in [("window", self.window), ("max_output", self.max_output)] {
            if tokens.is_some_and(|tokens| tokens < MIN_TOKENS) {
                return Err(format!("`{name}` is below {MIN_TOKENS} tokens"));
            }
        }
        let is_day = |text: &String| {
            let parts: Vec<&str> = text.split('-').collect();
            let digits = parts.iter().all(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
            digits
                && matches!(parts.as_slice(), [y, m, d] if (y.len(), m.len(), d.len()) == (4, 2, 2))
        };
        if !self.as_of.as_ref().is_none_or(is_day) {
            return Err("`as_of` is no date such as 2026-11-29".to_owned());
        }
        match &self.price {
            Some(price) if !price.is_valid() => {
                Err("a `price` is negative or no number".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Whether the model is known to reason as much as a request says.
    pub fn takes_effort(&self) -> bool {
        self.reasoning.is_some_and(Reasoning::can_be_set)
            && !self.refuses.contains(&Parameter::Effort)
    }
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
            Error::new(ErrorKind::Usage, "reading the table of models").with_source(cause)
        })?;
        let mut table = ModelTable::embedded().clone();
        for (provider, rows) in own.0 {
            for (model, row) in &rows {
                row.check().map_err(|what| {
                    let message = format!("the table of models: [{provider}] {model}: {what}");
                    Error::new(ErrorKind::Usage, message)
                })?;
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PROVIDERS;
    use crate::prices::tests::tokens;

    fn list_price(provider: &str, model: &str) -> Option<Price> {
        ModelTable::embedded().price(provider, model)
    }

    #[test]
    fn the_table_can_be_read_and_names_known_providers() {
        let table: ModelTable = toml_edit::de::from_str(include_str!("models.toml")).unwrap();
        for (provider, model, row) in table.rows() {
            assert!(PROVIDERS.iter().any(|it| it.name == provider), "{provider}");
            if let Some(price) = row.price {
                let all = [price.input, price.output, price.call];
                assert!(all.iter().all(|it| (0.0..1000.0).contains(it)), "{model}");
                assert_eq!(list_price(provider, model), Some(price), "{model}");
            }
            let is_cited = row.as_of.is_some() == row.source.is_some();
            assert!(is_cited, "{provider}/{model} has a date without a source, or the reverse");
            assert_ne!(*row, ModelCapabilities::default(), "{provider}/{model} says nothing");
        }
    }

    #[test]
    fn the_longest_beginning_wins_and_another_model_is_unknown() {
        let input = |provider, model| list_price(provider, model).map(|lookup| lookup.input);
        assert_eq!(input("openai", "gpt-5-2025-08-07"), Some(1.25));
        assert_eq!(input("openai", "gpt-5-mini-2025-08-07"), Some(0.25));
        assert_eq!(input("openai-responses", "gpt-5.1"), Some(1.25));
        assert_eq!(input("anthropic", "claude-opus-4-20250514"), Some(15.0));
        assert_eq!(input("anthropic", "claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(input("vertex", "gemini-2.5-flash-preview-09-2025"), Some(0.3));
        assert_eq!(input("mistral", "mistral-large-latest"), Some(2.0));
        assert_eq!(input("cohere", "command-a-03-2025"), Some(2.5));
        for model in ["gpt-5.9", "gpt-5-ultra", "gpt-50", "claude"] {
            assert_eq!(input("openai", model), None, "{model}");
        }
        assert_eq!(input("anthropic", "claude-opus-4-9-20270101"), None);
        assert_eq!(input("azure", "gpt-5"), None, "a deployment can have any name");
        assert_eq!(input("custom", "gpt-5"), None);
    }

    #[test]
    fn openrouter_sells_at_the_makers_price_and_your_own_machine_bills_nobody() {
        let claude = list_price("openrouter", "anthropic/claude-sonnet-4.5").unwrap();
        assert_eq!(Some(claude), list_price("anthropic", "claude-sonnet-4-5"));
        assert_eq!(list_price("openrouter", "nobody/heard-of-it"), None);
        assert_eq!(list_price("openrouter", "openai/gpt-5:online"), None);
        for (provider, model) in [
            ("openrouter", "qwen/qwen3-8b:free"),
            ("ollama", "qwen3:8b"),
            ("llamacpp", "any"),
            ("vllm", "Qwen/Qwen3-8B"),
            ("lmstudio", "x"),
        ] {
            let price = list_price(provider, model).unwrap();
            assert_eq!(price.max_cost(1_000_000, 1_000_000), 0.0, "{provider}");
        }
    }

    #[test]
    fn a_long_call_costs_more_as_a_whole() {
        let price = list_price("gemini", "gemini-2.5-pro").unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(price.cost(&tokens(200_000, 0, 0, 1000)), 0.26);
        close(price.cost(&tokens(200_001, 0, 0, 1000)), 0.515_002_5);
        close(price.cost(&tokens(400_000, 400_000, 0, 0)), 0.1);
    }

    #[test]
    fn a_later_model_is_taken_to_be_alike_and_another_is_not() {
        let known = |provider, model| ModelTable::embedded().capabilities(provider, model);
        assert_eq!(known("ollama", "qwen3:8b").reasoning, Some(Reasoning::Toggle));
        assert_eq!(known("vllm", "Qwen/Qwen3-8B").reasoning, Some(Reasoning::Toggle));
        assert_eq!(known("openai", "gpt-4o").reasoning, Some(Reasoning::None));
        assert_eq!(known("openrouter", "openai/gpt-4o").reasoning, Some(Reasoning::None));
        assert_eq!(known("custom", "gpt-4o"), ModelCapabilities::default());
        let own = ModelTable::with_rows(
            "[custom]\nmine = { reasoning = \"effort\", efforts = [\"low\"], refuses = [\"temperature\"] }",
        );
        let mine = own.unwrap().capabilities("custom", "mine-2");
        assert_eq!(mine.refuses, [Parameter::Temperature]);
        for wrong in [
            "colour = 1",
            "window = 10",
            "as_of = \"yesterday\"",
            "price = { input = -5, output = 1 }",
        ] {
            let table = format!("[custom]\nmine = {{ {wrong} }}");
            assert!(ModelTable::with_rows(&table).is_err(), "{wrong}");
        }
    }
}
