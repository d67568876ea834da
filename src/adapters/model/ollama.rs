//! Ollama's own interface: `/api/chat`, and answers of `/api/generate`, in JSON lines.
use serde_json::{Value, json};

use super::draft::{Draft, arguments, count, text};
use super::fault::{ModelFault, list};
use super::frames::Frame;
use super::request::{ModelSettings, Outgoing, Schemas, turns_after_system};
use super::retry_after::Headers;
use super::wire::Reader;
use crate::seams::{Finish, Prompt, Tokens};

/// The request for `prompt`. The schema goes into `format`, which constrains the model's words as they are chosen.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
    let messages = turns_after_system(prompt, settings);
    let mut options = json!({});
    if let Some(most) = prompt.max_tokens {
        options["num_predict"] = most.into();
    }
    if let Some(temperature) = settings.temperature(prompt) {
        options["temperature"] = temperature;
    }
    if !prompt.stop.is_empty() {
        options["stop"] = json!(prompt.stop);
    }
    let mut body = json!({"model": settings.model, "messages": messages, "stream": stream});
    if options.as_object().is_some_and(|it| !it.is_empty()) {
        body["options"] = options;
    }
    match (&prompt.schema, settings.schemas) {
        (Some(schema), Schemas::Native | Schemas::Tool) => body["format"] = schema.json.clone(),
        (Some(_), Schemas::JsonMode) => body["format"] = "json".into(),
        _ => {}
    }
    Outgoing::new("/api/chat", body)
}

/// Reads answers and streams, which differ in nothing but number.
#[derive(Debug, Default)]
pub(super) struct Ollama {
    ended: bool,
}

impl Reader for Ollama {
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault> {
        let Frame::Json(_, value) = frame else {
            return Ok(());
        };
        if value.get("error").is_some_and(|it| !it.is_null()) {
            return Err(ModelFault::of_value(None, &Headers::default(), value));
        }
        if let Some(model) = value.get("model").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let message = value.get("message").unwrap_or(&Value::Null);
        draft.reason(text(message, "thinking"));
        draft.reason(text(value, "thinking"));
        draft.say(text(message, "content"));
        draft.say(text(value, "response"));
        for call in list(message, "tool_calls") {
            let body = call.get("function").unwrap_or(call);
            // Calls come whole; what numbers them differs between versions.
            draft.call(
                text(call, "id"),
                text(body, "name"),
                arguments(body.get("arguments")),
            );
        }
        if value.get("done").and_then(Value::as_bool) == Some(true) {
            self.ended = true;
            draft.finish = Some(match text(value, "done_reason") {
                "length" => Finish::Length,
                "stop" | "" if draft.has_calls() => Finish::Tool,
                "stop" | "" => Finish::Stop,
                other => Finish::Other(other.to_owned()),
            });
            draft.tokens = Tokens {
                input: count(value.get("prompt_eval_count")),
                output: count(value.get("eval_count")),
                ..Tokens::default()
            };
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }
}
