//! Prices of models, and the cost of a call.
use serde::{Deserialize, Serialize};

use super::capabilities::ModelTable;
use ibid_core::ports::TokenUsage;

/// The price of a model, US dollars per million tokens unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Input read from a cache; `input` if `None`.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Input written to a cache; `input` if `None`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Output, including reasoning.
    pub output: f64,
    /// Per call, US dollars.
    #[serde(default)]
    pub call: f64,
    /// Prices for long inputs, if they differ.
    #[serde(default)]
    pub long: Option<LongInputPrice>,
}

/// Prices of calls with a long input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongInputPrice {
    /// Input tokens above which these prices apply.
    pub after: u64,
    /// As [`Price::input`]; cache prices rise by the same factor.
    pub input: f64,
    /// As [`Price::output`].
    pub output: f64,
}

impl Price {
    /// The list price of `model` at `provider` in the embedded [`ModelTable`].
    pub fn lookup(provider: &str, model: &str) -> Option<Price> {
        ModelTable::embedded().price(provider, model)
    }

    /// The cost of a call with these tokens, US dollars. Missing counts are taken as 0.
    ///
    /// Cached tokens are part of the input; each token is charged once, at its own rate.
    pub fn cost(&self, tokens: &TokenUsage) -> f64 {
        let input = tokens.input.unwrap_or(0);
        let read = tokens.cached_input.unwrap_or(0).min(input);
        let written = tokens.cache_write.unwrap_or(0).min(input - read);
        let plain = input - read - written;
        let long = self.long.filter(|long| input > long.after);
        let (base, output) =
            long.map_or((self.input, self.output), |long| (long.input, long.output));
        let dearer = if self.input > 0.0 { base / self.input } else { 1.0 };
        let of_cache = |price: Option<f64>| price.map_or(base, |price| price * dearer);
        let millions = plain as f64 * base
            + read as f64 * of_cache(self.cached_input)
            + written as f64 * of_cache(self.cache_write)
            + tokens.output.unwrap_or(0) as f64 * output;
        millions / 1e6 + self.call
    }

    /// The maximum cost of a call with these tokens, US dollars: all input is charged at the highest rate.
    pub fn max_cost(&self, input: u64, output: u64) -> f64 {
        let as_cached = |cached_input: u64, cache_write: u64| {
            self.cost(&TokenUsage {
                input: Some(input),
                cached_input: Some(cached_input),
                cache_write: Some(cache_write),
                output: Some(output),
                reasoning_output: None,
            })
        };
        as_cached(0, 0).max(as_cached(input, 0)).max(as_cached(0, input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PROVIDERS;
    use crate::capabilities::ModelCapabilities;

    fn tokens(input: u64, read: u64, written: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input: Some(input),
            cached_input: Some(read),
            cache_write: Some(written),
            output: Some(output),
            reasoning_output: None,
        }
    }

    #[test]
    fn the_table_can_be_read_and_names_known_providers() {
        let table: ModelTable = toml_edit::de::from_str(include_str!("models.toml")).unwrap();
        for (provider, model, row) in table.rows() {
            assert!(PROVIDERS.iter().any(|it| it.name == provider), "{provider}");
            if let Some(price) = row.price {
                let all = [price.input, price.output, price.call];
                assert!(all.iter().all(|it| (0.0..1000.0).contains(it)), "{model}");
                assert_eq!(Price::lookup(provider, model), Some(price), "{model}");
            }
            let is_cited = row.as_of.is_some() == row.source.is_some();
            assert!(is_cited, "{provider}/{model} has a date without a source, or the reverse");
            assert_ne!(*row, ModelCapabilities::default(), "{provider}/{model} says nothing");
        }
    }

    #[test]
    fn the_longest_beginning_wins_and_another_model_is_unknown() {
        let input = |provider, model| Price::lookup(provider, model).map(|lookup| lookup.input);
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
        let claude = Price::lookup("openrouter", "anthropic/claude-sonnet-4.5").unwrap();
        assert_eq!(Some(claude), Price::lookup("anthropic", "claude-sonnet-4-5"));
        assert_eq!(Price::lookup("openrouter", "nobody/heard-of-it"), None);
        assert_eq!(Price::lookup("openrouter", "openai/gpt-5:online"), None);
        for (provider, model) in [
            ("openrouter", "qwen/qwen3-8b:free"),
            ("ollama", "qwen3:8b"),
            ("llamacpp", "any"),
            ("vllm", "Qwen/Qwen3-8B"),
            ("lmstudio", "x"),
        ] {
            let price = Price::lookup(provider, model).unwrap();
            assert_eq!(price.max_cost(1_000_000, 1_000_000), 0.0, "{provider}");
        }
    }

    #[test]
    fn cached_tokens_are_priced_once() {
        let price = Price {
            input: 4.0,
            cached_input: Some(1.0),
            cache_write: Some(5.0),
            output: 10.0,
            ..Price::default()
        };
        let million = 1_000_000;
        assert_eq!(price.cost(&tokens(million, 0, 0, million)), 14.0);
        assert_eq!(price.cost(&tokens(million, million / 2, 0, 0)), 2.5);
        assert_eq!(price.cost(&tokens(million, million / 2, million / 4, 0)), 2.75);
        // More cached than sent cannot be; no token is priced twice for it.
        assert_eq!(price.cost(&tokens(million, 9 * million, million, 0)), 1.0);
        assert_eq!(price.cost(&TokenUsage::default()), 0.0);
        assert_eq!(price.max_cost(million, 0), 5.0);
    }

    #[test]
    fn a_long_call_costs_more_as_a_whole() {
        let price = Price::lookup("gemini", "gemini-2.5-pro").unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(price.cost(&tokens(200_000, 0, 0, 1000)), 0.26);
        close(price.cost(&tokens(200_001, 0, 0, 1000)), 0.515_002_5);
        close(price.cost(&tokens(400_000, 400_000, 0, 0)), 0.1);
    }
}
