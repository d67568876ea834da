//! Brave, a search engine with an index of its own.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::{keywords, with_sites};
use super::response::{self, ReadResult, hit, parse_date, plain_text, text_field};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query, Untrusted, Vertical};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum length of a query, in characters and in words.
const MAX_QUERY_CHARS: usize = 400;
const MAX_QUERY_WORDS: usize = 50;
/// The list price of one search, US dollars: $5 per thousand (brave.com/search/api, 2026-09).
const PRICE: f64 = 0.005;

/// `GET /res/v1/web/search`, `/res/v1/news/search`.
struct Brave;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Brave)
}

#[async_trait]
impl EngineApi for Brave {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let text = few_words(&with_sites(query, MAX_QUERY_CHARS));
        let (path, most) = match query.vertical() {
            Vertical::News => ("/res/v1/news/search", 50),
            _ => ("/res/v1/web/search", 20),
        };
        let count = query.limit.min(most).to_string();
        let mut asked = vec![("q", text.as_str()), ("count", count.as_str())];
        // Brave supports only ranges. Hits outside a single bound are removed later, for all engines.
        let range = query.since.as_ref().zip(query.until.as_ref());
        let range = range.map(|(since, until)| format!("{since}to{until}"));
        asked.extend(range.as_deref().map(|range| ("freshness", range)));
        service.request(&ServiceRequest::get(path, &asked), read).await
    }
}

/// Cuts a query to [`WORDS`] words, significant ones first.
fn few_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() <= MAX_QUERY_WORDS {
        return text.to_owned();
    }
    // The operators are at the end.
    let bounds: Vec<&str> = words.iter().copied().filter(|word| word.contains("site:")).collect();
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.contains("site:")).collect();
    let mut kept = keywords(&plain.join(" "));
    kept.truncate(MAX_QUERY_WORDS.saturating_sub(bounds.len()));
    kept.extend(bounds.iter().take(MAX_QUERY_WORDS - kept.len()).map(|bound| (*bound).to_owned()));
    kept.join(" ")
}

/// Parses the hits of an answer: those of the web under `web`, those of news at the top.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let paths = ["/web/results", "/results", "/news/results"];
    let rows = paths.iter().find_map(|path| value.pointer(path)?.as_array()).map(Vec::as_slice);
    let rows = match rows {
        Some(rows) => rows,
        // An answer without hits has no `web`, but has the query.
        None if value.get("query").is_some() => &[],
        None => {
            return Err(ServiceError::malformed("its response has no list `web.results`"));
        }
    };
    let found = rows.iter().filter_map(|row| {
        let mut hit = hit("brave", row, "url", "title", "description")?;
        let more = row.get("extra_snippets").and_then(Value::as_array);
        let more: Vec<&str> =
            more.into_iter().flatten().filter_map(Value::as_str).take(5).collect();
        if !more.is_empty() {
            let all = format!(
                "{} … {}",
                text_field(row, "description").unwrap_or_default(),
                more.join(" … ")
            );
            hit.snippet = Untrusted::new(plain_text(&all, 2_000));
        }
        // `page_age` is a day, `age` words like "2 days ago".
        hit.date = ["page_age", "age"].iter().find_map(|name| parse_date(text_field(row, name)?));
        Some(hit)
    });
    Ok(Hits { hits: found.collect(), cost_usd: Some(PRICE), ..Hits::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_of_the_web_and_of_the_news_are_read_and_none_is_no_fault() {
        let of =
            |value: Value| read(200, &ResponseHeaders::default(), value.to_string().as_bytes());
        let row = json!({"url": "https://a.example/", "title": "A <strong>cork</strong>", "description": "floats",
            "page_age": "2024-05-06T07:08:09", "extra_snippets": ["it is bark"]});
        let hits = of(json!({"web": {"results": [row]}})).unwrap();
        assert_eq!(hits.hits[0].title, "A cork");
        assert_eq!(hits.hits[0].snippet.expose(), "floats … it is bark");
        assert_eq!(hits.hits[0].date.as_deref(), Some("2024-05-06"));
        assert_eq!(of(json!({"results": [row]})).unwrap().hits.len(), 1);
        assert!(of(json!({"query": {"original": "x"}})).unwrap().hits.is_empty());
        assert!(of(json!({"type": "search"})).is_err());
    }

    #[test]
    fn no_query_has_more_than_fifty_words() {
        let long: Vec<String> = (0..80).map(|index| format!("word{index}")).collect();
        let text = format!("{} site:a.example", long.join(" "));
        let cut = few_words(&text);
        assert_eq!(cut.split(' ').count(), 50);
        assert!(cut.ends_with("site:a.example"));
    }
}
