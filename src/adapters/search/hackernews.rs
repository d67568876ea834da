//! Hacker News, by Algolia: what was posted there and said of it.
use async_trait::async_trait;
use serde_json::Value;

use super::answer::{self, Read, count, cut, day, list, plain, title, whole, word};
use super::stackexchange::unix;
use super::{Api, Given};
use crate::adapters::model::Headers;
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hit, Hits, Query};
use crate::error::Result;

/// `GET /api/v1/search`.
struct HackerNews;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(HackerNews)
}

#[async_trait]
impl Api for HackerNews {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let limit = query.limit.min(100).to_string();
        let since = unix(query.since.as_deref(), 0).map(|it| format!("created_at_i>={it}"));
        let until = unix(query.until.as_deref(), 86_399).map(|it| format!("created_at_i<={it}"));
        let bounds: Vec<String> = [since, until].into_iter().flatten().collect();
        let bounds = bounds.join(",");
        let mut found = Hits::default();
        for term in super::words::fewer(query.text()) {
            let mut asked = vec![
                ("query", term.as_str()),
                ("tags", "story"),
                ("hitsPerPage", &limit),
            ];
            if !bounds.is_empty() {
                asked.push(("numericFilters", &bounds));
            }
            found = service
                .answered(&Ask::get("/api/v1/search", &asked), read)
                .await?;
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// The posts of an answer. A hit is the discussion; what was posted is named in its snippet.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let found = list(&value, "/hits")?.iter().filter_map(|it| {
        let id = word(it, "objectID").filter(|it| it.bytes().all(|it| it.is_ascii_digit()))?;
        let name = word(it, "title").or_else(|| word(it, "story_title"))?;
        let text = ["story_text", "comment_text"]
            .iter()
            .find_map(|name| word(it, name));
        let text = plain(text.unwrap_or_default(), 200_000);
        let told = [
            word(it, "url").map(|it| format!("posted: {}", cut(it, 300))),
            count(it, "points").map(|it| format!("{it} points")),
            count(it, "num_comments").map(|it| format!("{it} comments")),
            Some(cut(&text, 600)).filter(|it| !it.is_empty()),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        let url = format!("https://news.ycombinator.com/item?id={id}");
        let mut hit = Hit::new("hackernews", &url, &title(name), &told.join("; "));
        hit.text = whole(&text);
        hit.date = word(it, "created_at").and_then(day);
        hit.work.authors = word(it, "author")
            .map(|it| cut(it, 100))
            .into_iter()
            .collect();
        hit.score = it.get("points").and_then(Value::as_f64).unwrap_or(0.0) as f32;
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
        let hits = read(200, &Headers::default(), body.to_string().as_bytes())
            .unwrap()
            .hits;
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].url, "https://news.ycombinator.com/item?id=42");
        assert_eq!(
            hits[0].snippet.expose(),
            "posted: https://a.example/; 7 points; 2 comments"
        );
        assert_eq!(hits[0].date.as_deref(), Some("2024-01-02"));
    }
}
