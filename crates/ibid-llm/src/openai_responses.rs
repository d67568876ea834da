//! OpenAI's Responses API, supported by OpenAI, Azure, xAI, OpenRouter, LM Studio and DeepSeek.
//!
//! A stream ends with the whole response. The text is taken from the deltas; everything else from the whole response,
//! or from the items if a server leaves it empty.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::builder::{CompletionBuilder, arguments_text, count_value, text_field};
use super::capabilities::SchemaMode;
use super::dialect_reader::{DialectReader, reported_error};
use super::openai_chat::cost;
use super::request::{ModelRequest, ModelSettings, is_strict, messages, system_with_schema};
use ibid_core::ports::{FinishReason, Prompt, TokenUsage};
use ibid_net::json::list_field;
use ibid_net::service_error::ServiceError;

/// Builds the request for `prompt`. Nothing is stored on the server. The API has no stop sequences: `prompt.stop` is
/// not sent.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
    let input = messages(prompt);
    let mut body = json!({"model": settings.model, "input": input, "store": false});
    if let Some(system) = system_with_schema(prompt, settings) {
        body["instructions"] = system.into();
    }
    if let Some(most) = settings.max_tokens(prompt) {
        body["max_output_tokens"] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        body["temperature"] = temperature;
    }
    if let Some(effort) = settings.effort(prompt) {
        body["reasoning"] = json!({"effort": effort});
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), SchemaMode::Native | SchemaMode::Tool) => {
            body["text"] = json!({"format": {
                "type": "json_schema", "name": schema.name,
                "strict": is_strict(&schema.json), "schema": schema.json,
            }});
        }
        (Some(_), SchemaMode::JsonMode) => {
            body["text"] = json!({"format": {"type": "json_object"}});
        }
        _ => {}
    }
    if stream {
        body["stream"] = true.into();
    }
    ModelRequest::new("/responses", body)
}

/// Parses responses and streams.
#[derive(Debug, Default)]
pub(super) struct OpenAiResponses {
    /// Completed items, by index.
    items: BTreeMap<u64, Value>,
    begun: bool,
    ended: bool,
}

impl DialectReader for OpenAiResponses {
    fn read_json(
        &mut self,
        event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        let kind = match text_field(value, "type") {
            "" => event,
            kind => kind,
        };
        match kind {
            "response.created" if self.begun => {
                // A proxy that retries in the middle of a stream starts the response over.
                *self = OpenAiResponses::default();
                *draft = CompletionBuilder::default();
                self.begun = true;
            }
            "response.created" => self.begun = true,
            "response.output_text.delta" => draft.push_text(text_field(value, "delta")),
            "response.refusal.delta" => draft.push_refusal(text_field(value, "delta")),
            "response.output_item.done" => {
                let at = count_value(value.get("output_index")).unwrap_or(self.items.len() as u64);
                if let Some(item) = value.get("item") {
                    self.items.insert(at, item.clone());
                }
            }
            "response.output_text.annotation.added" => {
                draft.push_citation(value.pointer("/annotation/url"));
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.done"
            | "response.cancelled" => {
                self.whole(value.get("response").unwrap_or(&Value::Null), draft)?;
            }
            "error" | "response.error" => return Err(reported_error(value)),
            "" if value.get("output").is_some() || text_field(value, "object") == "response" => {
                self.whole(value, draft)?;
            }
            // Deltas of content that is sent again as a whole, status events, and unknown events.
            _ => {}
        }
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.ended
    }
}

impl OpenAiResponses {
    fn whole(
        &mut self,
        response: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        if response.get("error").is_some_and(|value| !value.is_null()) {
            return Err(reported_error(response));
        }
        let status = text_field(response, "status");
        match status {
            "failed" => {
                return Err(ServiceError::transient("the response failed without a reason"));
            }
            "cancelled" => return Err(ServiceError::transient("the response was cancelled")),
            "in_progress" | "queued" => {
                return Err(ServiceError::transient("the response is not finished yet"));
            }
            _ => {}
        }
        self.ended = true;
        let output = list_field(response, "output");
        let streamed_items: Vec<Value> = std::mem::take(&mut self.items).into_values().collect();
        let items = if output.is_empty() { &streamed_items } else { output };
        let had_text = draft.has_text();
        let had_refusal = draft.refusal.is_some();
        for it in items {
            item(it, had_text, had_refusal, draft);
        }
        if let Some(model) = response.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let usage = response.get("usage").unwrap_or(&Value::Null);
        let at = |path: &str| count_value(usage.pointer(path));
        draft.tokens = TokenUsage {
            input: at("/input_tokens"),
            cached_input: at("/input_tokens_details/cached_tokens"),
            cache_write: at("/input_tokens_details/cache_write_tokens"),
            output: at("/output_tokens"),
            reasoning_output: at("/output_tokens_details/reasoning_tokens"),
        };
        draft.cost_usd = cost(usage);
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        draft.finish = Some(match (status, reason) {
            ("incomplete", Some("content_filter")) => FinishReason::Filter,
            ("incomplete", Some("max_output_tokens" | "max_tokens") | None) => FinishReason::Length,
            ("incomplete", Some(other)) => FinishReason::Other(other.to_owned()),
            _ if draft.has_calls() => FinishReason::Tool,
            _ if draft.refusal.is_some() && !draft.has_text() => FinishReason::Filter,
            _ => FinishReason::Stop,
        });
        Ok(())
    }
}

/// Reads an item of the output; text is skipped if the deltas contained it.
fn item(item: &Value, had_text: bool, had_refusal: bool, draft: &mut CompletionBuilder) {
    match text_field(item, "type") {
        "message" => {
            for part in list_field(item, "content") {
                match text_field(part, "type") {
                    "refusal" if !had_refusal => draft.push_refusal(text_field(part, "refusal")),
                    "refusal" => {}
                    _ if !had_text => draft.push_text(text_field(part, "text")),
                    _ => {}
                }
                for note in list_field(part, "annotations") {
                    draft.push_citation(note.get("url"));
                }
            }
        }
        "reasoning" => {
            for part in list_field(item, "summary").iter().chain(list_field(item, "content")) {
                let words = text_field(part, "text");
                if !words.is_empty() {
                    draft.push_reasoning_paragraph();
                    draft.push_reasoning(words);
                }
            }
        }
        "function_call" | "custom_tool_call" => {
            let id = match text_field(item, "call_id") {
                "" => text_field(item, "id"),
                id => id,
            };
            let sent = item.get("arguments").or_else(|| item.get("input"));
            draft.push_call(id, text_field(item, "name"), arguments_text(sent));
        }
        "web_search_call" => {
            let action = item.get("action").unwrap_or(&Value::Null);
            list_field(action, "sources").iter().for_each(|it| draft.push_citation(it.get("url")));
            draft.push_citation(action.get("url"));
        }
        _ => {}
    }
}
