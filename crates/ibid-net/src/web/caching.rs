//! A fetcher that caches pages: fresh pages are used as they are, older ones revalidated.
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cache::{CacheKind, WebCache};
use super::fetch::{FetchError, FetchedPage, Fetcher, Validators};
use ibid_core::domain::work::canonical_url;

/// The cached metadata of a page.
#[derive(Serialize, Deserialize)]
struct CachedPageHead {
    url: String,
    content_type: Option<String>,
    validators: Validators,
}

/// A fetcher with a cache.
pub struct CachingFetcher {
    fetcher: Arc<Fetcher>,
    cache: Option<Arc<WebCache>>,
    /// How long a page is used without revalidation.
    age: Duration,
    /// Whether earlier entries are ignored.
    fresh: bool,
}

impl CachingFetcher {
    /// Wraps `fetcher`; pages are cached in `cache`, if there is one, and reused up to `age`.
    pub fn new(
        fetcher: Arc<Fetcher>,
        cache: Option<Arc<WebCache>>,
        age: Duration,
    ) -> CachingFetcher {
        CachingFetcher { fetcher, cache: cache.filter(|_| !age.is_zero()), age, fresh: false }
    }

    /// With `fresh`, ignores earlier entries; new pages are still stored.
    #[must_use]
    pub fn with_refresh(mut self, fresh: bool) -> CachingFetcher {
        self.fresh = fresh;
        self
    }

    /// Fetches `url`, from the cache if possible. A new page is not stored yet; call [`CachingFetcher::keep`] once it
    /// proves usable.
    ///
    /// # Errors
    /// Why the page could not be fetched. A blocked address is not looked up in the cache either.
    pub async fn fetch(&self, url: &str) -> Result<FetchedPage, FetchError> {
        let Some((had, age)) = self.cached(url).await? else {
            return self.fetcher.fetch(url).await;
        };
        if age <= self.age {
            return Ok(had);
        }
        let changed = self.fetcher.fetch_changed(url, &had.url, &had.validators);
        match changed.await? {
            Some(page) => Ok(page),
            None => {
                if let Some(cache) = &self.cache {
                    cache.confirm(CacheKind::Page, &canonical_url(url)).await;
                }
                Ok(had)
            }
        }
    }

    /// Returns the cached page of `url` and its age, however old. Sends nothing.
    ///
    /// # Errors
    /// If the address is blocked.
    pub async fn cached(&self, url: &str) -> Result<Option<(FetchedPage, Duration)>, FetchError> {
        let Some(cache) = self.cache.as_ref().filter(|_| !self.fresh) else {
            return Ok(None);
        };
        self.fetcher.guard().check(url)?;
        let Some(kept) = cache.get::<CachedPageHead>(CacheKind::Page, &canonical_url(url)).await
        else {
            return Ok(None);
        };
        let had = FetchedPage {
            url: kept.head.url,
            content_type: kept.head.content_type,
            bytes: kept.body,
            redirects: 0,
            validators: kept.head.validators,
            may_be_kept: false,
        };
        self.fetcher.guard().check(&had.url)?;
        Ok(Some((had, kept.age)))
    }

    /// Stores a fetched page, unless the server forbids it.
    pub async fn keep(&self, url: &str, page: &FetchedPage) {
        let Some(cache) = self.cache.as_ref().filter(|_| page.may_be_kept) else {
            return;
        };
        let head = CachedPageHead {
            url: page.url.clone(),
            content_type: page.content_type.clone(),
            validators: page.validators.clone(),
        };
        let key = canonical_url(url);
        cache.put(CacheKind::Page, &key, &head, &page.bytes).await;
    }
}

#[cfg(test)]
mod tests;
