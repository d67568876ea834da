//! What a run may spend on models, as a wall: whatever may be spent is set aside before a call is sent.
//!
//! Money is counted in whole nano-dollars, bounds rounded up and caps rounded down, so that no sum of roundings leads past
//! a cap. What may be spent on research is less than the cap: the rest is for the calls without which there is no
//! report.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Kind, Result};

/// Nano-dollars in a dollar.
const NANO: f64 = 1e9;

/// What may be spent on models. `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Caps {
    /// US dollars.
    pub usd: Option<f64>,
    /// Tokens, sent and received together.
    pub tokens: Option<u64>,
    /// Model calls.
    pub calls: Option<u64>,
    /// The share of each cap, 0 to 1, that only calls which finish the report may use; of calls at least one, unless it
    /// is 0.
    pub finishing: f64,
}

impl Default for Caps {
    /// No bound; a fifth is kept for finishing where one is set.
    fn default() -> Caps {
        Caps {
            usd: None,
            tokens: None,
            calls: None,
            finishing: 0.2,
        }
    }
}

/// What was spent on models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Calls that were answered, or may have been.
    pub calls: u64,
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// US dollars; `None` while any price is unknown.
    pub usd: Option<f64>,
}

impl Default for Spent {
    /// Nothing, for no money.
    fn default() -> Spent {
        Spent {
            calls: 0,
            tokens_in: 0,
            tokens_out: 0,
            usd: Some(0.0),
        }
    }
}

/// What one call costs, or at most will.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Charge {
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// US dollars, where the price is known.
    pub usd: Option<f64>,
}

/// The money of one run. Clones share it.
#[derive(Debug, Clone)]
pub struct Purse(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    caps: Caps,
    sums: Mutex<Sums>,
    /// Rung whenever what was set aside becomes less.
    freed: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    spent: Amount,
    held: Amount,
    tokens_in: u64,
    tokens_out: u64,
    /// Some call had no known price.
    unpriced: bool,
}

/// What the three caps are about.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Amount {
    nano: u64,
    tokens: u64,
    calls: u64,
}

impl Amount {
    fn add(&mut self, other: Amount) {
        self.nano = self.nano.saturating_add(other.nano);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.calls = self.calls.saturating_add(other.calls);
    }

    fn take(&mut self, other: Amount) {
        self.nano = self.nano.saturating_sub(other.nano);
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.calls = self.calls.saturating_sub(other.calls);
    }
}

impl Charge {
    fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    /// What to set aside: the next nano-dollar up, so that rounding cannot make the true cost the larger one.
    fn bound(&self) -> Amount {
        let usd = self.usd.filter(|it| *it > 0.0);
        Amount {
            nano: usd.map_or(0, |it| ((it * NANO).ceil() as u64).saturating_add(1)),
            tokens: self.tokens(),
            calls: 1,
        }
    }

    fn true_amount(&self) -> Amount {
        Amount {
            nano: (self.usd.unwrap_or(0.0) * NANO).ceil() as u64,
            tokens: self.tokens(),
            calls: 1,
        }
    }
}

impl Purse {
    /// A purse with `caps`, of which `before` was spent in earlier sittings.
    pub fn new(caps: Caps, before: Spent) -> Purse {
        let spent = Amount {
            nano: (before.usd.unwrap_or(0.0) * NANO).ceil() as u64,
            tokens: before.tokens_in.saturating_add(before.tokens_out),
            calls: before.calls,
        };
        Purse(Arc::new(Inner {
            caps,
            sums: Mutex::new(Sums {
                spent,
                held: Amount::default(),
                tokens_in: before.tokens_in,
                tokens_out: before.tokens_out,
                unpriced: before.usd.is_none(),
            }),
            freed: Notify::new(),
        }))
    }

    /// Counts what earlier sittings spent, where that is known only after the purse was made. Before
    /// the first call.
    pub fn remember(&self, before: Spent) {
        let mut sums = self.locked();
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(
            &mut sums.spent.nano,
            (before.usd.unwrap_or(0.0) * NANO).ceil() as u64,
        );
        add(
            &mut sums.spent.tokens,
            before.tokens_in.saturating_add(before.tokens_out),
        );
        add(&mut sums.spent.calls, before.calls);
        add(&mut sums.tokens_in, before.tokens_in);
        add(&mut sums.tokens_out, before.tokens_out);
        sums.unpriced |= before.usd.is_none();
    }

    /// What may be spent.
    pub fn caps(&self) -> Caps {
        self.0.caps
    }

    /// What was spent, in earlier sittings too. Calls under way are not in it.
    pub fn spent(&self) -> Spent {
        let sums = self.locked();
        Spent {
            calls: sums.spent.calls,
            tokens_in: sums.tokens_in,
            tokens_out: sums.tokens_out,
            usd: (!sums.unpriced).then_some(sums.spent.nano as f64 / NANO),
        }
    }

    /// Sets `estimate` aside for one call of `model`: the most that it can cost. `finishing` calls may use what research
    /// must leave.
    ///
    /// # Errors
    /// `Exhausted` when there is no room for it. `Setup` when money is bounded and the price of `model`, or of what
    /// earlier sittings spent, is unknown: a wall with unknown prices is none.
    pub fn reserve(&self, model: &str, estimate: Charge, finishing: bool) -> Result<Reservation> {
        self.try_reserve(model, estimate, finishing)
            .map_err(|it| it.error)
    }

    /// As [`Purse::reserve`], but waits while calls under way hold what would suffice: most cost far less than the most
    /// they can. Waits at most for `patience`.
    ///
    /// # Errors
    /// As [`Purse::reserve`].
    pub async fn room(
        &self,
        model: &str,
        estimate: Charge,
        finishing: bool,
        patience: Duration,
    ) -> Result<Reservation> {
        let until = Instant::now() + patience;
        loop {
            let freed = self.0.freed.notified();
            tokio::pin!(freed);
            // From here on nothing that is freed goes unheard.
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
        estimate: Charge,
        finishing: bool,
    ) -> std::result::Result<Reservation, Refusal> {
        let caps = self.0.caps;
        let mut sums = self.locked();
        if caps.usd.is_some() && estimate.usd.is_none_or(|it| !it.is_finite() || it < 0.0) {
            return Err(Refusal::for_good(unpriced(model)));
        }
        if caps.usd.is_some() && sums.unpriced {
            let doing = "what this run has spent so far is not known, so its budget in dollars cannot be kept";
            let error = Error::new(Kind::Setup, doing);
            return Err(Refusal::for_good(
                error.hint("Bound the run by calls or tokens instead of dollars."),
            ));
        }
        let bound = estimate.bound();
        let share = if finishing { 0.0 } else { caps.finishing };
        let walls = [
            (
                caps.usd.map(|it| (it.max(0.0) * NANO).floor() as u64),
                [bound.nano, sums.spent.nano, sums.held.nano],
                Unit::Dollars,
            ),
            (
                caps.tokens,
                [bound.tokens, sums.spent.tokens, sums.held.tokens],
                Unit::Tokens,
            ),
            (
                caps.calls,
                [bound.calls, sums.spent.calls, sums.held.calls],
                Unit::Calls,
            ),
        ];
        let mut refused = None;
        for (cap, [bound, spent, held], unit) in walls {
            let Some(cap) = cap else { continue };
            let room = cap.saturating_sub(kept(cap, share, unit));
            let settled = spent.saturating_add(bound);
            // What costs nothing needs no room.
            if bound > 0 && settled.saturating_add(held) > room {
                let refusal = Refusal {
                    error: spent_out(cap, bound, spent, unit, finishing),
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
        Ok(Reservation {
            purse: self.clone(),
            estimate,
            held: bound,
            sent: false,
            done: false,
        })
    }

    fn book(&self, held: Amount, actual: Option<(Amount, Charge)>) {
        let mut sums = self.locked();
        sums.held.take(held);
        if let Some((amount, charge)) = actual {
            sums.spent.add(amount);
            sums.tokens_in = sums.tokens_in.saturating_add(charge.tokens_in);
            sums.tokens_out = sums.tokens_out.saturating_add(charge.tokens_out);
            sums.unpriced |= charge.usd.is_none();
        }
        drop(sums);
        self.0.freed.notify_waiters();
    }

    fn locked(&self) -> MutexGuard<'_, Sums> {
        self.0.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is set aside for one call until it is known what the call cost.
///
/// Dropped after [`Reservation::sent`], it books its estimate: the call was cancelled or lost, and may be billed. Dropped
/// before, it gives everything back.
#[must_use = "dropped at once, it sets nothing aside"]
#[derive(Debug)]
pub struct Reservation {
    purse: Purse,
    estimate: Charge,
    held: Amount,
    sent: bool,
    done: bool,
}

impl Reservation {
    /// The call goes out now: from here on it may be billed.
    pub fn sent(&mut self) {
        self.sent = true;
    }

    /// Books what the call really cost, also where that is more than was set aside. A price that is not known is taken to
    /// be the estimate's.
    pub fn settle(mut self, actual: Charge) {
        let usd = actual.usd.filter(|it| it.is_finite() && *it >= 0.0);
        self.close(Some(Charge {
            usd: usd.or(self.estimate.usd),
            ..actual
        }));
    }

    /// Gives everything back: the call is known to cost nothing, because it was refused or never went out.
    pub fn release(mut self) {
        self.close(None);
    }

    fn close(&mut self, actual: Option<Charge>) {
        self.done = true;
        let actual = actual.map(|it| (it.true_amount(), it));
        self.purse.book(self.held, actual);
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

struct Refusal {
    error: Error,
    /// There would be room if the calls under way turned out to cost nothing.
    may_pass: bool,
}

impl Refusal {
    fn for_good(error: Error) -> Refusal {
        Refusal {
            error,
            may_pass: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Dollars,
    Tokens,
    Calls,
}

impl Unit {
    fn say(self, amount: u64) -> String {
        match self {
            Unit::Dollars if amount.is_multiple_of(10_000_000) => {
                format!("${:.2}", amount as f64 / NANO)
            }
            Unit::Dollars => format!("${:.4}", amount as f64 / NANO),
            Unit::Tokens => format!("{amount} tokens"),
            Unit::Calls if amount == 1 => "1 model call".to_owned(),
            Unit::Calls => format!("{amount} model calls"),
        }
    }
}

/// What of `cap` research must leave.
fn kept(cap: u64, share: f64, unit: Unit) -> u64 {
    let share = share.clamp(0.0, 1.0);
    let kept = ((cap as f64 * share).ceil() as u64).min(cap);
    // A share of few calls is less than one, and less than one call writes nothing.
    let least = u64::from(unit == Unit::Calls && share > 0.0);
    kept.max(least)
}

fn spent_out(cap: u64, bound: u64, spent: u64, unit: Unit, finishing: bool) -> Error {
    let but = if finishing {
        ""
    } else {
        ", but for what is kept to finish the report"
    };
    let (cap, bound, spent) = (unit.say(cap), unit.say(bound), unit.say(spent));
    Error::new(
        Kind::Exhausted,
        format!("the budget of {cap} is spent{but}"),
    )
    .because(format!(
        "{spent} are spent, and one more call may take {bound}"
    ))
}

fn unpriced(model: &str) -> Error {
    let doing = format!("the price of {model} is not known, so a budget in dollars cannot be kept");
    Error::new(Kind::Setup, doing).hint(format!(
        "Set `price` for {model}, or bound the run by calls or tokens instead of dollars."
    ))
}

#[cfg(test)]
mod tests;
