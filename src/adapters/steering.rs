//! Whether to go on: orders from outside, the deadline, the call budget.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use super::journal::Journal;
use crate::domain::{Budget, RunId, StopReason};
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
}

impl Bounds {
    /// Whether somebody wants the run to finish.
    pub fn finishing(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    /// Whether `percent` of the time that may be worked are over.
    pub fn over(&self, percent: u64) -> bool {
        let active = self.worked + self.clock.unix_ms().saturating_sub(self.began);
        let bound = |it: u64| it.saturating_mul(10).saturating_mul(percent);
        self.seconds.is_some_and(|it| active >= bound(it))
    }
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
}

impl Helm {
    async fn decide(&self) -> Result<Go> {
        if self.bounds.finishing() || self.ordered().await {
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

    async fn ordered(&self) -> bool {
        match self.store.orders(&self.run).await {
            Ok(orders) => orders.contains(&Order::Finish),
            Err(fault) => self.journal.fail(fault).await,
        }
    }
}

/// Time worked over the sittings that `past` tells of, milliseconds: from the beginning of each to
/// its last event.
pub fn worked(past: &[Envelope]) -> u64 {
    let mut total = 0;
    let mut sitting = None;
    for it in past {
        let Ok(at) = it.ts.parse::<jiff::Timestamp>() else {
            continue;
        };
        let at = at.as_millisecond();
        if matches!(it.event, Event::RunStarted {} | Event::RunResumed { .. }) {
            total += sitting.map_or(0, |(from, to): (i64, i64)| to - from);
            sitting = Some((at, at));
        } else if let Some((_, to)) = &mut sitting {
            *to = at.max(*to);
        }
    }
    total += sitting.map_or(0, |(from, to)| to - from);
    u64::try_from(total).unwrap_or(0)
}
