//! The wrapper that falls back to the next model when one fails.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::sink_once::SinkOnce;
use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink};
use ibid_core::{Error, ErrorKind, FailureReason, Result};

/// Consecutive failures after which a model is paused.
const MAX_FAILURES: u32 = 3;

/// How long a model is paused before it is tried again.
const PAUSE: Duration = Duration::from_secs(60);

/// One of the models to choose from.
pub struct FailoverChoice {
    /// The model, including its retries.
    pub model: Arc<dyn LanguageModel>,
    /// Context window in tokens, if known.
    pub window: Option<u64>,
}

/// Models in order of preference: a call goes to the first one that answers.
///
/// The next model is called when one fails after all retries, lacks a key or credit, or rejects the request. A prompt
/// that is too long is passed on only to a model with a larger window; if there is none, the error is returned, so
/// that the caller can shorten the prompt. Answers withheld by a filter, a spent budget and cancelled calls are
/// returned as they are.
///
/// A model that failed three times in a row is paused for 60 s. Then one call tries it again; if that fails, it is
/// paused again.
pub struct FailoverModel {
    members: Vec<FailoverMember>,
}

struct FailoverMember {
    choice: FailoverChoice,
    health: Mutex<MemberHealth>,
}

#[derive(Default)]
struct MemberHealth {
    /// Consecutive failures.
    failures: u32,
    rests_until: Option<Instant>,
    /// Whether a call is trying the paused model.
    probed: bool,
    /// The last error: its kind, its words, its hint and its reason.
    last: Option<LastFailure>,
}

#[derive(Clone)]
struct LastFailure {
    kind: ErrorKind,
    text: String,
    hint: Option<String>,
    reason: Option<FailureReason>,
}

impl FailoverModel {
    /// Creates the wrapper around `choices`, in order.
    ///
    /// # Errors
    /// `Setup` if there are none.
    pub fn new(choices: Vec<FailoverChoice>) -> Result<FailoverModel> {
        if choices.is_empty() {
            return Err(Error::new(ErrorKind::Setup, "no model is set"));
        }
        let member = |choice| FailoverMember { choice, health: Mutex::default() };
        Ok(FailoverModel { members: choices.into_iter().map(member).collect() })
    }
}

#[async_trait]
impl LanguageModel for FailoverModel {
    /// The name of the preferred model. [`Completion::model`] is the one that answered.
    fn name(&self) -> &str {
        self.members.first().map_or("", |member| member.choice.model.name())
    }

    /// `sink` receives the text of one model only: the first that produced any.
    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let mut sink = SinkOnce::new(sink);
        let mut faults = Vec::new();
        let mut too_long: Option<(u64, Error)> = None;
        for member in &self.members {
            let window = member.choice.window;
            if let Some((least, _)) = &too_long
                && window.is_none_or(|window| window <= *least)
            {
                continue;
            }
            let model = &member.choice.model;
            let Some(mut visit) = member.try_begin() else {
                faults.push(member.resting_fault());
                continue;
            };
            let error = match sink.complete(&**model, prompt).await {
                Ok(mut completion) => {
                    visit.succeeded();
                    // Otherwise the caller could not tell which model answered.
                    completion.model.get_or_insert_with(|| model.name().to_owned());
                    return Ok(completion);
                }
                Err(error) => error,
            };
            match next_after(&error) {
                NextModels::Return => return Err(error),
                NextModels::Larger => match window {
                    Some(window) => too_long = Some((window, error)),
                    None => return Err(error),
                },
                NextModels::Any => {
                    visit.failed(&error);
                    faults.push(MemberFault {
                        kind: error.kind(),
                        text: format!("{}: {}", model.name(), error.chain()),
                        hint: error.hint().map(str::to_owned),
                        reason: error.reason().cloned(),
                        whole: Some(error),
                    });
                }
            }
        }
        // A shorter prompt would help, whatever the other errors are.
        Err(too_long.map_or_else(|| all_failed(faults), |pair| pair.1))
    }
}

enum NextModels {
    /// No other model would succeed.
    Return,
    /// A model with a larger window may succeed.
    Larger,
    /// Any other model may succeed.
    Any,
}

fn next_after(error: &Error) -> NextModels {
    match error.kind() {
        ErrorKind::Malformed if error.is_prompt_too_long() => NextModels::Larger,
        ErrorKind::Malformed if error.reason() == Some(&FailureReason::Declined) => {
            NextModels::Return
        }
        ErrorKind::Setup | ErrorKind::Transient | ErrorKind::Malformed | ErrorKind::NotFound => {
            NextModels::Any
        }
        ErrorKind::Exhausted | ErrorKind::Cancelled | ErrorKind::Usage | ErrorKind::Internal => {
            NextModels::Return
        }
    }
}

/// The error of one model.
struct MemberFault {
    kind: ErrorKind,
    text: String,
    hint: Option<String>,
    reason: Option<FailureReason>,
    whole: Option<Error>,
}

/// Combines the errors into one. Transient errors determine its kind first, then setup errors.
fn all_failed(mut faults: Vec<MemberFault>) -> Error {
    if faults.len() == 1
        && let Some(error) = faults.pop_if(|error| error.whole.is_some()).and_then(|it| it.whole)
    {
        return error;
    }
    let any = |kind| faults.iter().any(|error| error.kind == kind);
    let kind = [ErrorKind::Transient, ErrorKind::Setup]
        .into_iter()
        .find(|it| any(*it))
        .unwrap_or(ErrorKind::Malformed);
    let texts: Vec<&str> = faults.iter().map(|error| error.text.as_str()).collect();
    let error = Error::new(kind, "no model answered").with_source(texts.join("; "));
    let error = match faults.iter().find_map(|error| error.hint.clone()) {
        Some(hint) => error.with_hint(hint),
        None => error,
    };
    // Where one model alone was asked, why it is paused is why it did not answer.
    match faults.as_mut_slice() {
        [MemberFault { reason, .. }] if reason.is_some() => match reason.take() {
            Some(reason) => error.with_reason(reason),
            None => error,
        },
        _ => error,
    }
}

impl FailoverMember {
    /// Starts a call, unless the model is paused or being tried.
    fn try_begin(&self) -> Option<MemberCall<'_>> {
        let mut health = self.locked();
        let is_probe = match health.rests_until {
            None => false,
            Some(until) if until > Instant::now() || health.probed => return None,
            Some(_) => {
                health.probed = true;
                true
            }
        };
        Some(MemberCall { member: self, is_probe })
    }

    fn resting_fault(&self) -> MemberFault {
        let health = self.locked();
        let last = health.last.clone();
        let (name, count) = (self.choice.model.name(), health.failures);
        let failed = match count {
            1 => "a failure".to_owned(),
            count => format!("{count} failures in a row"),
        };
        let said = last.as_ref().map_or("", |it| it.text.as_str());
        MemberFault {
            // What a person must mend does not pass.
            kind: last
                .as_ref()
                .map(|it| it.kind)
                .filter(|kind| *kind == ErrorKind::Setup)
                .unwrap_or(ErrorKind::Transient),
            text: format!("{name} is paused after {failed}; the last one: {said}"),
            hint: last.as_ref().and_then(|it| it.hint.clone()),
            reason: last.and_then(|it| it.reason),
            whole: None,
        }
    }

    fn locked(&self) -> MutexGuard<'_, MemberHealth> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call to a member. If dropped without a result, it does not affect the member's health.
struct MemberCall<'a> {
    member: &'a FailoverMember,
    is_probe: bool,
}

impl MemberCall<'_> {
    fn succeeded(&mut self) {
        *self.member.locked() = MemberHealth::default();
        self.is_probe = false;
    }

    fn failed(&mut self, error: &Error) {
        let mut health = self.member.locked();
        health.failures = health.failures.saturating_add(1);
        health.last = Some(LastFailure {
            kind: error.kind(),
            text: error.chain(),
            hint: error.hint().map(str::to_owned),
            reason: error.reason().cloned(),
        });
        // What a person must mend, the next call does not find mended.
        let is_account = matches!(error.reason(), Some(FailureReason::Key | FailureReason::Quota));
        if is_account || health.failures >= MAX_FAILURES {
            health.rests_until = Some(Instant::now() + PAUSE);
        }
    }
}

impl Drop for MemberCall<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            self.member.locked().probed = false;
        }
    }
}

#[cfg(test)]
mod tests;
