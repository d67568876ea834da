//! Pages read by a configured server, which gets an address and answers with Markdown.
//!
//! A server is asked only for addresses that Ibid would fetch itself: the SSRF guard checks the address and those of its
//! host, and robots.txt is respected. A server resolves names and follows redirects by itself. If it reports a final
//! address that the guard refuses, its answer is discarded. A page keeps the address that was asked for.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use super::addresses::{addresses, is_outside};
use super::draft_cache::DraftCache;
use super::read_error::{parse_error, read_error};
use super::scrape_api::{ScrapeApi, ScrapedPage};
use super::{crawl4ai, firecrawl, jina, soft_404, steel};
use ibid_core::domain::{Hit, Page, PageDraft};
use ibid_core::ports::PageReader;
use ibid_core::{Error, ErrorKind, ReadFailure, Result};
use ibid_extract::{DocumentOrigin, ExtractLimits, dates};
use ibid_net::secret::ApiKey;
use ibid_net::service::{RateLimiter, ServiceAccess, ServiceClient};
use ibid_net::web::fetch::{FetchError, Fetcher};
use ibid_net::web::outcome::status_error;

/// Maximum wait for one answer. The server in turn waits for the page.
const TIMEOUT: Duration = Duration::from_secs(45);
/// Maximum wait for a page, with retries.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(100);
/// The largest answer, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// The page of the health check: small, and reserved for such uses (RFC 2606).
const HEALTH_CHECK_URL: &str = "https://example.com/";
/// Maximum wait of the health check.
const HEALTH_CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// A server that reads pages, as opening it and the documentation describe it.
pub struct ReaderInfo {
    /// The name in settings, events and reports.
    pub name: &'static str,
    /// The variable that holds the key.
    pub key_var: &'static str,
    /// The variable that sets the address.
    pub base_var: &'static str,
    /// The default address; empty for servers that users host themselves.
    pub base_url: &'static str,
    /// The least time between two calls.
    distance: Duration,
    /// The header that carries the key, and the prefix of its value.
    header: (&'static str, &'static str),
    /// Headers of every request.
    headers: &'static [(&'static str, &'static str)],
    api: &'static dyn ScrapeApi,
}

/// All servers that read pages, in the order in which `auto` uses them: self-hosted ones first.
#[rustfmt::skip]
pub static SERVERS: &[ReaderInfo] = &[
    ReaderInfo { name: "steel", key_var: "STEEL_API_KEY", base_var: "STEEL_URL", base_url: "",
        distance: Duration::from_millis(100), header: ("steel-api-key", ""), headers: &[], api: &steel::Steel },
    ReaderInfo { name: "crawl4ai", key_var: "CRAWL4AI_API_TOKEN", base_var: "CRAWL4AI_URL", base_url: "",
        distance: Duration::from_millis(100), header: ("authorization", "Bearer "), headers: &[], api: &crawl4ai::Crawl4Ai },
    ReaderInfo { name: "firecrawl", key_var: "FIRECRAWL_API_KEY", base_var: "FIRECRAWL_API_URL", base_url: "https://api.firecrawl.dev",
        distance: Duration::from_millis(200), header: ("authorization", "Bearer "), headers: &[], api: &firecrawl::FirecrawlReader },
    ReaderInfo { name: "jina", key_var: "JINA_API_KEY", base_var: "JINA_READER_URL", base_url: "https://r.jina.ai",
        distance: Duration::from_millis(150), header: ("authorization", "Bearer "),
        headers: &[("accept", "application/json"), ("x-return-format", "markdown")], api: &jina::JinaReader },
];

impl ReaderInfo {
    /// Whether it can be used with this key and address.
    pub fn is_ready(&self, key: Option<&str>, base_url: Option<&str>) -> bool {
        base_url.is_some() || (key.is_some() && !self.base_url.is_empty())
    }
}

/// A reader behind a server.
pub struct RemoteReader {
    info: &'static ReaderInfo,
    service: ServiceClient,
    fetcher: Arc<Fetcher>,
    limits: ExtractLimits,
    drafts: DraftCache,
}

impl RemoteReader {
    /// Opens the server `info`. It will be asked only for addresses that `fetcher` would fetch itself. Sends nothing.
    ///
    /// # Errors
    /// `Setup` when its key or address is missing, or the system's certificates cannot be read.
    pub fn open(
        info: &'static ReaderInfo,
        key: Option<&str>,
        base_url: Option<&str>,
        fetcher: Arc<Fetcher>,
        limits: ExtractLimits,
    ) -> Result<RemoteReader> {
        if !info.is_ready(key, base_url) {
            let (what, variable) = if info.base_url.is_empty() {
                ("address", info.base_var)
            } else {
                ("key", info.key_var)
            };
            return Err(Error::new(
                ErrorKind::Setup,
                format!("no {what} is set for the reader {}", info.name),
            )
            .with_hint(format!("set {variable}, or remove it from readers")));
        }
        let base_url = base_url.unwrap_or(info.base_url);
        let access = ServiceAccess {
            base_url: base_url.trim_end_matches('/').to_owned(),
            header: info.header,
            key: key.map(ApiKey::new),
        };
        let service = ServiceClient::open(info.name, access)?
            .with_rate_limit(Arc::new(RateLimiter::new(info.distance)))
            .with_egress(fetcher.egress().clone())
            .with_limits(TIMEOUT, MAX_BYTES);
        let service = info
            .headers
            .iter()
            .fold(service, |service, (name, value)| service.with_header(name, *value));
        Ok(RemoteReader { info, service, fetcher, limits, drafts: DraftCache::default() })
    }

    /// Caches pages in `drafts`.
    #[must_use]
    pub fn with_cache(mut self, drafts: DraftCache) -> RemoteReader {
        self.drafts = drafts;
        self
    }

    /// Lets the server read one small page, to check that it works.
    ///
    /// # Errors
    /// Those of the request; `Malformed` when the page failed or is empty.
    pub async fn health_check(self) -> Result<()> {
        let service = self.service.with_limits(HEALTH_CHECK_TIMEOUT, MAX_BYTES).without_retries();
        let scraped = self.info.api.scrape(&service, HEALTH_CHECK_URL).await?;
        let malformed = |why: String| {
            let doing = format!("having {} read {HEALTH_CHECK_URL}", self.info.name);
            Err(Error::new(ErrorKind::Malformed, doing).with_source(why))
        };
        match scraped.status {
            Some(status) if status >= 400 => {
                malformed(format!("the page answered with status {status}"))
            }
            _ if scraped.markdown.is_empty() => malformed("the page is empty".to_owned()),
            _ => Ok(()),
        }
    }

    async fn read_url(&self, url: &str) -> Result<PageDraft> {
        let fault = |reason, why: &str| read_error(url, reason, why);
        let checked = self.fetcher.guard().check(url).map_err(FetchError::from);
        checked.map_err(|error| fault(error.reason, &error.why))?;
        if let Some(draft) = self.drafts.get(self.info.name, url).await {
            return Ok(draft);
        }
        let allowed = self.fetcher.check_allowed(url).await;
        let (mut target, _) = allowed.map_err(|error| fault(error.reason, &error.why))?;
        target.set_fragment(None);
        let scraped =
            timeout(TOTAL_TIMEOUT, self.info.api.scrape(&self.service, target.as_str())).await;
        let scraped = scraped
            .map_err(|_| fault(ReadFailure::Timeout, &format!("{} took too long", self.info.name)))?
            .map_err(|error| fault(fail_reason(&error), &error.chain()))?;
        if let Some(status) = scraped.status.filter(|status| *status >= 400) {
            let refused = status_error(status);
            return Err(fault(refused.reason, &refused.why));
        }
        // The final address cannot be verified, so the page keeps the address that was asked for.
        if let Some(end) = scraped.url.as_deref().filter(|end| *end != target.as_str()) {
            let checked = self.fetcher.guard().check(end);
            checked.map_err(|error| {
                let why = format!("it ended at {}: {}", error.step.as_str(), error.why);
                fault(ReadFailure::BlockedAddress, &why)
            })?;
        }
        let draft = self.parse(url, target.as_str(), scraped).await?;
        if let Some((reason, phrase)) = soft_404::detect(&draft) {
            return Err(fault(reason, &format!("the page says `{phrase}`")));
        }
        self.drafts.put(self.info.name, url, &draft).await;
        Ok(draft)
    }

    /// Parses the Markdown of a page that was found at `target`.
    async fn parse(&self, url: &str, target: &str, scraped: ScrapedPage) -> Result<PageDraft> {
        let markdown = "text/markdown; charset=utf-8".to_owned();
        let origin = DocumentOrigin::from_url(target, Some(markdown));
        let bytes = scraped.markdown.into_bytes();
        let parsed = ibid_extract::fetched(bytes, origin, &self.limits).await;
        let mut draft = parsed.map_err(|error| parse_error(url, target, &error))?;
        if let Some(title) = scraped.title {
            draft.title = title;
        }
        if let Some(date) = scraped.date.as_deref().and_then(dates::normalise) {
            draft.date = Some(date);
            draft.date_source = Some(self.info.name.to_owned());
        }
        if let Some(lang) = scraped.lang.filter(|lang| lang.is_char_boundary(2)) {
            draft.lang = Some(lang[..2].to_lowercase());
        }
        draft.warnings.push(format!("read by {}, not by Ibid itself", self.info.name));
        Ok(draft)
    }
}

#[async_trait]
impl PageReader for RemoteReader {
    fn name(&self) -> &str {
        self.info.name
    }

    fn can_read(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    fn can_read_after(&self, _: &Hit, reason: ReadFailure) -> bool {
        // A page that does not exist does not exist for a server either.
        reason != ReadFailure::NotFound
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        // Only the best address: each read costs time or money.
        let url = addresses(hit).first().map_or(hit.url.as_str(), |address| address.url);
        self.read_url(url).await.map(Page::new)
    }
}

/// Why a page could not be read, from the error of a server.
fn fail_reason(error: &Error) -> ReadFailure {
    let message = error.chain().to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    match error.kind() {
        _ if says(&["captcha", "bot detection", "anti-bot", "access denied"]) => {
            ReadFailure::BotBlock
        }
        _ if says(&["larger than"]) => ReadFailure::TooLarge,
        ErrorKind::Transient => ReadFailure::Timeout,
        // The key is refused, or its quota is used up.
        ErrorKind::Setup | ErrorKind::Usage => ReadFailure::Unsupported,
        _ => ReadFailure::Broken,
    }
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
