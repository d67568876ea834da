//! Whether to go on: orders from outside, the deadline, the call budget.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::journal::Journal;
use crate::domain::{Approval, Budget, RunId, StopReason};
use crate::error::Result;
use crate::record::{Envelope, Event};
use crate::seams::{Clock, Go, Log, Order, Steering, Store};

/// The time of one sitting of a run, and whether somebody wants it to finish. The helm looks at it between waves, models
/// while they are waited for.
pub struct Bounds {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// When this sitting began, milliseconds since 1970.
    pub began: u64,
    /// Time worked in earlier sittings, milliseconds.
    pub worked: u64,
    /// What may be worked in all, seconds.
    pub seconds: Option<u64>,
    /// Set by the first Ctrl-C of this process, and by whoever sees an order to finish.
    pub finish: Arc<AtomicBool>,
    /// Whether a model was not waited for because of the time.
    pub hurried: AtomicBool,
    /// How long the person was waited for in this sitting, milliseconds: no work.
    pub idle: AtomicU64,
}

/// How long an answer of the person is waited for, from when they were asked, over all sittings.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// How often a reply is looked for.
const BEAT: Duration = Duration::from_millis(100);

impl Bounds {
    /// Whether somebody wants the run to finish.
    pub fn finishing(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    /// Whether `percent` of the time that may be worked are over.
    pub fn over(&self, percent: u64) -> bool {
        let here = self.clock.unix_ms().saturating_sub(self.began);
        let active = self.worked + here.saturating_sub(self.idle.load(Ordering::Relaxed));
        let bound = |it: u64| it.saturating_mul(10).saturating_mul(percent);
        self.seconds.is_some_and(|it| active >= bound(it))
    }
}

/// How a run waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// How many orders there were when it last looked.
    pub heard: usize,
    /// When it goes on without a word, if ever.
    pub until: Option<Instant>,
}

/// The steering of one sitting of a run. Each word is journaled, so that a resumed run hears the
/// same again.
pub struct Helm {
    /// Whose.
    pub run: RunId,
    /// Where words are kept.
    pub journal: Arc<Journal>,
    /// Where orders are left.
    pub store: Arc<dyn Store>,
    /// Where finishing is told; it is durable up to each point that is asked about.
    pub log: Arc<Log>,
    /// What may be spent.
    pub budget: Budget,
    /// How long, and whether somebody wants an end.
    pub bounds: Arc<Bounds>,
    /// Whether this sitting has told that the run is finishing.
    pub told: AtomicBool,
    /// When an earlier sitting asked the person what nobody has answered yet, milliseconds since 1970.
    pub asked: Option<u64>,
    /// Tells that the person is waited for, while they are.
    pub waits: watch::Sender<Option<Waits>>,
}

#[async_trait]
impl Steering for Helm {
    async fn go(&self, at: &str) -> Result<Go> {
        let (flushed, word) =
            futures_util::join!(self.log.flush(), self.journal.decision(at, self.decide()));
        if let Err(fault) = flushed {
            self.journal.fail(fault).await
        }
        if let Ok(Go::Finish(reason)) = word
            && !self.told.swap(true, Ordering::Relaxed)
        {
            self.log.emit(Event::RunFinishing { reason });
        }
        word
    }

    async fn clarify(&self, questions: &[String]) -> Result<Vec<String>> {
        let now = self.bounds.clock.unix_ms();
        let waited = self.asked.map_or(0, |it| now.saturating_sub(it));
        let left = PATIENCE.saturating_sub(Duration::from_millis(waited));
        let reply = self.idly(async {
            let until = Instant::now() + left;
            Ok(match timeout_at(until, self.reply(until)).await {
                Ok(reply) => reply,
                // What was said while nobody worked on the run counts, however late.
                Err(_) => replied(self.orders().await).unwrap_or_default(),
            })
        });
        let at = format!("clarify: {}", questions.join(" / "));
        self.journal.decision(&at, reply).await
    }

    async fn more(&self, nth: u32) -> Result<Option<String>> {
        let at = format!("steer-{nth}");
        let said = self.orders().await.into_iter().filter_map(|it| match it {
            Order::Steer(words) => Some(words),
            _ => None,
        });
        let word = said.take(nth as usize).nth(nth.saturating_sub(1) as usize);
        // A run that nobody steered has no word on it, and neither has its recording.
        if word.is_none() && !self.journal.decided(&at).await {
            return Ok(None);
        }
        self.journal.decision(&at, async { Ok(word) }).await
    }

    async fn approve(&self, nth: u32) -> Result<Approval> {
        // However long that takes: to begin to spend because nobody looked would be no approval.
        let word = self.idly(async { Ok(self.approval(nth as usize).await) });
        self.journal.decision(&format!("approve-{nth}"), word).await
    }
}

impl Helm {
    /// Waits for the person, which is no work; whoever answers finds everything told so far.
    async fn idly<T>(&self, wait: impl Future<Output = Result<T>>) -> Result<T> {
        if let Err(fault) = self.log.flush().await {
            self.journal.fail(fault).await
        }
        let since = self.bounds.clock.unix_ms();
        let answer = wait.await;
        self.waits.send_replace(None);
        let waited = self.bounds.clock.unix_ms().saturating_sub(since);
        self.bounds.idle.fetch_add(waited, Ordering::Relaxed);
        answer
    }

    /// The `nth` word on the plan that was left for the run, as soon as there is one. Somebody who wants an end
    /// wants a report, so the plan is gone by.
    async fn approval(&self, nth: usize) -> Approval {
        loop {
            let orders = self.orders().await;
            let heard = orders.len();
            let mut words = orders.into_iter().filter_map(|it| match it {
                Order::Approve(word) => Some(word),
                _ => None,
            });
            if let Some(word) = words.nth(nth.saturating_sub(1)) {
                return word;
            }
            if self.bounds.finishing() {
                return Approval::Go;
            }
            self.unheard(heard, None).await;
        }
    }

    /// The reply left for the run, as soon as there is one; nothing once somebody wants an end.
    async fn reply(&self, until: Instant) -> Vec<String> {
        loop {
            let orders = self.orders().await;
            let heard = orders.len();
            if let Some(answers) = replied(orders) {
                return answers;
            }
            if self.bounds.finishing() {
                return Vec::new();
            }
            self.unheard(heard, Some(until)).await;
        }
    }

    /// Tells that none of so many orders was the word that is waited for, and rests until the next look.
    async fn unheard(&self, heard: usize, until: Option<Instant>) {
        let waits = Some(Waits { heard, until });
        self.waits.send_if_modified(|it| {
            let new = *it != waits;
            *it = waits;
            new
        });
        tokio::time::sleep(BEAT).await;
    }

    async fn decide(&self) -> Result<Go> {
        if self.bounds.finishing() || self.orders().await.contains(&Order::Finish) {
            return Ok(Go::Finish(StopReason::UserFinish));
        }
        // Research whose models are no longer waited for has had its time.
        if self.bounds.over(100) || self.bounds.hurried.load(Ordering::Relaxed) {
            return Ok(Go::Finish(StopReason::BudgetTime));
        }
        let usage = self.journal.usage();
        let spent = |bound: Option<u64>, used: u64| bound.is_some_and(|it| used >= it);
        if spent(self.budget.calls, usage.calls())
            || spent(self.budget.searches, usage.searches)
            || spent(self.budget.pages, usage.pages)
        {
            return Ok(Go::Finish(StopReason::BudgetCalls));
        }
        Ok(Go::On)
    }

    async fn orders(&self) -> Vec<Order> {
        match self.store.orders(&self.run).await {
            Ok(orders) => orders,
            Err(fault) => self.journal.fail(fault).await,
        }
    }
}

/// The answers among `orders`.
fn replied(orders: Vec<Order>) -> Option<Vec<String>> {
    orders.into_iter().find_map(|it| match it {
        Order::Reply(answers) => Some(answers),
        _ => None,
    })
}

/// When `past` asked the person something that nobody has answered, milliseconds since 1970.
pub fn asked(past: &[Envelope]) -> Option<u64> {
    let asks = |it: &&Envelope| {
        matches!(
            it.event,
            Event::ClarifyAsked { .. } | Event::ClarifyAnswered { .. }
        )
    };
    let last = past.iter().rfind(asks)?;
    let at = last.ts.parse::<jiff::Timestamp>().ok()?;
    matches!(last.event, Event::ClarifyAsked { .. }).then(|| at.as_millisecond().max(0) as u64)
}

/// Time worked over the sittings that `past` tells of, milliseconds: from the beginning of each to
/// its last event.
pub fn worked(past: &[Envelope]) -> u64 {
    let mut total = 0;
    let mut sitting = None;
    let mut asked = None;
    for it in past {
        let Ok(at) = it.ts.parse::<jiff::Timestamp>() else {
            continue;
        };
        let at = at.as_millisecond();
        if matches!(it.event, Event::RunStarted {} | Event::RunResumed { .. }) {
            total += sitting.map_or(0, |(from, to): (i64, i64)| to - from);
            sitting = Some((at, at));
        } else if let Some((from, to)) = &mut sitting {
            *to = at.max(*to);
            match it.event {
                Event::ClarifyAsked { .. } | Event::PlanWaiting { .. } => asked = Some(at),
                // Waiting for the person is no work.
                Event::ClarifyAnswered { .. }
                | Event::PlanChanged { .. }
                | Event::PlanApproved { .. } => *from += asked.take().map_or(0, |it| at - it),
                _ => {}
            }
        }
    }
    total += sitting.map_or(0, |(from, to)| to - from);
    u64::try_from(total).unwrap_or(0)
}
