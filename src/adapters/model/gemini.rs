//! Google's `generateContent`: the Gemini API and Vertex AI.
//!
//! An answer and a piece of a stream have one shape. A stream comes as events with `alt=sse`, and as one long array without.
use serde_json::{Map, Value, json};

use super::draft::{Draft, count, text};
use super::fault::{ModelFault, list};
use super::frames::Frame;
use super::request::{ModelSettings, Outgoing, Schemas, system_asking_for};
use super::retry_after::Headers;
use super::wire::Reader;
use crate::seams::{Finish, Prompt, Role, Tokens};

/// The request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
    let contents: Vec<Value> = prompt
        .messages
        .iter()
        .map(|it| {
            let role = match it.role {
                Role::User => "user",
                Role::Assistant => "model",
            };
            json!({"role": role, "parts": [{"text": it.text}]})
        })
        .collect();
    let mut config = Map::new();
    if let Some(most) = prompt.max_tokens {
        config.insert("maxOutputTokens".to_owned(), most.into());
    }
    if let Some(temperature) = settings.temperature(prompt) {
        config.insert("temperature".to_owned(), temperature);
    }
    if !prompt.stop.is_empty() {
        config.insert("stopSequences".to_owned(), json!(prompt.stop));
    }
    if let Some(schema) = &prompt.schema
        && settings.schemas != Schemas::Prompted
    {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        if matches!(settings.schemas, Schemas::Native | Schemas::Tool) {
            let mut json = schema.json.clone();
            if let Some(fields) = json.as_object_mut() {
                fields.shift_remove("$schema");
            }
            config.insert("responseJsonSchema".to_owned(), json);
        }
    }
    let mut body = json!({"contents": contents});
    if let Some(system) = system_asking_for(prompt, settings) {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    if !config.is_empty() {
        body["generationConfig"] = Value::Object(config);
    }
    let model = settings.model.trim_start_matches("models/");
    let call = if stream {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    Outgoing::new(format!("/models/{model}:{call}"), body)
}

/// Reads answers and streams.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// Arguments of a call that comes in pieces.
    open: Option<Value>,
    ended: bool,
}

impl Reader for Gemini {
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault> {
        let Frame::Json(_, value) = frame else {
            return Ok(());
        };
        if value.get("error").is_some_and(|it| !it.is_null()) {
            return Err(ModelFault::of_value(None, &Headers::default(), value));
        }
        if let Some(model) = value.get("modelVersion").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let first = |it: &&Value| count(it.get("index")).unwrap_or(0) == 0;
        if let Some(candidate) = list(value, "candidates").iter().find(first) {
            self.candidate(candidate, draft);
        }
        if let Some(reason) = value
            .pointer("/promptFeedback/blockReason")
            .and_then(Value::as_str)
        {
            let why = value
                .pointer("/promptFeedback/blockReasonMessage")
                .and_then(Value::as_str);
            draft.refuse(why.unwrap_or(reason));
            draft.finish = Some(Finish::Filter);
            self.ended = true;
        }
        if let Some(usage) = value.get("usageMetadata") {
            tokens(usage, draft);
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Gemini {
    fn candidate(&mut self, candidate: &Value, draft: &mut Draft) {
        let content = candidate.get("content").unwrap_or(&Value::Null);
        for part in list(content, "parts") {
            if let Some(call) = part.get("functionCall").filter(|it| it.is_object()) {
                self.call(call, draft);
            } else if part.get("thought").and_then(Value::as_bool) == Some(true) {
                draft.reason(text(part, "text"));
            } else {
                draft.say(text(part, "text"));
            }
        }
        let grounding = candidate.get("groundingMetadata").unwrap_or(&Value::Null);
        for chunk in list(grounding, "groundingChunks") {
            for kind in ["/web/uri", "/retrievedContext/uri", "/maps/uri"] {
                draft.cite(chunk.pointer(kind));
            }
        }
        let cited = candidate.get("citationMetadata").unwrap_or(&Value::Null);
        for source in list(cited, "citationSources")
            .iter()
            .chain(list(cited, "citations"))
        {
            draft.cite(source.get("uri"));
        }
        let looked_up = candidate
            .get("urlContextMetadata")
            .or_else(|| candidate.get("url_context_metadata"))
            .unwrap_or(&Value::Null);
        for url in list(looked_up, "urlMetadata") {
            draft.cite(url.get("retrievedUrl"));
        }
        let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) else {
            return;
        };
        self.ended = true;
        draft.finish = Some(match reason {
            "STOP" if draft.has_calls() => Finish::Tool,
            "STOP" => Finish::Stop,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => {
                let why = candidate.get("finishMessage").and_then(Value::as_str);
                draft.refuse(why.unwrap_or(reason));
                Finish::Filter
            }
            other => Finish::Other(other.to_owned()),
        });
    }

    /// A call, or on Vertex a piece of one: first its name, then its arguments by their JSON paths, then nothing.
    fn call(&mut self, call: &Value, draft: &mut Draft) {
        let goes_on = call.get("willContinue").and_then(Value::as_bool) == Some(true);
        let name = text(call, "name");
        if !name.is_empty() {
            let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
            draft.call(text(call, "id"), name, args.to_string());
            self.open = goes_on.then_some(args);
        }
        if let Some(args) = &mut self.open {
            for piece in list(call, "partialArgs") {
                set(args, piece);
            }
            if let Some(last) = draft.last_call() {
                last.arguments = args.to_string();
            }
            if !goes_on {
                self.open = None;
            }
        }
    }
}

/// Puts one piece of arguments to its place; strings that go on are joined.
fn set(args: &mut Value, piece: &Value) {
    let value = ["stringValue", "numberValue", "boolValue", "nullValue"]
        .iter()
        .find_map(|it| piece.get(*it).map(|value| (*it, value.clone())));
    let Some((kind, value)) = value else {
        return;
    };
    let path = text(piece, "jsonPath")
        .trim_start_matches('$')
        .replace('[', ".");
    let mut at = args;
    for step in path.split('.').map(|it| it.trim_matches([']', '\'', '"'])) {
        match step.parse::<usize>() {
            _ if step.is_empty() => continue,
            // No more elements than a person would write: the number is a stranger's.
            Ok(nth) if nth < 4096 => {
                if !at.is_array() {
                    *at = json!([]);
                }
                let Value::Array(all) = at else { return };
                if all.len() <= nth {
                    all.resize(nth + 1, Value::Null);
                }
                at = &mut all[nth];
            }
            _ => {
                if !at.is_object() {
                    *at = json!({});
                }
                let Value::Object(fields) = at else { return };
                at = fields.entry(step).or_insert(Value::Null);
            }
        }
    }
    match (at, kind, value) {
        (Value::String(known), _, Value::String(more)) => known.push_str(&more),
        (at, "nullValue", _) => *at = Value::Null,
        (at, _, value) => *at = value,
    }
}

/// Thoughts and what tools read are counted apart here; both belong to the whole.
fn tokens(usage: &Value, draft: &mut Draft) {
    let of = |name: &str| count(usage.get(name));
    let known = draft.tokens;
    let (prompt, tools) = (of("promptTokenCount"), of("toolUsePromptTokenCount"));
    let (answer, thoughts) = (of("candidatesTokenCount"), of("thoughtsTokenCount"));
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    draft.tokens = Tokens {
        input: sum(prompt, tools.filter(|_| prompt.is_some())).or(known.input),
        cached_input: of("cachedContentTokenCount").or(known.cached_input),
        cache_write: None,
        output: sum(answer, thoughts).or(known.output),
        reasoning_output: thoughts.or(known.reasoning_output),
    };
}
