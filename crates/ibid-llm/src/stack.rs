//! Assembles the wrappers around a model.
//!
//! From the outside in: failover; then for each model retries, throttling, adaptation, metering and the HTTP client.
//! Metering is innermost because providers bill requests: each attempt has its own reservation, at the price of the model it goes
//! to. If it were further out, a lost attempt that may be billed would be hidden by the success of the next one, and
//! the limit could be exceeded.
use std::sync::Arc;

use super::adaptive::{AdaptiveModel, LearnedModel, LearnedModels};
use super::capabilities::{ModelCapabilities, ModelTable};
use super::cost_budget::CostBudget;
use super::failover::{FailoverChoice, FailoverModel};
use super::http::{HttpModel, Timeouts};
use super::metered::MeteredModel;
use super::prices::Price;
use super::providers::ModelTarget;
use super::retry::RetryModel;
use super::throttle::{ConcurrencyLimiters, ConcurrencyLimits, ThrottledModel};
use ibid_core::Result;
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{Egress, LanguageModel, Prompt, Rng};
use ibid_core::retry::RetryPolicy;

/// Maximum answer length in tokens if neither the prompt nor the model sets one; most current models can write as
/// much.
pub const DEFAULT_MAX_OUTPUT: u32 = 16_384;

/// A model and the parameters of its wrappers.
#[derive(Debug, Clone)]
pub struct ModelSpec {
    /// The model and its provider.
    pub target: ModelTarget,
    /// What is known of the model.
    pub known: ModelCapabilities,
    /// The price; by default, the list price.
    pub price: Option<Price>,
    /// Context window in tokens, if known.
    pub window: Option<u64>,
    /// Maximum answer length in tokens if the prompt sets none.
    pub max_output: u32,
    /// How much the model reasons; as each prompt says if `None`.
    pub effort: Option<ReasoningEffort>,
}

impl ModelSpec {
    /// Creates the spec of `target` with what `table` knows of it, with unknown window.
    pub fn from_table(target: ModelTarget, table: &ModelTable) -> ModelSpec {
        let provider = target.provider.name;
        ModelSpec {
            known: table.capabilities(provider, &target.model),
            price: table.price(provider, &target.model),
            target,
            window: None,
            max_output: DEFAULT_MAX_OUTPUT,
            effort: None,
        }
    }
}

impl ModelSpec {
    /// The longest answer that the model can give, in tokens, if known.
    pub fn longest_answer(&self) -> Option<u32> {
        self.known.max_output.into_iter().chain(self.known.window).min()
    }

    /// The most output tokens of a call with `prompt`, as it is sent. `reasoned` is how many tokens the model has
    /// reasoned for at most.
    pub fn most_output(&self, prompt: &Prompt, reasoned: u32, shared: &SharedModels) -> u32 {
        let learned = learned(self, shared);
        match self.longest_answer() {
            Some(longest) if !learned.sends_limit() => longest,
            _ => learned.sent_limit(prompt, reasoned, self.max_output),
        }
    }
}

/// What the models of a run share.
#[derive(Clone)]
pub struct ModelContext {
    /// The budget of the run.
    pub budget: CostBudget,
    /// What all runs of the process share.
    pub shared: Arc<SharedModels>,
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

/// What all runs of the process share about models.
#[derive(Default)]
pub struct SharedModels {
    /// The limiters, by key.
    pub limiters: ConcurrencyLimiters,
    /// What was learned of each model.
    pub learned: LearnedModels,
}

/// Opens the models of one role, in order of preference, with all their wrappers. Sends nothing yet.
///
/// # Errors
/// `Setup` if there are none, or the system's certificates cannot be read.
pub fn open(models: Vec<ModelSpec>, context: &ModelContext) -> Result<FailoverModel> {
    let opened = models.into_iter().map(|spec| {
        let window = spec.window;
        let model = learned(&spec, &context.shared);
        let live = HttpModel::open_with(spec.target.clone(), context.timeouts, model)?;
        let model = wrap(Arc::new(live.with_egress(context.egress.clone())), &spec, context);
        Ok(FailoverChoice { model, window })
    });
    FailoverModel::new(opened.collect::<Result<_>>()?)
}

/// What was learned of the model of `spec`.
fn learned(spec: &ModelSpec, shared: &SharedModels) -> Arc<LearnedModel> {
    let provider = spec.target.provider;
    shared.learned.get(&spec.target, || {
        let settings = provider.settings_with(&spec.target.model, &spec.known);
        LearnedModel::new(provider.dialect, settings, spec.known.max_output)
            .with_window(spec.window)
    })
}

/// Puts the wrappers of one model around `live`.
pub fn wrap(
    live: Arc<dyn LanguageModel>,
    chosen: &ModelSpec,
    context: &ModelContext,
) -> Arc<dyn LanguageModel> {
    let budget = context.budget.clone();
    let learned = learned(chosen, &context.shared);
    let metered = MeteredModel::new(live, budget, chosen.price, chosen.max_output)
        .with_longest_answer(Arc::clone(&learned), chosen.longest_answer());
    let adaptive = AdaptiveModel::new(Arc::new(metered), learned, chosen.effort);
    let limiter = context.shared.limiters.get(&chosen.target, context.limits);
    let limited = ThrottledModel::new(Arc::new(adaptive), limiter, chosen.max_output);
    let chance = Arc::clone(&context.chance);
    Arc::new(RetryModel::new(Arc::new(limited), context.retry, chance))
}

#[cfg(test)]
mod tests;
