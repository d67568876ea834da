//! A hard limit on what a run spends on models: the maximum cost is reserved before a call is sent.
//!
//! Money is counted in whole nano-dollars. Estimates are rounded up and limits rounded down, so that rounding never
//! exceeds a limit. Research may not use the whole limit; a share is kept for the calls that the report needs.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use ibid_core::{Error, ErrorKind, FailureReason, Result};

/// Nano-dollars per dollar.
const NANO: f64 = 1e9;

/// Limits on model use. `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BudgetCaps {
    /// US dollars.
    pub usd: Option<f64>,
    /// Input and output tokens together.
    pub tokens: Option<u64>,
    /// Model calls.
    pub calls: Option<u64>,
    /// The share of each limit, 0 to 1, reserved for calls that finish the report; at least one call, unless it is 0.
    pub finishing: f64,
}

impl Default for BudgetCaps {
    /// No limits; a fifth of each limit that is set later is kept for finishing.
    fn default() -> BudgetCaps {
        BudgetCaps { usd: None, tokens: None, calls: None, finishing: 0.2 }
    }
}

/// Model use so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelSpend {
    /// Calls that were answered, or may have been.
    pub calls: u64,
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// US dollars; `None` while any price is unknown.
    pub usd: Option<f64>,
}

impl Default for ModelSpend {
    /// No calls, at no cost.
    fn default() -> ModelSpend {
        ModelSpend { calls: 0, tokens_in: 0, tokens_out: 0, usd: Some(0.0) }
    }
}

/// The actual or maximum cost of one call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CallCost {
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// US dollars, if the price is known.
    pub usd: Option<f64>,
}

/// The budget of one run. Clones share it.
#[derive(Debug, Clone)]
pub struct CostBudget(Arc<CostBudgetInner>);

#[derive(Debug)]
struct CostBudgetInner {
    caps: BudgetCaps,
    sums: Mutex<BudgetTotals>,
    /// Notified when a reservation shrinks or ends.
    freed: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct BudgetTotals {
    spent: BudgetAmount,
    held: BudgetAmount,
    tokens_in: u64,
    tokens_out: u64,
    /// Whether a call had an unknown price.
    unpriced: bool,
}

/// The quantities that are limited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct BudgetAmount {
    nano: u64,
    tokens: u64,
    calls: u64,
}

impl BudgetAmount {
    fn add(&mut self, other: BudgetAmount) {
        self.nano = self.nano.saturating_add(other.nano);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.calls = self.calls.saturating_add(other.calls);
    }

    fn subtract(&mut self, other: BudgetAmount) {
        self.nano = self.nano.saturating_sub(other.nano);
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.calls = self.calls.saturating_sub(other.calls);
    }
}

impl CallCost {
    fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    /// The amount to reserve: rounded up to the next nano-dollar, so that the actual cost cannot exceed it by
    /// rounding.
    fn upper_bound(&self) -> BudgetAmount {
        let usd = self.usd.filter(|usd| *usd > 0.0);
        BudgetAmount {
            nano: usd.map_or(0, |usd| ((usd * NANO).ceil() as u64).saturating_add(1)),
            tokens: self.tokens(),
            calls: 1,
        }
    }

    fn to_amount(self) -> BudgetAmount {
        BudgetAmount {
            nano: (self.usd.unwrap_or(0.0) * NANO).ceil() as u64,
            tokens: self.tokens(),
            calls: 1,
        }
    }
}

impl CostBudget {
    /// Creates a budget with limits `caps`, of which earlier sessions of the run have spent `before`.
    pub fn new(caps: BudgetCaps, before: ModelSpend) -> CostBudget {
        let spent = BudgetAmount {
            nano: (before.usd.unwrap_or(0.0) * NANO).ceil() as u64,
            tokens: before.tokens_in.saturating_add(before.tokens_out),
            calls: before.calls,
        };
        CostBudget(Arc::new(CostBudgetInner {
            caps,
            sums: Mutex::new(BudgetTotals {
                spent,
                held: BudgetAmount::default(),
                tokens_in: before.tokens_in,
                tokens_out: before.tokens_out,
                unpriced: before.usd.is_none(),
            }),
            freed: Notify::new(),
        }))
    }

    /// Whether calls are limited in dollars or in tokens.
    pub(crate) fn limits(&self) -> (bool, bool) {
        (self.0.caps.usd.is_some(), self.0.caps.tokens.is_some())
    }

    /// Adds what earlier sessions spent, if that becomes known only after construction. Must precede the first call.
    pub fn add_earlier(&self, before: ModelSpend) {
        let mut sums = self.locked();
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut sums.spent.nano, (before.usd.unwrap_or(0.0) * NANO).ceil() as u64);
        add(&mut sums.spent.tokens, before.tokens_in.saturating_add(before.tokens_out));
        add(&mut sums.spent.calls, before.calls);
        add(&mut sums.tokens_in, before.tokens_in);
        add(&mut sums.tokens_out, before.tokens_out);
        sums.unpriced |= before.usd.is_none();
    }

    /// Returns what was spent, including earlier sessions. Calls in flight are not included.
    pub fn spent(&self) -> ModelSpend {
        let sums = self.locked();
        ModelSpend {
            calls: sums.spent.calls,
            tokens_in: sums.tokens_in,
            tokens_out: sums.tokens_out,
            usd: (!sums.unpriced).then_some(sums.spent.nano as f64 / NANO),
        }
    }

    /// Reserves `estimate`, the maximum cost of one call of `model`. `finishing` calls may use the share kept for
    /// finishing.
    ///
    /// # Errors
    /// `Exhausted` if there is not enough left. `Setup` if money is limited and the price of `model`, or of what
    /// earlier sessions spent, is unknown: the limit could not be kept.
    pub fn reserve(&self, model: &str, estimate: CallCost, finishing: bool) -> Result<Reservation> {
        self.try_reserve(model, estimate, finishing).map_err(|error| error.error)
    }

    /// As [`CostBudget::reserve`], but waits up to `max_wait` while the reservations of calls in flight would
    /// suffice; most calls cost far less than their maximum.
    ///
    /// # Errors
    /// As [`CostBudget::reserve`].
    pub(crate) async fn reserve_or_wait(
        &self,
        model: &str,
        estimate: CallCost,
        finishing: bool,
        max_wait: Duration,
    ) -> Result<Reservation> {
        let until = Instant::now() + max_wait;
        loop {
            let freed = self.0.freed.notified();
            tokio::pin!(freed);
            // Registers for notifications before checking, so that none is missed.
            freed.as_mut().enable();
            let refusal = match self.try_reserve(model, estimate, finishing) {
                Ok(reservation) => return Ok(reservation),
                Err(refusal) => refusal,
            };
            if !refusal.may_pass || timeout_at(until, freed).await.is_err() {
                return Err(refusal.error);
            }
        }
    }

    fn try_reserve(
        &self,
        model: &str,
        estimate: CallCost,
        finishing: bool,
    ) -> std::result::Result<Reservation, ReserveError> {
        let caps = self.0.caps;
        let mut sums = self.locked();
        if caps.usd.is_some() && estimate.usd.is_none_or(|usd| !usd.is_finite() || usd < 0.0) {
            return Err(ReserveError::permanent(unpriced_error(model)));
        }
        if caps.usd.is_some() && sums.unpriced {
            let doing = "the amount that this run has spent is unknown, so its budget in dollars cannot be enforced";
            let error = Error::new(ErrorKind::Setup, doing);
            return Err(ReserveError::permanent(
                error.with_hint("bound the run by calls or tokens instead of dollars"),
            ));
        }
        let bound = estimate.upper_bound();
        let share = if finishing { 0.0 } else { caps.finishing };
        let walls = [
            (
                caps.usd.map(|usd| (usd.max(0.0) * NANO).floor() as u64),
                [bound.nano, sums.spent.nano, sums.held.nano],
                BudgetUnit::Dollars,
            ),
            (caps.tokens, [bound.tokens, sums.spent.tokens, sums.held.tokens], BudgetUnit::Tokens),
            (caps.calls, [bound.calls, sums.spent.calls, sums.held.calls], BudgetUnit::Calls),
        ];
        let mut refused = None;
        for (cap, [bound, spent, held], unit) in walls {
            let Some(cap) = cap else { continue };
            let room = cap.saturating_sub(finishing_share(cap, share, unit));
            let settled = spent.saturating_add(bound);
            // A call without cost always fits.
            if bound > 0 && settled.saturating_add(held) > room {
                let refusal = ReserveError {
                    error: exhausted_error(cap, bound, spent, unit, finishing),
                    may_pass: settled <= room,
                };
                if !refusal.may_pass {
                    return Err(refusal);
                }
                refused = Some(refusal);
            }
        }
        if let Some(refusal) = refused {
            return Err(refusal);
        }
        sums.held.add(bound);
        Ok(Reservation { budget: self.clone(), estimate, held: bound, sent: false, done: false })
    }

    fn book(&self, held: BudgetAmount, actual: Option<(BudgetAmount, CallCost)>) {
        let mut sums = self.locked();
        sums.held.subtract(held);
        if let Some((amount, charge)) = actual {
            sums.spent.add(amount);
            sums.tokens_in = sums.tokens_in.saturating_add(charge.tokens_in);
            sums.tokens_out = sums.tokens_out.saturating_add(charge.tokens_out);
            sums.unpriced |= charge.usd.is_none();
        }
        drop(sums);
        self.0.freed.notify_waiters();
    }

    fn locked(&self) -> MutexGuard<'_, BudgetTotals> {
        self.0.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reserved cost of one call, until its actual cost is known.
///
/// If dropped after `Reservation::mark_sent`, the estimate is charged: the call was cancelled or lost and may be
/// billed. If dropped before, the reservation is released.
#[must_use = "a reservation is released when dropped"]
#[derive(Debug)]
pub struct Reservation {
    budget: CostBudget,
    estimate: CallCost,
    held: BudgetAmount,
    sent: bool,
    done: bool,
}

impl Reservation {
    /// Marks the call as sent: from now on it may be billed.
    pub(crate) fn mark_sent(&mut self) {
        self.sent = true;
    }

    /// Charges the actual cost, even if it exceeds the reservation. An unknown price is charged as estimated.
    pub(crate) fn settle(mut self, actual: CallCost) {
        let usd = actual.usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        self.close(Some(CallCost { usd: usd.or(self.estimate.usd), ..actual }));
    }

    /// Releases the reservation of a call that is known to cost nothing, because it was rejected or never sent.
    pub fn release(mut self) {
        self.close(None);
    }

    fn close(&mut self, actual: Option<CallCost>) {
        self.done = true;
        let actual = actual.map(|actual| (actual.to_amount(), actual));
        self.budget.book(self.held, actual);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.done {
            let estimate = self.sent.then_some(self.estimate);
            self.close(estimate);
        }
    }
}

struct ReserveError {
    error: Error,
    /// Whether it would fit if the calls in flight cost nothing.
    may_pass: bool,
}

impl ReserveError {
    fn permanent(error: Error) -> ReserveError {
        ReserveError { error, may_pass: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum BudgetUnit {
    Dollars,
    Tokens,
    Calls,
}

impl BudgetUnit {
    fn describe(self, amount: u64) -> String {
        match self {
            BudgetUnit::Dollars if amount.is_multiple_of(10_000_000) => {
                format!("${:.2}", amount as f64 / NANO)
            }
            BudgetUnit::Dollars => format!("${:.4}", amount as f64 / NANO),
            BudgetUnit::Tokens => format!("{amount} tokens"),
            BudgetUnit::Calls if amount == 1 => "1 model call".to_owned(),
            BudgetUnit::Calls => format!("{amount} model calls"),
        }
    }
}

/// The part of `cap` that research may not use.
fn finishing_share(cap: u64, share: f64, unit: BudgetUnit) -> u64 {
    let share = share.clamp(0.0, 1.0);
    let kept = ((cap as f64 * share).ceil() as u64).min(cap);
    // A share of a few calls may be less than one, which would leave no call to write with.
    let least = u64::from(unit == BudgetUnit::Calls && share > 0.0);
    kept.max(least)
}

fn exhausted_error(cap: u64, bound: u64, spent: u64, unit: BudgetUnit, finishing: bool) -> Error {
    let but = if finishing { "" } else { ", except for the share kept to finish the report" };
    let (cap, bound, spent) = (unit.describe(cap), unit.describe(bound), unit.describe(spent));
    Error::new(ErrorKind::Exhausted, format!("the budget of {cap} is spent{but}"))
        .with_reason(FailureReason::Budget)
        .with_source(format!("{spent} spent, and one more call may cost {bound}"))
}

fn unpriced_error(model: &str) -> Error {
    let doing =
        format!("the price of {model} is unknown, so a budget in dollars cannot be enforced");
    Error::new(ErrorKind::Setup, doing).with_hint(format!(
        "set `price` for {model}, or bound the run by calls or tokens instead of dollars"
    ))
}

#[cfg(test)]
mod tests;
