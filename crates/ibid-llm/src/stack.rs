//! Assembles the wrappers around a model.
//!
//! From the outside in: failover; then for each model retries, throttling, metering and the HTTP client. Metering is
//! innermost because providers bill requests: each attempt has its own reservation, at the price of the model it goes
//! to. If it were further out, a lost attempt that may be billed would be hidden by the success of the next one, and
//! the limit could be exceeded.
use std::sync::Arc;

use super::cost_budget::CostBudget;
use super::failover::{FailoverChoice, FailoverModel};
use super::http::{HttpModel, Timeouts};
use super::metered::MeteredModel;
use super::prices::Price;
use super::providers::ModelTarget;
use super::retry::RetryModel;
use super::throttle::{ConcurrencyLimiters, ConcurrencyLimits, ThrottledModel};
use ibid_core::Result;
use ibid_core::ports::{Egress, LanguageModel, Rng};
use ibid_core::retry::RetryPolicy;

/// Maximum answer length in tokens if neither the prompt nor the model sets one; most current models can write as
/// much.
pub const DEFAULT_MAX_OUTPUT: u32 = 16_384;

/// A model and the parameters of its wrappers.
#[derive(Debug, Clone)]
pub struct ModelSpec {
    /// The model and its provider.
    pub target: ModelTarget,
    /// The price; by default, the list price.
    pub price: Option<Price>,
    /// Context window in tokens, if known.
    pub window: Option<u64>,
    /// Maximum answer length in tokens if the prompt sets none.
    pub max_output: u32,
}

impl ModelSpec {
    /// Creates the spec of `target` at its list price, with unknown window.
    pub fn at_list_price(target: ModelTarget) -> ModelSpec {
        ModelSpec {
            price: Price::lookup(target.provider.name, &target.model),
            target,
            window: None,
            max_output: DEFAULT_MAX_OUTPUT,
        }
    }
}

/// What the models of a run share.
#[derive(Clone)]
pub struct ModelContext {
    /// The budget of the run.
    pub budget: CostBudget,
    /// The limiters by key, shared by all runs of the process.
    pub limiters: Arc<ConcurrencyLimiters>,
    /// The limits for keys that have no limiter yet.
    pub limits: ConcurrencyLimits,
    /// How often and how long to retry.
    pub retry: RetryPolicy,
    /// The timeouts of a request.
    pub timeouts: Timeouts,
    /// Random numbers for delays.
    pub chance: Arc<dyn Rng>,
    /// The record of outgoing traffic.
    pub egress: Egress,
}

/// Opens the models of one role, in order of preference, with all their wrappers. Sends nothing yet.
///
/// # Errors
/// `Setup` if there are none, or the system's certificates cannot be read.
pub fn open(models: Vec<ModelSpec>, shared: &ModelContext) -> Result<FailoverModel> {
    let opened = models.into_iter().map(|spec| {
        let window = spec.window;
        let live = Arc::new(
            HttpModel::open(spec.target.clone(), shared.timeouts)?
                .with_egress(shared.egress.clone()),
        );
        let model = wrap(live, &spec, shared);
        Ok(FailoverChoice { model, window })
    });
    FailoverModel::new(opened.collect::<Result<_>>()?)
}

/// Puts the wrappers of one model around `live`.
pub fn wrap(
    live: Arc<dyn LanguageModel>,
    chosen: &ModelSpec,
    shared: &ModelContext,
) -> Arc<dyn LanguageModel> {
    let budget = shared.budget.clone();
    let metered = MeteredModel::new(live, budget, chosen.price, chosen.max_output);
    let limiter = shared.limiters.get(&chosen.target, shared.limits);
    let limited = ThrottledModel::new(Arc::new(metered), limiter);
    let chance = Arc::clone(&shared.chance);
    Arc::new(RetryModel::new(Arc::new(limited), shared.retry, chance))
}

#[cfg(test)]
mod tests;
