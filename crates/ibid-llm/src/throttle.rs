//! The wrapper that limits concurrent calls to what the provider accepts.
//!
//! The limit adapts by additive increase and multiplicative decrease: it is halved when a call is rejected because of
//! load, and grows by one after as many successful calls in a row as it allows.
mod token_window;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, timeout_at};

use token_window::{MINUTE, TokenAdmission, TokenWindow};

use crate::providers::ModelTarget;
use crate::token_estimate::max_input_tokens;
use ibid_core::ports::{
    CallDemand, CallKey, CallPlace, CallPlaces, Completion, LanguageModel, Prompt, TextSink,
    TokenDemand, TokenUsage,
};
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::secret::ApiKey;
use ibid_net::service_error::ServiceError;

/// The limits of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// Maximum concurrent calls; at least 1.
    pub max_concurrent: usize,
    /// Maximum calls started within 60 seconds, at least 1; `None` means unlimited.
    pub per_minute: Option<usize>,
    /// Maximum tokens of the calls started within 60 seconds; `None` means unlimited.
    pub tokens_per_minute: Option<u64>,
    /// How long a call waits for a permit.
    pub max_wait: Duration,
}

impl Default for ConcurrencyLimits {
    /// 32 concurrent calls, any number of calls and tokens per minute, 2 minutes of waiting.
    fn default() -> ConcurrencyLimits {
        ConcurrencyLimits {
            max_concurrent: 32,
            per_minute: None,
            tokens_per_minute: None,
            max_wait: Duration::from_secs(120),
        }
    }
}

/// The limiters of a process: one for each address and key.
#[derive(Default)]
pub struct ConcurrencyLimiters {
    known: Mutex<Vec<LimiterEntry>>,
    places: SharedCallPlaces,
}

/// The limiter of one address and key.
struct LimiterEntry {
    base_url: String,
    key: Option<ApiKey>,
    /// The name of the key.
    name: String,
    limiter: Arc<ConcurrencyLimiter>,
}

/// The places that other processes take part in, once they are known.
type SharedCallPlaces = Arc<OnceLock<Arc<dyn CallPlaces>>>;

impl ConcurrencyLimiters {
    /// Returns the limiter for the key and address of `target`, or creates one with `limits`.
    pub fn get(&self, target: &ModelTarget, limits: ConcurrencyLimits) -> Arc<ConcurrencyLimiter> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|it| it.base_url == target.base_url && it.key == target.key);
        if let Some(found) = found {
            return Arc::clone(&found.limiter);
        }
        let api_key = target.key.as_ref().map(ApiKey::expose).unwrap_or_default();
        let key = CallKey::new(&target.base_url, api_key);
        let limiter = ConcurrencyLimiter::create(limits, Some((key, Arc::clone(&self.places))));
        known.push(LimiterEntry {
            base_url: target.base_url.clone(),
            key: target.key.clone(),
            name: target.key_name().to_owned(),
            limiter: Arc::clone(&limiter),
        });
        limiter
    }

    /// The calls of this process in flight, by the name of their key.
    pub fn in_flight(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for it in self.known.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *counts.entry(it.name.clone()).or_default() += it.limiter.calls();
        }
        counts
    }

    /// From now on, calls count with those of the other processes that use `places`. Only the first call has an effect.
    pub fn share(&self, places: &Arc<dyn CallPlaces>) {
        self.places.get_or_init(|| Arc::clone(places));
    }
}

/// Limits the calls of one key, in order of arrival.
pub struct ConcurrencyLimiter {
    limits: ConcurrencyLimits,
    /// The key, and the places of all processes.
    places: Option<(CallKey, SharedCallPlaces)>,
    /// The calls that queue for `next`.
    queued: AtomicUsize,
    /// Held by the next call in line; the others queue for it in order.
    next: AsyncMutex<()>,
    /// Notified when a call ends.
    ended: Notify,
    state: Mutex<LimiterState>,
}

#[derive(Debug)]
struct LimiterState {
    max_concurrent: usize,
    /// The calls that have a permit, of which one may wait for a place among those of other processes.
    in_flight: usize,
    /// The calls that were sent.
    sent: usize,
    /// Consecutive successful calls.
    successes: usize,
    /// When the limit was last halved.
    halved: Option<Instant>,
    closed_until: Option<Instant>,
    /// Start times of the calls of the last minute.
    begun: VecDeque<Instant>,
    /// The tokens of the calls of the last minute, while no other process takes part.
    tokens: TokenWindow,
}

/// Whether a call may start.
enum Admission {
    /// Yes. If tokens are counted here, with its number in the window.
    Go(Option<u64>),
    /// Not before this time.
    Until(Instant),
    /// Only after another call has ended.
    Ended,
}

impl ConcurrencyLimiter {
    /// Creates a limiter that starts at the maximum of `limits`.
    pub fn new(limits: ConcurrencyLimits) -> Arc<ConcurrencyLimiter> {
        ConcurrencyLimiter::create(limits, None)
    }

    fn create(
        limits: ConcurrencyLimits,
        places: Option<(CallKey, SharedCallPlaces)>,
    ) -> Arc<ConcurrencyLimiter> {
        let limits = ConcurrencyLimits {
            max_concurrent: limits.max_concurrent.max(1),
            per_minute: limits.per_minute.map(|per_minute| per_minute.max(1)),
            tokens_per_minute: limits.tokens_per_minute.map(|most| most.max(1)),
            ..limits
        };
        Arc::new(ConcurrencyLimiter {
            limits,
            places,
            queued: AtomicUsize::new(0),
            next: AsyncMutex::new(()),
            ended: Notify::new(),
            state: Mutex::new(LimiterState {
                max_concurrent: limits.max_concurrent,
                in_flight: 0,
                sent: 0,
                successes: 0,
                halved: None,
                closed_until: None,
                begun: VecDeque::new(),
                tokens: TokenWindow::default(),
            }),
        })
    }

    /// Waits for a permit for a call of at most `tokens` tokens.
    async fn acquire(self: &Arc<Self>, model: &str, tokens: u64) -> Result<CallPermit> {
        let until = Instant::now() + self.limits.max_wait;
        let late = || wait_error(model, None);
        self.check_opens_before(model, until)?;
        let queued = QueuedCall::new(&self.queued);
        let _next = timeout_at(until, self.next.lock()).await.map_err(|_| late())?;
        drop(queued);
        loop {
            self.check_opens_before(model, until)?;
            let wake = match self.admit(tokens) {
                Admission::Go(window) => {
                    let mut permit = CallPermit::new(self, window);
                    let taken = permit.take_place(tokens);
                    match timeout_at(until, taken).await.map_err(|_| late())? {
                        Ok(()) => return Ok(permit),
                        // Another process was told to wait.
                        Err(wait) => self.close_for(wait),
                    }
                    continue;
                }
                Admission::Until(it) => it.min(until),
                Admission::Ended => until,
            };
            // Only the next call in line waits here, so a notification is never lost.
            let rung = timeout_at(wake, self.ended.notified()).await;
            if rung.is_err() && wake >= until {
                return Err(late());
            }
        }
    }

    /// Admits a call of at most `tokens` tokens. Other processes that take part count its tokens with theirs.
    fn admit(&self, tokens: u64) -> Admission {
        let most = self.limits.tokens_per_minute.filter(|_| self.shared_places().is_none());
        self.locked().admit(&self.limits, most.map(|most| (tokens, most)))
    }

    /// The key and the places of all processes, if other processes take part.
    fn shared_places(&self) -> Option<(&CallKey, &Arc<dyn CallPlaces>)> {
        let (key, places) = self.places.as_ref()?;
        Some((key, places.get()?))
    }

    /// The calls in flight.
    fn calls(&self) -> usize {
        self.locked().sent
    }

    fn close_for(&self, wait: Duration) {
        let opens = Instant::now() + wait;
        let mut state = self.locked();
        state.closed_until = state.closed_until.max(Some(opens));
    }

    /// Fails at once if the provider asked not to be called until after `until`.
    fn check_opens_before(&self, model: &str, until: Instant) -> Result<()> {
        match self.locked().closed_until {
            Some(opens) if opens > until => {
                let wait = opens.saturating_duration_since(Instant::now());
                Err(wait_error(model, Some(wait)))
            }
            _ => Ok(()),
        }
    }

    fn record(&self, begun: Instant, outcome: Option<&Error>) {
        let Some(error) = outcome else {
            let mut state = self.locked();
            state.successes += 1;
            if state.successes >= state.max_concurrent
                && state.max_concurrent < self.limits.max_concurrent
            {
                state.max_concurrent += 1;
                state.successes = 0;
            }
            return;
        };
        let Some(fault) = ServiceError::find_in(error) else {
            return;
        };
        if fault.kind != ErrorKind::Transient {
            return;
        }
        // A call that was not sent was refused here: its wait is known already.
        if let Some(wait) = fault.retry_after.filter(|_| !fault.unsent) {
            self.close_for(wait);
            if let Some((key, places)) = self.shared_places() {
                places.pause(key, wait);
            }
        }
        if is_load(fault) {
            let mut state = self.locked();
            state.successes = 0;
            // Concurrent calls are rejected together; they count once.
            if state.halved.is_none_or(|it| begun >= it) {
                state.max_concurrent = (state.max_concurrent / 2).max(1);
                state.halved = Some(Instant::now());
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LimiterState {
    /// Admits a call, and with `tokens` one of so many tokens where a minute may have so many.
    fn admit(&mut self, limits: &ConcurrencyLimits, tokens: Option<(u64, u64)>) -> Admission {
        let now = Instant::now();
        if let Some(opens) = self.closed_until.filter(|closed_until| *closed_until > now) {
            return Admission::Until(opens);
        }
        if self.in_flight >= self.max_concurrent {
            return Admission::Ended;
        }
        if let Some(most) = limits.per_minute {
            while self.begun.front().is_some_and(|it| *it + MINUTE <= now) {
                self.begun.pop_front();
            }
            if let Some(oldest) = self.begun.front().filter(|_| self.begun.len() >= most) {
                return Admission::Until(*oldest + MINUTE);
            }
        }
        let mut window = None;
        if let Some((tokens, most)) = tokens {
            match self.tokens.admit(tokens, most) {
                TokenAdmission::Go(nth) => window = Some(nth),
                TokenAdmission::Until(at) => return Admission::Until(at),
            }
        }
        if limits.per_minute.is_some() {
            self.begun.push_back(now);
        }
        self.in_flight += 1;
        Admission::Go(window)
    }
}

/// Whether the provider rejected the call because of load.
fn is_load(fault: &ServiceError) -> bool {
    let code = fault.code.as_deref().unwrap_or_default().to_lowercase();
    matches!(fault.status, Some(429 | 503 | 529))
        || ["rate_limit", "overloaded", "resource_exhausted"].iter().any(|it| code.contains(it))
}

fn wait_error(model: &str, wait: Option<Duration>) -> Error {
    let why = match wait {
        Some(it) => {
            format!("rate limited for another {} s", it.as_secs_f64().ceil())
        }
        None => "too many calls were waiting".to_owned(),
    };
    Error::new(ErrorKind::Transient, format!("waiting to call {model}")).with_source(ServiceError {
        retry_after: wait,
        unsent: true,
        ..ServiceError::transient(why)
    })
}

/// A call that waits for the calls before it, until dropped.
struct QueuedCall<'c>(&'c AtomicUsize);

impl QueuedCall<'_> {
    fn new(count: &AtomicUsize) -> QueuedCall<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        QueuedCall(count)
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call in flight, until dropped.
struct CallPermit {
    limiter: Arc<ConcurrencyLimiter>,
    begun: Instant,
    /// Its place among the calls of all processes, held until the call ends.
    place: Option<Box<dyn CallPlace>>,
    /// Its number among those whose tokens are counted here.
    window: Option<u64>,
    /// Whether it waits for nothing any more.
    sent: bool,
}

impl CallPermit {
    fn new(limiter: &Arc<ConcurrencyLimiter>, window: Option<u64>) -> CallPermit {
        let limiter = Arc::clone(limiter);
        CallPermit { limiter, begun: Instant::now(), place: None, window, sent: false }
    }

    /// Waits for a place among the calls of all processes, if they are counted.
    ///
    /// # Errors
    /// How long the key is paused.
    async fn take_place(&mut self, tokens: u64) -> std::result::Result<(), Duration> {
        let ConcurrencyLimiter { queued, limits, .. } = &*self.limiter;
        if let Some((key, places)) = self.limiter.shared_places() {
            let demand = CallDemand {
                limit: limits.max_concurrent,
                behind: queued.load(Ordering::Relaxed),
                tokens: limits
                    .tokens_per_minute
                    .map(|per_minute| TokenDemand { tokens, per_minute }),
            };
            self.place = Some(places.acquire(key, demand).await?);
            self.begun = Instant::now();
        }
        self.limiter.locked().sent += 1;
        self.sent = true;
        Ok(())
    }

    /// Counts the tokens that the call has used instead of those that it could use.
    fn settle_tokens(&mut self, tokens: u64) {
        if let Some(place) = &mut self.place {
            place.settle_tokens(tokens);
        }
        if let Some(nth) = self.window {
            self.limiter.locked().tokens.settle(nth, tokens);
        }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.place = None;
        {
            let mut state = self.limiter.locked();
            state.in_flight -= 1;
            state.sent -= usize::from(self.sent);
        }
        self.limiter.ended.notify_one();
    }
}

/// A model whose calls wait for a permit of its key.
pub struct ThrottledModel {
    inner: Arc<dyn LanguageModel>,
    limiter: Arc<ConcurrencyLimiter>,
    max_output: u32,
}

impl ThrottledModel {
    /// Wraps `inner`. A call that gets no permit in time fails with `Transient` and is not sent. One whose prompt has no limit is counted
    /// with an answer of `max_output` tokens until it is answered.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        limiter: Arc<ConcurrencyLimiter>,
        max_output: u32,
    ) -> ThrottledModel {
        ThrottledModel { inner, limiter, max_output }
    }

    /// The most tokens that a call with `prompt` uses, room for reasoning aside.
    fn most_tokens(&self, prompt: &Prompt) -> u64 {
        max_input_tokens(prompt) + u64::from(prompt.max_tokens.unwrap_or(self.max_output))
    }
}

#[async_trait]
impl LanguageModel for ThrottledModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let mut permit = self.limiter.acquire(self.name(), self.most_tokens(prompt)).await?;
        let answer = self.inner.complete(prompt, sink).await;
        if let Some(tokens) = used_tokens(&answer) {
            permit.settle_tokens(tokens);
        }
        self.limiter.record(permit.begun, answer.as_ref().err());
        answer
    }
}

/// The tokens that a call has used, if that is known.
fn used_tokens(answer: &Result<Completion>) -> Option<u64> {
    match answer {
        Ok(Completion {
            tokens: TokenUsage { input: Some(sent), output: Some(said), .. }, ..
        }) => Some(sent.saturating_add(*said)),
        Ok(_) => None,
        Err(error) => ServiceError::find_in(error).filter(|fault| fault.unsent).map(|_| 0),
    }
}

#[cfg(test)]
mod tests;
