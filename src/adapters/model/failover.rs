//! The wrapper that asks the next model when one fails for good.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::fault::ModelFault;
use crate::error::{Error, Kind, Result};
use crate::seams::{Completion, LanguageModel, Prompt, Sink};

/// Failures in a row after which a model rests.
const FAILURES: u32 = 3;

/// How long it rests before it is tried once more.
const REST: Duration = Duration::from_secs(60);

/// One of the models to choose from.
pub struct Choice {
    /// The model, with its own retries.
    pub model: Arc<dyn LanguageModel>,
    /// Tokens that its context takes, where that is known.
    pub window: Option<u64>,
}

/// Models in order of preference: a call goes to the first that answers it.
///
/// The next one is asked when a model fails for good: it lacks a key or credit, is not there after all retries, or will
/// not take the request. A prompt that is too long goes on only to a model with a larger window; without one, the error
/// is returned as it is, so that the caller can shorten the prompt. What a filter held back, a spent budget and a
/// cancelled call are returned as they are.
///
/// A model that failed three times in a row rests for 60 s and is not asked. Then one call tries it; if that fails it
/// rests again.
pub struct Failover {
    members: Vec<Member>,
}

struct Member {
    choice: Choice,
    health: Mutex<Health>,
}

#[derive(Default)]
struct Health {
    /// Failures in a row.
    failures: u32,
    rests_until: Option<Instant>,
    /// One call tries whether the model is back.
    probed: bool,
    /// What the last failure was.
    last: String,
}

impl Failover {
    /// Models to ask in the order of `choices`.
    ///
    /// # Errors
    /// `Setup` when there are none.
    pub fn new(choices: Vec<Choice>) -> Result<Failover> {
        if choices.is_empty() {
            return Err(Error::new(Kind::Setup, "no model is set"));
        }
        let member = |choice| Member {
            choice,
            health: Mutex::default(),
        };
        Ok(Failover {
            members: choices.into_iter().map(member).collect(),
        })
    }

    async fn ask(&self, prompt: &Prompt, mut sink: Option<Sink<'_>>) -> Result<Completion> {
        let mut faults = Vec::new();
        let mut too_long: Option<(u64, Error)> = None;
        let mut heard = false;
        for member in &self.members {
            let window = member.choice.window;
            if let Some((least, _)) = &too_long
                && window.is_none_or(|it| it <= *least)
            {
                continue;
            }
            let model = &member.choice.model;
            let Some(mut visit) = member.visit() else {
                faults.push(member.resting());
                continue;
            };
            let answer = match &mut sink {
                None => model.complete(prompt).await,
                Some(sink) => {
                    let silent = heard;
                    let mut told = |text: &str| {
                        if !silent {
                            heard |= !text.is_empty();
                            sink(text);
                        }
                    };
                    model.stream(prompt, &mut told).await
                }
            };
            let error = match answer {
                Ok(mut completion) => {
                    visit.went_well();
                    // Without it nobody could tell which of the models this was.
                    completion
                        .model
                        .get_or_insert_with(|| model.name().to_owned());
                    return Ok(completion);
                }
                Err(error) => error,
            };
            match next_after(&error) {
                Next::Return => return Err(error),
                Next::Larger => match window {
                    Some(window) => too_long = Some((window, error)),
                    None => return Err(error),
                },
                Next::Any => {
                    visit.failed(&error);
                    faults.push(Fault {
                        kind: error.kind(),
                        text: format!("{}: {}", model.name(), error.chain()),
                        hint: error.help().map(str::to_owned),
                        whole: Some(error),
                    });
                }
            }
        }
        // A shorter prompt helps whatever became of the others.
        Err(too_long.map_or_else(|| all_failed(faults), |it| it.1))
    }
}

#[async_trait]
impl LanguageModel for Failover {
    /// The name of the model that is preferred. Which one answered is told by [`Completion::model`].
    fn name(&self) -> &str {
        self.members.first().map_or("", |it| it.choice.model.name())
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        self.ask(prompt, None).await
    }

    /// `sink` hears one model: the first that told anything. The completion is what counts.
    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        self.ask(prompt, Some(sink)).await
    }
}

enum Next {
    /// No other model would do better.
    Return,
    /// A model with a larger window may.
    Larger,
    /// Any other may.
    Any,
}

fn next_after(error: &Error) -> Next {
    let fault = ModelFault::inside(error);
    match error.kind() {
        Kind::Malformed if fault.is_some_and(|it| it.context_too_long) => Next::Larger,
        Kind::Malformed if fault.is_some_and(|it| it.filtered) => Next::Return,
        Kind::Setup | Kind::Transient | Kind::Malformed | Kind::NotFound => Next::Any,
        Kind::Exhausted | Kind::Cancelled | Kind::Usage | Kind::Internal => Next::Return,
    }
}

/// What became of one model.
struct Fault {
    kind: Kind,
    text: String,
    hint: Option<String>,
    whole: Option<Error>,
}

/// One error for all: what may pass later comes first, then what the operator can mend.
fn all_failed(mut faults: Vec<Fault>) -> Error {
    if faults.len() == 1
        && let Some(error) = faults
            .pop_if(|it| it.whole.is_some())
            .and_then(|it| it.whole)
    {
        return error;
    }
    let any = |kind| faults.iter().any(|it| it.kind == kind);
    let kind = [Kind::Transient, Kind::Setup]
        .into_iter()
        .find(|it| any(*it))
        .unwrap_or(Kind::Malformed);
    let told: Vec<&str> = faults.iter().map(|it| it.text.as_str()).collect();
    let error = Error::new(kind, "no model answered").because(told.join("; "));
    match faults.iter().find_map(|it| it.hint.clone()) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

impl Member {
    /// Leave to ask, unless the model rests or is being tried.
    fn visit(&self) -> Option<Visit<'_>> {
        let mut health = self.locked();
        let is_probe = match health.rests_until {
            None => false,
            Some(until) if until > Instant::now() || health.probed => return None,
            Some(_) => {
                health.probed = true;
                true
            }
        };
        Some(Visit {
            member: self,
            is_probe,
        })
    }

    fn resting(&self) -> Fault {
        let health = self.locked();
        Fault {
            kind: Kind::Transient,
            text: format!(
                "{} rests after {} failures in a row, the last of them: {}",
                self.choice.model.name(),
                health.failures,
                health.last
            ),
            hint: None,
            whole: None,
        }
    }

    fn locked(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call to a member. Dropped without a word, it says nothing about its health.
struct Visit<'a> {
    member: &'a Member,
    is_probe: bool,
}

impl Visit<'_> {
    fn went_well(&mut self) {
        *self.member.locked() = Health::default();
        self.is_probe = false;
    }

    fn failed(&mut self, error: &Error) {
        let mut health = self.member.locked();
        health.failures = health.failures.saturating_add(1);
        health.last = error.chain();
        if health.failures >= FAILURES {
            health.rests_until = Some(Instant::now() + REST);
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            self.member.locked().probed = false;
        }
    }
}

#[cfg(test)]
mod tests;
