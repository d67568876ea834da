//! Pages as they were, where their servers do not answer now.
use async_trait::async_trait;

use super::{addresses, embedded, is_outside, unread};
use crate::adapters::documents::Limits;
use crate::adapters::web::kept::Keeping;
use crate::domain::{Hit, Page};
use crate::error::Result;
use crate::record::FailReason;
use crate::seams::PageReader;

/// Seconds of an hour.
const HOUR: u64 = 3600;

/// Reads what is kept of a page, however old it is, without asking anybody.
pub struct Kept {
    keeping: Keeping,
    limits: Limits,
}

impl Kept {
    /// One that reads what `keeping` has.
    pub fn new(keeping: Keeping, limits: Limits) -> Kept {
        Kept { keeping, limits }
    }
}

#[async_trait]
impl PageReader for Kept {
    fn name(&self) -> &str {
        "kept"
    }

    fn reads(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    fn reads_after(&self, _: &Hit, reason: FailReason) -> bool {
        // A server that is down or overrun, not one that says that nothing is there. 503 counts as the latter two.
        use FailReason::{BotBlock, Broken, Timeout};
        matches!(reason, Timeout | Broken | BotBlock)
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        for (url, _) in addresses(hit) {
            let Ok(Some((fetched, age))) = self.keeping.had(url).await else {
                continue;
            };
            let (mut draft, _) = embedded::drafted(url, fetched, &self.limits).await?;
            let hours = age.as_secs() / HOUR;
            let ago = match hours {
                0 => "less than an hour".to_owned(),
                1..48 => format!("{hours} h"),
                _ => format!("{} days", hours / 24),
            };
            let told = format!("read as it was {ago} ago, since its server does not answer now");
            draft.warnings.push(told);
            return Ok(Page::new(draft));
        }
        Err(unread(
            &hit.url,
            FailReason::NotFound,
            "nothing is kept of it",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::adapters::reader::Embedded;
    use crate::adapters::web::cache::WebCache;
    use crate::adapters::web::fetch::{Bounds, Fetcher, SystemNames};
    use crate::adapters::web::guard::Guard;

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
        let guard = Guard::allowing(vec!["127.0.0.0/8".parse().unwrap()]);
        let fetcher = Fetcher::new(guard, Arc::new(SystemNames), Bounds::default(), "ibid-test");
        let fetcher = Arc::new(fetcher);
        // Whatever is kept is too old at once.
        let keeping = || {
            let cache = Some(Arc::clone(&cache));
            Keeping::new(Arc::clone(&fetcher), cache, Duration::from_nanos(1))
        };
        let (embedded, kept) = (
            Embedded::new(keeping(), Limits::default()),
            Kept::new(keeping(), Limits::default()),
        );
        let hit = Hit::new("web", &url, "", "");
        assert!(kept.read(&hit).await.is_err(), "nothing is kept yet");
        embedded.read(&hit).await.unwrap();
        server.await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
        let fault = embedded.read(&hit).await.unwrap_err();
        let reason = FailReason::told_in(&fault.chain()).unwrap();
        assert!(kept.reads_after(&hit, reason), "{reason:?}");
        let page = kept.read(&hit).await.unwrap();
        assert!(page.text().expose().contains("Cork floats"));
        assert!(
            page.warnings
                .iter()
                .any(|it| it.contains("as it was less than an hour ago")),
            "{:?}",
            page.warnings
        );
        assert!(!kept.reads_after(&hit, FailReason::NotFound));
    }
}
