//! The wrappers in their order.
//!
//! From outside in: failover, and for each model retried, limited, metered, live. The meter is innermost because a
//! provider bills requests, not questions: each try has its own money set aside, at the price of the model it goes to.
//! Further out, a try that was lost and may be billed would be covered by the next one's success, and the cap with it.
use std::sync::Arc;

use super::failover::{Choice, Failover};
use super::http::{Deadlines, HttpModel};
use super::limited::{Limited, Limiters, Limits};
use super::metered::Metered;
use super::prices::Price;
use super::providers::Target;
use super::purse::Purse;
use super::retried::{Patience, Retried};
use crate::error::Result;
use crate::seams::{Chance, Egress, LanguageModel};

/// The bound on an answer where neither the prompt nor the model gives one, tokens: what most models of today can write.
pub const MOST_OUTPUT: u32 = 16_384;

/// One model as it is to be asked.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Where it is.
    pub target: Target,
    /// What it costs; the list price unless set.
    pub price: Option<Price>,
    /// Tokens that its context takes, where that is known.
    pub window: Option<u64>,
    /// The bound on an answer where the prompt has none, tokens.
    pub most_output: u32,
}

impl Chosen {
    /// `target` at its list price, with a window that is not known.
    pub fn listed(target: Target) -> Chosen {
        Chosen {
            price: Price::of(target.provider.name, &target.model),
            target,
            window: None,
            most_output: MOST_OUTPUT,
        }
    }
}

/// What the models of a run share.
#[derive(Clone)]
pub struct Shared {
    /// What the run may spend.
    pub purse: Purse,
    /// The turns at each key, shared by all runs of a process.
    pub limiters: Arc<Limiters>,
    /// What a key bears that has no limiter yet.
    pub limits: Limits,
    /// How often and how long to try.
    pub patience: Patience,
    /// How long one request may take.
    pub deadlines: Deadlines,
    /// Where waits between tries are drawn from.
    pub chance: Arc<dyn Chance>,
    /// Where what leaves the machine is noted.
    pub egress: Egress,
}

/// Opens the models of one role, in order of preference, with all wrappers around them. Nothing is sent yet.
///
/// # Errors
/// `Setup` when there are none, or the system's certificates cannot be read.
pub fn open(models: Vec<Chosen>, shared: &Shared) -> Result<Failover> {
    let opened = models.into_iter().map(|it| {
        let window = it.window;
        let live = Arc::new(
            HttpModel::open(it.target.clone(), shared.deadlines)?.noted(shared.egress.clone()),
        );
        let model = wrapped(live, &it, shared);
        Ok(Choice { model, window })
    });
    Failover::new(opened.collect::<Result<_>>()?)
}

/// `live` with the wrappers of one model around it.
pub fn wrapped(
    live: Arc<dyn LanguageModel>,
    chosen: &Chosen,
    shared: &Shared,
) -> Arc<dyn LanguageModel> {
    let purse = shared.purse.clone();
    let metered = Metered::new(live, purse, chosen.price, chosen.most_output);
    let limiter = shared.limiters.of(&chosen.target, shared.limits);
    let limited = Limited::new(Arc::new(metered), limiter);
    let chance = Arc::clone(&shared.chance);
    Arc::new(Retried::new(Arc::new(limited), shared.patience, chance))
}

#[cfg(test)]
mod tests;
