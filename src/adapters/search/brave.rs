//! Brave, a search engine with an index of its own.
use async_trait::async_trait;
use serde_json::Value;

use super::answer::{self, Read, day, hit, plain, word};
use super::words::{keywords, with_sites};
use super::{Api, Given};
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hits, Query, Untrusted, Vertical};
use crate::error::Result;

/// What it takes at most: characters, and words.
const LONGEST: usize = 400;
const WORDS: usize = 50;
/// The list price of one search, US dollars: $5 a thousand (brave.com/search/api, seen 2026-09).
const PRICE: f64 = 0.005;

/// `GET /res/v1/web/search`, `/res/v1/news/search`.
struct Brave;

pub(super) fn api(_: &Given) -> Box<dyn Api> {
    Box::new(Brave)
}

#[async_trait]
impl Api for Brave {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let text = few_words(&with_sites(query, LONGEST));
        let (path, most) = match query.vertical() {
            Vertical::News => ("/res/v1/news/search", 50),
            _ => ("/res/v1/web/search", 20),
        };
        let count = query.limit.min(most).to_string();
        let mut asked = vec![("q", text.as_str()), ("count", count.as_str())];
        // It knows ranges alone; a bound on one side is kept by what is dropped afterwards.
        let range = query.since.as_ref().zip(query.until.as_ref());
        let range = range.map(|(since, until)| format!("{since}to{until}"));
        asked.extend(range.as_deref().map(|it| ("freshness", it)));
        service.answered(&Ask::get(path, &asked), read).await
    }
}

/// At most [`WORDS`] words, the telling ones first.
fn few_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() <= WORDS {
        return text.to_owned();
    }
    // What bounds the search stands at the end.
    let bounds: Vec<&str> = words
        .iter()
        .copied()
        .filter(|it| it.contains("site:"))
        .collect();
    let plain: Vec<&str> = words
        .iter()
        .copied()
        .filter(|it| !it.contains("site:"))
        .collect();
    let mut kept = keywords(&plain.join(" "));
    kept.truncate(WORDS.saturating_sub(bounds.len()));
    kept.extend(
        bounds
            .iter()
            .take(WORDS - kept.len())
            .map(|it| (*it).to_owned()),
    );
    kept.join(" ")
}

/// The hits of an answer: of the web under `web`, of the news right below.
pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let paths = ["/web/results", "/results", "/news/results"];
    let rows = paths
        .iter()
        .find_map(|it| value.pointer(it)?.as_array())
        .map(Vec::as_slice);
    let rows = match rows {
        Some(rows) => rows,
        // What finds nothing has no `web`, and says what was asked all the same.
        None if value.get("query").is_some() => &[],
        None => {
            return Err(ModelFault::malformed(
                "its answer has no list `web.results`",
            ));
        }
    };
    let found = rows.iter().filter_map(|it| {
        let mut hit = hit("brave", it, "url", "title", "description")?;
        let more = it.get("extra_snippets").and_then(Value::as_array);
        let more: Vec<&str> = more
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .take(5)
            .collect();
        if !more.is_empty() {
            let all = format!(
                "{} … {}",
                word(it, "description").unwrap_or_default(),
                more.join(" … ")
            );
            hit.snippet = Untrusted::new(plain(&all, 2_000));
        }
        // `page_age` is a day, `age` words like "2 days ago".
        hit.date = ["page_age", "age"]
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_of_the_web_and_of_the_news_are_read_and_none_is_no_fault() {
        let of = |it: Value| read(200, &Headers::default(), it.to_string().as_bytes());
        let row = json!({"url": "https://a.example/", "title": "A <strong>cork</strong>", "description": "floats",
            "page_age": "2024-05-06T07:08:09", "extra_snippets": ["it is bark"]});
        let hits = of(json!({"web": {"results": [row]}})).unwrap();
        assert_eq!(hits.hits[0].title, "A cork");
        assert_eq!(hits.hits[0].snippet.expose(), "floats … it is bark");
        assert_eq!(hits.hits[0].date.as_deref(), Some("2024-05-06"));
        assert_eq!(of(json!({"results": [row]})).unwrap().hits.len(), 1);
        assert!(
            of(json!({"query": {"original": "x"}}))
                .unwrap()
                .hits
                .is_empty()
        );
        assert!(of(json!({"type": "search"})).is_err());
    }

    #[test]
    fn no_query_has_more_than_fifty_words() {
        let long: Vec<String> = (0..80).map(|it| format!("word{it}")).collect();
        let text = format!("{} site:a.example", long.join(" "));
        let cut = few_words(&text);
        assert_eq!(cut.split(' ').count(), 50);
        assert!(cut.ends_with("site:a.example"));
    }
}
