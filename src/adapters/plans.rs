//! Questions that were understood and broken down before (rows B15, D13): the same prompt is not paid for again while its
//! answer is fresh. Other steps see pages and evidence, which are never the same twice.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;

use crate::adapters::web::cache::{WebCache, What};
use crate::error::Result;
use crate::seams::{Completion, Finish, LanguageModel, Prompt, Sink, Tokens};

/// The steps whose answers are kept.
const KEPT: [&str; 2] = ["refine", "plan"];

/// A model whose plans are kept.
pub struct KeptPlans {
    inner: Arc<dyn LanguageModel>,
    cache: Arc<WebCache>,
    age: Duration,
    fresh: bool,
}

impl KeptPlans {
    /// `inner`, whose plans are kept in `cache` and used again for `age`; with `fresh` they are only kept.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        cache: Arc<WebCache>,
        age: Duration,
        fresh: bool,
    ) -> KeptPlans {
        KeptPlans {
            inner,
            cache,
            age,
            fresh,
        }
    }

    /// What an answer is kept under: who is asked, and every word that is sent.
    fn key(&self, prompt: &Prompt) -> String {
        let messages: Vec<&str> = prompt.messages.iter().map(|it| it.text.as_str()).collect();
        let schema = prompt.schema.as_ref().map(|it| &it.json);
        json!([
            self.inner.name(),
            prompt.purpose,
            prompt.system,
            messages,
            schema
        ])
        .to_string()
    }
}

#[async_trait]
impl LanguageModel for KeptPlans {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        if !KEPT.contains(&prompt.purpose.as_str()) {
            return self.inner.complete(prompt).await;
        }
        let key = self.key(prompt);
        if !self.fresh
            && let Some(kept) = self.cache.get::<()>(What::Plan, &key).await
            && kept.age <= self.age
            && let Ok(answer) = serde_json::from_slice::<Completion>(&kept.body)
        {
            // It was paid for once.
            return Ok(Completion {
                cost_usd: Some(0.0),
                tokens: Tokens::default(),
                ..answer
            });
        }
        let answer = self.inner.complete(prompt).await?;
        let whole = answer.finish == Finish::Stop && answer.refusal.is_none();
        if whole && let Ok(body) = serde_json::to_vec(&answer) {
            self.cache.put(What::Plan, &key, &(), &body).await;
        }
        Ok(answer)
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        self.inner.stream(prompt, sink).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Says how often it was asked.
    #[derive(Default)]
    struct Counting(AtomicU32);

    #[async_trait]
    impl LanguageModel for Counting {
        fn name(&self) -> &str {
            "counting"
        }

        async fn complete(&self, _: &Prompt) -> Result<Completion> {
            let nth = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(Completion::said(nth.to_string()))
        }

        async fn stream(&self, prompt: &Prompt, _: Sink<'_>) -> Result<Completion> {
            self.complete(prompt).await
        }
    }

    #[tokio::test]
    async fn the_same_plan_is_paid_for_once_and_other_steps_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let open = WebCache::open(&WebCache::path(dir.path()), 1 << 20).await;
        let cache = Arc::new(open.unwrap());
        let model: Arc<Counting> = Arc::default();
        let hour = Duration::from_secs(3600);
        let kept = KeptPlans::new(model.clone(), Arc::clone(&cache), hour, false);
        let plan = Prompt::asking("plan", "What is moss?");
        let first = kept.complete(&plan).await.unwrap();
        let again = kept.complete(&plan).await.unwrap();
        assert_eq!((first.text.as_str(), again.text.as_str()), ("1", "1"));
        assert_eq!(again.cost_usd, Some(0.0));
        let weigh = Prompt::asking("weigh", "What is moss?");
        assert_eq!(kept.complete(&weigh).await.unwrap().text, "2");
        let fresh = KeptPlans::new(model, cache, hour, true);
        assert_eq!(fresh.complete(&plan).await.unwrap().text, "3");
    }
}
