//! The wrapper that sets money aside before a call and books what it cost.
//!
//! It stands directly around the live model, below retries and limits: each request that goes out is one call to the
//! provider's books, and the price is that of the model which answers. Nothing is set aside while a call waits for its turn.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::fault::ModelFault;
use super::prices::Price;
use super::purse::{Charge, Purse, Reservation, Spent};
use crate::error::{Error, Result};
use crate::seams::{Completion, LanguageModel, Prompt, Sink, Tokens};

/// The purposes of calls without which there is no report, and of judging, after which nothing else is to be paid. A purpose
/// may go on behind a dot or dash: `write.summary`.
const FINISHING: &[&str] = &["write", "check", "verify", "answer", "judge"];

/// How long to wait for calls under way to give money back: as long as a call may take.
const PATIENCE: Duration = Duration::from_secs(1200);

/// The largest count of tokens that is believed: no model takes or gives as many.
const LARGEST: u64 = 20_000_000;

/// A model whose calls are paid from a [`Purse`].
pub struct Metered {
    inner: Arc<dyn LanguageModel>,
    purse: Purse,
    price: Option<Price>,
    most_output: u32,
    usage: Mutex<Spent>,
}

impl Metered {
    /// `inner`, paid from `purse` at `price`; an unknown price is refused where money is bounded, and 0 is free. Prompts
    /// without a bound on their answer get `most_output`, tokens, so that the most a call can cost is known.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        purse: Purse,
        price: Option<Price>,
        most_output: u32,
    ) -> Metered {
        Metered {
            inner,
            purse,
            price,
            most_output,
            usage: Mutex::default(),
        }
    }

    /// What this model was asked and answered since it was opened: answered calls alone. What calls without an answer may
    /// have cost is in [`Purse::spent`].
    pub fn usage(&self) -> Spent {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prompt with a bound on its answer, and what is set aside for it.
    async fn prepared(&self, prompt: &Prompt) -> Result<(Prompt, Charge, Reservation)> {
        let most_output = prompt.max_tokens.unwrap_or(self.most_output);
        let bounded = Prompt {
            max_tokens: Some(most_output),
            ..prompt.clone()
        };
        let (tokens_in, tokens_out) = (most_input(prompt), u64::from(most_output));
        let most = Charge {
            tokens_in,
            tokens_out,
            usd: self.price.map(|it| it.most(tokens_in, tokens_out)),
        };
        let finishing = is_finishing(&prompt.purpose);
        let name = self.inner.name();
        let mut reservation = self.purse.room(name, most, finishing, PATIENCE).await?;
        reservation.sent();
        Ok((bounded, most, reservation))
    }

    fn settled(
        &self,
        most: Charge,
        reservation: Reservation,
        answer: Result<Completion>,
        heard: bool,
    ) -> Result<Completion> {
        let mut completion = match answer {
            Ok(it) => it,
            Err(error) => {
                // What was written is billed, whatever the fault behind it calls itself.
                let billed = match heard {
                    true => Billed::Perhaps,
                    false => self.billed(&error, most),
                };
                match billed {
                    Billed::Nothing => reservation.release(),
                    Billed::Input(charge) => reservation.settle(charge),
                    // As after a cancelled call, the estimate is booked.
                    Billed::Perhaps => drop(reservation),
                }
                return Err(error);
            }
        };
        let believed = |count: Option<u64>| count.filter(|it| *it <= LARGEST);
        let counted = Tokens {
            input: believed(completion.tokens.input).or(Some(most.tokens_in)),
            output: believed(completion.tokens.output).or(Some(most.tokens_out)),
            ..completion.tokens
        };
        let told = completion
            .cost_usd
            .filter(|it| it.is_finite() && *it >= 0.0);
        completion.cost_usd = told.or(self.price.map(|it| it.cost(&counted)));
        let charge = Charge {
            tokens_in: counted.input.unwrap_or(0),
            tokens_out: counted.output.unwrap_or(0),
            usd: completion.cost_usd,
        };
        reservation.settle(charge);
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.calls += 1;
        usage.tokens_in = usage.tokens_in.saturating_add(charge.tokens_in);
        usage.tokens_out = usage.tokens_out.saturating_add(charge.tokens_out);
        usage.usd = usage.usd.zip(charge.usd).map(|(sum, it)| sum + it);
        drop(usage);
        Ok(completion)
    }

    /// What a call that failed is billed. A provider that refuses a request bills nothing, apart from Azure, which bills
    /// the input that its filter read or that was too long.
    fn billed(&self, error: &Error, most: Charge) -> Billed {
        let Some(fault) = ModelFault::inside(error) else {
            return Billed::Perhaps;
        };
        let is_azure = self.inner.name().starts_with("azure/");
        if is_azure && (fault.filtered || fault.context_too_long) {
            return Billed::Input(Charge {
                tokens_out: 0,
                usd: self.price.map(|it| it.most(most.tokens_in, 0)),
                ..most
            });
        }
        match fault.status {
            _ if fault.unsent => Billed::Nothing,
            // The server gave up on a request that it had begun with.
            Some(408 | 409 | 499) => Billed::Perhaps,
            Some(300..=499 | 501 | 503 | 529) => Billed::Nothing,
            _ => Billed::Perhaps,
        }
    }
}

enum Billed {
    Nothing,
    Input(Charge),
    Perhaps,
}

#[async_trait]
impl LanguageModel for Metered {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        let (prompt, most, reservation) = self.prepared(prompt).await?;
        let answer = self.inner.complete(&prompt).await;
        self.settled(most, reservation, answer, false)
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        let (prompt, most, reservation) = self.prepared(prompt).await?;
        let mut heard = false;
        let mut told = |text: &str| {
            heard = true;
            sink(text);
        };
        let answer = self.inner.stream(&prompt, &mut told).await;
        self.settled(most, reservation, answer, heard)
    }
}

/// Whether a call may use what is kept for the end.
pub fn is_finishing(purpose: &str) -> bool {
    let step = purpose.split(['.', '-', '_', '/', ':', ' ']).next();
    step.is_some_and(|it| FINISHING.contains(&it))
}

/// The most tokens that `prompt` is taken to have: a third of one a byte, and one a digit, because several tokenizers
/// give each digit its own. English has about four bytes a token; scripts with three bytes a letter come to one a letter.
/// Added to it is what providers wrap around a turn and around a schema.
pub fn most_input(prompt: &Prompt) -> u64 {
    let of = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        ((text.len() - digits).div_ceil(3) + digits) as u64
    };
    let turns: u64 = prompt.messages.iter().map(|it| of(&it.text) + 16).sum();
    let system = prompt.system.as_deref().map_or(0, |it| of(it) + 16);
    // Some providers are sent the schema as a tool, whose instructions they bill as well.
    let schema = prompt
        .schema
        .as_ref()
        .map_or(0, |it| of(&it.json.to_string()) + 500);
    turns + system + schema
}

#[cfg(test)]
mod tests;
