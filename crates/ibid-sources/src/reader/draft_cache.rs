//! A cache of pages read by a server or a browser: each read costs time or money.
use std::sync::Arc;
use std::time::Duration;

use ibid_core::domain::work::canonical_url;
use ibid_core::domain::{PageDraft, UrlProvenance};
use ibid_net::web::cache::{CacheKind, WebCache};

/// The cache of read pages, by reader and canonical address.
#[derive(Debug, Clone, Default)]
pub struct DraftCache {
    cache: Option<Arc<WebCache>>,
    age: Duration,
    fresh: bool,
}

impl DraftCache {
    /// Uses pages in `cache` for `age`; with `fresh` pages are stored but not used. Without a cache nothing is stored.
    pub fn new(cache: Option<Arc<WebCache>>, age: Duration, fresh: bool) -> DraftCache {
        DraftCache { cache: cache.filter(|_| !age.is_zero()), age, fresh }
    }

    /// Returns the page at `url` as `reader` read it, unless it is too old.
    pub(super) async fn get(&self, reader: &str, url: &str) -> Option<PageDraft> {
        let cache = self.cache.as_ref().filter(|_| !self.fresh)?;
        let cached = cache.get::<()>(CacheKind::Draft, &key(reader, url)).await?;
        let draft: Option<PageDraft> = serde_json::from_slice(&cached.body).ok();
        // A draft of an earlier version may have taken its address from the page itself.
        draft.filter(|draft| {
            cached.age <= self.age && draft.url_provenance == UrlProvenance::Fetcher
        })
    }

    /// Stores the page at `url` as `reader` read it.
    pub(super) async fn put(&self, reader: &str, url: &str, draft: &PageDraft) {
        if let Some(cache) = &self.cache
            && let Ok(body) = serde_json::to_vec(draft)
        {
            cache.put(CacheKind::Draft, &key(reader, url), &(), &body).await;
        }
    }
}

fn key(reader: &str, url: &str) -> String {
    format!("{reader} {}", canonical_url(url))
}
