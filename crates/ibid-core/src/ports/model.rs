//! The trait for language models: one prompt in, one completion out.
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::domain::ReasoningEffort;

/// Answers prompts.
///
/// Contract: a prompt is self-contained; no state is kept between calls. Each call is one request to the provider;
/// retries are the task of wrappers. A completion is whole or an error: an answer that breaks off is `Transient`; an
/// answer cut at `max_tokens` is a completion with [`FinishReason::Length`]; one that the model or its provider
/// withheld has [`FinishReason::Filter`]. Dropping the future cancels the request. Every wait has a deadline. The
/// kind of an error says what to do (key, model name, credit: `Setup`; rate limit, outage, timeout: `Transient`; a
/// request that this model does not accept: `Malformed`). Errors contain neither the key nor the prompt.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Provider and model, as shown in events and reports: `openai/gpt-5.1`.
    fn name(&self) -> &str;

    /// Answers `prompt`. With a `sink`, the answer is requested as a stream and its text is passed on piece by piece.
    ///
    /// `sink` receives only text, in order, as a preview for a person. The returned completion is authoritative: if the
    /// provider starts the answer over, the preview and the completion differ.
    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion>;
}

/// Receives the text of an answer while it is generated.
pub type TextSink<'a> = &'a mut (dyn FnMut(&str) + Send);

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// The step that asks: `plan`, `weigh`, … Used for journaling and cost; not sent.
    pub purpose: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The messages of the conversation; the last one is the user's.
    pub messages: Vec<ChatMessage>,
    /// The schema of the answer; free text if `None`.
    pub schema: Option<Schema>,
    /// Maximum tokens of the answer; the provider's default if `None`. Wrappers add room for reasoning.
    pub max_tokens: Option<u32>,
    /// How much the model should reason; as it does by itself if `None`. Ignored for models that do not reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Sampling temperature, 0 to 2; the provider's default if `None`. Ignored for models without one.
    pub temperature: Option<f32>,
    /// Stop sequences. They are not part of the answer.
    pub stop: Vec<String>,
    /// Whether it asks again because the first answer could not be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
}

impl Prompt {
    /// Creates a prompt with a single user message.
    pub fn from_text(purpose: impl Into<String>, text: impl Into<String>) -> Prompt {
        Prompt {
            purpose: purpose.into(),
            messages: vec![ChatMessage { role: Role::User, text: text.into() }],
            ..Prompt::default()
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The author.
    pub role: Role,
    /// The content.
    pub text: String,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Ibid.
    User,
    /// The model.
    Assistant,
}

/// A JSON schema with a name, which providers require.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The schema. Providers enforce it strictly only if every object lists all its properties under `required` and
    /// forbids others.
    pub json: serde_json::Value,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The answer, without reasoning.
    pub text: String,
    /// The reasoning before the answer, if the provider returns it.
    pub reasoning: Option<String>,
    /// Requested tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// Why the answer ended.
    pub finish: FinishReason,
    /// Tokens used.
    pub tokens: TokenUsage,
    /// The amount charged in US dollars, if the provider reports it.
    pub cost_usd: Option<f64>,
    /// The provider's name for the model that answered.
    pub model: Option<String>,
    /// The refusal of the model or provider, in its own words.
    pub refusal: Option<String>,
    /// Distinct URLs that the answer names as sources, in order of appearance. They are used as search hints only;
    /// Ibid cites nothing that it has not read.
    pub citations: Vec<String>,
    /// How much the model was asked to reason; `None` if it does not reason or this is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Duration of the call in milliseconds, including waits and retries. The journal measures and stores it, so that
    /// replays report the same value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

impl Completion {
    /// Creates a completion with only text: no reasoning, usage or cost.
    pub fn from_text(text: impl Into<String>) -> Completion {
        Completion {
            text: text.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            finish: FinishReason::Stop,
            tokens: TokenUsage::default(),
            cost_usd: None,
            model: None,
            refusal: None,
            citations: Vec::new(),
            effort: None,
            ms: None,
        }
    }
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call; empty if it has none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments; JSON if the model complied.
    pub arguments: String,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model finished.
    Stop,
    /// The token limit or the context window was reached.
    Length,
    /// The model waits for tool results.
    Tool,
    /// The model or a filter withheld the answer.
    Filter,
    /// Any other reason, in the provider's words.
    Other(String),
}

/// Token counts of one call; `None` if the provider does not report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// All input tokens, cached or not.
    pub input: Option<u64>,
    /// Input tokens read from a cache.
    pub cached_input: Option<u64>,
    /// Input tokens written to a cache.
    pub cache_write: Option<u64>,
    /// All output tokens, including reasoning.
    pub output: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning_output: Option<u64>,
}
