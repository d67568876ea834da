//! Tavily, a search engine for agents.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::answer::{self, Read, day, hit, list, whole, word};
use super::{Api, Given};
use crate::adapters::model::Headers;
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Vertical};
use crate::error::Result;

/// The list price of one basic search, US dollars: one credit (docs.tavily.com/documentation/api-credits, seen 2026-11).
const PRICE: f64 = 0.008;

/// `POST /search`.
struct Tavily;

pub(super) fn api(_: &Given) -> Box<dyn super::Api> {
    Box::new(Tavily)
}

#[async_trait]
impl Api for Tavily {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
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
        let lists = [
            ("include_domains", &query.domains),
            ("exclude_domains", &query.not_domains),
        ];
        for (name, domains) in lists.into_iter().filter(|it| !it.1.is_empty()) {
            body[name] = json!(domains);
        }
        for (name, day) in [("start_date", &query.since), ("end_date", &query.until)] {
            if let Some(day) = day {
                body[name] = json!(day);
            }
        }
        service.answered(&Ask::post("/search", body), read).await
    }
}

/// The hits of an answer.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let found = list(&value, "/results")?.iter().filter_map(|it| {
        let mut hit = hit("tavily", it, "url", "title", "content")?;
        hit.score = it.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        hit.date = word(it, "published_date").and_then(day);
        hit.text = word(it, "raw_content").and_then(whole);
        Some(hit)
    });
    Ok(Hits {
        hits: found.collect(),
        cost_usd: Some(PRICE),
        ..Hits::default()
    })
}
