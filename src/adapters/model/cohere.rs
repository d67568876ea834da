//! Cohere's chat, version 2; answers of version 1 are read too.
use serde_json::{Value, json};

use super::draft::{Draft, arguments, count, text};
use super::fault::{ModelFault, list};
use super::frames::Frame;
use super::request::{ModelSettings, Outgoing, Schemas, turns_after_system};
use super::retry_after::Headers;
use super::wire::Reader;
use crate::seams::{Finish, Prompt, Tokens};

/// The request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
    let messages = turns_after_system(prompt, settings);
    let mut body = json!({"model": settings.model, "messages": messages, "stream": stream});
    if let Some(most) = prompt.max_tokens {
        body["max_tokens"] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        body["temperature"] = temperature;
    }
    if !prompt.stop.is_empty() {
        body["stop_sequences"] = json!(prompt.stop);
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), Schemas::Native | Schemas::Tool) => {
            body["response_format"] = json!({"type": "json_object", "json_schema": schema.json});
        }
        (Some(_), Schemas::JsonMode) => body["response_format"] = json!({"type": "json_object"}),
        _ => {}
    }
    Outgoing::new("/v2/chat", body)
}

/// Reads answers and streams.
#[derive(Debug, Default)]
pub(super) struct Cohere {
    ended: bool,
}

impl Reader for Cohere {
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault> {
        let Frame::Json(_, value) = frame else {
            return Ok(());
        };
        let delta = value.get("delta").unwrap_or(&Value::Null);
        let message = delta.get("message").unwrap_or(&Value::Null);
        match text(value, "type") {
            "" => self.whole(value, draft)?,
            "content-start" | "content-delta" => {
                part(message.get("content").unwrap_or(&Value::Null), draft);
            }
            "tool-plan-delta" => draft.reason(text(message, "tool_plan")),
            "tool-call-start" | "tool-call-delta" => {
                let call = message.get("tool_calls").unwrap_or(&Value::Null);
                let body = call.get("function").unwrap_or(&Value::Null);
                let slot = count(value.get("index"));
                let piece = match text(value, "type") {
                    "tool-call-start" => {
                        Some(draft.piece(slot, text(call, "id"), text(body, "name")))
                    }
                    _ if slot.is_some() => Some(draft.piece(slot, "", "")),
                    _ => draft.last_call(),
                };
                if let Some(piece) = piece {
                    piece.arguments += &arguments(body.get("arguments"));
                }
            }
            "citation-start" => match message.get("citations") {
                Some(one @ Value::Object(_)) => cite(one, draft),
                Some(Value::Array(all)) => all.iter().for_each(|it| cite(it, draft)),
                _ => {}
            },
            "message-end" => {
                if let Some(error) = delta.get("error").and_then(Value::as_str) {
                    return Err(ModelFault::said(None, error));
                }
                self.end(delta, draft)?;
            }
            "error" => return Err(ModelFault::of_value(None, &Headers::default(), value)),
            _ => {}
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Cohere {
    /// An answer in one piece; of version 1, also an event of its stream.
    fn whole(&mut self, value: &Value, draft: &mut Draft) -> Result<(), ModelFault> {
        match text(value, "event_type") {
            "text-generation" => draft.say(text(value, "text")),
            "stream-end" => {
                let response = value.get("response").unwrap_or(&Value::Null);
                let reason = value
                    .get("finish_reason")
                    .or_else(|| response.get("finish_reason"));
                let end = json!({"finish_reason": reason, "usage": response.get("meta")});
                self.end(&end, draft)?;
            }
            "" => {
                if let Some(message) = value.get("message").filter(|it| it.is_object()) {
                    draft.reason(text(message, "tool_plan"));
                    match message.get("content") {
                        Some(Value::String(words)) => draft.say(words),
                        Some(Value::Array(parts)) => parts.iter().for_each(|it| part(it, draft)),
                        _ => {}
                    }
                    calls(list(message, "tool_calls"), draft);
                    list(message, "citations")
                        .iter()
                        .for_each(|it| cite(it, draft));
                    self.end(value, draft)?;
                } else if let Some(words) = value.get("text").and_then(Value::as_str) {
                    draft.say(words);
                    calls(list(value, "tool_calls"), draft);
                    list(value, "documents")
                        .iter()
                        .for_each(|it| draft.cite(it.get("url")));
                    let reason = value.get("finish_reason");
                    self.end(
                        &json!({"finish_reason": reason, "usage": value.get("meta")}),
                        draft,
                    )?;
                } else {
                    return Err(ModelFault::of_value(None, &Headers::default(), value));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &Value, draft: &mut Draft) -> Result<(), ModelFault> {
        self.ended = true;
        draft.finish = Some(match text(end, "finish_reason") {
            "COMPLETE" | "STOP_SEQUENCE" if draft.has_calls() => Finish::Tool,
            "COMPLETE" | "STOP_SEQUENCE" | "" => Finish::Stop,
            "MAX_TOKENS" | "ERROR_LIMIT" => Finish::Length,
            "TOOL_CALL" => Finish::Tool,
            "ERROR_TOXIC" => Finish::Filter,
            reason @ ("ERROR" | "TIMEOUT") => {
                return Err(ModelFault::transient(format!(
                    "the provider gave up in the middle of the answer: {reason}"
                )));
            }
            other => Finish::Other(other.to_owned()),
        });
        let usage = end.get("usage").unwrap_or(&Value::Null);
        let of = |name: &str| {
            let at = |group: &str| count(usage.pointer(&format!("/{group}/{name}")));
            at("tokens").or_else(|| at("billed_units"))
        };
        draft.tokens = Tokens {
            input: of("input_tokens"),
            cached_input: count(usage.get("cached_tokens")),
            output: of("output_tokens"),
            ..Tokens::default()
        };
        Ok(())
    }
}

fn part(part: &Value, draft: &mut Draft) {
    draft.reason(text(part, "thinking"));
    draft.say(text(part, "text"));
}

fn calls(calls: &[Value], draft: &mut Draft) {
    for call in calls {
        let body = call.get("function").unwrap_or(call);
        let sent = body.get("arguments").or_else(|| body.get("parameters"));
        draft.call(text(call, "id"), text(body, "name"), arguments(sent));
    }
}

fn cite(citation: &Value, draft: &mut Draft) {
    for source in list(citation, "sources") {
        draft.cite(source.pointer("/document/url"));
        draft.cite(source.pointer("/tool_output/url"));
    }
}
