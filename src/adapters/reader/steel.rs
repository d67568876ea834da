//! Steel, a browser that people host themselves: `POST /v1/scrape`.
use async_trait::async_trait;
use serde_json::json;

use super::remote::{Api, Scraped, json as read, status, word};
use crate::adapters::service::{Ask, Service};
use crate::error::Result;

/// The interface of Steel.
pub(super) struct Steel;

#[async_trait]
impl Api for Steel {
    async fn scrape(&self, service: &Service, url: &str) -> Result<Scraped> {
        let ask = Ask::post("/v1/scrape", json!({"url": url, "format": ["markdown"]}));
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = read(code, headers, body)?;
            Ok(Scraped {
                markdown: word(&value, "/content/markdown").unwrap_or_default(),
                title: word(&value, "/metadata/title"),
                date: word(&value, "/metadata/publishedTimestamp"),
                lang: word(&value, "/metadata/language"),
                status: status(&value, "/metadata/statusCode"),
                url: word(&value, "/metadata/urlSource"),
            })
        };
        service.answered(&ask, scraped).await
    }
}
