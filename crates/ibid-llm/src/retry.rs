//! The wrapper that retries transient errors.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;

use super::sink_once::SinkOnce;
use ibid_core::ports::{Completion, LanguageModel, Prompt, Rng, TextSink};
use ibid_core::retry::{Backoff, RetryPolicy};
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use ibid_net::http::is_network_down;
use ibid_net::service_error::ServiceError;

/// Five attempts within 3 minutes, with delays of up to 1, 2, 4 and 8 s; never more than 30 s unless the provider
/// requests it.
pub const MODEL_RETRY: RetryPolicy = RetryPolicy {
    tries: 5,
    first: Duration::from_secs(1),
    factor: 2,
    longest: Duration::from_secs(30),
    deadline: Duration::from_secs(180),
};

/// A model that is called again after a transient error.
///
/// A delay requested by the provider is respected; if it exceeds the deadline, retrying stops at once. An attempt in
/// progress at the deadline is not aborted, because it is paid for.
pub struct RetryModel {
    inner: Arc<dyn LanguageModel>,
    policy: RetryPolicy,
    chance: Arc<dyn Rng>,
}

impl RetryModel {
    /// Wraps `inner`; delays are drawn from `chance`.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        policy: RetryPolicy,
        chance: Arc<dyn Rng>,
    ) -> RetryModel {
        RetryModel { inner, policy, chance }
    }

    /// The delay before the next attempt; `None` to give up.
    fn delay(&self, error: &Error, backoff: &mut Backoff) -> Option<Duration> {
        if error.kind() != ErrorKind::Transient {
            return None;
        }
        let fault = ServiceError::find_in(error);
        let requested = fault.and_then(|it| it.retry_after);
        let is_first = backoff.failures() == 0;
        let delay = backoff.next_delay(requested, Some(&*self.chance));
        // Without a network a second attempt is enough, and the step continues without a model.
        let unreachable = fault.is_some_and(|it| it.reason == Some(FailureReason::Unreachable));
        delay.filter(|_| is_first || !(unreachable && is_network_down()))
    }
}

#[async_trait]
impl LanguageModel for RetryModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// `sink` receives the text of one attempt only: the first that produced any. If that attempt fails, the preview
    /// ends there.
    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let mut sink = SinkOnce::new(sink);
        let mut backoff = self.policy.begin();
        loop {
            let error = match sink.complete(&*self.inner, prompt).await {
                Ok(it) => return Ok(it),
                Err(it) => it,
            };
            let Some(wait) = self.delay(&error, &mut backoff) else {
                return Err(error);
            };
            sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{ScriptedModel, ScriptedReply, prompt, refusal};
    use ibid_core::ports::SeededRng;
    use tokio::time::Instant;

    const SECOND: Duration = Duration::from_secs(1);

    fn retried(inner: &Arc<ScriptedModel>, policy: RetryPolicy) -> RetryModel {
        let inner: Arc<dyn LanguageModel> = inner.clone();
        RetryModel::new(inner, policy, Arc::new(SeededRng::new(7)))
    }

    fn gaps(model: &ScriptedModel) -> Vec<Duration> {
        let calls = model.asked.lock().unwrap();
        let times: Vec<Instant> = calls.iter().map(|pair| pair.0).collect();
        times.windows(2).map(|window| window[1] - window[0]).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_later_is_tried_again_with_growing_waits() {
        let mut bounds = [Duration::ZERO; 4];
        for seed in 0..200 {
            let model = ScriptedModel::new("a/b", (0..4).map(|_| refusal(503, None)));
            let inner: Arc<dyn LanguageModel> = model.clone();
            let chance = Arc::new(SeededRng::new(seed));
            let retried = RetryModel::new(inner, MODEL_RETRY, chance);
            assert_eq!(retried.complete(&prompt("plan"), None).await.unwrap().text, "ok");
            for (nth, gap) in gaps(&model).into_iter().enumerate() {
                // Timers go by whole milliseconds, rounded up.
                let most = SECOND * (1 << nth) + Duration::from_millis(1);
                assert!(gap <= most, "{nth}: {gap:?}");
                bounds[nth] = bounds[nth].max(gap);
            }
        }
        for (nth, longest) in bounds.into_iter().enumerate() {
            assert!(longest > (SECOND * (1 << nth)).mul_f64(0.9), "{longest:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tries_end_after_their_number() {
        let model = ScriptedModel::new("a/b", (0..9).map(|_| refusal(500, None)));
        let retried = retried(&model, MODEL_RETRY);
        let error = retried.complete(&prompt("plan"), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert_eq!(model.count(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_later_is_asked_once() {
        for kind in [
            ErrorKind::Setup,
            ErrorKind::Malformed,
            ErrorKind::Exhausted,
            ErrorKind::Cancelled,
            ErrorKind::Internal,
        ] {
            let model = ScriptedModel::new("a/b", [ScriptedReply::Error(kind)]);
            let retried = retried(&model, MODEL_RETRY);
            let error = retried.complete(&prompt("plan"), None).await.unwrap_err();
            assert_eq!((error.kind(), model.count()), (kind, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_that_is_asked_for_is_kept() {
        let model = ScriptedModel::new("a/b", [refusal(429, Some(40))]);
        retried(&model, MODEL_RETRY).complete(&prompt("plan"), None).await.unwrap();
        let gap = gaps(&model)[0];
        assert!(gap >= SECOND * 40 && gap <= SECOND * 45, "{gap:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_is_not_begun() {
        let begun = Instant::now();
        let model = ScriptedModel::new("a/b", [refusal(429, Some(181))]);
        let retried = retried(&model, MODEL_RETRY);
        let error = retried.complete(&prompt("plan"), None).await.unwrap_err();
        let requested_wait = ServiceError::find_in(&error).unwrap().retry_after;
        assert_eq!(requested_wait, Some(SECOND * 181));
        assert_eq!((begun.elapsed(), model.count()), (Duration::ZERO, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn no_try_begins_after_the_deadline() {
        let script = (0..9).map(|_| refusal(500, None));
        let model = ScriptedModel::with_delay(SECOND * 100, "a/b", script);
        let retried = retried(&model, MODEL_RETRY);
        assert!(retried.complete(&prompt("plan"), None).await.is_err());
        assert_eq!(model.count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sink_hears_one_try() {
        let script = [
            refusal(503, None),
            ScriptedReply::Fault("Moss is ", ServiceError::truncated()),
            ScriptedReply::Text("Moss is green."),
        ];
        let model = ScriptedModel::new("a/b", script);
        let retried = retried(&model, MODEL_RETRY);
        let mut streamed = String::new();
        let answer = retried.complete(&prompt("plan"), Some(&mut |it| streamed.push_str(it))).await;
        assert_eq!(answer.unwrap().text, "Moss is green.");
        assert_eq!(streamed, "Moss is ");
    }
}
