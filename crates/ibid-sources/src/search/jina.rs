//! Jina, a search engine for agents.
use async_trait::async_trait;

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::with_sites;
use super::response::{self, ReadResult, full_text, hit, list_at, parse_date, text_field};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 1_000;

/// `GET /?q=`.
struct JinaSearch;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(JinaSearch)
}

#[async_trait]
impl EngineApi for JinaSearch {
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        // Without the second header Jina fetches each page before it answers, and charges for it.
        &[("accept", "application/json"), ("x-respond-with", "no-content")]
    }

    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let text = with_sites(query, MAX_QUERY_CHARS);
        let limit = query.limit.min(20).to_string();
        let ask = ServiceRequest::get("/", &[("q", &text), ("num", &limit)]);
        service.request(&ask, read).await
    }
}

/// Parses the hits of an answer.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let found = list_at(&value, "/data")?.iter().filter_map(|read_result| {
        let mut hit = hit("jina", read_result, "url", "title", "description")?;
        hit.date = ["date", "publishedTime"]
            .iter()
            .find_map(|name| parse_date(text_field(read_result, name)?));
        hit.text = text_field(read_result, "content").and_then(full_text);
        Some(hit)
    });
    Ok(found.collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_day_in_words_is_a_day() {
        let body = json!({"code": 200, "data": [
            {"url": "https://a.example/", "title": "Cork", "description": "floats", "date": "Oct 17, 2025", "content": ""}]});
        let hits = read(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(hits.hits[0].date.as_deref(), Some("2025-10-17"));
        assert_eq!(hits.hits[0].text, None);
    }
}
