//! Anthropic's Messages.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::draft::{Draft, arguments, count, text};
use super::fault::{ModelFault, list};
use super::frames::Frame;
use super::request::{ModelSettings, Outgoing, Schemas, closed, system_asking_for, turns};
use super::retry_after::Headers;
use super::wire::Reader;
use crate::seams::{Finish, Prompt, Tokens};

/// Sent where a prompt sets no bound, because this interface insists on one: what every model since Claude 3.5 takes.
const MOST_TOKENS: u32 = 8192;

/// Keywords that structured outputs refuse.
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

/// The request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
    let messages = turns(prompt);
    let mut body = json!({
        "model": settings.model,
        "max_tokens": prompt.max_tokens.unwrap_or(MOST_TOKENS),
        "messages": messages,
    });
    if let Some(system) = system_asking_for(prompt, settings) {
        body["system"] = system.into();
    }
    if let Some(temperature) = settings.temperature(prompt).and_then(|it| it.as_f64()) {
        // The scale ends at 1 here.
        body["temperature"] = temperature.min(1.0).into();
    }
    if !prompt.stop.is_empty() {
        body["stop_sequences"] = json!(prompt.stop);
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), Schemas::Native) => {
            let schema = closed(&schema.json, REFUSED);
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
        (Some(schema), Schemas::Tool) => {
            body["tools"] = json!([{"name": schema.name, "input_schema": schema.json,
                "description": "Gives the answer."}]);
            body["tool_choice"] = json!({"type": "tool", "name": schema.name});
        }
        _ => {}
    }
    if stream {
        body["stream"] = true.into();
    }
    let mut out = Outgoing::new("/v1/messages", body);
    out.headers
        .push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
    out
}

/// Reads answers and streams.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// Counts as last told; the message's end repeats only some.
    usage: BTreeMap<&'static str, u64>,
    /// The numbers of blocks that are calls of our tools.
    calls: Vec<u64>,
    /// Arguments that a call began with, where no pieces follow.
    begun: BTreeMap<u64, String>,
    ended: bool,
}

impl Reader for Anthropic {
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault> {
        let Frame::Json(_, value) = frame else {
            return Ok(());
        };
        let null = &Value::Null;
        match text(value, "type") {
            "message_start" => {
                // A proxy that tries again in the middle of a stream starts the message over.
                *self = Anthropic::default();
                *draft = Draft::default();
                self.message(value.get("message").unwrap_or(null), draft);
            }
            "content_block_start" => {
                let block = value.get("content_block").unwrap_or(null);
                let index = count(value.get("index")).unwrap_or(0);
                self.block(block, Some(index), draft);
            }
            "content_block_delta" => {
                let delta = value.get("delta").unwrap_or(null);
                self.delta(delta, count(value.get("index")).unwrap_or(0), draft);
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
            "error" => return Err(ModelFault::of_value(None, &Headers::default(), value)),
            // A proxy may leave the type out.
            "" if value.get("content").is_some_and(Value::is_array) => {
                self.message(value, draft);
                self.ended = true;
            }
            "" if value.get("error").is_some() => {
                return Err(ModelFault::of_value(None, &Headers::default(), value));
            }
            // `ping`, `content_block_stop` and whatever will come.
            _ => {}
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn close(&mut self, draft: &mut Draft) {
        for (&index, begun) in &self.begun {
            let call = draft.piece(Some(index), "", "");
            if call.arguments.is_empty() {
                call.arguments.clone_from(begun);
            }
        }
    }
}

impl Anthropic {
    fn message(&mut self, message: &Value, draft: &mut Draft) {
        if let Some(model) = message.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        for (index, block) in (0..).zip(list(message, "content")) {
            self.block(block, Some(index), draft);
        }
        self.stop(message, draft);
        self.count(message.get("usage").unwrap_or(&Value::Null), draft);
    }

    /// A block, or the beginning of one.
    fn block(&mut self, block: &Value, index: Option<u64>, draft: &mut Draft) {
        match text(block, "type") {
            "text" => {
                draft.say(text(block, "text"));
                list(block, "citations")
                    .iter()
                    .for_each(|it| cite(it, draft));
            }
            "thinking" => {
                draft.reason_anew();
                draft.reason(text(block, "thinking"));
            }
            "tool_use" => {
                draft.piece(index, text(block, "id"), text(block, "name"));
                let index = index.unwrap_or(0);
                self.calls.push(index);
                self.begun.insert(index, arguments(block.get("input")));
            }
            // What tools on the provider's side found.
            _ => {
                let content = block.get("content").unwrap_or(&Value::Null);
                draft.cite(content.get("url"));
                list(block, "content")
                    .iter()
                    .for_each(|it| draft.cite(it.get("url")));
            }
        }
    }

    fn delta(&self, delta: &Value, index: u64, draft: &mut Draft) {
        match text(delta, "type") {
            "text_delta" => draft.say(text(delta, "text")),
            "thinking_delta" => draft.reason(text(delta, "thinking")),
            "input_json_delta" if self.calls.contains(&index) => {
                draft.piece(Some(index), "", "").arguments += text(delta, "partial_json");
            }
            "citations_delta" => cite(delta.get("citation").unwrap_or(&Value::Null), draft),
            _ => {}
        }
    }

    fn stop(&mut self, said: &Value, draft: &mut Draft) {
        let Some(reason) = said.get("stop_reason").and_then(Value::as_str) else {
            return;
        };
        draft.finish = Some(match reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_use" => Finish::Tool,
            "refusal" => {
                let why = said
                    .pointer("/stop_details/explanation")
                    .and_then(Value::as_str);
                draft.refuse(why.unwrap_or("the model declined to answer"));
                Finish::Filter
            }
            other => Finish::Other(other.to_owned()),
        });
    }

    fn count(&mut self, usage: &Value, draft: &mut Draft) {
        const NAMES: [&str; 4] = [
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        ];
        for name in NAMES {
            if let Some(now) = count(usage.get(name)) {
                self.usage.insert(name, now);
            }
        }
        if let Some(now) = count(usage.pointer("/output_tokens_details/thinking_tokens")) {
            self.usage.insert("thinking", now);
        }
        let of = |name: &str| self.usage.get(name).copied();
        let [fresh, read, written, output] = NAMES.map(of);
        draft.tokens = Tokens {
            // What was cached is counted apart here.
            input: fresh.map(|it| {
                it.saturating_add(read.unwrap_or(0))
                    .saturating_add(written.unwrap_or(0))
            }),
            cached_input: read,
            cache_write: written,
            output,
            reasoning_output: of("thinking"),
        };
    }
}

fn cite(citation: &Value, draft: &mut Draft) {
    draft.cite(citation.get("url").or_else(|| citation.get("source")));
}
