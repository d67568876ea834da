//! A cache of answers of engines, also for queries with the same significant words.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;

use ibid_core::Result;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Hits, Query, Vertical};
use ibid_core::ports::SearchProvider;
use ibid_net::web::cache::{CacheKind, WebCache};

/// A search engine whose answers are cached.
pub struct CachedSearch {
    inner: Arc<dyn SearchProvider>,
    cache: Arc<WebCache>,
    /// How long a cached answer is used.
    age: Duration,
    /// Whether cached answers are not used.
    fresh: bool,
}

impl CachedSearch {
    /// Caches the answers of `inner` in `cache` and uses them for `age`; with `fresh` they are stored but not used.
    pub fn new(
        inner: Arc<dyn SearchProvider>,
        cache: Arc<WebCache>,
        age: Duration,
        fresh: bool,
    ) -> CachedSearch {
        CachedSearch { inner, cache, age, fresh }
    }
}

#[async_trait]
impl SearchProvider for CachedSearch {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn verticals(&self) -> &[Vertical] {
        self.inner.verticals()
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let key = key(self.inner.name(), query);
        if !self.fresh
            && let Some(kept) = self.cache.get::<()>(CacheKind::Answer, &key).await
            && kept.age <= self.age
            && let Ok(hits) = serde_json::from_slice::<Hits>(&kept.body)
        {
            // A cached answer costs nothing.
            return Ok(Hits { cost_usd: None, ..hits });
        }
        let hits = self.inner.search(query).await?;
        // An empty answer is not cached: it may be a temporary failure of the engine.
        if !hits.hits.is_empty()
            && let Ok(body) = serde_json::to_vec(&hits)
        {
            self.cache.put(CacheKind::Answer, &key, &(), &body).await;
        }
        Ok(hits)
    }
}

/// The key of an answer: the engine, the words and the filters. The item and the variation that the query is for do not
/// matter.
fn key(engine: &str, query: &Query) -> String {
    let mut domains = [query.domains.clone(), query.not_domains.clone()];
    domains.iter_mut().for_each(|domain| domain.sort());
    let bounds = (query.vertical(), query.limit, &query.since, &query.until);
    json!([engine, words(query.text()), bounds, domains]).to_string()
}

/// The significant words of a query in alphabetical order; the query itself if its form matters or it has no such words.
fn words(text: &str) -> String {
    let text = text.trim().to_lowercase();
    let operator = |text: &str| {
        text.starts_with(['-', '+'])
            || text.contains([':', '"', '(', '*'])
            || ["or", "not"].contains(&text)
    };
    let mut stems = content_stems(&text);
    // Only English has a list of insignificant words. In other languages all words count, and their order may.
    if stems.is_empty() || !text.is_ascii() || text.split_whitespace().any(operator) {
        return text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    stems.sort();
    stems.dedup();
    format!("~ {}", stems.join(" "))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use ibid_core::domain::Hit;

    struct CountingSearch(AtomicUsize);

    #[async_trait]
    impl SearchProvider for CountingSearch {
        fn name(&self) -> &str {
            "counting"
        }

        async fn search(&self, query: &Query) -> Result<Hits> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if query.text() == "nothing" {
                return Ok(Hits::default());
            }
            let hit = Hit::new("counting", "https://example.org/", "Cork", "bark");
            Ok(Hits { cost_usd: Some(0.01), ..vec![hit].into() })
        }
    }

    fn query(text: &'static str) -> Query {
        Query::from_static(text, Vertical::Web, 10)
    }

    #[tokio::test]
    async fn a_similar_question_is_answered_from_what_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = WebCache::path(dir.path());
        let cache = Arc::new(WebCache::open(&file, 1 << 20).await.unwrap());
        let inner = Arc::new(CountingSearch(AtomicUsize::new(0)));
        let hours = Duration::from_secs(3600);
        let open = |age, fresh| {
            let inner = Arc::clone(&inner) as Arc<dyn SearchProvider>;
            CachedSearch::new(inner, Arc::clone(&cache), age, fresh)
        };
        let search = open(hours, false);
        let asked = async |search: &CachedSearch, query: &Query| {
            let before = inner.0.load(Ordering::Relaxed);
            let hits = search.search(query).await.unwrap();
            (hits, inner.0.load(Ordering::Relaxed) - before)
        };
        let (first, calls) = asked(&search, &query("Why does cork float?")).await;
        assert_eq!((first.cost_usd, calls), (Some(0.01), 1));
        let (again, calls) = asked(&search, &query("floating: the cork")).await;
        assert_eq!(calls, 1, "an operator makes it another: {again:?}");
        let (again, calls) = asked(&search, &query("how do floating corks float")).await;
        assert_eq!((again.hits, again.cost_usd, calls), (first.hits, None, 0));
        // Other bounds, other engines' places and other forms are other questions.
        let (mut fewer, mut newer, mut within) = (
            query("Why does cork float?"),
            query("Why does cork float?"),
            query("Why does cork float?"),
        );
        fewer.limit = 5;
        newer.since = Some("2020-01-01".to_owned());
        within.domains = vec!["example.org".to_owned()];
        for other in [
            fewer,
            newer,
            within,
            query("\"cork floats\""),
            query("cork -float"),
            query("warum schwimmt kork über wasser"),
        ] {
            assert_eq!(asked(&search, &other).await.1, 1, "{other:?}");
            assert_eq!(asked(&search, &other).await.1, 0, "{other:?}");
        }
        assert_eq!(asked(&open(hours, true), &query("cork float")).await.1, 1);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(asked(&open(Duration::ZERO, false), &query("cork float")).await.1, 1);
        // What found nothing is asked again.
        assert_eq!(asked(&search, &query("nothing")).await.1, 1);
        assert_eq!(asked(&search, &query("nothing")).await.1, 1);
    }
}
