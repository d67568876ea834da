//! Exa, a search engine that finds by meaning.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::answer::{self, Read, cut, day, hit, list, plain, whole, word};
use super::{Api, Given};
use crate::adapters::model::Headers;
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Untrusted, Vertical};
use crate::error::Result;

/// `POST /search`.
struct Exa;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(Exa)
}

#[async_trait]
impl Api for Exa {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        service
            .answered(&Ask::post("/search", body(query)), read)
            .await
    }
}

fn body(query: &Query) -> Value {
    // Highlights are snippets that speak to the query; what stands on the page is read from the page.
    let mut body = json!({
        "query": query.text(),
        "type": "auto",
        "numResults": query.limit.min(100),
        "contents": { "highlights": true },
    });
    match query.vertical() {
        Vertical::News => body["category"] = json!("news"),
        Vertical::Scholar | Vertical::Pubmed => body["category"] = json!("research paper"),
        _ => {}
    }
    let lists = [
        ("includeDomains", &query.domains),
        ("excludeDomains", &query.not_domains),
    ];
    for (name, domains) in lists.into_iter().filter(|it| !it.1.is_empty()) {
        body[name] = json!(domains);
    }
    if let Some(day) = &query.since {
        body["startPublishedDate"] = json!(format!("{day}T00:00:00.000Z"));
    }
    if let Some(day) = &query.until {
        body["endPublishedDate"] = json!(format!("{day}T23:59:59.999Z"));
    }
    body
}

/// The hits of an answer. It says itself what it cost: `costDollars.total`.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let found = list(&value, "/results")?.iter().filter_map(|it| {
        let mut hit = hit("exa", it, "url", "title", "summary")?;
        let lights = it.get("highlights").and_then(Value::as_array);
        let lights: Vec<&str> = lights
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .take(5)
            .collect();
        if !lights.is_empty() {
            hit.snippet = Untrusted::new(plain(&lights.join(" … "), 2_000));
        }
        hit.score = it.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        hit.date = word(it, "publishedDate").and_then(day);
        hit.work.authors = word(it, "author")
            .map(|it| cut(it, 100))
            .into_iter()
            .collect();
        hit.text = word(it, "text").and_then(whole);
        Some(hit)
    });
    Ok(Hits {
        hits: found.collect(),
        cost_usd: value.pointer("/costDollars/total").and_then(Value::as_f64),
        ..Hits::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlights_are_the_snippet_and_the_cost_is_its_own_word() {
        let body = json!({"costDollars": {"total": 0.007}, "results": [
            {"url": "https://a.example/cork", "title": "Cork", "publishedDate": "2024-02-03T00:00:00.000Z", "author": "A. Quill",
             "highlights": ["Cork <b>floats</b>.", "It is bark."], "novel": {"field": 1}},
            {"title": "no address"}, null]});
        let hits = read(200, &Headers::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(hits.hits.len(), 1);
        assert_eq!(hits.hits[0].snippet.expose(), "Cork floats. … It is bark.");
        assert_eq!(hits.hits[0].date.as_deref(), Some("2024-02-03"));
        assert_eq!(hits.hits[0].work.authors, ["A. Quill"]);
        assert_eq!(hits.cost_usd, Some(0.007));
    }
}
