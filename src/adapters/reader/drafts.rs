//! What a server or a browser made of a page, kept for other runs: each reading costs somebody time or money.
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::web::cache::{WebCache, What};
use crate::domain::work::canonical;
use crate::domain::{PageDraft, Witness};

/// Pages that were read before, by reader and canonical address.
#[derive(Debug, Clone, Default)]
pub struct Drafts {
    cache: Option<Arc<WebCache>>,
    age: Duration,
    fresh: bool,
}

impl Drafts {
    /// Those in `cache`, used for `age`; with `fresh` they are only kept. Without a cache there are none.
    pub fn new(cache: Option<Arc<WebCache>>, age: Duration, fresh: bool) -> Drafts {
        Drafts {
            cache: cache.filter(|_| !age.is_zero()),
            age,
            fresh,
        }
    }

    /// What `reader` made of `url`, while it is fresh.
    pub(super) async fn get(&self, reader: &str, url: &str) -> Option<PageDraft> {
        let cache = self.cache.as_ref().filter(|_| !self.fresh)?;
        let kept = cache.get::<()>(What::Draft, &key(reader, url)).await?;
        let draft: Option<PageDraft> = serde_json::from_slice(&kept.body).ok();
        // One of an earlier version may have its address from the page itself.
        draft.filter(|it| kept.age <= self.age && it.witness == Witness::Fetcher)
    }

    /// Keeps what `reader` made of `url`.
    pub(super) async fn put(&self, reader: &str, url: &str, draft: &PageDraft) {
        if let Some(cache) = &self.cache
            && let Ok(body) = serde_json::to_vec(draft)
        {
            cache.put(What::Draft, &key(reader, url), &(), &body).await;
        }
    }
}

fn key(reader: &str, url: &str) -> String {
    format!("{reader} {}", canonical(url))
}
