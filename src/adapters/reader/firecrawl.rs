//! Firecrawl, on the web or hosted by oneself: `POST /v2/scrape`.
use async_trait::async_trait;
use serde_json::json;

use super::remote::{Api, Scraped, json as read, status, word};
use crate::adapters::service::{Ask, Service};
use crate::error::Result;

/// The interface of Firecrawl, version 2.
pub(super) struct Firecrawl;

#[async_trait]
impl Api for Firecrawl {
    async fn scrape(&self, service: &Service, url: &str) -> Result<Scraped> {
        let body = json!({
            "url": url,
            "formats": ["markdown"],
            "onlyMainContent": true,
            "timeout": 30_000,
            "parsers": ["pdf"],
        });
        let ask = Ask::post("/v2/scrape", body);
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = read(code, headers, body)?;
            let meta = |name: &str| word(&value, &format!("/data/metadata/{name}"));
            Ok(Scraped {
                markdown: word(&value, "/data/markdown").unwrap_or_default(),
                title: meta("title"),
                date: meta("publishedTime").or_else(|| meta("article:published_time")),
                lang: meta("language"),
                status: status(&value, "/data/metadata/statusCode"),
                url: meta("url").or_else(|| meta("sourceURL")),
            })
        };
        service.answered(&ask, scraped).await
    }
}
