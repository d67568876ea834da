//! Assembles a completion from parsed pieces.
use serde_json::Value;

use super::think::ThinkTagParser;
use ibid_core::ports::{Completion, FinishReason, TokenUsage, ToolCall};

/// A completion under construction.
#[derive(Debug, Default)]
pub(super) struct CompletionBuilder {
    text: String,
    /// Bytes of `text` already passed on.
    emitted: usize,
    reasoning: String,
    thinking: Option<ThinkTagParser>,
    calls: Vec<PartialToolCall>,
    citations: Vec<String>,
    pub(super) finish: Option<FinishReason>,
    pub(super) tokens: TokenUsage,
    pub(super) cost_usd: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) refusal: Option<String>,
}

/// A tool call that arrives in pieces.
#[derive(Debug, Default, Clone)]
pub(super) struct PartialToolCall {
    /// The index that the pieces of a call share, in dialects that number calls.
    pub(super) slot: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl CompletionBuilder {
    /// Creates an empty completion. With `inline`, reasoning between `<think>` and `</think>` is separated from the
    /// text.
    pub(super) fn new(inline: bool) -> CompletionBuilder {
        CompletionBuilder {
            thinking: inline.then(ThinkTagParser::default),
            ..CompletionBuilder::default()
        }
    }

    /// Appends text of the answer.
    pub(super) fn push_text(&mut self, text: &str) {
        match &mut self.thinking {
            Some(thinking) => thinking.feed(text, &mut self.text, &mut self.reasoning),
            None => self.text.push_str(text),
        }
    }

    /// Appends reasoning.
    pub(super) fn push_reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    /// Starts a new paragraph of reasoning.
    pub(super) fn push_reasoning_paragraph(&mut self) {
        if !self.reasoning.is_empty() {
            self.reasoning.push_str("\n\n");
        }
    }

    /// Whether there is any text.
    pub(super) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether there are any tool calls.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether there is neither text, nor a tool call, nor a refusal.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_text() && !self.has_calls() && self.refusal.is_none()
    }

    /// Whether there is a refusal and nothing else.
    pub(super) fn is_only_refusal(&self) -> bool {
        !self.has_text() && !self.has_calls() && self.refusal.is_some()
    }

    /// Appends to the refusal.
    pub(super) fn push_refusal(&mut self, text: &str) {
        if !text.is_empty() {
            self.refusal.get_or_insert_default().push_str(text);
        }
    }

    /// Adds a URL that the answer cites.
    pub(super) fn push_citation(&mut self, url: Option<&Value>) {
        if let Some(url) = url.and_then(Value::as_str)
            && url.contains("://")
            && !self.citations.iter().any(|citation| citation == url)
        {
            self.citations.push(url.to_owned());
        }
    }

    /// Adds a complete tool call.
    pub(super) fn push_call(&mut self, id: &str, name: &str, arguments: String) {
        self.calls.push(PartialToolCall {
            slot: None,
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
        });
    }

    /// Returns the tool call that a piece belongs to: the one with index `slot`, or else with id `id`, or else the
    /// last one.
    ///
    /// A new id with a name starts a new call even if the index is in use, because some servers number every call 0.
    pub(super) fn partial_call(
        &mut self,
        slot: Option<u64>,
        id: &str,
        name: &str,
    ) -> &mut PartialToolCall {
        let numbered =
            slot.and_then(|slot| self.calls.iter().rposition(|call| call.slot == Some(slot)));
        let named = || {
            let known = self.calls.iter().rposition(|call| call.id == id);
            if id.is_empty() { self.calls.len().checked_sub(1) } else { known }
        };
        let found = match slot {
            Some(_) => numbered,
            None => named(),
        };
        let found = found.filter(|&at| {
            let call = &self.calls[at];
            id.is_empty() || name.is_empty() || call.id.is_empty() || call.id == id
        });
        let at = found.unwrap_or_else(|| {
            self.calls.push(PartialToolCall { slot, ..PartialToolCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        if call.name.is_empty() {
            call.name = name.to_owned();
        }
        call
    }

    /// Returns the tool call that was started last.
    pub(super) fn last_call(&mut self) -> Option<&mut PartialToolCall> {
        self.calls.last_mut()
    }

    /// Returns the text added since the last call.
    pub(super) fn take_new_text(&mut self) -> String {
        let fresh = self.text.get(self.emitted..).unwrap_or_default().to_owned();
        self.emitted = self.text.len();
        fresh
    }

    /// Marks the end of input and releases text that was held back.
    pub(super) fn flush(&mut self) {
        if let Some(thinking) = &mut self.thinking {
            thinking.finish(&mut self.text, &mut self.reasoning);
        }
    }

    /// Returns the completion. `answer_tool` is the tool that the model had to answer with, if any.
    pub(super) fn into_completion(mut self, answer_tool: Option<&str>) -> Completion {
        let mut finish = self.finish.unwrap_or(FinishReason::Stop);
        if let Some(tool) = answer_tool
            && let Some(at) = self.calls.iter().position(|call| call.name == tool)
        {
            self.text = self.calls.remove(at).arguments;
            if finish == FinishReason::Tool && self.calls.is_empty() {
                finish = FinishReason::Stop;
            }
        }
        let calls = self.calls.into_iter().map(|call| ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        });
        Completion {
            text: self.text,
            reasoning: Some(self.reasoning).filter(|it| !it.is_empty()),
            tool_calls: calls.collect(),
            finish,
            tokens: self.tokens,
            cost_usd: self.cost_usd.filter(|usd| usd.is_finite() && *usd >= 0.0),
            model: self.model.filter(|model| !model.is_empty()),
            refusal: self.refusal,
            citations: self.citations,
            effort: None,
            ms: None,
        }
    }
}

/// Reads a count, including one written as `12.0`; `None` if it is null or missing.
pub(super) fn count_value(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    let whole = |number: f64| (0.0..1e15).contains(&number).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

/// Returns the string field `name` of `value`, or an empty string.
pub(super) fn text_field<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the arguments of a tool call as JSON text, whether they were sent as text or as an object.
pub(super) fn arguments_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
