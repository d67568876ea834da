//! The wrapper that caches the interpretation of a question and its plan. Other steps depend on pages and evidence,
//! so their prompts do not repeat.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;

use ibid_core::Result;
use ibid_core::ports::{Completion, FinishReason, LanguageModel, Prompt, TextSink, TokenUsage};
use ibid_net::web::cache::{CacheKind, WebCache};

/// The steps whose answers are cached.
const CACHED_STEPS: [&str; 2] = ["refine", "plan"];

/// A model whose plans are cached.
pub struct CachedModel {
    inner: Arc<dyn LanguageModel>,
    cache: Arc<WebCache>,
    age: Duration,
    fresh: bool,
    /// The key of the last answer to each step.
    last: Mutex<HashMap<String, String>>,
}

impl CachedModel {
    /// Wraps `inner`. Plans are cached in `cache` and reused up to `age`; with `fresh` they are only written.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        cache: Arc<WebCache>,
        age: Duration,
        fresh: bool,
    ) -> CachedModel {
        CachedModel { inner, cache, age, fresh, last: Mutex::default() }
    }

    fn last_keys(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache key: the model and everything that is sent.
    fn key(&self, prompt: &Prompt) -> String {
        let messages: Vec<&str> =
            prompt.messages.iter().map(|message| message.text.as_str()).collect();
        let schema = prompt.schema.as_ref().map(|schema| &schema.json);
        json!([self.inner.name(), prompt.purpose, prompt.system, messages, schema]).to_string()
    }
}

#[async_trait]
impl LanguageModel for CachedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        if sink.is_some() || !CACHED_STEPS.contains(&prompt.purpose.as_str()) {
            return self.inner.complete(prompt, sink).await;
        }
        if prompt.retry {
            // The first answer could not be used, so it must not be used by another run either.
            let key = self.last_keys().remove(&prompt.purpose);
            if let Some(key) = key {
                self.cache.put(CacheKind::Plan, &key, &(), &[]).await;
            }
            return self.inner.complete(prompt, sink).await;
        }
        let key = self.key(prompt);
        self.last_keys().insert(prompt.purpose.clone(), key.clone());
        if !self.fresh
            && let Some(kept) = self.cache.get::<()>(CacheKind::Plan, &key).await
            && kept.age <= self.age
            && let Ok(answer) = serde_json::from_slice::<Completion>(&kept.body)
        {
            // The first call was paid for.
            return Ok(Completion { cost_usd: Some(0.0), tokens: TokenUsage::default(), ..answer });
        }
        let answer = self.inner.complete(prompt, None).await?;
        let whole = answer.finish == FinishReason::Stop && answer.refusal.is_none();
        if whole && let Ok(body) = serde_json::to_vec(&answer) {
            self.cache.put(CacheKind::Plan, &key, &(), &body).await;
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Says how often it was asked.
    #[derive(Default)]
    struct CountingModel(AtomicU32);

    #[async_trait]
    impl LanguageModel for CountingModel {
        fn name(&self) -> &str {
            "counting"
        }

        async fn complete(&self, _: &Prompt, _: Option<TextSink<'_>>) -> Result<Completion> {
            let nth = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(Completion::from_text(nth.to_string()))
        }
    }

    #[tokio::test]
    async fn the_same_plan_is_paid_for_once_and_other_steps_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let open = WebCache::open(&WebCache::path(dir.path()), 1 << 20).await;
        let cache = Arc::new(open.unwrap());
        let model: Arc<CountingModel> = Arc::default();
        let hour = Duration::from_secs(3600);
        let kept = CachedModel::new(model.clone(), Arc::clone(&cache), hour, false);
        let plan = Prompt::from_text("plan", "What is moss?");
        let first = kept.complete(&plan, None).await.unwrap();
        let again = kept.complete(&plan, None).await.unwrap();
        assert_eq!((first.text.as_str(), again.text.as_str()), ("1", "1"));
        assert_eq!(again.cost_usd, Some(0.0));
        let retry = Prompt { retry: true, ..plan.clone() };
        assert_eq!(kept.complete(&retry, None).await.unwrap().text, "2");
        assert_eq!(kept.complete(&plan, None).await.unwrap().text, "3", "the first was unusable");
        let weigh = Prompt::from_text("weigh", "What is moss?");
        assert_eq!(kept.complete(&weigh, None).await.unwrap().text, "4");
        let fresh = CachedModel::new(model, cache, hour, true);
        assert_eq!(fresh.complete(&plan, None).await.unwrap().text, "5");
    }
}
