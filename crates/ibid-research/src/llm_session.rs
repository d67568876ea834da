//! The models of a run: who plays which role, what they cost, and which steps had to do without.
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::thresholds::MIN_CAUGHT_SHARE;
use ibid_core::domain::{ModelRole, PageHash, Usage};
use ibid_core::ports::{
    Completion, EventLog, LanguageModel, Prompt, RoleModel, RoleModels, TextSink,
};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, FailureReason, Result};

/// The steps that have a heuristic as fallback, in the order of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LlmStep {
    Intake,
    Plan,
    Weigh,
    Cover,
    Supervise,
    Research,
    Write,
    Verify,
    Critique,
}

impl LlmStep {
    /// Its name in events and reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LlmStep::Intake => "intake",
            LlmStep::Plan => "plan",
            LlmStep::Weigh => "weigh",
            LlmStep::Cover => "cover",
            LlmStep::Supervise => "supervise",
            LlmStep::Research => "research",
            LlmStep::Write => "write",
            LlmStep::Verify => "verify",
            LlmStep::Critique => "critique",
        }
    }
}

/// The next window to try after a prompt for `window` tokens was too long: the one that the service named, or else half.
pub(crate) fn narrower_window(window: u32, error: &Error) -> u32 {
    match error.reason() {
        Some(FailureReason::PromptTooLong { window: Some(named) }) if *named < window => *named,
        _ => window / 2,
    }
}

/// A model that records its answers, so that they can be counted in the order of the flow.
pub(crate) struct TrackedModel<'a> {
    model: &'a dyn LanguageModel,
    /// Each with the hash of its prompt.
    answers: Mutex<Vec<(PageHash, Completion)>>,
}

impl<'a> TrackedModel<'a> {
    pub(crate) fn new(role_model: &'a RoleModel) -> TrackedModel<'a> {
        TrackedModel { model: &*role_model.model, answers: Mutex::default() }
    }

    /// The usage of all recorded answers. The cost is unknown as soon as one price is.
    pub(crate) fn usage(self) -> Usage {
        let answers = self.answers.into_inner();
        let mut sum = Usage { usd: Some(0.0), ..Usage::default() };
        for (_, answer) in answers.unwrap_or_else(PoisonError::into_inner) {
            sum.model_calls += 1;
            sum.tokens_in += answer.tokens.input.unwrap_or(0);
            sum.tokens_out += answer.tokens.output.unwrap_or(0);
            sum.tokens_reasoning += answer.tokens.reasoning_output.unwrap_or(0);
            sum.usd = sum.usd.zip(answer.cost_usd).map(|(a, b)| a + b);
        }
        sum
    }

    fn remember(&self, prompt: &Prompt, answer: &Completion) {
        let prompt = serde_json::to_string(prompt).unwrap_or_default();
        let hash = PageHash::from_parts(&[self.model.name(), &prompt]);
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push((hash, answer.clone()));
    }
}

#[async_trait]
impl LanguageModel for TrackedModel<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let answer = self.model.complete(prompt, sink).await?;
        self.remember(prompt, &answer);
        Ok(answer)
    }
}

/// The reason of a fault without the model output it quotes: a model that has read pages may repeat them.
fn strip_quotes(reason: &str) -> String {
    let (before, refused) = match reason.split_once(REFUSED) {
        Some((before, _)) => (before, REFUSED.trim_end_matches([':', ' '])),
        None => (reason, ""),
    };
    let mut out = String::new();
    for (nth, part) in before.split('"').enumerate() {
        match nth % 2 {
            0 => out.push_str(part),
            _ => out.push('…'),
        }
    }
    out + refused
}

/// Number of unusable answers after which a step no longer asks its model, if it got no usable one. Calls that were already sent are
/// not stopped.
const MAX_UNUSABLE_ANSWERS: u32 = 6;

/// Number of findings that say more than their sentences below which their share says nothing.
const MIN_OVERSTATED_FINDINGS: u32 = 3;

/// How often a step asked a model, and how often the answer could not be used.
#[derive(Default)]
struct StepAnswers {
    asked: u32,
    unusable: u32,
}

impl StepAnswers {
    /// Whether so many answers came and none could be used.
    fn has_failed(&self) -> bool {
        self.unusable >= MAX_UNUSABLE_ANSWERS && self.unusable == self.asked
    }
}

/// The phrase that precedes a model's own words in a refusal.
const REFUSED: &str = "it refused: ";

/// The models of a run, with the usage and the fallbacks so far.
pub(crate) struct LlmSession<'a> {
    models: &'a RoleModels,
    log: &'a EventLog,
    /// The usage so far. The cost is unknown as soon as one price is.
    usage: Usage,
    unpriced: bool,
    /// The prompts whose answers are counted. The journal answers the same prompt again without a call.
    counted: BTreeSet<PageHash>,
    unaided: BTreeSet<LlmStep>,
    fallback_reasons: BTreeMap<LlmStep, String>,
    budget_spent: bool,
    /// The windows that showed to be smaller than configured, in tokens, by model.
    windows: BTreeMap<String, u32>,
    answers: BTreeMap<LlmStep, StepAnswers>,
    /// How many pages a model read, and on how many of them it found an answer to what none of them says.
    catch_trials: (u32, u32),
    /// How many findings it stated in its own words, and how many of these say more than their sentences.
    stated_findings: (u32, u32),
}

impl<'a> LlmSession<'a> {
    pub(crate) fn new(models: &'a RoleModels, log: &'a EventLog) -> LlmSession<'a> {
        LlmSession {
            models,
            log,
            usage: Usage::default(),
            unpriced: false,
            counted: BTreeSet::new(),
            unaided: BTreeSet::new(),
            fallback_reasons: BTreeMap::new(),
            budget_spent: false,
            windows: BTreeMap::new(),
            answers: BTreeMap::new(),
            catch_trials: (0, 0),
            stated_findings: (0, 0),
        }
    }

    /// Counts pages that a model `read` and those on which it was `caught` finding an answer to what none of them says, and findings that
    /// it `stated` and those of them that say more than their sentences.
    pub(crate) fn record_readings(
        &mut self,
        (read, caught): (u32, u32),
        (stated, overstated): (u32, u32),
    ) {
        self.catch_trials = (self.catch_trials.0 + read, self.catch_trials.1 + caught);
        let (all, bad) = self.stated_findings;
        self.stated_findings = (all + stated, bad + overstated);
    }

    /// How the model showed that it reads poorly; `None` if it did not.
    pub(crate) fn poor_reading(&self) -> Option<String> {
        let ((read, caught), (stated, overstated)) = (self.catch_trials, self.stated_findings);
        self.reads_poorly().then(|| {
            format!(
                "found on {caught} of {read} pages what none of them says, and said more than its \
                 sentences in {overstated} of {stated} findings"
            )
        })
    }

    /// Whether the model was caught so often, or its findings so often say more than their sentences, that code chooses what is written
    /// from.
    pub(crate) fn reads_poorly(&self) -> bool {
        let is_often = |(all, bad): (u32, u32), least: u32| {
            bad >= least && bad as f32 >= all as f32 * MIN_CAUGHT_SHARE
        };
        is_often(self.catch_trials, 1) || is_often(self.stated_findings, MIN_OVERSTATED_FINDINGS)
    }

    /// The model that plays `role` in `step`. Returns `None` without a model, or after too many unusable answers; the step then counts
    /// as heuristic.
    pub(crate) fn role_model(&mut self, step: LlmStep, role: ModelRole) -> Option<&'a RoleModel> {
        let has_failed = self.answers.get(&step).is_some_and(StepAnswers::has_failed);
        let role_model = self.models.get(role).filter(|_| !has_failed);
        if role_model.is_none() {
            self.unaided.insert(step);
        }
        role_model
    }

    /// No model: `step` is done by heuristics although a model could do it.
    pub(crate) fn skip_model(&mut self, step: LlmStep) -> Option<&'a RoleModel> {
        self.unaided.insert(step);
        None
    }

    /// The context window of `role_model` in tokens: as configured, or as learned in this run if that is less. It is
    /// learned from journaled errors only, so a resumed run asks the same.
    pub(crate) fn window(&self, role_model: &RoleModel) -> u32 {
        let learned = self.windows.get(role_model.model.name());
        role_model.window.min(learned.copied().unwrap_or(u32::MAX))
    }

    /// Remembers that prompts for `role_model` must fit a window of `tokens`.
    pub(crate) fn learn_window(&mut self, role_model: &RoleModel, tokens: u32) {
        let known = self.window(role_model);
        if tokens < known {
            self.windows.insert(role_model.model.name().to_owned(), tokens);
        }
    }

    /// Counts the recorded answers and emits them, each prompt once.
    pub(crate) fn record_usage(&mut self, step: LlmStep, role: ModelRole, heard: TrackedModel<'_>) {
        self.answers.entry(step).or_default().asked += 1;
        let model = heard.model.name();
        let answers = heard.answers.into_inner();
        for (prompt, answer) in answers.unwrap_or_else(PoisonError::into_inner) {
            if self.counted.insert(prompt) {
                self.add_usage(step, role, model, &answer);
            }
        }
    }

    fn add_usage(&mut self, step: LlmStep, role: ModelRole, model: &str, answer: &Completion) {
        self.usage.model_calls += 1;
        let (sent, received) = (answer.tokens.input, answer.tokens.output);
        self.usage.tokens_in += sent.unwrap_or(0);
        self.usage.tokens_out += received.unwrap_or(0);
        self.usage.tokens_reasoning += answer.tokens.reasoning_output.unwrap_or(0);
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
            step: step.as_str().to_owned(),
            r#in: sent,
            out: received,
            cached: answer.tokens.cached_input,
            reasoning: answer.tokens.reasoning_output.filter(|tokens| *tokens > 0),
            effort: answer.effort,
            usd: answer.cost_usd,
            ms: answer.ms,
        });
    }

    /// Logs what was done with an answer.
    pub(crate) fn log_info(&self, message: String) {
        self.log.emit(Event::Log { level: "info".to_owned(), message, source: None });
    }

    /// Falls back to the heuristic of `step` after `fault`. Emits that once per step.
    ///
    /// # Errors
    /// Faults that no fallback can mend: cancellation and internal errors.
    pub(crate) fn fall_back(&mut self, step: LlmStep, role: ModelRole, fault: Error) -> Result<()> {
        if matches!(fault.kind(), ErrorKind::Cancelled | ErrorKind::Internal) {
            return Err(fault);
        }
        self.unaided.insert(step);
        self.budget_spent |= fault.kind() == ErrorKind::Exhausted;
        if fault.kind() == ErrorKind::Malformed {
            self.answers.entry(step).or_default().unusable += 1;
        }
        if let Entry::Vacant(first) = self.fallback_reasons.entry(step) {
            first.insert(fallback_reason(&fault));
            self.log.emit(Event::StepUnaided {
                step: step.as_str().to_owned(),
                role,
                reason: strip_quotes(&fault.chain()),
                hint: fault.hint().map(str::to_owned),
            });
        }
        Ok(())
    }

    /// Whether a model was not asked because the budget had no room for it.
    pub(crate) fn is_budget_spent(&self) -> bool {
        self.budget_spent
    }

    /// The usage so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// The first fault of each step that had a model and fell back, wholly or in part.
    pub(crate) fn fallback_reasons(&self) -> Vec<(String, String)> {
        let because = |pair: (&LlmStep, &String)| (pair.0.as_str().to_owned(), pair.1.clone());
        self.fallback_reasons.iter().map(because).collect()
    }

    /// The steps done without a model, wholly or in part, in the order of the flow.
    pub(crate) fn heuristic_steps(&self) -> Vec<String> {
        self.unaided.iter().map(|it| it.as_str().to_owned()).collect()
    }
}

/// Why a model did not do its step, in words of Ibid alone: a report is shared, and what a service answers may name its inner
/// addresses. The event of the step has the whole error, for the operator.
fn fallback_reason(fault: &Error) -> String {
    let by_kind = match fault.kind() {
        ErrorKind::Exhausted => return fault.chain(),
        ErrorKind::Transient => "the service of the model failed",
        ErrorKind::Malformed => "the answer of the model could not be used",
        _ => "the service of the model refused the request",
    };
    let reason = match fault.reason() {
        Some(FailureReason::PromptTooLong { .. }) => {
            "the prompt did not fit the context window of the model"
        }
        Some(FailureReason::RefusedParameter(_)) => "the model refused a parameter of the request",
        Some(FailureReason::Declined) => "the model declined to answer",
        Some(FailureReason::Overloaded) => {
            "the service of the model was overloaded or had too many requests"
        }
        Some(FailureReason::Quota) => "the quota of the account is used up",
        Some(FailureReason::Key) => "the service of the model did not accept the key",
        Some(FailureReason::Unreachable) => "the service of the model could not be reached",
        Some(FailureReason::Read(_) | FailureReason::Timeout | FailureReason::Budget) | None => {
            by_kind
        }
    };
    reason.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{StepAnswers, strip_quotes};

    #[test]
    fn a_model_is_asked_no_more_where_no_answer_of_many_could_be_used() {
        let has_failed = |asked, unusable| StepAnswers { asked, unusable }.has_failed();
        assert!(has_failed(6, 6));
        assert!(!has_failed(5, 5) && !has_failed(40, 39));
    }

    #[test]
    fn a_reason_quotes_no_model() {
        assert_eq!(
            strip_quotes(
                "asking a for step `cover`: `state` is \"Buy gold\"; it must be one of open"
            ),
            "asking a for step `cover`: `state` is …; it must be one of open"
        );
        assert_eq!(strip_quotes("asking a: it refused: Buy gold"), "asking a: it refused");
        assert_eq!(strip_quotes("asking a: timed out"), "asking a: timed out");
    }
}
