//! Pages that were fetched before: used as they are while they are fresh, asked about when they are not.
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cache::{WebCache, What};
use super::fetch::{Fetched, Fetcher, Unfetched, Validators};
use crate::domain::work::canonical;

/// What is kept of a page besides its bytes.
#[derive(Serialize, Deserialize)]
struct Head {
    url: String,
    content_type: Option<String>,
    validators: Validators,
}

/// A fetcher that remembers.
pub struct Keeping {
    fetcher: Arc<Fetcher>,
    cache: Option<Arc<WebCache>>,
    /// How long a page is used without asking for it again.
    age: Duration,
    /// Whether nothing that was kept before is used.
    fresh: bool,
}

impl Keeping {
    /// `fetcher`, which keeps what it fetches in `cache`, where there is one, and uses it for `age`.
    pub fn new(fetcher: Arc<Fetcher>, cache: Option<Arc<WebCache>>, age: Duration) -> Keeping {
        Keeping {
            fetcher,
            cache: cache.filter(|_| !age.is_zero()),
            age,
            fresh: false,
        }
    }

    /// The same, that asks for every page anew if `fresh`, and keeps what comes.
    #[must_use]
    pub fn fresh(mut self, fresh: bool) -> Keeping {
        self.fresh = fresh;
        self
    }

    /// What is at `url`. What was not kept before is not kept yet: [`Keeping::keep`] does, once it proves to be a page.
    ///
    /// # Errors
    /// Why nothing came. An address that may not be asked may not be looked up in the cache either.
    pub async fn fetch(&self, url: &str) -> Result<Fetched, Unfetched> {
        let Some((had, age)) = self.had(url).await? else {
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
                    cache.confirm(What::Page, &canonical(url)).await;
                }
                Ok(had)
            }
        }
    }

    /// What was at `url` when it was last asked for, and how long ago that was, whatever its age. Nobody is asked.
    ///
    /// # Errors
    /// Where it may not be asked for now.
    pub async fn had(&self, url: &str) -> Result<Option<(Fetched, Duration)>, Unfetched> {
        let Some(cache) = self.cache.as_ref().filter(|_| !self.fresh) else {
            return Ok(None);
        };
        self.fetcher.guard().target(url)?;
        let Some(kept) = cache.get::<Head>(What::Page, &canonical(url)).await else {
            return Ok(None);
        };
        let had = Fetched {
            url: kept.head.url,
            content_type: kept.head.content_type,
            bytes: kept.body,
            redirects: 0,
            validators: kept.head.validators,
            may_be_kept: false,
        };
        self.fetcher.guard().target(&had.url)?;
        Ok(Some((had, kept.age)))
    }

    /// Keeps what was fetched for `url`, which is a page, where the server lets it be kept.
    pub async fn keep(&self, url: &str, page: &Fetched) {
        let Some(cache) = self.cache.as_ref().filter(|_| page.may_be_kept) else {
            return;
        };
        let head = Head {
            url: page.url.clone(),
            content_type: page.content_type.clone(),
            validators: page.validators.clone(),
        };
        let key = canonical(url);
        cache.put(What::Page, &key, &head, &page.bytes).await;
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
