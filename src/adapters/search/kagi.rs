//! Kagi, a search engine that its readers pay.
use async_trait::async_trait;
use serde_json::Value;

use super::answer::{self, Read, day, hit, list, word};
use super::words::with_sites;
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query};
use crate::error::Result;

/// The list price of one search, US dollars: $12 a thousand (help.kagi.com, seen 2026-11).
const PRICE: f64 = 0.012;
/// The longest query, characters.
const LONGEST: usize = 1_000;

/// `GET /search`.
struct Kagi;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(Kagi)
}

#[async_trait]
impl Api for Kagi {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let mut text = with_sites(query, LONGEST);
        for (name, day) in [("after", &query.since), ("before", &query.until)] {
            if let Some(day) = day {
                text = format!("{text} {name}:{day}");
            }
        }
        let limit = query.limit.min(100).to_string();
        let ask = Ask::get("/search", &[("q", &text), ("limit", &limit)]);
        service.answered(&ask, read).await
    }
}

/// The hits of an answer: rows of the type 0; those of type 1 are related searches. Version 1 of the interface puts the same rows
/// under `data.search`.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body);
    let value = match value {
        Ok(it) => it,
        // A list of errors beside no data, under any status.
        Err(fault) => return Err(told(status, body).unwrap_or(fault)),
    };
    let rows = list(&value, "/data").or_else(|_| list(&value, "/data/search"))?;
    let found = rows.iter().filter_map(|it| {
        let kind = it.get("t").and_then(Value::as_i64).unwrap_or(0);
        let mut hit = hit("kagi", it, "url", "title", "snippet").filter(|_| kind == 0)?;
        hit.date = ["published", "time"]
            .iter()
            .find_map(|name| day(word(it, name)?));
        Some(hit)
    });
    Ok(Hits {
        hits: found.collect(),
        cost_usd: Some(PRICE),
        ..Hits::default()
    })
}

/// The first of its errors: `{"error": [{"code": 1, "msg": "…"}]}`.
fn told(status: u16, body: &[u8]) -> Option<ModelFault> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let said = word(value.pointer("/error/0")?, "msg")?;
    Some(ModelFault::said(
        Some(status).filter(|it| *it >= 300),
        &answer::cut(said, 300),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn related_searches_are_no_hits_and_an_error_says_what_it_is() {
        let body = json!({"data": [
            {"t": 0, "url": "https://a.example/", "title": "Cork", "snippet": "<b>floats</b>", "published": "2023-01-18T03:05:23Z"},
            {"t": 1, "list": ["cork oak"]}]});
        let hits = read(200, &Headers::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(hits.hits.len(), 1);
        assert_eq!(hits.hits[0].date.as_deref(), Some("2023-01-18"));
        let refused = json!({"data": null, "error": [{"code": 1, "msg": "Unauthorized"}]});
        let fault = read(401, &Headers::default(), refused.to_string().as_bytes()).unwrap_err();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (crate::Kind::Setup, "Unauthorized")
        );
    }
}
