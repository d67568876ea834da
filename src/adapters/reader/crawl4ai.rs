//! Crawl4AI, a crawler that people host themselves: `POST /md`.
use async_trait::async_trait;
use serde_json::json;

use super::remote::{Api, Scraped, json as read, word};
use crate::adapters::service::{Ask, Service};
use crate::error::Result;

/// The interface of Crawl4AI, 0.9 and later.
pub(super) struct Crawl4Ai;

#[async_trait]
impl Api for Crawl4Ai {
    async fn scrape(&self, service: &Service, url: &str) -> Result<Scraped> {
        // `fit` leaves out what is not the main text; `c` is the version of its cache.
        let ask = Ask::post("/md", json!({"url": url, "f": "fit", "c": "0"}));
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = read(code, headers, body)?;
            Ok(Scraped {
                markdown: word(&value, "/markdown").unwrap_or_default(),
                url: word(&value, "/url"),
                ..Scraped::default()
            })
        };
        service.answered(&ask, scraped).await
    }
}
