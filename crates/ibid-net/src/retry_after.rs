//! Reads the delay that a provider requests before a retry.
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde_json::Value;

use crate::json::list_field;

/// Maximum plausible delay.
const MAX_DELAY: Duration = Duration::from_secs(24 * 3600);

/// The headers of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHeaders(pub Vec<(String, String)>);

impl ResponseHeaders {
    /// Reads headers from a JSON object; returns none if `value` is not an object.
    pub fn from_json(value: &Value) -> ResponseHeaders {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let all = value.as_object().into_iter().flatten();
        ResponseHeaders(all.map(|(name, it)| (name.clone(), text(it))).collect())
    }

    /// Returns the first value of the header `name`, in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|pair| pair.0.eq_ignore_ascii_case(name));
        found.map(|pair| pair.1.as_str())
    }

    /// Returns the `date` header in seconds since 1970, by the server's clock.
    pub fn date(&self) -> Option<i64> {
        let date = jiff::fmt::rfc2822::parse(self.get("date")?.trim()).ok()?;
        Some(date.timestamp().as_second())
    }
}

/// Returns the delay requested by the headers, by `error` in Google's format, or by the message `lower` (in lower case)
/// in OpenAI's format.
pub(super) fn requested_wait(
    headers: &ResponseHeaders,
    error: Option<&Value>,
    lower: &str,
) -> Option<Duration> {
    let found = wait_in_headers(headers)
        .or_else(|| {
            let delay = |value: &Value| parse_duration(value.get("retryDelay")?.as_str()?);
            list_field(error?, "details").iter().find_map(delay)
        })
        .or_else(|| wait_in_headers(&gateway_headers(error?)))
        .or_else(|| {
            let after = ["try again in ", "retry in ", "retry after "]
                .iter()
                .find_map(|it| lower.split_once(it))?
                .1;
            let mut words =
                after.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ')']));
            let (count, unit) = (words.next()?, words.next().unwrap_or_default());
            parse_duration(&format!("{count}{unit}")).or_else(|| parse_duration(count))
        });
    found.filter(|it| *it <= MAX_DELAY)
}

fn wait_in_headers(headers: &ResponseHeaders) -> Option<Duration> {
    if let Some(ms) = headers.get("retry-after-ms").and_then(|header| header.trim().parse().ok()) {
        return seconds(ms).map(|second| second / 1000);
    }
    let value = headers.get("retry-after")?.trim();
    if let Ok(count) = value.parse() {
        return seconds(count);
    }
    // Relative to the server's own `date`, so that the local clock does not matter.
    let until = jiff::fmt::rfc2822::parse(value).ok()?;
    let wait = until.timestamp().as_second() - headers.date()?;
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
}

/// Returns the upstream headers that a gateway quotes in its error.
fn gateway_headers(error: &Value) -> ResponseHeaders {
    let headers = error.pointer("/metadata/headers");
    headers.map(ResponseHeaders::from_json).unwrap_or_default()
}

/// Parses `34.4s`, `1m26.4s`, `2h`, `450ms`, or a number of seconds.
fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(count) = text.parse() {
        return seconds(count);
    }
    let span: Span = text.parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_the_forms_of_providers() {
        let ms = |text: &str| parse_duration(text).map(|duration| duration.as_millis());
        for (text, wanted) in [
            ("34.4s", 34_400),
            ("1h12m57.6s", 4_377_600),
            ("450ms", 450),
            ("20", 20_000),
            ("20seconds", 20_000),
            ("2minutes", 120_000),
            ("2days", 172_800_000),
        ] {
            assert_eq!(ms(text), Some(wanted), "{text}");
        }
        for text in ["", "soon", "-5s", "-5", "inf", "NaN", "5parsecs"] {
            assert_eq!(ms(text), None, "{text}");
        }
    }
}
