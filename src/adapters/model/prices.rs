//! What models cost: the table `prices.toml`, and the price of a call.
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::seams::Tokens;

/// What a model costs, US dollars per million tokens unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What is sent.
    pub input: f64,
    /// What is sent and read from a cache; as `input` without one.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// What is sent and written to a cache; as `input` without one.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// What is written, reasoning included.
    pub output: f64,
    /// A call itself, US dollars.
    #[serde(default)]
    pub call: f64,
    /// What long calls cost, where they cost more.
    #[serde(default)]
    pub long: Option<Long>,
}

/// The price of calls with a long input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Long {
    /// Tokens of input that a call may have before it is a long one.
    pub after: u64,
    /// As [`Price::input`]; caches cost more by the same factor.
    pub input: f64,
    /// As [`Price::output`].
    pub output: f64,
}

/// Models by name or beginning of one, of each provider.
type Table = BTreeMap<String, BTreeMap<String, Price>>;

/// The providers that have another's models at the other's price.
const SAME: &[(&str, &str)] = &[("openai-responses", "openai"), ("vertex", "gemini")];

/// OpenRouter's word for a maker of models, and ours. It sells at the makers' own prices.
const MAKERS: &[(&str, &str)] = &[
    ("openai", "openai"),
    ("anthropic", "anthropic"),
    ("google", "gemini"),
    ("x-ai", "xai"),
];

impl Price {
    /// The list price of `model` at `provider`, by the longest beginning of its name in `prices.toml` that at most a date
    /// or a word such as `latest` follows. `None` is unknown, not free: a model that is not in the table may cost
    /// anything, even where its name begins like a known one's.
    pub fn of(provider: &str, model: &str) -> Option<Price> {
        static TABLE: OnceLock<Table> = OnceLock::new();
        // A test reads the table as well: one that cannot be read is empty, which is to say that no price is known.
        let table = TABLE.get_or_init(|| {
            toml_edit::de::from_str(include_str!("prices.toml")).unwrap_or_default()
        });
        if provider == "openrouter" {
            if model.ends_with(":free") {
                return Some(Price::default());
            }
            let (maker, model) = model.split_once('/')?;
            let maker = MAKERS.iter().find(|it| it.0 == maker)?.1;
            return listed(table.get(maker)?, model);
        }
        let same = SAME.iter().find(|it| it.0 == provider);
        listed(table.get(same.map_or(provider, |it| it.1))?, model)
    }

    /// What a call with these tokens costs, US dollars; tokens that are not told count as none.
    ///
    /// Cached tokens are part of the input: each is priced once, by what was done with it.
    pub fn cost(&self, tokens: &Tokens) -> f64 {
        let input = tokens.input.unwrap_or(0);
        let read = tokens.cached_input.unwrap_or(0).min(input);
        let written = tokens.cache_write.unwrap_or(0).min(input - read);
        let plain = input - read - written;
        let long = self.long.filter(|it| input > it.after);
        let (base, output) = long.map_or((self.input, self.output), |it| (it.input, it.output));
        let dearer = if self.input > 0.0 {
            base / self.input
        } else {
            1.0
        };
        let of_cache = |price: Option<f64>| price.map_or(base, |it| it * dearer);
        let millions = plain as f64 * base
            + read as f64 * of_cache(self.cached_input)
            + written as f64 * of_cache(self.cache_write)
            + tokens.output.unwrap_or(0) as f64 * output;
        millions / 1e6 + self.call
    }

    /// The most that a call with so many tokens can cost, US dollars: with whatever is dearest done to its input.
    pub fn most(&self, input: u64, output: u64) -> f64 {
        let as_cached = |cached_input: u64, cache_write: u64| {
            self.cost(&Tokens {
                input: Some(input),
                cached_input: Some(cached_input),
                cache_write: Some(cache_write),
                output: Some(output),
                reasoning_output: None,
            })
        };
        as_cached(0, 0)
            .max(as_cached(input, 0))
            .max(as_cached(0, input))
    }
}

fn listed(models: &BTreeMap<String, Price>, model: &str) -> Option<Price> {
    // OpenRouter writes a version with a point where its maker writes a dash.
    let dashed = |name: &str| name.replace('.', "-");
    let model = dashed(model);
    let fits = |name: &str| {
        let rest = model.strip_prefix(&dashed(name));
        name == "*" || rest.is_some_and(is_edition)
    };
    let found = models.iter().filter(|it| fits(it.0));
    found.max_by_key(|it| it.0.len()).map(|it| *it.1)
}

/// Whether what follows a model's name tells only which edition it is: `-2025-08-07`, `-latest`, `-preview-09-2025`. One
/// digit alone is a version, and that is another model.
fn is_edition(rest: &str) -> bool {
    if rest.is_empty() {
        return true;
    }
    let Some(rest) = rest.strip_prefix(['-', '@']) else {
        return false;
    };
    rest.split('-').all(|it| {
        let is_number = it.len() > 1 && it.bytes().all(|it| it.is_ascii_digit());
        is_number || matches!(it, "latest" | "preview" | "exp" | "beta")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::model::PROVIDERS;

    fn tokens(input: u64, read: u64, written: u64, output: u64) -> Tokens {
        Tokens {
            input: Some(input),
            cached_input: Some(read),
            cache_write: Some(written),
            output: Some(output),
            reasoning_output: None,
        }
    }

    #[test]
    fn the_table_can_be_read_and_names_known_providers() {
        let table: Table = toml_edit::de::from_str(include_str!("prices.toml")).unwrap();
        for (provider, models) in &table {
            assert!(PROVIDERS.iter().any(|it| it.name == provider), "{provider}");
            for (model, price) in models {
                let all = [price.input, price.output, price.call];
                assert!(all.iter().all(|it| (0.0..1000.0).contains(it)), "{model}");
                assert_eq!(Price::of(provider, model), Some(*price), "{model}");
            }
        }
    }

    #[test]
    fn the_longest_beginning_wins_and_another_model_is_unknown() {
        let input = |provider, model| Price::of(provider, model).map(|it| it.input);
        assert_eq!(input("openai", "gpt-5-2025-08-07"), Some(1.25));
        assert_eq!(input("openai", "gpt-5-mini-2025-08-07"), Some(0.25));
        assert_eq!(input("openai-responses", "gpt-5.1"), Some(1.25));
        assert_eq!(input("anthropic", "claude-opus-4-20250514"), Some(15.0));
        assert_eq!(input("anthropic", "claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(
            input("vertex", "gemini-2.5-flash-preview-09-2025"),
            Some(0.3)
        );
        assert_eq!(input("mistral", "mistral-large-latest"), Some(2.0));
        assert_eq!(input("cohere", "command-a-03-2025"), Some(2.5));
        for model in ["gpt-5.9", "gpt-5-ultra", "gpt-50", "claude"] {
            assert_eq!(input("openai", model), None, "{model}");
        }
        assert_eq!(input("anthropic", "claude-opus-4-9-20270101"), None);
        assert_eq!(
            input("azure", "gpt-5"),
            None,
            "a deployment can have any name"
        );
        assert_eq!(input("custom", "gpt-5"), None);
    }

    #[test]
    fn openrouter_sells_at_the_makers_price_and_your_own_machine_bills_nobody() {
        let claude = Price::of("openrouter", "anthropic/claude-sonnet-4.5").unwrap();
        assert_eq!(Some(claude), Price::of("anthropic", "claude-sonnet-4-5"));
        assert_eq!(Price::of("openrouter", "nobody/heard-of-it"), None);
        assert_eq!(Price::of("openrouter", "openai/gpt-5:online"), None);
        for (provider, model) in [
            ("openrouter", "qwen/qwen3-8b:free"),
            ("ollama", "qwen3:8b"),
            ("llamacpp", "any"),
            ("vllm", "Qwen/Qwen3-8B"),
            ("lmstudio", "x"),
        ] {
            let price = Price::of(provider, model).unwrap();
            assert_eq!(price.most(1_000_000, 1_000_000), 0.0, "{provider}");
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
        assert_eq!(
            price.cost(&tokens(million, million / 2, million / 4, 0)),
            2.75
        );
        // More cached than sent cannot be; no token is priced twice for it.
        assert_eq!(price.cost(&tokens(million, 9 * million, million, 0)), 1.0);
        assert_eq!(price.cost(&Tokens::default()), 0.0);
        assert_eq!(price.most(million, 0), 5.0);
    }

    #[test]
    fn a_long_call_costs_more_as_a_whole() {
        let price = Price::of("gemini", "gemini-2.5-pro").unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(price.cost(&tokens(200_000, 0, 0, 1000)), 0.26);
        close(price.cost(&tokens(200_001, 0, 0, 1000)), 0.515_002_5);
        close(price.cost(&tokens(400_000, 400_000, 0, 0)), 0.1);
    }
}
