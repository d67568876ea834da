//! OpenAI's Responses, as spoken by OpenAI, Azure, xAI, OpenRouter, LM Studio and DeepSeek.
//!
//! A stream ends with the whole response once more. Its text is what the pieces said; everything else is taken from
//! that whole, or from the items where a server leaves it empty.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::draft::{Draft, arguments, count, text};
use super::fault::{ModelFault, list};
use super::frames::Frame;
use super::openai_chat::cost;
use super::request::{ModelSettings, Outgoing, Schemas, is_strict, system_asking_for, turns};
use super::retry_after::Headers;
use super::wire::Reader;
use crate::seams::{Finish, Prompt, Tokens};

/// The request for `prompt`. Nothing is kept on the server. This interface knows no words to stop at: `prompt.stop` is
/// not sent.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
    let input = turns(prompt);
    let mut body = json!({"model": settings.model, "input": input, "store": false});
    if let Some(system) = system_asking_for(prompt, settings) {
        body["instructions"] = system.into();
    }
    if let Some(most) = prompt.max_tokens {
        body["max_output_tokens"] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        body["temperature"] = temperature;
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), Schemas::Native | Schemas::Tool) => {
            body["text"] = json!({"format": {
                "type": "json_schema", "name": schema.name,
                "strict": is_strict(&schema.json), "schema": schema.json,
            }});
        }
        (Some(_), Schemas::JsonMode) => {
            body["text"] = json!({"format": {"type": "json_object"}});
        }
        _ => {}
    }
    if stream {
        body["stream"] = true.into();
    }
    Outgoing::new("/responses", body)
}

/// Reads answers and streams.
#[derive(Debug, Default)]
pub(super) struct OpenAiResponses {
    /// Items as they were completed, by their place.
    items: BTreeMap<u64, Value>,
    begun: bool,
    ended: bool,
}

impl Reader for OpenAiResponses {
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault> {
        let Frame::Json(name, value) = frame else {
            return Ok(());
        };
        let kind = match text(value, "type") {
            "" => name.as_deref().unwrap_or_default(),
            kind => kind,
        };
        match kind {
            "response.created" if self.begun => {
                // A proxy that tries again in the middle of a stream starts the response over.
                *self = OpenAiResponses::default();
                *draft = Draft::default();
                self.begun = true;
            }
            "response.created" => self.begun = true,
            "response.output_text.delta" => draft.say(text(value, "delta")),
            "response.refusal.delta" => draft.refuse(text(value, "delta")),
            "response.output_item.done" => {
                let at = count(value.get("output_index")).unwrap_or(self.items.len() as u64);
                if let Some(item) = value.get("item") {
                    self.items.insert(at, item.clone());
                }
            }
            "response.output_text.annotation.added" => {
                draft.cite(value.pointer("/annotation/url"));
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.done"
            | "response.cancelled" => {
                self.whole(value.get("response").unwrap_or(&Value::Null), draft)?;
            }
            "error" | "response.error" => {
                return Err(ModelFault::of_value(None, &Headers::default(), value));
            }
            "" if value.get("output").is_some() || text(value, "object") == "response" => {
                self.whole(value, draft)?;
            }
            "" if value.get("error").is_some_and(|it| !it.is_null()) => {
                return Err(ModelFault::of_value(None, &Headers::default(), value));
            }
            // Pieces of what comes again as a whole, states, and whatever will come.
            _ => {}
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl OpenAiResponses {
    fn whole(&mut self, response: &Value, draft: &mut Draft) -> Result<(), ModelFault> {
        if response.get("error").is_some_and(|it| !it.is_null()) {
            return Err(ModelFault::of_value(None, &Headers::default(), response));
        }
        let status = text(response, "status");
        match status {
            "failed" => {
                return Err(ModelFault::transient(
                    "the response failed, for no stated reason",
                ));
            }
            "cancelled" => return Err(ModelFault::transient("the response was cancelled")),
            "in_progress" | "queued" => {
                return Err(ModelFault::transient("the response is not finished yet"));
            }
            _ => {}
        }
        self.ended = true;
        let told = list(response, "output");
        let kept: Vec<Value> = std::mem::take(&mut self.items).into_values().collect();
        let items = if told.is_empty() { &kept } else { told };
        let had_text = draft.has_text();
        let had_refusal = draft.refusal.is_some();
        for it in items {
            item(it, had_text, had_refusal, draft);
        }
        if let Some(model) = response.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let usage = response.get("usage").unwrap_or(&Value::Null);
        let at = |path: &str| count(usage.pointer(path));
        draft.tokens = Tokens {
            input: at("/input_tokens"),
            cached_input: at("/input_tokens_details/cached_tokens"),
            cache_write: at("/input_tokens_details/cache_write_tokens"),
            output: at("/output_tokens"),
            reasoning_output: at("/output_tokens_details/reasoning_tokens"),
        };
        draft.cost_usd = cost(usage);
        let reason = response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        draft.finish = Some(match (status, reason) {
            ("incomplete", Some("content_filter")) => Finish::Filter,
            ("incomplete", Some("max_output_tokens" | "max_tokens") | None) => Finish::Length,
            ("incomplete", Some(other)) => Finish::Other(other.to_owned()),
            _ if draft.has_calls() => Finish::Tool,
            _ if draft.refusal.is_some() && !draft.has_text() => Finish::Filter,
            _ => Finish::Stop,
        });
        Ok(())
    }
}

/// Takes in an item of the output; of its text only what the pieces did not say already.
fn item(item: &Value, had_text: bool, had_refusal: bool, draft: &mut Draft) {
    match text(item, "type") {
        "message" => {
            for part in list(item, "content") {
                match text(part, "type") {
                    "refusal" if !had_refusal => draft.refuse(text(part, "refusal")),
                    "refusal" => {}
                    _ if !had_text => draft.say(text(part, "text")),
                    _ => {}
                }
                for note in list(part, "annotations") {
                    draft.cite(note.get("url"));
                }
            }
        }
        "reasoning" => {
            for part in list(item, "summary").iter().chain(list(item, "content")) {
                let words = text(part, "text");
                if !words.is_empty() {
                    draft.reason_anew();
                    draft.reason(words);
                }
            }
        }
        "function_call" | "custom_tool_call" => {
            let id = match text(item, "call_id") {
                "" => text(item, "id"),
                id => id,
            };
            let sent = item.get("arguments").or_else(|| item.get("input"));
            draft.call(id, text(item, "name"), arguments(sent));
        }
        "web_search_call" => {
            let action = item.get("action").unwrap_or(&Value::Null);
            list(action, "sources")
                .iter()
                .for_each(|it| draft.cite(it.get("url")));
            draft.cite(action.get("url"));
        }
        _ => {}
    }
}
