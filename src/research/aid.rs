//! Who helps a step think, what that came to, and which steps had to do without.
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::domain::{ModelRole, Usage};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::{Completion, LanguageModel, Log, Mind, Models, Prompt, Sink};

/// The steps that have a twin without a model, in the order of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Intake,
    Plan,
    Weigh,
    Cover,
    Supervise,
    Research,
    Refine,
    Write,
    Verify,
}

impl Step {
    /// Its name in events and reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Step::Intake => "intake",
            Step::Plan => "plan",
            Step::Weigh => "weigh",
            Step::Cover => "cover",
            Step::Supervise => "supervise",
            Step::Research => "research",
            Step::Refine => "refine_search",
            Step::Write => "write",
            Step::Verify => "verify",
        }
    }
}

/// A model whose answers are remembered, to be counted in the order in which the flow uses them.
pub(crate) struct Counting<'a> {
    model: &'a dyn LanguageModel,
    answers: Mutex<Vec<Completion>>,
}

impl<'a> Counting<'a> {
    pub(crate) fn of(mind: &'a Mind) -> Counting<'a> {
        Counting {
            model: &*mind.model,
            answers: Mutex::default(),
        }
    }

    /// What was heard came to. Money is unknown as soon as one price is.
    pub(crate) fn usage(self) -> Usage {
        let answers = self.answers.into_inner();
        let mut sum = Usage {
            usd: Some(0.0),
            ..Usage::default()
        };
        for answer in answers.unwrap_or_else(PoisonError::into_inner) {
            sum.model_calls += 1;
            sum.tokens_in += answer.tokens.input.unwrap_or(0);
            sum.tokens_out += answer.tokens.output.unwrap_or(0);
            sum.usd = sum.usd.zip(answer.cost_usd).map(|(a, b)| a + b);
        }
        sum
    }

    fn remember(&self, answer: &Completion) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push(answer.clone());
    }
}

#[async_trait]
impl LanguageModel for Counting<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        let answer = self.model.complete(prompt).await?;
        self.remember(&answer);
        Ok(answer)
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        let answer = self.model.stream(prompt, sink).await?;
        self.remember(&answer);
        Ok(answer)
    }
}

/// The reason of a fault without the words of the model that it quotes: a model that has read pages may say theirs.
fn without_quotes(reason: &str) -> String {
    let (told, refused) = match reason.split_once(REFUSED) {
        Some((told, _)) => (told, REFUSED.trim_end_matches([':', ' '])),
        None => (reason, ""),
    };
    let mut out = String::new();
    for (nth, part) in told.split('"').enumerate() {
        match nth % 2 {
            0 => out.push_str(part),
            _ => out.push('…'),
        }
    }
    out + refused
}

/// What leads to a model's own words where it refuses.
const REFUSED: &str = "it refused: ";

/// What a run has of models: who plays which role, what was counted, what was done without.
pub(crate) struct Aid<'a> {
    models: &'a Models,
    log: &'a Log,
    /// What models were asked and cost. Money is unknown as soon as one price is.
    usage: Usage,
    unpriced: bool,
    unaided: BTreeSet<Step>,
    told: BTreeMap<Step, String>,
    spent: bool,
}

impl<'a> Aid<'a> {
    pub(crate) fn new(models: &'a Models, log: &'a Log) -> Aid<'a> {
        Aid {
            models,
            log,
            usage: Usage::default(),
            unpriced: false,
            unaided: BTreeSet::new(),
            told: BTreeMap::new(),
            spent: false,
        }
    }

    /// Who plays `role` in `step`; where nobody does, the step counts as done without a model.
    pub(crate) fn mind(&mut self, step: Step, role: ModelRole) -> Option<&'a Mind> {
        let mind = self.models.of(role);
        if mind.is_none() {
            self.unaided.insert(step);
        }
        mind
    }

    /// Counts what was heard and tells it.
    pub(crate) fn settle(&mut self, step: Step, role: ModelRole, heard: Counting<'_>) {
        let model = heard.model.name();
        let answers = heard.answers.into_inner();
        for answer in answers.unwrap_or_else(PoisonError::into_inner) {
            self.count(step, role, model, &answer);
        }
    }

    fn count(&mut self, step: Step, role: ModelRole, model: &str, answer: &Completion) {
        self.usage.model_calls += 1;
        let (sent, received) = (answer.tokens.input, answer.tokens.output);
        self.usage.tokens_in += sent.unwrap_or(0);
        self.usage.tokens_out += received.unwrap_or(0);
        match answer.cost_usd {
            Some(usd) if !self.unpriced => *self.usage.usd.get_or_insert(0.0) += usd,
            Some(_) => {}
            None => {
                self.unpriced = true;
                self.usage.usd = None;
            }
        }
        self.log.emit(Event::LlmCompleted {
            role,
            model: model.to_owned(),
            step: step.word().to_owned(),
            r#in: sent,
            out: received,
            cached: answer.tokens.cached_input,
            usd: answer.cost_usd,
            ms: answer.ms,
        });
    }

    /// Has the twin of `step` take over after `fault`, and says so once a step.
    ///
    /// # Errors
    /// Faults that no twin can mend: a stop on request and faults of our own.
    pub(crate) fn without(&mut self, step: Step, role: ModelRole, fault: Error) -> Result<()> {
        if matches!(fault.kind(), Kind::Cancelled | Kind::Internal) {
            return Err(fault);
        }
        self.unaided.insert(step);
        self.spent |= fault.kind() == Kind::Exhausted;
        if let Entry::Vacant(first) = self.told.entry(step) {
            let reason = without_quotes(&fault.chain());
            first.insert(reason.clone());
            self.log.emit(Event::StepUnaided {
                step: step.word().to_owned(),
                role,
                reason,
                hint: fault.help().map(str::to_owned),
            });
        }
        Ok(())
    }

    /// Whether a model was not asked because its budget had no room for it.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// What models were asked and cost so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// What the first fault was of each step that has a model and did without, wholly or in part.
    pub(crate) fn unaided_because(&self) -> Vec<(String, String)> {
        let because = |it: (&Step, &String)| (it.0.word().to_owned(), it.1.clone());
        self.told.iter().map(because).collect()
    }

    /// The steps done without a model, wholly or in part, in the order of the flow.
    pub(crate) fn unaided(&self) -> Vec<String> {
        self.unaided.iter().map(|it| it.word().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::without_quotes;

    #[test]
    fn a_reason_quotes_no_model() {
        assert_eq!(
            without_quotes(
                "asking a for step `cover`: `state` is \"Buy gold\"; it must be one of open"
            ),
            "asking a for step `cover`: `state` is …; it must be one of open"
        );
        assert_eq!(
            without_quotes("asking a: it refused: Buy gold"),
            "asking a: it refused"
        );
        assert_eq!(without_quotes("asking a: timed out"), "asking a: timed out");
    }
}
