//! Firecrawl's search.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::engine_api::{EngineApi, EngineConfig};
use super::query_text::{google_tbs, with_sites};
use super::response::{self, ReadResult, full_text, hit, parse_date, text_field};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query, Vertical};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 500;

/// `POST /v2/search`.
struct FirecrawlSearch;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(FirecrawlSearch)
}

#[async_trait]
impl EngineApi for FirecrawlSearch {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let source = match query.vertical() {
            Vertical::News => "news",
            _ => "web",
        };
        let mut body = json!({
            "query": with_sites(query, MAX_QUERY_CHARS),
            "limit": query.limit.min(100),
            "sources": [source],
        });
        if let Some(bounds) = google_tbs(query) {
            body["tbs"] = json!(bounds);
        }
        service.request(&ServiceRequest::post("/v2/search", body), read).await
    }
}

/// Parses the hits of an answer: lists by source, or one list from servers of version 1.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let data = value.get("data").unwrap_or(&Value::Null);
    let lists = [data.get("web"), data.get("news"), Some(data)];
    let rows: Vec<&Value> =
        lists.into_iter().flatten().filter_map(Value::as_array).flatten().collect();
    if rows.is_empty() && !data.is_object() && !data.is_array() {
        return Err(ServiceError::malformed("its response has no `data`"));
    }
    let found = rows.into_iter().filter_map(|row| {
        let snippet = if row.get("description").is_some() { "description" } else { "snippet" };
        let mut hit = hit("firecrawl", row, "url", "title", snippet)?;
        hit.date = text_field(row, "date").and_then(parse_date);
        hit.text = text_field(row, "markdown").and_then(full_text);
        Some(hit)
    });
    let mut hits = Hits::from(found.collect::<Vec<_>>());
    let warning = text_field(&value, "warning")
        .map(|text| format!("firecrawl: {}", response::truncate(text, 200)));
    hits.remarks.extend(warning);
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_by_source_and_one_list_are_read() {
        let of =
            |value: Value| read(200, &ResponseHeaders::default(), value.to_string().as_bytes());
        let row = json!({"url": "https://a.example/", "title": "Cork", "description": "floats", "position": 1});
        assert_eq!(of(json!({"success": true, "data": {"web": [row]}})).unwrap().hits.len(), 1);
        assert_eq!(of(json!({"success": true, "data": [row]})).unwrap().hits.len(), 1);
        assert!(of(json!({"success": true, "data": {}})).unwrap().hits.is_empty());
        assert!(of(json!({"success": false, "error": "Payment required"})).is_err());
        assert!(of(json!({"success": true})).is_err());
    }
}
