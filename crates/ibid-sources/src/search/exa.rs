//! Exa, a semantic search engine.
use async_trait::async_trait;
use serde_json::{Value, json};

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, full_text, hit, list_at, parse_date, plain_text, text_field, truncate,
};
use ibid_core::Result;
use ibid_core::domain::{Hits, Query, Untrusted, Vertical};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// `POST /search`.
struct Exa;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(Exa)
}

#[async_trait]
impl EngineApi for Exa {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        service.request(&ServiceRequest::post("/search", body(query)), read).await
    }
}

fn body(query: &Query) -> Value {
    // Highlights are snippets that match the query. The text is read from the page itself.
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
    let lists = [("includeDomains", &query.domains), ("excludeDomains", &query.not_domains)];
    for (name, domains) in lists.into_iter().filter(|list| !list.1.is_empty()) {
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

/// Parses the hits of an answer, and its cost in `costDollars.total`.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let found = list_at(&value, "/results")?.iter().filter_map(|read_result| {
        let mut hit = hit("exa", read_result, "url", "title", "summary")?;
        let lights = read_result.get("highlights").and_then(Value::as_array);
        let lights: Vec<&str> =
            lights.into_iter().flatten().filter_map(Value::as_str).take(5).collect();
        if !lights.is_empty() {
            hit.snippet = Untrusted::new(plain_text(&lights.join(" … "), 2_000));
        }
        hit.score = read_result.get("score").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        hit.date = text_field(read_result, "publishedDate").and_then(parse_date);
        hit.work.authors =
            text_field(read_result, "author").map(|text| truncate(text, 100)).into_iter().collect();
        hit.text = text_field(read_result, "text").and_then(full_text);
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
        let hits = read(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap();
        assert_eq!(hits.hits.len(), 1);
        assert_eq!(hits.hits[0].snippet.expose(), "Cork floats. … It is bark.");
        assert_eq!(hits.hits[0].date.as_deref(), Some("2024-02-03"));
        assert_eq!(hits.hits[0].work.authors, ["A. Quill"]);
        assert_eq!(hits.cost_usd, Some(0.007));
    }
}
