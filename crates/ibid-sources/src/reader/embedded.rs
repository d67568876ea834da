//! The embedded reader: fetches through the SSRF guard and parses with `ibid-extract`.
use std::time::Duration;

use async_trait::async_trait;

use super::addresses::{addresses, is_outside};
use super::read_error::{parse_error, read_error};
use super::soft_404;
use ibid_core::domain::{BlockKind, Hit, Page, PageDraft};
use ibid_core::ports::PageReader;
use ibid_core::retry::RetryPolicy;
use ibid_core::{ReadFailure, Result};
use ibid_extract::{DocumentOrigin, ExtractLimits};
use ibid_net::web::caching::CachingFetcher;
use ibid_net::web::fetch::FetchedPage;

/// How a page is fetched again after a broken answer. A second fetch mostly succeeds.
const REFETCH: RetryPolicy = RetryPolicy::fixed(2, Duration::from_millis(500));
/// Fewer words than this are a notice, not the full text of a work.
const FULL_TEXT_WORDS: usize = 400;

/// Reads pages of the web.
pub struct EmbeddedReader {
    fetcher: CachingFetcher,
    limits: ExtractLimits,
}

impl EmbeddedReader {
    /// Fetches with `fetcher` and parses within `limits`.
    pub fn new(fetcher: CachingFetcher, limits: ExtractLimits) -> EmbeddedReader {
        EmbeddedReader { fetcher, limits }
    }

    /// Reads the page at `url`.
    async fn read_url(&self, url: &str) -> Result<PageDraft> {
        self.limits.warm_up();
        let mut backoff = REFETCH.begin();
        let fetched = loop {
            match self.fetcher.fetch(url).await {
                Err(error) if error.reason == ReadFailure::Broken && backoff.wait().await => {}
                outcome => break outcome,
            }
        };
        let fetched = fetched
            .map_err(|error| read_error(url, error.reason, &error.why).with_status(error.status))?;
        let (draft, fetched) = parse_page(url, fetched, &self.limits).await?;
        // An error page is not cached: the next run may find the page.
        self.fetcher.keep(url, &fetched).await;
        Ok(draft)
    }
}

/// Parses what was fetched from `url`.
///
/// # Errors
/// Also for an error page that was sent with a good status.
pub(super) async fn parse_page(
    url: &str,
    fetched: FetchedPage,
    limits: &ExtractLimits,
) -> Result<(PageDraft, FetchedPage)> {
    let origin = DocumentOrigin::from_url(fetched.url.clone(), fetched.content_type.clone());
    let bytes = fetched.bytes.clone();
    let draft = ibid_extract::fetched(bytes, origin, limits).await;
    let draft = draft.map_err(|error| parse_error(url, &fetched.url, &error))?;
    if let Some((reason, phrase)) = soft_404::detect(&draft) {
        return Err(read_error(url, reason, &format!("the page says `{phrase}`")));
    }
    if let Some((reason, why)) = soft_404::detect_by_signals(&draft, url, &fetched.bytes) {
        return Err(read_error(url, reason, why));
    }
    Ok((draft, fetched))
}

#[async_trait]
impl PageReader for EmbeddedReader {
    fn name(&self) -> &str {
        "embedded"
    }

    fn can_read(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let mut first = None;
        for address in addresses(hit) {
            let url = address.url;
            match self.read_url(url).await {
                Ok(draft) if address.is_full_text && word_count(&draft) < FULL_TEXT_WORDS => {
                    let fault = read_error(
                        url,
                        ReadFailure::Empty,
                        "the full-text address returned only a notice",
                    );
                    first.get_or_insert(fault);
                }
                Ok(draft) => return Ok(Page::new(draft)),
                Err(fault) => {
                    first.get_or_insert(fault);
                }
            }
        }
        Err(first.unwrap_or_else(|| {
            read_error(&hit.url, ReadFailure::Unsupported, "it has no address that can be fetched")
        }))
    }
}

fn word_count(draft: &PageDraft) -> usize {
    let prose = draft.blocks.iter().filter(|block| block.kind != BlockKind::Heading);
    prose.map(|block| block.text.split_whitespace().count()).sum()
}
