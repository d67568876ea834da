//! Steel, a self-hosted browser: `POST /v1/scrape`.
use async_trait::async_trait;
use serde_json::json;

use super::scrape_api::{ScrapeApi, ScrapedPage, parse_json, status_at, text_at};
use ibid_core::Result;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// The API of Steel.
pub(super) struct Steel;

#[async_trait]
impl ScrapeApi for Steel {
    async fn scrape(&self, service: &ServiceClient, url: &str) -> Result<ScrapedPage> {
        let request =
            ServiceRequest::post("/v1/scrape", json!({"url": url, "format": ["markdown"]}));
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = parse_json(code, headers, body)?;
            Ok(ScrapedPage {
                markdown: text_at(&value, "/content/markdown").unwrap_or_default(),
                title: text_at(&value, "/metadata/title"),
                date: text_at(&value, "/metadata/publishedTimestamp"),
                lang: text_at(&value, "/metadata/language"),
                status: status_at(&value, "/metadata/statusCode"),
                url: text_at(&value, "/metadata/urlSource"),
            })
        };
        service.request(&request, scraped).await
    }
}
