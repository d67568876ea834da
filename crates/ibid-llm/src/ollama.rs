//! Ollama's own API: `/api/chat`, and responses of `/api/generate`, as JSON lines.
use serde_json::{Value, json};

use super::builder::{CompletionBuilder, arguments_text, count_value, text_field};
use super::capabilities::SchemaMode;
use super::dialect_reader::DialectReader;
use super::request::{ModelRequest, ModelSettings, messages_with_system};
use ibid_core::ports::{FinishReason, Prompt, TokenUsage};
use ibid_net::json::list_field;
use ibid_net::service_error::ServiceError;

/// Builds the request for `prompt`. The schema is sent as `format`, which constrains decoding.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
    let messages = messages_with_system(prompt, settings);
    let mut options = json!({});
    if let Some(most) = settings.max_tokens(prompt) {
        options["num_predict"] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        options["temperature"] = temperature;
    }
    if !settings.stop(prompt).is_empty() {
        options["stop"] = json!(prompt.stop);
    }
    let mut body = json!({"model": settings.model, "messages": messages, "stream": stream});
    if options.as_object().is_some_and(|object| !object.is_empty()) {
        body["options"] = options;
    }
    if let Some(word) = settings.effort(prompt) {
        body["think"] = word.into();
    } else if let Some(on) = settings.toggle(prompt) {
        body["think"] = on.into();
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), SchemaMode::Native | SchemaMode::Tool) => {
            body["format"] = schema.json.clone()
        }
        (Some(_), SchemaMode::JsonMode) => body["format"] = "json".into(),
        _ => {}
    }
    ModelRequest::new("/api/chat", body)
}

/// Parses responses and streams, which have the same format.
#[derive(Debug, Default)]
pub(super) struct Ollama {
    ended: bool,
}

impl DialectReader for Ollama {
    fn read_json(
        &mut self,
        _event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        if let Some(model) = value.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let message = value.get("message").unwrap_or(&Value::Null);
        draft.push_reasoning(text_field(message, "thinking"));
        draft.push_reasoning(text_field(value, "thinking"));
        draft.push_text(text_field(message, "content"));
        draft.push_text(text_field(value, "response"));
        for call in list_field(message, "tool_calls") {
            let body = call.get("function").unwrap_or(call);
            // Calls arrive whole; their numbering differs between versions.
            draft.push_call(
                text_field(call, "id"),
                text_field(body, "name"),
                arguments_text(body.get("arguments")),
            );
        }
        if value.get("done").and_then(Value::as_bool) == Some(true) {
            self.ended = true;
            draft.finish = Some(match text_field(value, "done_reason") {
                "length" => FinishReason::Length,
                "stop" | "" if draft.has_calls() => FinishReason::Tool,
                "stop" | "" => FinishReason::Stop,
                other => FinishReason::Other(other.to_owned()),
            });
            draft.tokens = TokenUsage {
                input: count_value(value.get("prompt_eval_count")),
                output: count_value(value.get("eval_count")),
                ..TokenUsage::default()
            };
        }
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.ended
    }
}
