//! Crawl4AI, a crawler that people host themselves: `POST /md`.
use async_trait::async_trait;
use serde_json::json;

use super::scrape_api::{ScrapeApi, ScrapedPage, parse_json, text_at};
use ibid_core::Result;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// The API of Crawl4AI, 0.9 and later.
pub(super) struct Crawl4Ai;

#[async_trait]
impl ScrapeApi for Crawl4Ai {
    async fn scrape(&self, service: &ServiceClient, url: &str) -> Result<ScrapedPage> {
        // `fit` leaves out what is not the main text; `c` is the version of its cache.
        let request = ServiceRequest::post("/md", json!({"url": url, "f": "fit", "c": "0"}));
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = parse_json(code, headers, body)?;
            Ok(ScrapedPage {
                markdown: text_at(&value, "/markdown").unwrap_or_default(),
                url: text_at(&value, "/url"),
                ..ScrapedPage::default()
            })
        };
        service.request(&request, scraped).await
    }
}
