//! SearXNG, a self-hosted search engine.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{ReadResult, hit, list_at, parse_date, parse_json, text_field};
use ibid_core::domain::{Hits, Query, Vertical};
use ibid_core::{ErrorKind, Result};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};
use ibid_net::service_error::ServiceError;

/// `GET /search?format=json`.
struct Searxng;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Searxng)
}

#[async_trait]
impl EngineApi for Searxng {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let categories = match query.vertical() {
            Vertical::News => "news",
            Vertical::Scholar | Vertical::Pubmed => "science",
            _ => "general",
        };
        let mut text = query.text().to_owned();
        // The engines behind it support only these operators. Other filters are applied to the hits.
        if let [domain] = query.domains.as_slice() {
            text = format!("{text} site:{domain}");
        }
        let ask = ServiceRequest::get(
            "/search",
            &[("q", &text), ("format", "json"), ("categories", categories)],
        );
        service.request(&ask, read).await
    }
}

/// Parses the hits of an answer. `number_of_results` is always 0, so it is ignored.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    if status == 403 {
        return Err(ServiceError {
            status: Some(403),
            kind: ErrorKind::Setup,
            ..ServiceError::setup(
                "JSON is off; add `json` to `search.formats` in its settings.yml and restart it",
            )
        });
    }
    let value = parse_json(status, headers, body)?;
    let found = list_at(&value, "/results")?.iter().filter_map(|read_result| {
        let mut hit = hit("searxng", read_result, "url", "title", "content")?;
        hit.date = text_field(read_result, "publishedDate").and_then(parse_date);
        hit.score = read_result.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        Some(hit)
    });
    let mut hits = Hits::from(found.collect::<Vec<_>>());
    for it in
        value.get("unresponsive_engines").and_then(Value::as_array).into_iter().flatten().take(20)
    {
        let part = |at: usize| it.get(at).and_then(Value::as_str).unwrap_or_default();
        hits.remarks.push(format!(
            "{} did not answer: {}",
            super::response::truncate(part(0), 40),
            super::response::truncate(part(1), 80)
        ));
    }
    Ok(hits)
}
