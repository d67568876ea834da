//! SearXNG, a search engine that people host themselves.
use async_trait::async_trait;
use serde_json::Value;

use super::answer::{Read, day, hit, json, list, word};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Vertical};
use crate::error::{Kind, Result};

/// `GET /search?format=json`.
struct Searxng;

pub(super) fn api(_: &Given) -> Box<dyn super::Api> {
    Box::new(Searxng)
}

#[async_trait]
impl Api for Searxng {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let categories = match query.vertical() {
            Vertical::News => "news",
            Vertical::Scholar | Vertical::Pubmed => "science",
            _ => "general",
        };
        let mut text = query.text().to_owned();
        // The engines behind it know this much; what they do not know is filtered from what they find.
        if let [domain] = query.domains.as_slice() {
            text = format!("{text} site:{domain}");
        }
        let ask = Ask::get(
            "/search",
            &[("q", &text), ("format", "json"), ("categories", categories)],
        );
        service.answered(&ask, read).await
    }
}

/// The hits of an answer. `number_of_results` is 0 whatever was found: the results themselves count.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    if status == 403 {
        return Err(ModelFault {
            status: Some(403),
            kind: Kind::Setup,
            ..ModelFault::setup(
                "JSON is off; add `json` to `search.formats` in its settings.yml and restart it",
            )
        });
    }
    let value = json(status, headers, body)?;
    let found = list(&value, "/results")?.iter().filter_map(|it| {
        let mut hit = hit("searxng", it, "url", "title", "content")?;
        hit.date = word(it, "publishedDate").and_then(day);
        hit.score = it.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        Some(hit)
    });
    let mut hits = Hits::from(found.collect::<Vec<_>>());
    for it in value
        .get("unresponsive_engines")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(20)
    {
        let part = |at: usize| it.get(at).and_then(Value::as_str).unwrap_or_default();
        hits.remarks.push(format!(
            "{} did not answer: {}",
            super::answer::cut(part(0), 40),
            super::answer::cut(part(1), 80)
        ));
    }
    Ok(hits)
}
