//! The wrapper that lets only so many calls out at once, as many as the provider bears.
//!
//! The number adapts as congestion control does (additive increase, multiplicative decrease): it is halved when a call is
//! refused for load, and grows by one when as many calls in a row as it allows went well.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, timeout_at};

use super::fault::ModelFault;
use super::providers::{Secret, Target};
use crate::error::{Error, Kind, Result};
use crate::seams::{Completion, LanguageModel, Prompt, Sink};

const MINUTE: Duration = Duration::from_secs(60);

/// What one key bears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls at once, at most; at least 1.
    pub at_once: usize,
    /// Calls that may begin within any 60 seconds, at least 1; no bound without one.
    pub a_minute: Option<usize>,
    /// How long a call waits for its turn.
    pub patience: Duration,
}

impl Default for Limits {
    /// 16 at once, any number a minute, 2 minutes of waiting.
    fn default() -> Limits {
        Limits {
            at_once: 16,
            a_minute: None,
            patience: Duration::from_secs(120),
        }
    }
}

/// The limiters of a process: one for each address and key, whoever asks.
#[derive(Debug, Default)]
pub struct Limiters(Mutex<Vec<Known>>);

type Known = (String, Option<Secret>, Arc<Limiter>);

impl Limiters {
    /// The limiter of the key and address of `target`: the one there is, or a new one with `limits`.
    pub fn of(&self, target: &Target, limits: Limits) -> Arc<Limiter> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .iter()
            .find(|it| it.0 == target.base_url && it.1 == target.key);
        if let Some((_, _, limiter)) = found {
            return Arc::clone(limiter);
        }
        let limiter = Limiter::new(limits);
        known.push((
            target.base_url.clone(),
            target.key.clone(),
            Arc::clone(&limiter),
        ));
        limiter
    }
}

/// Turns at one key. First come, first served.
#[derive(Debug)]
pub struct Limiter {
    limits: Limits,
    /// Held by whoever is next; the others queue for it in order.
    next: AsyncMutex<()>,
    /// Rung when a turn ends.
    ended: Notify,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    at_once: usize,
    out: usize,
    /// Calls in a row that went well.
    good: usize,
    /// When the number was last halved.
    halved: Option<Instant>,
    closed_until: Option<Instant>,
    /// When the calls of the last minute began.
    begun: VecDeque<Instant>,
}

/// What a call that wants a turn must do.
enum Next {
    Go,
    /// Nothing moves before then.
    Until(Instant),
    /// A turn must end first.
    Ended,
}

impl Limiter {
    /// A limiter that begins with all of `limits`.
    pub fn new(limits: Limits) -> Arc<Limiter> {
        let limits = Limits {
            at_once: limits.at_once.max(1),
            a_minute: limits.a_minute.map(|it| it.max(1)),
            ..limits
        };
        Arc::new(Limiter {
            limits,
            next: AsyncMutex::new(()),
            ended: Notify::new(),
            state: Mutex::new(State {
                at_once: limits.at_once,
                out: 0,
                good: 0,
                halved: None,
                closed_until: None,
                begun: VecDeque::new(),
            }),
        })
    }

    /// How many calls it lets out at once now.
    pub fn at_once(&self) -> usize {
        self.locked().at_once
    }

    /// A turn, waited for.
    async fn turn(self: &Arc<Self>, model: &str) -> Result<Turn> {
        let until = Instant::now() + self.limits.patience;
        let late = || waited(model, None);
        self.still_opens(model, until)?;
        let _next = timeout_at(until, self.next.lock())
            .await
            .map_err(|_| late())?;
        loop {
            self.still_opens(model, until)?;
            let next = self.locked().next(&self.limits);
            let wake = match next {
                Next::Go => {
                    return Ok(Turn {
                        limiter: Arc::clone(self),
                        begun: Instant::now(),
                    });
                }
                Next::Until(it) => it.min(until),
                Next::Ended => until,
            };
            // Only the next in line waits here, so that a ring is kept for it.
            let rung = timeout_at(wake, self.ended.notified()).await;
            if rung.is_err() && wake >= until {
                return Err(late());
            }
        }
    }

    /// An error at once, where the provider asked to be left alone past `until`.
    fn still_opens(&self, model: &str, until: Instant) -> Result<()> {
        match self.locked().closed_until {
            Some(opens) if opens > until => {
                let wait = opens.saturating_duration_since(Instant::now());
                Err(waited(model, Some(wait)))
            }
            _ => Ok(()),
        }
    }

    fn learn(&self, begun: Instant, outcome: Option<&Error>) {
        let mut state = self.locked();
        let Some(error) = outcome else {
            state.good += 1;
            if state.good >= state.at_once && state.at_once < self.limits.at_once {
                state.at_once += 1;
                state.good = 0;
            }
            return;
        };
        let Some(fault) = ModelFault::inside(error) else {
            return;
        };
        if fault.kind != Kind::Transient {
            return;
        }
        if let Some(wait) = fault.retry_after {
            let opens = Instant::now() + wait;
            state.closed_until = state.closed_until.max(Some(opens));
        }
        if is_load(fault) {
            state.good = 0;
            // Calls that were out together are refused together, and tell it only once.
            if state.halved.is_none_or(|it| begun >= it) {
                state.at_once = (state.at_once / 2).max(1);
                state.halved = Some(Instant::now());
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self, limits: &Limits) -> Next {
        let now = Instant::now();
        if let Some(opens) = self.closed_until.filter(|it| *it > now) {
            return Next::Until(opens);
        }
        if self.out >= self.at_once {
            return Next::Ended;
        }
        if let Some(most) = limits.a_minute {
            while self.begun.front().is_some_and(|it| *it + MINUTE <= now) {
                self.begun.pop_front();
            }
            match self.begun.front() {
                Some(oldest) if self.begun.len() >= most => return Next::Until(*oldest + MINUTE),
                _ => self.begun.push_back(now),
            }
        }
        self.out += 1;
        Next::Go
    }
}

/// Whether a provider refuses because too much is asked of it.
fn is_load(fault: &ModelFault) -> bool {
    let code = fault.code.as_deref().unwrap_or_default().to_lowercase();
    matches!(fault.status, Some(429 | 503 | 529))
        || ["rate_limit", "overloaded", "resource_exhausted"]
            .iter()
            .any(|it| code.contains(it))
}

fn waited(model: &str, wait: Option<Duration>) -> Error {
    let why = match wait {
        Some(it) => format!(
            "the provider asked not to be called for another {} s",
            it.as_secs_f64().ceil()
        ),
        None => "too many calls were waiting".to_owned(),
    };
    Error::new(
        Kind::Transient,
        format!("waiting for a turn to ask {model}"),
    )
    .because(ModelFault {
        retry_after: wait,
        unsent: true,
        ..ModelFault::transient(why)
    })
}

/// One call that is out. Dropped, it ends.
struct Turn {
    limiter: Arc<Limiter>,
    begun: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.limiter.locked().out -= 1;
        self.limiter.ended.notify_one();
    }
}

/// A model whose calls wait for a turn at its key.
pub struct Limited {
    inner: Arc<dyn LanguageModel>,
    limiter: Arc<Limiter>,
}

impl Limited {
    /// `inner`, in turns of `limiter`. A call that gets none in time is `Transient`, and was not sent.
    pub fn new(inner: Arc<dyn LanguageModel>, limiter: Arc<Limiter>) -> Limited {
        Limited { inner, limiter }
    }

    fn learnt(&self, turn: Turn, answer: Result<Completion>) -> Result<Completion> {
        self.limiter.learn(turn.begun, answer.as_ref().err());
        answer
    }
}

#[async_trait]
impl LanguageModel for Limited {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        let turn = self.limiter.turn(self.name()).await?;
        let answer = self.inner.complete(prompt).await;
        self.learnt(turn, answer)
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        let turn = self.limiter.turn(self.name()).await?;
        let answer = self.inner.stream(prompt, sink).await;
        self.learnt(turn, answer)
    }
}

#[cfg(test)]
mod tests;
