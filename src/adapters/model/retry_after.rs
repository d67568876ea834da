//! How long a provider asks to wait before the next try.
use std::time::Duration;

use serde_json::Value;

use super::fault::list;

/// The longest wait that is believed.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The headers of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The headers that a JSON object spells; none where `value` is something else.
    pub fn of_value(value: &Value) -> Headers {
        let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let all = value.as_object().into_iter().flatten();
        Headers(all.map(|(name, it)| (name.clone(), text(it))).collect())
    }

    /// The first value of `name`, in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|it| it.0.eq_ignore_ascii_case(name));
        found.map(|it| it.1.as_str())
    }

    /// When the server says that it answered, by its own clock, in seconds since 1970.
    pub fn date(&self) -> Option<i64> {
        let date = jiff::fmt::rfc2822::parse(self.get("date")?.trim()).ok()?;
        Some(date.timestamp().as_second())
    }
}

/// The wait that headers ask for, or `error` in Google's form, or the words `said` (in lower case) in OpenAI's.
pub(super) fn asked(headers: &Headers, error: Option<&Value>, said: &str) -> Option<Duration> {
    let found = of_headers(headers)
        .or_else(|| {
            let delay = |it: &Value| spelt(it.get("retryDelay")?.as_str()?);
            list(error?, "details").iter().find_map(delay)
        })
        .or_else(|| of_headers(&passed_on(error?)))
        .or_else(|| {
            let after = ["try again in ", "retry in ", "retry after "]
                .iter()
                .find_map(|it| said.split_once(it))?
                .1;
            let mut words = after
                .split_whitespace()
                .map(|it| it.trim_end_matches(['.', ',', ')']));
            let (count, unit) = (words.next()?, words.next().unwrap_or_default());
            spelt(&format!("{count}{unit}")).or_else(|| spelt(count))
        });
    found.filter(|it| *it <= LONGEST)
}

fn of_headers(headers: &Headers) -> Option<Duration> {
    if let Some(ms) = headers
        .get("retry-after-ms")
        .and_then(|it| it.trim().parse().ok())
    {
        return seconds(ms).map(|it| it / 1000);
    }
    let value = headers.get("retry-after")?.trim();
    if let Ok(count) = value.parse() {
        return seconds(count);
    }
    // A date is measured by the server's own clock, so that ours does not matter.
    let until = jiff::fmt::rfc2822::parse(value).ok()?;
    let wait = until.timestamp().as_second() - headers.date()?;
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
}

/// The headers that a gateway passes on in its message.
fn passed_on(error: &Value) -> Headers {
    let headers = error.pointer("/metadata/headers");
    headers.map(Headers::of_value).unwrap_or_default()
}

/// `34.4s`, `1m26.4s`, `2h`, `450ms`, or a bare count of seconds.
fn spelt(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let count: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        sum += count
            * match &rest[..letters] {
                "ms" => 0.001,
                "" | "s" | "sec" | "second" | "seconds" => 1.0,
                "m" | "min" | "minute" | "minutes" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    if text.trim().is_empty() {
        None
    } else {
        seconds(sum)
    }
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok()
}
