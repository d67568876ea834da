//! Hacker News, by Algolia: posts and their discussion.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, clean_title, count_field, full_text, list_at, parse_date, plain_text,
    text_field, truncate,
};
use super::stackexchange::unix;
use ibid_core::Result;
use ibid_core::domain::{Hit, Hits, Query};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// `GET /api/v1/search`.
struct HackerNews;

pub(super) fn api(_: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(HackerNews)
}

#[async_trait]
impl EngineApi for HackerNews {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let limit = query.limit.min(100).to_string();
        let since = unix(query.since.as_deref(), 0).map(|unix| format!("created_at_i>={unix}"));
        let until =
            unix(query.until.as_deref(), 86_399).map(|unix| format!("created_at_i<={unix}"));
        let bounds: Vec<String> = [since, until].into_iter().flatten().collect();
        let bounds = bounds.join(",");
        let mut found = Hits::default();
        for term in super::query_text::and_queries(query.text()) {
            let mut asked =
                vec![("query", term.as_str()), ("tags", "story"), ("hitsPerPage", &limit)];
            if !bounds.is_empty() {
                asked.push(("numericFilters", &bounds));
            }
            found = service.request(&ServiceRequest::get("/api/v1/search", &asked), read).await?;
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// Parses the posts of an answer. A hit is the discussion; its snippet names the posted link.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let found = list_at(&value, "/hits")?.iter().filter_map(|read_result| {
        let id = text_field(read_result, "objectID")
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        let name =
            text_field(read_result, "title").or_else(|| text_field(read_result, "story_title"))?;
        let text =
            ["story_text", "comment_text"].iter().find_map(|name| text_field(read_result, name));
        let text = plain_text(text.unwrap_or_default(), 200_000);
        let facts = [
            text_field(read_result, "url").map(|text| format!("posted: {}", truncate(text, 300))),
            count_field(read_result, "points").map(|number| format!("{number} points")),
            count_field(read_result, "num_comments").map(|number| format!("{number} comments")),
            Some(truncate(&text, 600)).filter(|it| !it.is_empty()),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        let url = format!("https://news.ycombinator.com/item?id={id}");
        let mut hit = Hit::new("hackernews", &url, &clean_title(name), &facts.join("; "));
        hit.text = full_text(&text);
        hit.date = text_field(read_result, "created_at").and_then(parse_date);
        hit.work.authors =
            text_field(read_result, "author").map(|text| truncate(text, 100)).into_iter().collect();
        hit.score = read_result.get("points").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        Some(hit)
    });
    Ok(found.collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_post_is_its_discussion() {
        let body = json!({"hits": [{"objectID": "42", "title": "Cork floats", "url": "https://a.example/", "points": 7, "num_comments": 2,
            "author": "quill", "created_at": "2024-01-02T03:04:05Z", "story_text": null}, {"objectID": "x/../1", "title": "bad"}]});
        let hits =
            read(200, &ResponseHeaders::default(), body.to_string().as_bytes()).unwrap().hits;
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].url, "https://news.ycombinator.com/item?id=42");
        assert_eq!(hits[0].snippet.expose(), "posted: https://a.example/; 7 points; 2 comments");
        assert_eq!(hits[0].date.as_deref(), Some("2024-01-02"));
    }
}
