//! Jina Reader: `GET https://r.jina.ai/{url}`.
use async_trait::async_trait;

use super::remote::{Api, Scraped, json as read, status, word};
use crate::adapters::service::{Ask, Service};
use crate::error::Result;

/// The interface of Jina Reader.
pub(super) struct Jina;

#[async_trait]
impl Api for Jina {
    async fn scrape(&self, service: &Service, url: &str) -> Result<Scraped> {
        let ask = Ask::get(&format!("/{url}"), &[]);
        let scraped = |code, headers: &_, body: &[u8]| {
            let value = read(code, headers, body)?;
            Ok(Scraped {
                markdown: word(&value, "/data/content").unwrap_or_default(),
                title: word(&value, "/data/title"),
                date: word(&value, "/data/publishedTime"),
                lang: word(&value, "/data/metadata/lang"),
                status: status(&value, "/data/httpStatus"),
                url: word(&value, "/data/url"),
            })
        };
        service.answered(&ask, scraped).await
    }
}
