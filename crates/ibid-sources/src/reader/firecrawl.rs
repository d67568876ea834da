//! Firecrawl, on the web or self-hosted: `POST /v2/scrape`.
use async_trait::async_trait;
use serde_json::json;

use super::scrape_api::{ScrapeApi, ScrapedPage, parse_json, status_at, text_at};
use ibid_core::Result;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// The API of Firecrawl, version 2.
pub(super) struct FirecrawlReader;

#[async_trait]
impl ScrapeApi for FirecrawlReader {
    async fn scrape(&self, service: &ServiceClient, url: &str) -> Result<ScrapedPage> {
        let body = json!({
            "url": url,
            "formats": ["markdown"],
            "onlyMainContent": true,
            "timeout": 30_000,
            "parsers": ["pdf"],
        });
        let request = ServiceRequest::post("/v2/scrape", body);
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = parse_json(code, headers, body)?;
            let meta = |name: &str| text_at(&value, &format!("/data/metadata/{name}"));
            Ok(ScrapedPage {
                markdown: text_at(&value, "/data/markdown").unwrap_or_default(),
                title: meta("title"),
                date: meta("publishedTime").or_else(|| meta("article:published_time")),
                lang: meta("language"),
                status: status_at(&value, "/data/metadata/statusCode"),
                url: meta("url").or_else(|| meta("sourceURL")),
            })
        };
        service.request(&request, scraped).await
    }
}
