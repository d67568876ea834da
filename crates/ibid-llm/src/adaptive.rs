//! The wrapper that adapts requests to what a model accepts and needs.
//!
//! The table of capabilities says what is known beforehand; the rest is learned from the answers: which parameters a
//! service refuses, how much a model reasons before it answers, how much fits its window. What is learned is shared by
//! all runs of the process that use the model. Refusals are also remembered for later processes.
mod refusals;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;

use refusals::RefusalFile;

use super::capabilities::{Parameter, Reasoning, SchemaMode};
use super::dialect::Dialect;
use super::providers::ModelTarget;
use super::request::{LimitField, ModelSettings};
use super::sink_once::SinkOnce;
use super::token_estimate::max_input_tokens;
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{Completion, FinishReason, LanguageModel, Prompt, TextSink};
use ibid_core::{Error, ErrorKind, FailureReason, Result};

/// How often a request is adapted before its error is returned: once for each parameter, and twice for its length.
const MAX_ADAPTATIONS: u32 = 8;

/// Room for the reasoning of a model of which nothing is known, in tokens. Models have been seen to reason for 1,152 to
/// 1,408 tokens about an answer of 120.
const UNKNOWN_ROOM: u32 = 2_048;

/// Of a context window, one in so many parts may be wanted for an answer, however long the prompt is.
const WINDOW_PARTS: u32 = 3;

/// The words of effort that nearly all services with a control of reasoning accept.
const COMMON_EFFORTS: [&str; 3] = ["low", "medium", "high"];

/// Room for reasoning at an effort, in tokens. The model needs not use it.
fn effort_room(effort: Option<ReasoningEffort>) -> u32 {
    match effort {
        Some(ReasoningEffort::None | ReasoningEffort::Low) => 3_072,
        None | Some(ReasoningEffort::Medium) => 8_192,
        Some(ReasoningEffort::High) => 16_384,
    }
}

/// The most output tokens of a call with `prompt` to a model of which nothing was learned, including room for reasoning;
/// `default` if it sets no limit.
pub fn max_output_tokens(prompt: &Prompt, default: u32) -> u32 {
    prompt.max_tokens.map_or(default, |answer| answer.saturating_add(effort_room(prompt.effort)))
}

/// What is known and was learned of one model.
#[derive(Debug)]
pub struct LearnedModel {
    dialect: Dialect,
    max_output: Option<u32>,
    /// Context window in tokens, if known.
    window: Option<u32>,
    state: Mutex<LearnedState>,
    /// Where refusals are remembered for later processes.
    memory: Option<ModelMemory>,
}

/// The refusals of one model in the file of refusals.
#[derive(Debug)]
struct ModelMemory {
    file: Arc<RefusalFile>,
    model: String,
    base_url: String,
}

#[derive(Debug)]
struct LearnedState {
    settings: ModelSettings,
    /// The parameters that were refused, in order.
    refused: Vec<Parameter>,
    /// The most tokens that the model has spent on reasoning before an answer.
    reasoned: u32,
    /// Whether an answer came without reasoning.
    answered_at_once: bool,
    /// Whether the window has no room for reasoning beside a prompt.
    is_tight: bool,
}

impl LearnedModel {
    /// Creates the record of a model in `dialect` whose requests are written with `settings`.
    pub fn new(dialect: Dialect, settings: ModelSettings, max_output: Option<u32>) -> LearnedModel {
        let state = LearnedState {
            settings,
            refused: Vec::new(),
            reasoned: 0,
            answered_at_once: false,
            is_tight: false,
        };
        LearnedModel { dialect, max_output, window: None, state: Mutex::new(state), memory: None }
    }

    /// The record of a model with a context window of so many tokens: no answer is wanted for which it has no room.
    pub fn with_window(mut self, window: Option<u64>) -> LearnedModel {
        self.window = window.and_then(|it| u32::try_from(it).ok());
        self
    }

    /// The record with what earlier processes were refused, and which remembers what this one is.
    fn with_memory(mut self, memory: ModelMemory) -> LearnedModel {
        for parameter in memory.file.of_model(&memory.model, &memory.base_url) {
            self.refuse_parameter(parameter);
        }
        self.memory = Some(memory);
        self
    }

    fn locked(&self) -> MutexGuard<'_, LearnedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How requests are written now.
    pub fn settings(&self) -> ModelSettings {
        self.locked().settings.clone()
    }

    /// Whether a limit on the answer is sent: the service has not refused every form of it.
    pub fn sends_limit(&self) -> bool {
        !self.locked().settings.refuses.contains(&Parameter::MaxTokens)
    }

    /// The limit that a call with `prompt` is sent with, room for reasoning included, of a model that has reasoned for up to
    /// `reasoned` tokens. `default` if the prompt sets no limit.
    pub fn sent_limit(&self, prompt: &Prompt, reasoned: u32, default: u32) -> u32 {
        prompt
            .max_tokens
            .map_or(default, |answer| self.limit_with_room(prompt, answer, 0, reasoned))
    }

    /// The prompt with room for reasoning, in addition to `more` tokens.
    fn with_room(&self, prompt: &Prompt, more: u32) -> Prompt {
        let with_room = |answer: u32| self.limit_with_room(prompt, answer, more, 0);
        Prompt { max_tokens: prompt.max_tokens.map(with_room), ..prompt.clone() }
    }

    fn limit_with_room(&self, prompt: &Prompt, answer: u32, more: u32, reasoned: u32) -> u32 {
        let state = self.locked();
        let reasoned = state.reasoned.max(reasoned);
        let expected = match state.settings.reasoning {
            Some(Reasoning::None) => 0,
            // Does not reason unless a number of tokens is sent.
            Some(Reasoning::Budget) if self.dialect == Dialect::Anthropic => 0,
            Some(Reasoning::Toggle) if state.settings.toggle(prompt) == Some(false) => 0,
            Some(_) => effort_room(prompt.effort),
            None if state.answered_at_once => 0,
            None => UNKNOWN_ROOM,
        };
        // Twice what was seen: how long a model reasons varies from call to call.
        let room = if state.is_tight { reasoned } else { expected.max(reasoned.saturating_mul(2)) };
        let wanted = answer.saturating_add(room).saturating_add(more);
        let wanted = wanted.min(self.max_output.unwrap_or(u32::MAX)).max(answer);
        // What the prompt takes is estimated from above, so an answer of a third of the window is tried in any case.
        let fits = self.window.map_or(u32::MAX, |window| {
            let prompt = u32::try_from(max_input_tokens(prompt)).unwrap_or(u32::MAX);
            window.saturating_sub(prompt).max(answer.min(window / WINDOW_PARTS))
        });
        wanted.min(fits)
    }

    /// Remembers that the service refused the parameter `name`. Returns whether the request can be sent in another form.
    fn refuse(&self, name: &str) -> bool {
        let Some(parameter) = Parameter::from_name(name) else {
            return false;
        };
        self.refuse_parameter(parameter)
    }

    pub(crate) fn refuse_parameter(&self, parameter: Parameter) -> bool {
        let mut state = self.locked();
        if !refuse(&mut state.settings, parameter, self.dialect) {
            return false;
        }
        state.refused.push(parameter);
        if let Some(memory) = &self.memory {
            memory.file.set(&memory.model, &memory.base_url, &state.refused);
        }
        true
    }

    /// Remembers how much the model reasoned, in tokens, before an answer.
    fn observe(&self, reasoned: u32) {
        let mut state = self.locked();
        state.reasoned = state.reasoned.max(reasoned);
        if reasoned == 0 {
            state.answered_at_once = true;
        } else if state.settings.reasoning.is_none() && self.dialect == Dialect::OpenAiChat {
            // It reasons, so its service may let the effort be set; if not, the parameter is refused and left out.
            state.settings.reasoning = Some(Reasoning::Effort);
            state.settings.efforts = COMMON_EFFORTS.map(str::to_owned).to_vec();
        }
    }

    /// Remembers that the window has no room for reasoning. Returns whether that is new.
    fn tighten(&self) -> bool {
        !std::mem::replace(&mut self.locked().is_tight, true)
    }
}

/// Leaves out the parameter that the service refused, or sends it in another form. Returns whether there was another form.
fn refuse(settings: &mut ModelSettings, parameter: Parameter, dialect: Dialect) -> bool {
    match parameter {
        Parameter::MaxTokens
            if dialect == Dialect::OpenAiChat && settings.limit == LimitField::MaxTokens =>
        {
            settings.limit = LimitField::MaxCompletionTokens;
            true
        }
        Parameter::Schema => {
            let weaker = match settings.schemas {
                SchemaMode::Native if dialect != Dialect::Anthropic => SchemaMode::JsonMode,
                SchemaMode::Native | SchemaMode::JsonMode | SchemaMode::Tool => {
                    SchemaMode::Prompted
                }
                // `output_config` also carries the effort.
                SchemaMode::Prompted if dialect == Dialect::Anthropic => {
                    return settings.refuses.insert(Parameter::Effort);
                }
                SchemaMode::Prompted => return false,
            };
            settings.schemas = weaker;
            true
        }
        Parameter::StreamUsage => std::mem::replace(&mut settings.ask_usage, false),
        other => settings.refuses.insert(other),
    }
}

/// What was learned of all models, by name and address.
#[derive(Debug, Default)]
pub struct LearnedModels {
    models: Mutex<BTreeMap<(String, String), Arc<LearnedModel>>>,
    memory: OnceLock<Arc<RefusalFile>>,
}

impl LearnedModels {
    /// Remembers refusals in `cache_dir` for later processes. Only the first call has an effect, on models opened after it.
    pub fn remember_in(&self, cache_dir: &Path) {
        self.memory.get_or_init(|| Arc::new(RefusalFile::new(cache_dir)));
    }

    /// The record of `target`, created by `new` if there is none.
    pub fn get(
        &self,
        target: &ModelTarget,
        new: impl FnOnce() -> LearnedModel,
    ) -> Arc<LearnedModel> {
        let mut all = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let (model, base_url) = (target.name(), target.base_url.clone());
        let remembered = || match self.memory.get().map(Arc::clone) {
            Some(file) => {
                let (model, base_url) = (model.clone(), base_url.clone());
                new().with_memory(ModelMemory { file, model, base_url })
            }
            None => new(),
        };
        let key = (model.clone(), base_url.clone());
        Arc::clone(all.entry(key).or_insert_with(|| Arc::new(remembered())))
    }
}

/// A model whose requests are adapted to what it accepts.
///
/// A parameter that the service refuses is left out or sent in another form, and the call is repeated. An answer that
/// was cut off because reasoning took its room is asked for again, with more room and less effort; both calls are
/// counted. A refusal costs nothing, and a prompt that is too long with room for reasoning is sent without.
pub struct AdaptiveModel {
    inner: Arc<dyn LanguageModel>,
    learned: Arc<LearnedModel>,
    effort: Option<ReasoningEffort>,
}

impl AdaptiveModel {
    /// Wraps `inner`, which writes its requests with the settings of `learned`. Prompts are sent with `effort`, or with
    /// their own if `None`.
    pub fn new(
        inner: Arc<dyn LanguageModel>,
        learned: Arc<LearnedModel>,
        effort: Option<ReasoningEffort>,
    ) -> AdaptiveModel {
        AdaptiveModel { inner, learned, effort }
    }

    /// Whether another form of the request may be answered. `before` are the settings when the request was sent.
    fn can_adapt(
        &self,
        error: &Error,
        prompt: &Prompt,
        sent: &Prompt,
        before: &ModelSettings,
    ) -> bool {
        match error.reason() {
            // A call beside this one may have been refused the same, and learned from it.
            Some(FailureReason::RefusedParameter(name)) => {
                self.learned.settings() != *before || self.learned.refuse(name)
            }
            Some(FailureReason::PromptTooLong { .. }) => {
                sent.max_tokens > prompt.max_tokens && self.learned.tighten()
            }
            _ => false,
        }
    }
}

#[async_trait]
impl LanguageModel for AdaptiveModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// `sink` receives the text of the last call only, unless an earlier one was cut off in the middle of its text.
    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let mut sink = SinkOnce::new(sink);
        let mut prompt = Prompt { effort: self.effort.or(prompt.effort), ..prompt.clone() };
        let mut starved: Option<Completion> = None;
        let mut more = 0;
        let mut adaptations = 0;
        let mut has_room = true;
        loop {
            let sent =
                if has_room { self.learned.with_room(&prompt, more) } else { prompt.clone() };
            let before = self.learned.settings();
            let answer = sink.complete(&*self.inner, &sent).await;
            adaptations += 1;
            let may_adapt = adaptations <= MAX_ADAPTATIONS && !sink.has_streamed();
            match answer {
                Err(error) if may_adapt && self.can_adapt(&error, &prompt, &sent, &before) => {}
                // What is left of the budget pays for the answer, perhaps, but not for room that may not be used.
                Err(error)
                    if error.kind() == ErrorKind::Exhausted
                        && sent.max_tokens > prompt.max_tokens =>
                {
                    has_room = false;
                }
                Err(error) => return Err(error),
                Ok(answer) => {
                    let effort = self.learned.locked().settings.asked_effort(&prompt);
                    let answer = Completion { effort, ..answer };
                    let reasoned = reasoning_tokens(&answer);
                    self.learned.observe(reasoned);
                    if starved.is_none() && may_adapt && is_starved(&answer, reasoned, &prompt) {
                        more = reasoned.max(UNKNOWN_ROOM);
                        prompt.effort = prompt.effort.map(|_| ReasoningEffort::None);
                        starved = Some(answer);
                        continue;
                    }
                    return Ok(match starved {
                        Some(first) => with_usage_of(answer, &first),
                        None => answer,
                    });
                }
            }
        }
    }
}

/// The tokens that the model spent on reasoning: as reported, or else what the text of the answer does not account for.
fn reasoning_tokens(answer: &Completion) -> u32 {
    let reported = answer.tokens.reasoning_output.filter(|tokens| *tokens > 0);
    let unseen = || {
        let arguments: usize = answer.tool_calls.iter().map(|call| call.arguments.len()).sum();
        // No tokenizer needs more than a token for a byte; English has four to five bytes in one. JSON has fewer.
        let seen = ((answer.text.len() + arguments) / 2) as u64 + 64;
        let said = answer.reasoning.as_ref().map_or(0, |text| text.len() as u64 / 4);
        answer.tokens.output.unwrap_or(0).saturating_sub(seen).max(said)
    };
    u32::try_from(reported.unwrap_or_else(unseen)).unwrap_or(u32::MAX)
}

/// Whether reasoning left the answer less room than `prompt` asked for.
fn is_starved(answer: &Completion, reasoned: u32, prompt: &Prompt) -> bool {
    if answer.finish != FinishReason::Length || prompt.max_tokens.is_none() {
        return false;
    }
    let has_text = !answer.text.trim().is_empty() || !answer.tool_calls.is_empty();
    let written = answer.tokens.output.map(|output| output.saturating_sub(reasoned.into()));
    let room = u64::from(prompt.max_tokens.unwrap_or(u32::MAX));
    !has_text || reasoned > 0 && written.is_some_and(|written| written < room)
}

/// `answer` with the tokens and the cost of `first` added.
fn with_usage_of(mut answer: Completion, first: &Completion) -> Completion {
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
    };
    answer.tokens.input = sum(answer.tokens.input, first.tokens.input);
    answer.tokens.cached_input = sum(answer.tokens.cached_input, first.tokens.cached_input);
    answer.tokens.cache_write = sum(answer.tokens.cache_write, first.tokens.cache_write);
    answer.tokens.output = sum(answer.tokens.output, first.tokens.output);
    answer.tokens.reasoning_output =
        sum(answer.tokens.reasoning_output, first.tokens.reasoning_output);
    answer.cost_usd = answer.cost_usd.zip(first.cost_usd).map(|(a, b)| a + b);
    answer
}

#[cfg(test)]
mod tests;
