//! The wrapper that reserves the maximum cost of a call and then charges the actual cost.
//!
//! It is the innermost wrapper, below retries and limits: every request that is sent is charged separately, at the
//! price of the model that answers. Nothing is reserved while a call waits for a permit.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::adaptive::LearnedModel;
use super::cost_budget::{CallCost, CostBudget, Reservation};
use super::prices::Price;
pub use super::token_estimate::max_input_tokens;
use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink, TokenUsage};
use ibid_core::{Error, ErrorKind, FailureReason, Result};
use ibid_net::service_error::ServiceError;

/// The purposes of calls that the report needs, and of judging, which is the last thing paid for. A purpose may have
/// a suffix: `write.summary`.
const FINISHING: &[&str] = &["write", "check", "verify", "critique", "answer", "judge"];

/// How long to wait until calls in flight release money: as long as a call may take.
const MAX_WAIT: Duration = Duration::from_secs(1200);

/// Maximum plausible token count; no model reaches it.
const MAX_TOKENS: u64 = 20_000_000;

/// A model whose calls are paid from a [`CostBudget`].
pub struct MeteredModel {
    inner: Arc<dyn LanguageModel>,
    budget: CostBudget,
    price: Option<Price>,
    max_output: u32,
    unlimited: Option<OutputLimit>,
}

/// The longest answer of a model that may accept no token limit.
struct OutputLimit {
    learned: Arc<LearnedModel>,
    /// The longest answer that the model can give, in tokens, if known.
    longest: Option<u32>,
}

impl MeteredModel {
    /// Wraps `inner`; calls are paid from `budget` at `price`. An unknown price is refused if money is limited; 0
    /// means free. Prompts without a limit get `max_output` tokens, so that the maximum cost of a call is known.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        budget: CostBudget,
        price: Option<Price>,
        max_output: u32,
    ) -> MeteredModel {
        MeteredModel { inner, budget, price, max_output, unlimited: None }
    }

    /// While `learned` says that the service refuses limits on answers, the cost of an answer of `longest` tokens is
    /// reserved. Where that is not known, calls are refused if money or tokens are limited.
    #[must_use]
    pub fn with_longest_answer(
        mut self,
        learned: Arc<LearnedModel>,
        longest: Option<u32>,
    ) -> MeteredModel {
        self.unlimited = Some(OutputLimit { learned, longest });
        self
    }

    /// The most tokens of an answer that is to have `limit` tokens at most.
    fn most_output(&self, limit: u32) -> Result<u32> {
        let Some(unlimited) = self.unlimited.as_ref().filter(|it| !it.learned.sends_limit()) else {
            return Ok(limit);
        };
        let (usd, tokens) = self.budget.limits();
        let is_free = self.price.is_some_and(|price| price.max_cost(0, MAX_TOKENS) == 0.0);
        match unlimited.longest {
            Some(longest) => Ok(longest),
            None if tokens || usd && !is_free => Err(unlimited_error(self.inner.name())),
            None => Ok(limit),
        }
    }

    /// Returns the prompt with a limit on its answer, and the reserved cost.
    async fn reserve(&self, prompt: &Prompt) -> Result<(Prompt, CallCost, Reservation)> {
        let limit = prompt.max_tokens.unwrap_or(self.max_output);
        let bounded = Prompt { max_tokens: Some(limit), ..prompt.clone() };
        let (finishing, name) = (is_finishing(&prompt.purpose), self.inner.name());
        let tokens_in = max_input_tokens(prompt);
        loop {
            let most_output = self.most_output(limit)?;
            let tokens_out = u64::from(most_output);
            let usd = self.price.map(|price| price.max_cost(tokens_in, tokens_out));
            let most = CallCost { tokens_in, tokens_out, usd };
            let mut reservation =
                self.budget.reserve_or_wait(name, most, finishing, MAX_WAIT).await?;
            // A call beside this one may have been refused its limit while this one waited.
            if self.most_output(limit)? == most_output {
                reservation.mark_sent();
                return Ok((bounded, most, reservation));
            }
            reservation.release();
        }
    }

    fn settle(
        &self,
        most: CallCost,
        reservation: Reservation,
        answer: Result<Completion>,
        streamed: bool,
    ) -> Result<Completion> {
        let mut completion = match answer {
            Ok(it) => it,
            Err(error) => {
                // Output is billed, whatever error follows.
                let billed = if streamed { BilledPart::Unknown } else { self.billed(&error, most) };
                match billed {
                    BilledPart::Nothing => reservation.release(),
                    BilledPart::Input(charge) => reservation.settle(charge),
                    // As for a cancelled call, the estimate is charged.
                    BilledPart::Unknown => drop(reservation),
                }
                return Err(error);
            }
        };
        let believed = |count: Option<u64>| count.filter(|count| *count <= MAX_TOKENS);
        let counted = TokenUsage {
            input: believed(completion.tokens.input).or(Some(most.tokens_in)),
            output: believed(completion.tokens.output).or(Some(most.tokens_out)),
            ..completion.tokens
        };
        let reported = completion.cost_usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        completion.cost_usd = reported.or(self.price.map(|price| price.cost(&counted)));
        let charge = CallCost {
            tokens_in: counted.input.unwrap_or(0),
            tokens_out: counted.output.unwrap_or(0),
            usd: completion.cost_usd,
        };
        reservation.settle(charge);
        Ok(completion)
    }

    /// What a failed call is billed. A rejected request is free, except on Azure, which bills the input if its filter
    /// rejected it or it was too long.
    fn billed(&self, error: &Error, most: CallCost) -> BilledPart {
        let Some(fault) = ServiceError::find_in(error) else {
            return BilledPart::Unknown;
        };
        let is_azure = self.inner.name().starts_with("azure/");
        let is_billed = matches!(
            fault.reason,
            Some(FailureReason::Declined | FailureReason::PromptTooLong { .. })
        );
        if is_azure && is_billed {
            return BilledPart::Input(CallCost {
                tokens_out: 0,
                usd: self.price.map(|price| price.max_cost(most.tokens_in, 0)),
                ..most
            });
        }
        match fault.status {
            _ if fault.unsent => BilledPart::Nothing,
            // The server gave up on a request that it had started.
            Some(408 | 409 | 499) => BilledPart::Unknown,
            Some(300..=499 | 501 | 503 | 529) => BilledPart::Nothing,
            _ => BilledPart::Unknown,
        }
    }
}

fn unlimited_error(model: &str) -> Error {
    let doing = format!(
        "{model} accepts no limit on its answers and its longest answer is unknown, so the budget cannot be enforced"
    );
    Error::new(ErrorKind::Setup, doing).with_hint(
        "set `max_context` of the role's model, or its `window` in `model_table`, or bound the run by calls",
    )
}

enum BilledPart {
    Nothing,
    Input(CallCost),
    Unknown,
}

#[async_trait]
impl LanguageModel for MeteredModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(
        &self,
        prompt: &Prompt,
        mut sink: Option<TextSink<'_>>,
    ) -> Result<Completion> {
        let (prompt, most, reservation) = self.reserve(prompt).await?;
        let streaming = sink.is_some();
        let mut streamed = false;
        let mut relay = |text: &str| {
            streamed = true;
            if let Some(sink) = &mut sink {
                sink(text);
            }
        };
        let relay = streaming.then_some(&mut relay as TextSink<'_>);
        let answer = self.inner.complete(&prompt, relay).await;
        self.settle(most, reservation, answer, streamed)
    }
}

/// Whether a call may use the share of the budget kept for finishing.
pub fn is_finishing(purpose: &str) -> bool {
    let step = purpose.split(['.', '-', '_', '/', ':', ' ']).next();
    step.is_some_and(|step| FINISHING.contains(&step))
}

#[cfg(test)]
mod tests;
