//! Jina, a search engine for agents.
use async_trait::async_trait;

use super::answer::{self, Read, day, hit, list, whole, word};
use super::words::with_sites;
use super::{Api, Given};
use crate::adapters::model::Headers;
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query};
use crate::error::Result;

/// The longest query, characters.
const LONGEST: usize = 1_000;

/// `GET /?q=`.
struct Jina;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(Jina)
}

#[async_trait]
impl Api for Jina {
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        // Without the second it fetches every page before it answers, and charges for them.
        &[
            ("accept", "application/json"),
            ("x-respond-with", "no-content"),
        ]
    }

    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let text = with_sites(query, LONGEST);
        let limit = query.limit.min(20).to_string();
        let ask = Ask::get("/", &[("q", &text), ("num", &limit)]);
        service.answered(&ask, read).await
    }
}

/// The hits of an answer.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let found = list(&value, "/data")?.iter().filter_map(|it| {
        let mut hit = hit("jina", it, "url", "title", "description")?;
        hit.date = ["date", "publishedTime"]
            .iter()
            .find_map(|name| day(word(it, name)?));
        hit.text = word(it, "content").and_then(whole);
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
        let hits = read(200, &Headers::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(hits.hits[0].date.as_deref(), Some("2025-10-17"));
        assert_eq!(hits.hits[0].text, None);
    }
}
