//! Submitting a question as a run of the caller.
use serde_json::{Value, json};

use super::caller::Caller;
use super::run::CallerRun;
use super::service::CallerService;
use ibid::app::spending::Submission;
use ibid_core::Result;
use ibid_core::domain::Question;
use ibid_core::ports::{AcceptOutcome, IdempotencyKey, KeyOwner};

/// The outcome of submitting a question.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "one is created per request")]
pub enum SubmitOutcome {
    /// The run that works on it; an earlier request with the same key may have started it.
    Started(CallerRun),
    /// The idempotency key belongs to a different request.
    Other,
    /// The queue is full, or the caller has reached their limit of runs.
    Full,
}

impl CallerService {
    /// Whether a new run of the caller would be refused now.
    pub fn is_full(&self) -> bool {
        self.queue().is_full(self.caller().owner.as_ref())
    }

    /// The idempotency key of a request: the caller, the `key` they chose and a hash of what they `sent`.
    pub fn request_key(&self, key: &str, sent: &[u8]) -> IdempotencyKey {
        let owner = match &self.caller().owner {
            None => KeyOwner::Operator,
            Some(owner) => KeyOwner::User(&owner.user),
        };
        self.app().request_key(owner, key, sent)
    }

    /// Accepts `question` within the remaining budget of the caller's account. A repeated `key` returns the run of the first request.
    /// `request` holds the other fields that the caller sent.
    ///
    /// # Errors
    /// `Exhausted` if the account's daily budget is spent or reserved; store errors.
    pub async fn accept(
        &self,
        question: Question,
        request: Option<Value>,
        key: Option<IdempotencyKey>,
    ) -> Result<SubmitOutcome> {
        let run = self.app().new_run_id();
        let submission = Submission {
            owner: self.caller().owner.clone(),
            key,
            request: request_with_trace(request, self.caller()),
        };
        let accepted = self.queue().accept(run.clone(), question, submission).await;
        let run = match self.redact_error(accepted)? {
            AcceptOutcome::Queued => run,
            AcceptOutcome::Same(known) => known,
            AcceptOutcome::Other => return Ok(SubmitOutcome::Other),
            AcceptOutcome::Full => return Ok(SubmitOutcome::Full),
        };
        self.run(run.as_str()).await.map(SubmitOutcome::Started)
    }
}

/// Adds the caller's trace to the stored request.
fn request_with_trace(request: Option<Value>, caller: &Caller) -> Option<Value> {
    let Some(trace) = &caller.traceparent else {
        return request;
    };
    let mut request = request.unwrap_or_else(|| json!({}));
    request["traceparent"] = json!(trace);
    Some(request)
}
