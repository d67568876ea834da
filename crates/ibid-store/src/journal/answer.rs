//! Answers of providers as JSON, as the journal keeps them.
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::replay_log::ReplayLog;
use ibid_core::domain::{Hits, Page};
use ibid_core::ports::{Completion, JournalCallState, TokenUsage};
use ibid_core::{Error, ErrorKind, Result};

/// An answer that the journal can keep.
pub(super) trait JournalAnswer: Sized {
    /// The page that must be stored before the answer is used.
    fn page(&self) -> Option<&Page> {
        None
    }

    /// What the answer cost, US dollars, as far as is known.
    fn cost(&self) -> f64 {
        0.0
    }

    /// The answer of `provider` for the recorded JSON `answer`.
    fn from_replay(_log: &ReplayLog, provider: &str, answer: Value) -> Result<Self>
    where
        Self: DeserializeOwned,
    {
        decode(provider, answer)
    }
}

impl JournalAnswer for Completion {
    fn cost(&self) -> f64 {
        self.cost_usd.unwrap_or(0.0)
    }

    fn from_replay(log: &ReplayLog, provider: &str, answer: Value) -> Result<Completion> {
        let completion: Completion = decode(provider, answer)?;
        if log.is_complete() {
            return Ok(completion);
        }
        // The recorded run has paid for it; this run does not.
        Ok(Completion {
            tokens: TokenUsage { input: Some(0), output: Some(0), ..TokenUsage::default() },
            cost_usd: Some(0.0),
            ..completion
        })
    }
}

impl JournalAnswer for Page {
    fn page(&self) -> Option<&Page> {
        Some(self)
    }

    fn from_replay(log: &ReplayLog, provider: &str, answer: Value) -> Result<Page> {
        log.page(&decode(provider, answer)?)
    }
}

impl JournalAnswer for Vec<f32> {}

impl JournalAnswer for Hits {
    fn from_replay(log: &ReplayLog, provider: &str, answer: Value) -> Result<Hits> {
        let hits: Hits = decode(provider, answer)?;
        if log.is_complete() {
            return Ok(hits);
        }
        // The recorded run has paid for it; this run does not.
        Ok(Hits { cost_usd: hits.cost_usd.map(|_| 0.0), ..hits })
    }
}

/// The answer of a call that has ended.
///
/// # Errors
/// The recorded error of a call that failed.
pub(super) fn into_answer(state: JournalCallState) -> Result<Value> {
    match state {
        JournalCallState::Answered(answered) => Ok(answered.answer),
        JournalCallState::Failed { kind, message, reason, status, hint } => {
            let mut error = Error::new(kind, message).with_status(status);
            if let Some(reason) = reason {
                error = error.with_reason(reason);
            }
            Err(match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            })
        }
        JournalCallState::Intended => {
            Err(Error::new(ErrorKind::Internal, "the journal has no answer for this call"))
        }
    }
}

/// The JSON of an answer of `provider`.
pub(super) fn encode<T: Serialize>(provider: &str, answer: &T) -> Result<Value> {
    let broken = |cause| {
        Error::new(ErrorKind::Internal, format!("writing an answer of {provider} as JSON"))
            .with_source(cause)
    };
    // Through text and back: the value is then the same as when it is read from the store.
    let text = serde_json::to_string(answer).map_err(broken)?;
    serde_json::from_str(&text).map_err(broken)
}

/// The answer of `provider` in its JSON.
pub(super) fn decode<T: DeserializeOwned>(provider: &str, answer: Value) -> Result<T> {
    serde_json::from_value(answer).map_err(|cause| {
        Error::new(ErrorKind::Internal, format!("reading an answer of {provider} from JSON"))
            .with_source(cause)
    })
}
