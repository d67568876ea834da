//! Cached pages, for when their servers do not answer.
use async_trait::async_trait;

use super::addresses::{addresses, is_outside};
use super::embedded;
use super::read_error::read_error;
use ibid_core::domain::{Hit, Page};
use ibid_core::ports::PageReader;
use ibid_core::{ReadFailure, Result};
use ibid_extract::ExtractLimits;
use ibid_net::web::caching::CachingFetcher;

/// The seconds of an hour.
const HOUR: u64 = 3600;

/// Reads a page from the cache, however old it is.
pub struct StalePageReader {
    fetcher: CachingFetcher,
    limits: ExtractLimits,
}

impl StalePageReader {
    /// Its name as a reader.
    pub const NAME: &str = "kept";

    /// Reads from the cache of `fetcher`.
    pub fn new(fetcher: CachingFetcher, limits: ExtractLimits) -> StalePageReader {
        StalePageReader { fetcher, limits }
    }
}

#[async_trait]
impl PageReader for StalePageReader {
    fn name(&self) -> &str {
        StalePageReader::NAME
    }

    fn can_read(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    fn can_read_after(&self, _: &Hit, reason: ReadFailure) -> bool {
        // For a server that is down or overloaded, not for one that says that the page does not exist. The status 503 is
        // reported as `Broken` or `BotBlock`.
        use ReadFailure::{BotBlock, Broken, Timeout};
        matches!(reason, Timeout | Broken | BotBlock)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        for address in addresses(hit) {
            let url = address.url;
            let Ok(Some((fetched, age))) = self.fetcher.cached(url).await else {
                continue;
            };
            let (mut draft, _) = embedded::parse_page(url, fetched, &self.limits).await?;
            let hours = age.as_secs() / HOUR;
            let ago = match hours {
                0 => "less than an hour".to_owned(),
                1..48 => format!("{hours} h"),
                _ => format!("{} days", hours / 24),
            };
            let warning = format!("cached copy from {ago} ago; the server did not respond");
            draft.warnings.push(warning);
            return Ok(Page::new(draft));
        }
        Err(read_error(&hit.url, ReadFailure::NotFound, "the page is not in the cache"))
    }
}

#[cfg(test)]
mod tests {
    use ibid_core::FailureReason;

    use std::sync::Arc;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::reader::EmbeddedReader;
    use ibid_net::web::cache::WebCache;
    use ibid_net::web::fetch::{FetchLimits, Fetcher, SystemResolver};
    use ibid_net::web::guard::SsrfGuard;

    #[tokio::test]
    async fn a_page_whose_server_is_gone_is_read_as_it_was_and_says_so() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/cork", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4096]).await;
            let body = "<main><h1>Cork</h1><p>Cork floats because its cells are closed and filled with air.</p></main>";
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
        });
        let dir = tempfile::tempdir().unwrap();
        let cache = WebCache::open(&WebCache::path(dir.path()), 1 << 20).await;
        let cache = Arc::new(cache.unwrap());
        let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse().unwrap()]);
        let fetcher =
            Fetcher::new(guard, Arc::new(SystemResolver), FetchLimits::default(), "ibid-test");
        let fetcher = Arc::new(fetcher);
        // Whatever is kept is too old at once.
        let keeping = || {
            let cache = Some(Arc::clone(&cache));
            CachingFetcher::new(Arc::clone(&fetcher), cache, Duration::from_nanos(1))
        };
        let (embedded, kept) = (
            EmbeddedReader::new(keeping(), ExtractLimits::default()),
            StalePageReader::new(keeping(), ExtractLimits::default()),
        );
        let hit = Hit::new("web", &url, "", "");
        assert!(kept.read(&hit).await.is_err(), "nothing is kept yet");
        embedded.read(&hit).await.unwrap();
        server.await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
        let fault = embedded.read(&hit).await.unwrap_err();
        let Some(FailureReason::Read(reason)) = fault.reason() else { panic!("{fault:?}") };
        assert!(kept.can_read_after(&hit, *reason), "{reason:?}");
        let page = kept.read(&hit).await.unwrap();
        assert!(page.text().expose().contains("Cork floats"));
        assert!(
            page.warnings
                .iter()
                .any(|warning| warning.contains("cached copy from less than an hour ago")),
            "{:?}",
            page.warnings
        );
        assert!(!kept.can_read_after(&hit, ReadFailure::NotFound));
    }
}
