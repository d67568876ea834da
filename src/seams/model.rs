//! The door to a language model: one prompt in, one completion out.
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Answers one prompt.
///
/// Contract: a prompt is complete in itself, nothing is remembered between two calls. Each call is one request to the
/// provider: no retries inside, the wrappers above do that. A completion is whole or it is an error: an answer whose
/// end was never seen is `Transient`, an answer cut by `max_tokens` is a completion that says [`Finish::Length`], one
/// that the model or its provider held back says [`Finish::Filter`]. The future may be dropped at any await, which
/// ends the request. No wait without a deadline. Errors say what to do by their kind (a key, a model's name, credit:
/// `Setup`; a limit, an outage, a timeout: `Transient`; a request that this model will not take: `Malformed`) and hold
/// neither the key nor the prompt.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Provider and model, as they stand in events and reports: `openai/gpt-5.1`.
    fn name(&self) -> &str;

    /// The completion, waited for as a whole.
    async fn complete(&self, prompt: &Prompt) -> Result<Completion>;

    /// The completion, told to `sink` piece by piece while it is written.
    ///
    /// What `sink` hears is the text alone, in order, for a person who watches. What counts is the completion: where a
    /// provider starts an answer over, its text is what came last.
    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion>;
}

/// Who hears the text of an answer while it is written.
pub type Sink<'a> = &'a mut (dyn FnMut(&str) + Send);

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// What the step is for: `plan`, `weigh`, … For the journal and the meter; never sent.
    pub purpose: String,
    /// What the model is told about its task.
    pub system: Option<String>,
    /// What is said, in turns; the last is the user's.
    pub messages: Vec<Message>,
    /// The shape the answer must have; free text without one.
    pub schema: Option<Schema>,
    /// The most tokens the answer may take, reasoning included; the provider's bound without one.
    pub max_tokens: Option<u32>,
    /// How freely words are chosen, 0 to 2; the provider's default without one, and where a model takes none.
    pub temperature: Option<f32>,
    /// Words at which the answer ends, themselves left out.
    pub stop: Vec<String>,
}

impl Prompt {
    /// A prompt of one turn.
    pub fn asking(purpose: impl Into<String>, text: impl Into<String>) -> Prompt {
        Prompt {
            purpose: purpose.into(),
            messages: vec![Message {
                role: Role::User,
                text: text.into(),
            }],
            ..Prompt::default()
        }
    }
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
}

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Ibid.
    User,
    /// The model.
    Assistant,
}

/// A JSON schema with the name that providers ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The schema. Objects that list every property under `required` and allow no others are held to strictly
    /// everywhere.
    pub json: serde_json::Value,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The answer itself, without reasoning.
    pub text: String,
    /// What the model thought before it answered, where the provider tells.
    pub reasoning: Option<String>,
    /// Tools the model wants called.
    pub tool_calls: Vec<ToolCall>,
    /// Why the answer ended.
    pub finish: Finish,
    /// What was counted.
    pub tokens: Tokens,
    /// US dollars, where the provider says what it charged.
    pub cost_usd: Option<f64>,
    /// The model that answered, by the provider's name for it.
    pub model: Option<String>,
    /// Why the model or its provider would not answer, in their words.
    pub refusal: Option<String>,
    /// Addresses the answer names as its sources, each once, in order of appearance. Hints for searching: nothing is
    /// cited that Ibid has not read itself.
    pub citations: Vec<String>,
    /// Milliseconds from asking to the end of the answer, waits and retries included; who keeps the answer takes the time, so
    /// that a run that is replayed tells the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

impl Completion {
    /// An answer that is these words and nothing else: no reasoning, no count, no price.
    pub fn said(text: impl Into<String>) -> Completion {
        Completion {
            text: text.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            finish: Finish::Stop,
            tokens: Tokens::default(),
            cost_usd: None,
            model: None,
            refusal: None,
            citations: Vec::new(),
            ms: None,
        }
    }
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name for the call; empty where it gives none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, JSON if the model kept to it.
    pub arguments: String,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done.
    Stop,
    /// The bound on tokens or the model's context was reached.
    Length,
    /// The model waits for tools.
    Tool,
    /// The model or a filter held the answer back.
    Filter,
    /// Anything else, in the provider's word.
    Other(String),
}

/// Tokens of one call; `None` where the provider does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Everything sent, cached or not.
    pub input: Option<u64>,
    /// Those of `input` read from a cache.
    pub cached_input: Option<u64>,
    /// Those of `input` written to a cache.
    pub cache_write: Option<u64>,
    /// Everything written, reasoning included.
    pub output: Option<u64>,
    /// Those of `output` spent on reasoning.
    pub reasoning_output: Option<u64>,
}

/// The deepest cause of an error where a prompt was longer than the model takes: a shorter one may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl TooLong {
    /// Whether this is why `error` came about.
    pub fn caused(error: &Error) -> bool {
        let mut cause = std::error::Error::source(error);
        while let Some(it) = cause {
            if it.is::<TooLong>() {
                return true;
            }
            cause = it.source();
        }
        false
    }
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a shorter prompt may pass")
    }
}

impl std::error::Error for TooLong {}
