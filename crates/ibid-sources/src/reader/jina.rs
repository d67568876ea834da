//! Jina Reader: `GET https://r.jina.ai/{url}`.
use async_trait::async_trait;

use super::scrape_api::{ScrapeApi, ScrapedPage, parse_json, status_at, text_at};
use ibid_core::Result;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// The API of Jina Reader.
pub(super) struct JinaReader;

#[async_trait]
impl ScrapeApi for JinaReader {
    async fn scrape(&self, service: &ServiceClient, url: &str) -> Result<ScrapedPage> {
        let request = ServiceRequest::get(&format!("/{url}"), &[]);
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = parse_json(code, headers, body)?;
            Ok(ScrapedPage {
                markdown: text_at(&value, "/data/content").unwrap_or_default(),
                title: text_at(&value, "/data/title"),
                date: text_at(&value, "/data/publishedTime"),
                lang: text_at(&value, "/data/metadata/lang"),
                status: status_at(&value, "/data/httpStatus"),
                url: text_at(&value, "/data/url"),
            })
        };
        service.request(&request, scraped).await
    }
}
