//! Tavily, a search engine for agents.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{self, ReadResult, full_text, hit, list_at, parse_date, text_field};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query, Vertical};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// The list price of one basic search, US dollars: one credit (docs.tavily.com/documentation/api-credits, 2026-11).
const PRICE: f64 = 0.008;

/// `POST /search`.
struct Tavily;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Tavily)
}

#[async_trait]
impl EngineApi for Tavily {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let topic = match query.vertical() {
            Vertical::News => "news",
            _ => "general",
        };
        let mut body = json!({
            "query": query.text(),
            "search_depth": "basic",
            "topic": topic,
            "max_results": query.limit.min(20),
        });
        let lists = [("include_domains", &query.domains), ("exclude_domains", &query.not_domains)];
        for (name, domains) in lists.into_iter().filter(|list| !list.1.is_empty()) {
            body[name] = json!(domains);
        }
        for (name, day) in [("start_date", &query.since), ("end_date", &query.until)] {
            if let Some(day) = day {
                body[name] = json!(day);
            }
        }
        service.request(&ServiceRequest::post("/search", body), read).await
    }
}

/// Parses the hits of an answer.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let found = list_at(&value, "/results")?.iter().filter_map(|read_result| {
        let mut hit = hit("tavily", read_result, "url", "title", "content")?;
        hit.score = read_result.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        hit.date = text_field(read_result, "published_date").and_then(parse_date);
        hit.text = text_field(read_result, "raw_content").and_then(full_text);
        Some(hit)
    });
    Ok(Hits { hits: found.collect(), cost_usd: Some(PRICE), ..Hits::default() })
}
