//! A language model with the time limit of its run.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;

use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink};
use ibid_core::{Error, ErrorKind, Result};
use ibid_llm::metered::is_finishing;
use ibid_store::steering::TimeBudget;

/// How often the clock and the finish flag are checked during a call.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Percent of the time budget after which calls for research fail. The rest is for writing.
const RESEARCH_PERCENT: u64 = 85;
/// Percent of the time budget after which all calls fail.
const WRITING_PERCENT: u64 = 115;

/// A model whose calls fail with `Exhausted` when the time of the run is used up. The step then does without the model.
///
/// It is below the journal: journaled answers are returned whatever the time, and a call that was given up is journaled as failed.
pub(super) struct DeadlineModel {
    inner: Arc<dyn LanguageModel>,
    bounds: Arc<TimeBudget>,
}

impl DeadlineModel {
    /// `inner`, limited by `bounds`.
    pub(super) fn new(inner: Arc<dyn LanguageModel>, bounds: Arc<TimeBudget>) -> DeadlineModel {
        DeadlineModel { inner, bounds }
    }

    /// Resolves when a call for `purpose` must be given up, with the reason.
    async fn wait_deadline(&self, purpose: &str) -> Error {
        loop {
            if let Some(why) = self.deadline_error(purpose) {
                return why;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn deadline_error(&self, purpose: &str) -> Option<Error> {
        let writing = is_finishing(purpose);
        if self.bounds.is_finishing() {
            // After a finish command the report is still written in full.
            return (!writing).then(|| {
                Error::new(
                    ErrorKind::Exhausted,
                    "the call was abandoned because the run was asked to finish",
                )
            });
        }
        let limit = if writing { WRITING_PERCENT } else { RESEARCH_PERCENT };
        if !self.bounds.has_used_percent(limit) {
            return None;
        }
        self.bounds.timed_out.store(true, Ordering::Relaxed);
        let spent = Error::new(ErrorKind::Exhausted, "the time limit of the budget is reached");
        Some(spent.with_hint("raise it with --budget, for example `--budget 10m`"))
    }
}

#[async_trait]
impl LanguageModel for DeadlineModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        // The deadline is checked first: past it, the call is not sent.
        tokio::select! {
            biased;
            why = self.wait_deadline(&prompt.purpose) => Err(why),
            answer = self.inner.complete(prompt, sink) => answer,
        }
    }
}
