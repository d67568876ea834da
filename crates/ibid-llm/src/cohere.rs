//! Cohere's chat API, version 2. Responses of version 1 can be parsed too.
use serde_json::{Value, json};

use super::builder::{CompletionBuilder, arguments_text, count_value, text_field};
use super::capabilities::{Parameter, Reasoning, SchemaMode};
use super::dialect_reader::{DialectReader, reported_error};
use super::request::{ModelRequest, ModelSettings, messages_with_system};
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{FinishReason, Prompt, TokenUsage};
use ibid_net::json::list_field;
use ibid_net::service_error::ServiceError;

/// Builds the request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
    let messages = messages_with_system(prompt, settings);
    let mut body = json!({"model": settings.model, "messages": messages, "stream": stream});
    if let Some(most) = settings.max_tokens(prompt) {
        body["max_tokens"] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        body["temperature"] = temperature;
    }
    if !settings.stop(prompt).is_empty() {
        body["stop_sequences"] = json!(prompt.stop);
    }
    let is_budget = settings.reasoning == Some(Reasoning::Budget)
        && !settings.refuses.contains(&Parameter::Effort);
    if is_budget && prompt.effort.is_some_and(|effort| effort <= ReasoningEffort::Low) {
        body["thinking"] = json!({"type": "disabled"});
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), SchemaMode::Native | SchemaMode::Tool) => {
            body["response_format"] = json!({"type": "json_object", "json_schema": schema.json});
        }
        (Some(_), SchemaMode::JsonMode) => body["response_format"] = json!({"type": "json_object"}),
        _ => {}
    }
    ModelRequest::new("/v2/chat", body)
}

/// Parses responses and streams.
#[derive(Debug, Default)]
pub(super) struct Cohere {
    ended: bool,
}

impl DialectReader for Cohere {
    fn read_json(
        &mut self,
        _event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        let delta = value.get("delta").unwrap_or(&Value::Null);
        let message = delta.get("message").unwrap_or(&Value::Null);
        match text_field(value, "type") {
            "" => self.whole(value, draft)?,
            "content-start" | "content-delta" => {
                part(message.get("content").unwrap_or(&Value::Null), draft);
            }
            "tool-plan-delta" => draft.push_reasoning(text_field(message, "tool_plan")),
            "tool-call-start" | "tool-call-delta" => {
                let call = message.get("tool_calls").unwrap_or(&Value::Null);
                let body = call.get("function").unwrap_or(&Value::Null);
                let slot = count_value(value.get("index"));
                let piece = match text_field(value, "type") {
                    "tool-call-start" => Some(draft.partial_call(
                        slot,
                        text_field(call, "id"),
                        text_field(body, "name"),
                    )),
                    _ if slot.is_some() => Some(draft.partial_call(slot, "", "")),
                    _ => draft.last_call(),
                };
                if let Some(piece) = piece {
                    piece.arguments += &arguments_text(body.get("arguments"));
                }
            }
            "citation-start" => match message.get("citations") {
                Some(one @ Value::Object(_)) => cite(one, draft),
                Some(Value::Array(all)) => all.iter().for_each(|it| cite(it, draft)),
                _ => {}
            },
            "message-end" => {
                if let Some(error) = delta.get("error").and_then(Value::as_str) {
                    return Err(ServiceError::from_text(None, error));
                }
                self.end(delta, draft)?;
            }
            "error" => return Err(reported_error(value)),
            _ => {}
        }
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.ended
    }
}

impl Cohere {
    /// Reads a complete response; in version 1, also an event of a stream.
    fn whole(&mut self, value: &Value, draft: &mut CompletionBuilder) -> Result<(), ServiceError> {
        match text_field(value, "event_type") {
            "text-generation" => draft.push_text(text_field(value, "text")),
            "stream-end" => {
                let response = value.get("response").unwrap_or(&Value::Null);
                let reason = value.get("finish_reason").or_else(|| response.get("finish_reason"));
                let end = json!({"finish_reason": reason, "usage": response.get("meta")});
                self.end(&end, draft)?;
            }
            "" => {
                if let Some(message) = value.get("message").filter(|value| value.is_object()) {
                    draft.push_reasoning(text_field(message, "tool_plan"));
                    match message.get("content") {
                        Some(Value::String(words)) => draft.push_text(words),
                        Some(Value::Array(parts)) => {
                            parts.iter().for_each(|item| part(item, draft))
                        }
                        _ => {}
                    }
                    calls(list_field(message, "tool_calls"), draft);
                    list_field(message, "citations").iter().for_each(|it| cite(it, draft));
                    self.end(value, draft)?;
                } else if let Some(words) = value.get("text").and_then(Value::as_str) {
                    draft.push_text(words);
                    calls(list_field(value, "tool_calls"), draft);
                    list_field(value, "documents")
                        .iter()
                        .for_each(|it| draft.push_citation(it.get("url")));
                    let reason = value.get("finish_reason");
                    self.end(&json!({"finish_reason": reason, "usage": value.get("meta")}), draft)?;
                } else {
                    return Err(reported_error(value));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &Value, draft: &mut CompletionBuilder) -> Result<(), ServiceError> {
        self.ended = true;
        draft.finish = Some(match text_field(end, "finish_reason") {
            "COMPLETE" | "STOP_SEQUENCE" if draft.has_calls() => FinishReason::Tool,
            "COMPLETE" | "STOP_SEQUENCE" | "" => FinishReason::Stop,
            "MAX_TOKENS" | "ERROR_LIMIT" => FinishReason::Length,
            "TOOL_CALL" => FinishReason::Tool,
            "ERROR_TOXIC" => FinishReason::Filter,
            reason @ ("ERROR" | "TIMEOUT") => {
                return Err(ServiceError::transient(format!(
                    "the provider aborted the answer: {reason}"
                )));
            }
            other => FinishReason::Other(other.to_owned()),
        });
        let usage = end.get("usage").unwrap_or(&Value::Null);
        let count = |name: &str| {
            let at = |group: &str| count_value(usage.pointer(&format!("/{group}/{name}")));
            at("tokens").or_else(|| at("billed_units"))
        };
        draft.tokens = TokenUsage {
            input: count("input_tokens"),
            cached_input: count_value(usage.get("cached_tokens")),
            output: count("output_tokens"),
            ..TokenUsage::default()
        };
        Ok(())
    }
}

fn part(part: &Value, draft: &mut CompletionBuilder) {
    draft.push_reasoning(text_field(part, "thinking"));
    draft.push_text(text_field(part, "text"));
}

fn calls(calls: &[Value], draft: &mut CompletionBuilder) {
    for call in calls {
        let body = call.get("function").unwrap_or(call);
        let sent = body.get("arguments").or_else(|| body.get("parameters"));
        draft.push_call(text_field(call, "id"), text_field(body, "name"), arguments_text(sent));
    }
}

fn cite(citation: &Value, draft: &mut CompletionBuilder) {
    for source in list_field(citation, "sources") {
        draft.push_citation(source.pointer("/document/url"));
        draft.push_citation(source.pointer("/tool_output/url"));
    }
}
