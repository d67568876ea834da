//! Firecrawl's search.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::answer::{self, Read, day, hit, whole, word};
use super::words::{tbs, with_sites};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Vertical};
use crate::error::Result;

/// The longest query, characters.
const LONGEST: usize = 500;

/// `POST /v2/search`.
struct Firecrawl;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(Firecrawl)
}

#[async_trait]
impl Api for Firecrawl {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let source = match query.vertical() {
            Vertical::News => "news",
            _ => "web",
        };
        let mut body = json!({
            "query": with_sites(query, LONGEST),
            "limit": query.limit.min(100),
            "sources": [source],
        });
        if let Some(bounds) = tbs(query) {
            body["tbs"] = json!(bounds);
        }
        service.answered(&Ask::post("/v2/search", body), read).await
    }
}

/// The hits of an answer: lists by source, or, from servers of version 1, one list.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let data = value.get("data").unwrap_or(&Value::Null);
    let lists = [data.get("web"), data.get("news"), Some(data)];
    let rows: Vec<&Value> = lists
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten()
        .collect();
    if rows.is_empty() && !data.is_object() && !data.is_array() {
        return Err(ModelFault::malformed("its answer has no `data`"));
    }
    let found = rows.into_iter().filter_map(|it| {
        let snippet = if it.get("description").is_some() {
            "description"
        } else {
            "snippet"
        };
        let mut hit = hit("firecrawl", it, "url", "title", snippet)?;
        hit.date = word(it, "date").and_then(day);
        hit.text = word(it, "markdown").and_then(whole);
        Some(hit)
    });
    let mut hits = Hits::from(found.collect::<Vec<_>>());
    let warning = word(&value, "warning").map(|it| format!("firecrawl: {}", answer::cut(it, 200)));
    hits.remarks.extend(warning);
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_by_source_and_one_list_are_read() {
        let of = |it: Value| read(200, &Headers::default(), it.to_string().as_bytes());
        let row = json!({"url": "https://a.example/", "title": "Cork", "description": "floats", "position": 1});
        assert_eq!(
            of(json!({"success": true, "data": {"web": [row]}}))
                .unwrap()
                .hits
                .len(),
            1
        );
        assert_eq!(
            of(json!({"success": true, "data": [row]}))
                .unwrap()
                .hits
                .len(),
            1
        );
        assert!(
            of(json!({"success": true, "data": {}}))
                .unwrap()
                .hits
                .is_empty()
        );
        assert!(of(json!({"success": false, "error": "Payment required"})).is_err());
        assert!(of(json!({"success": true})).is_err());
    }
}
