//! The wrapper that tries again what may pass later.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::fault::ModelFault;
use crate::error::{Error, Kind, Result};
use crate::seams::{Chance, Completion, LanguageModel, Prompt, Sink};

/// How often and how long to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Tries in all, the first one too.
    pub tries: u32,
    /// The longest wait after the first failure; it doubles with each further one.
    pub first: Duration,
    /// The longest wait that doubling leads to.
    pub longest: Duration,
    /// How long after the call began the last try may begin.
    pub deadline: Duration,
}

impl Default for Patience {
    /// Five tries within 3 minutes; waits up to 1, 2, 4 and 8 s, and never more than 30 s unless the provider asks.
    fn default() -> Patience {
        Patience {
            tries: 5,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            deadline: Duration::from_secs(180),
        }
    }
}

/// A model that is asked again after a transient fault.
///
/// Waits are drawn evenly between nothing and a bound that doubles (full jitter), so that calls which failed together do
/// not come back together. A wait that the provider asks for is kept, and one that leads past the deadline ends the
/// tries at once. A try that is under way when the deadline comes is left to its own: it is paid for. Time is tokio's,
/// which no change of the machine's clock moves.
pub struct Retried {
    inner: Arc<dyn LanguageModel>,
    patience: Patience,
    chance: Arc<dyn Chance>,
}

impl Retried {
    /// `inner`, tried with `patience`; waits are drawn from `chance`.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        patience: Patience,
        chance: Arc<dyn Chance>,
    ) -> Retried {
        Retried {
            inner,
            patience,
            chance,
        }
    }

    /// How long to wait before the try after the `nth`, counted from 1; `None` to give up.
    fn wait(&self, error: &Error, nth: u32, begun: Instant) -> Option<Duration> {
        if error.kind() != Kind::Transient || nth >= self.patience.tries {
            return None;
        }
        let doubled = 2_u32.saturating_pow(nth - 1);
        let bound = self.patience.first.saturating_mul(doubled);
        let drawn = self.drawn(bound.min(self.patience.longest));
        let asked = ModelFault::inside(error).and_then(|it| it.retry_after);
        // What was asked for is the least; a little chance on top spreads those who were asked the same.
        let wait = asked.map_or(drawn, |it| it.saturating_add(drawn.min(it / 10)));
        let left = self.patience.deadline.checked_sub(begun.elapsed())?;
        (wait <= left).then_some(wait)
    }

    /// A part of `bound`, each as likely as any other.
    fn drawn(&self, bound: Duration) -> Duration {
        let share = (self.chance.bits() >> 64) as u64 as f64 / u64::MAX as f64;
        bound.mul_f64(share.clamp(0.0, 1.0))
    }
}

#[async_trait]
impl LanguageModel for Retried {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        let begun = Instant::now();
        let mut nth = 1;
        loop {
            let error = match self.inner.complete(prompt).await {
                Ok(it) => return Ok(it),
                Err(it) => it,
            };
            let Some(wait) = self.wait(&error, nth, begun) else {
                return Err(error);
            };
            sleep(wait).await;
            nth += 1;
        }
    }

    /// Tries again as a whole. `sink` hears one try: the first that told anything. What it heard of a try that failed is a
    /// preview without an end; the completion is what counts.
    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        let begun = Instant::now();
        let mut nth = 1;
        let mut heard = false;
        loop {
            let silent = heard;
            let mut told = |text: &str| {
                if !silent {
                    heard |= !text.is_empty();
                    sink(text);
                }
            };
            let error = match self.inner.stream(prompt, &mut told).await {
                Ok(it) => return Ok(it),
                Err(it) => it,
            };
            let Some(wait) = self.wait(&error, nth, begun) else {
                return Err(error);
            };
            sleep(wait).await;
            nth += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::model::scripted::{Say, Scripted, prompt, refusal};
    use crate::seams::SeededChance;

    const SECOND: Duration = Duration::from_secs(1);

    fn retried(inner: &Arc<Scripted>, patience: Patience) -> Retried {
        let inner: Arc<dyn LanguageModel> = inner.clone();
        Retried::new(inner, patience, Arc::new(SeededChance::new(7)))
    }

    fn gaps(model: &Scripted) -> Vec<Duration> {
        let asked = model.asked.lock().unwrap();
        let times: Vec<Instant> = asked.iter().map(|it| it.0).collect();
        times.windows(2).map(|it| it[1] - it[0]).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_later_is_tried_again_with_growing_waits() {
        let mut bounds = [Duration::ZERO; 4];
        for seed in 0..200 {
            let model = Scripted::new("a/b", (0..4).map(|_| refusal(503, None)));
            let inner: Arc<dyn LanguageModel> = model.clone();
            let chance = Arc::new(SeededChance::new(seed));
            let retried = Retried::new(inner, Patience::default(), chance);
            assert_eq!(retried.complete(&prompt("plan")).await.unwrap().text, "ok");
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
        let model = Scripted::new("a/b", (0..9).map(|_| refusal(500, None)));
        let retried = retried(&model, Patience::default());
        let error = retried.complete(&prompt("plan")).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Transient);
        assert_eq!(model.count(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_later_is_asked_once() {
        for kind in [
            Kind::Setup,
            Kind::Malformed,
            Kind::Exhausted,
            Kind::Cancelled,
            Kind::Internal,
        ] {
            let model = Scripted::new("a/b", [Say::Error(kind)]);
            let retried = retried(&model, Patience::default());
            let error = retried.complete(&prompt("plan")).await.unwrap_err();
            assert_eq!((error.kind(), model.count()), (kind, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_that_is_asked_for_is_kept() {
        let model = Scripted::new("a/b", [refusal(429, Some(40))]);
        retried(&model, Patience::default())
            .complete(&prompt("plan"))
            .await
            .unwrap();
        let gap = gaps(&model)[0];
        assert!(gap >= SECOND * 40 && gap <= SECOND * 45, "{gap:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_is_not_begun() {
        let begun = Instant::now();
        let model = Scripted::new("a/b", [refusal(429, Some(181))]);
        let retried = retried(&model, Patience::default());
        let error = retried.complete(&prompt("plan")).await.unwrap_err();
        let asked = ModelFault::inside(&error).unwrap().retry_after;
        assert_eq!(asked, Some(SECOND * 181));
        assert_eq!((begun.elapsed(), model.count()), (Duration::ZERO, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn no_try_begins_after_the_deadline() {
        let script = (0..9).map(|_| refusal(500, None));
        let model = Scripted::taking(SECOND * 100, "a/b", script);
        let retried = retried(&model, Patience::default());
        assert!(retried.complete(&prompt("plan")).await.is_err());
        assert_eq!(model.count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sink_hears_one_try() {
        let script = [
            refusal(503, None),
            Say::Fault("Moss is ", ModelFault::cut_off()),
            Say::Text("Moss is green."),
        ];
        let model = Scripted::new("a/b", script);
        let retried = retried(&model, Patience::default());
        let mut told = String::new();
        let answer = retried
            .stream(&prompt("plan"), &mut |it| told.push_str(it))
            .await;
        assert_eq!(answer.unwrap().text, "Moss is green.");
        assert_eq!(told, "Moss is ");
    }
}
