//! Prices of models, and the cost of a call.
use serde::{Deserialize, Serialize};

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

    /// Whether no part of it is negative or no number.
    pub(crate) fn is_valid(&self) -> bool {
        let parts = [Some(self.input), self.cached_input, self.cache_write, Some(self.output)];
        let long = self.long.map_or([0.0; 2], |it| [it.input, it.output]);
        let all = parts.into_iter().flatten().chain([self.call]).chain(long);
        all.into_iter().all(|part| part.is_finite() && part >= 0.0)
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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn tokens(input: u64, read: u64, written: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input: Some(input),
            cached_input: Some(read),
            cache_write: Some(written),
            output: Some(output),
            reasoning_output: None,
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
}
