//! Wikipedia, in the language of the question.
use async_trait::async_trait;

use super::answer::{self, Read, day, list, plain, title, word};
use super::{Api, Given};
use crate::adapters::model::Headers;
use crate::adapters::service::{Ask, Service};
use crate::domain::{Hit, Hits, Query};
use crate::error::Result;

/// `GET /w/api.php?action=query&list=search`.
struct Wikipedia;

pub(super) fn api(_: &Given) -> Box<dyn super::Api> {
    Box::new(Wikipedia)
}

#[async_trait]
impl Api for Wikipedia {
    async fn search(&self, service: &Service, query: &Query) -> Result<Hits> {
        let telling = super::words::keywords(&query.text).join(" ");
        let text = if telling.is_empty() {
            &query.text
        } else {
            &telling
        };
        let limit = query.limit.min(50).to_string();
        let ask = Ask::get(
            "/w/api.php",
            &[
                ("action", "query"),
                ("list", "search"),
                ("srsearch", text),
                ("srlimit", &limit),
                ("format", "json"),
            ],
        );
        service
            .answered(&ask, |status, headers, body| {
                read("en", status, headers, body)
            })
            .await
    }
}

/// The hits of an answer of the Wikipedia in this language.
pub(super) fn read(language: &str, status: u16, headers: &Headers, body: &[u8]) -> Read<Hits> {
    let value = answer::json(status, headers, body)?;
    let found = list(&value, "/query/search")?.iter().filter_map(|it| {
        let name = word(it, "title")?;
        let path: String =
            url::form_urlencoded::byte_serialize(name.replace(' ', "_").as_bytes()).collect();
        // The address as the site itself writes it.
        let path = path
            .replace("%28", "(")
            .replace("%29", ")")
            .replace("%2C", ",")
            .replace("%2F", "/")
            .replace("%3A", ":");
        let url = format!("https://{language}.wikipedia.org/wiki/{path}");
        let snippet = plain(word(it, "snippet").unwrap_or_default(), 500);
        let mut hit = Hit::new("wikipedia", &url, &title(name), &snippet);
        hit.date = word(it, "timestamp").and_then(day);
        Some(hit)
    });
    Ok(found.collect::<Vec<_>>().into())
}
