//! The wrapper that waits for a model no longer than the run may take.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;

use crate::adapters::model::metered::is_finishing;
use crate::adapters::steering::Bounds;
use crate::error::{Error, Kind, Result};
use crate::seams::{Completion, LanguageModel, Prompt, Sink};

/// How often the clock and the wish to finish are looked at while a model is waited for.
const LOOK: Duration = Duration::from_millis(100);
/// Percent of the time after which research is no longer waited for: the rest is for writing.
const RESEARCH: u64 = 85;
/// Percent of the time after which nobody is waited for.
const WRITING: u64 = 115;

/// A model whose answers are waited for as long as there is time; then the step does without.
///
/// It stands below the journal: what is answered there is read back whatever the time, and a call that was given up
/// is written down as failed.
pub(super) struct Timely {
    inner: Arc<dyn LanguageModel>,
    bounds: Arc<Bounds>,
}

impl Timely {
    /// `inner`, waited for within `bounds`.
    pub(super) fn new(inner: Arc<dyn LanguageModel>, bounds: Arc<Bounds>) -> Timely {
        Timely { inner, bounds }
    }

    /// Returns when a call for `purpose` is not to be waited for any longer, and says why.
    async fn over(&self, purpose: &str) -> Error {
        loop {
            if let Some(why) = self.why(purpose) {
                return why;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn why(&self, purpose: &str) -> Option<Error> {
        let writing = is_finishing(purpose);
        if self.bounds.finishing() {
            // Who asked for the end wants it written well.
            return (!writing)
                .then(|| Error::new(Kind::Exhausted, "finishing on request: not waited for"));
        }
        if !self.bounds.over(if writing { WRITING } else { RESEARCH }) {
            return None;
        }
        self.bounds.hurried.store(true, Ordering::Relaxed);
        let spent = Error::new(Kind::Exhausted, "the time of the budget is spent");
        Some(spent.hint("give it more with --budget, as in `--budget 10m`"))
    }
}

#[async_trait]
impl LanguageModel for Timely {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        // Over comes first: what nobody may wait for is not asked at all.
        tokio::select! {
            biased;
            why = self.over(&prompt.purpose) => Err(why),
            answer = self.inner.complete(prompt) => answer,
        }
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        tokio::select! {
            biased;
            why = self.over(&prompt.purpose) => Err(why),
            answer = self.inner.stream(prompt, sink) => answer,
        }
    }
}
