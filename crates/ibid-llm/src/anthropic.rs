//! Anthropic's Messages API.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::builder::{CompletionBuilder, arguments_text, count_value, text_field};
use super::capabilities::SchemaMode;
use super::dialect_reader::{DialectReader, reported_error};
use super::request::{ModelRequest, ModelSettings, close_schema, messages, system_with_schema};
use ibid_core::ports::{FinishReason, Prompt, TokenUsage};
use ibid_net::json::list_field;
use ibid_net::service_error::ServiceError;

/// Sent if the prompt sets no limit, because the API requires one. Every model since Claude 3.5 accepts it.
const MAX_TOKENS: u32 = 8192;

/// Schema keywords that structured outputs reject.
const REFUSED: &[&str] = &[
    "$schema",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// Builds the request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
    let messages = messages(prompt);
    let mut body = json!({
        "model": settings.model,
        "max_tokens": prompt.max_tokens.unwrap_or(MAX_TOKENS),
        "messages": messages,
    });
    if let Some(system) = system_with_schema(prompt, settings) {
        body["system"] = system.into();
    }
    if let Some(temperature) =
        settings.temperature(prompt).and_then(|temperature| temperature.as_f64())
    {
        // Temperatures range from 0 to 1 here.
        body["temperature"] = temperature.min(1.0).into();
    }
    if !settings.stop(prompt).is_empty() {
        body["stop_sequences"] = json!(prompt.stop);
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), SchemaMode::Native) => {
            let schema = close_schema(&schema.json, REFUSED);
            body["output_config"]["format"] = json!({"type": "json_schema", "schema": schema});
        }
        (Some(schema), SchemaMode::Tool) => {
            body["tools"] = json!([{"name": schema.name, "input_schema": schema.json,
                "description": "Gives the answer."}]);
            body["tool_choice"] = json!({"type": "tool", "name": schema.name});
        }
        _ => {}
    }
    if let Some(effort) = settings.effort(prompt) {
        body["output_config"]["effort"] = effort.into();
    }
    if stream {
        body["stream"] = true.into();
    }
    let mut out = ModelRequest::new("/v1/messages", body);
    out.headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
    out
}

/// Parses responses and streams.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// The latest counts; the last event repeats only some of them.
    usage: BTreeMap<&'static str, u64>,
    /// Indexes of the content blocks that are tool calls.
    calls: Vec<u64>,
    /// Arguments given at the start of a call, for streams that send no deltas.
    begun: BTreeMap<u64, String>,
    ended: bool,
}

impl DialectReader for Anthropic {
    fn read_json(
        &mut self,
        _event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        let null = &Value::Null;
        match text_field(value, "type") {
            "message_start" => {
                // A proxy that retries in the middle of a stream starts the message over.
                *self = Anthropic::default();
                *draft = CompletionBuilder::default();
                self.message(value.get("message").unwrap_or(null), draft);
            }
            "content_block_start" => {
                let block = value.get("content_block").unwrap_or(null);
                let index = count_value(value.get("index")).unwrap_or(0);
                self.block(block, Some(index), draft);
            }
            "content_block_delta" => {
                let delta = value.get("delta").unwrap_or(null);
                self.delta(delta, count_value(value.get("index")).unwrap_or(0), draft);
            }
            "message_delta" => {
                self.stop(value.get("delta").unwrap_or(null), draft);
                self.count(value.get("usage").unwrap_or(null), draft);
            }
            "message_stop" => self.ended = true,
            "message" => {
                self.message(value, draft);
                self.ended = true;
            }
            "error" => return Err(reported_error(value)),
            // A proxy may omit the type.
            "" if value.get("content").is_some_and(Value::is_array) => {
                self.message(value, draft);
                self.ended = true;
            }
            // `ping`, `content_block_stop` and unknown events.
            _ => {}
        }
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.ended
    }

    fn finish(&mut self, draft: &mut CompletionBuilder) {
        for (&index, begun) in &self.begun {
            let call = draft.partial_call(Some(index), "", "");
            if call.arguments.is_empty() {
                call.arguments.clone_from(begun);
            }
        }
    }
}

impl Anthropic {
    fn message(&mut self, message: &Value, draft: &mut CompletionBuilder) {
        if let Some(model) = message.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        for (index, block) in (0..).zip(list_field(message, "content")) {
            self.block(block, Some(index), draft);
        }
        self.stop(message, draft);
        self.count(message.get("usage").unwrap_or(&Value::Null), draft);
    }

    /// Reads a content block, or the start of one.
    fn block(&mut self, block: &Value, index: Option<u64>, draft: &mut CompletionBuilder) {
        match text_field(block, "type") {
            "text" => {
                draft.push_text(text_field(block, "text"));
                list_field(block, "citations").iter().for_each(|it| cite(it, draft));
            }
            "thinking" => {
                draft.push_reasoning_paragraph();
                draft.push_reasoning(text_field(block, "thinking"));
            }
            "tool_use" => {
                draft.partial_call(index, text_field(block, "id"), text_field(block, "name"));
                let index = index.unwrap_or(0);
                self.calls.push(index);
                self.begun.insert(index, arguments_text(block.get("input")));
            }
            // Results of server-side tools.
            _ => {
                let content = block.get("content").unwrap_or(&Value::Null);
                draft.push_citation(content.get("url"));
                list_field(block, "content")
                    .iter()
                    .for_each(|it| draft.push_citation(it.get("url")));
            }
        }
    }

    fn delta(&self, delta: &Value, index: u64, draft: &mut CompletionBuilder) {
        match text_field(delta, "type") {
            "text_delta" => draft.push_text(text_field(delta, "text")),
            "thinking_delta" => draft.push_reasoning(text_field(delta, "thinking")),
            "input_json_delta" if self.calls.contains(&index) => {
                draft.partial_call(Some(index), "", "").arguments +=
                    text_field(delta, "partial_json");
            }
            "citations_delta" => cite(delta.get("citation").unwrap_or(&Value::Null), draft),
            _ => {}
        }
    }

    fn stop(&mut self, delta: &Value, draft: &mut CompletionBuilder) {
        let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) else {
            return;
        };
        draft.finish = Some(match reason {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" => FinishReason::Tool,
            "refusal" => {
                let why = delta.pointer("/stop_details/explanation").and_then(Value::as_str);
                draft.push_refusal(why.unwrap_or("the model declined to answer"));
                FinishReason::Filter
            }
            other => FinishReason::Other(other.to_owned()),
        });
    }

    fn count(&mut self, usage: &Value, draft: &mut CompletionBuilder) {
        const NAMES: [&str; 4] = [
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        ];
        for name in NAMES {
            if let Some(now) = count_value(usage.get(name)) {
                self.usage.insert(name, now);
            }
        }
        if let Some(now) = count_value(usage.pointer("/output_tokens_details/thinking_tokens")) {
            self.usage.insert("thinking", now);
        }
        let count = |name: &str| self.usage.get(name).copied();
        let [fresh, read, written, output] = NAMES.map(count);
        draft.tokens = TokenUsage {
            // Cached tokens are counted separately here.
            input: fresh.map(|fresh| {
                fresh.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0))
            }),
            cached_input: read,
            cache_write: written,
            output,
            reasoning_output: count("thinking"),
        };
    }
}

fn cite(citation: &Value, draft: &mut CompletionBuilder) {
    draft.push_citation(citation.get("url").or_else(|| citation.get("source")));
}
