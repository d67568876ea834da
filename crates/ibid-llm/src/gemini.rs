//! Google's `generateContent`, for the Gemini API and Vertex AI.
//!
//! A response and a piece of a stream have the same format. A stream arrives as events with `alt=sse`, and as one
//! long array without.
use serde_json::{Map, Value, json};

use super::builder::{CompletionBuilder, count_value, text_field};
use super::capabilities::{Parameter, Reasoning, SchemaMode};
use super::dialect_reader::DialectReader;
use super::request::{ModelRequest, ModelSettings, system_with_schema};
use ibid_core::domain::ReasoningEffort;
use ibid_core::ports::{FinishReason, Prompt, Role, TokenUsage};
use ibid_net::json::list_field;
use ibid_net::service_error::ServiceError;

/// Builds the request for `prompt`.
pub(super) fn request(prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
    let contents: Vec<Value> = prompt
        .messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "model",
            };
            json!({"role": role, "parts": [{"text": message.text}]})
        })
        .collect();
    let mut config = Map::new();
    if let Some(most) = settings.max_tokens(prompt) {
        config.insert("maxOutputTokens".to_owned(), most.into());
    }
    if let Some(temperature) = settings.temperature(prompt) {
        config.insert("temperature".to_owned(), temperature);
    }
    if !settings.stop(prompt).is_empty() {
        config.insert("stopSequences".to_owned(), json!(prompt.stop));
    }
    if let Some(thinking) = thinking(prompt, settings) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    if let Some(schema) = &prompt.schema
        && settings.schemas != SchemaMode::Prompted
    {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        if matches!(settings.schemas, SchemaMode::Native | SchemaMode::Tool) {
            let mut json = schema.json.clone();
            if let Some(fields) = json.as_object_mut() {
                fields.shift_remove("$schema");
            }
            config.insert("responseJsonSchema".to_owned(), json);
        }
    }
    let mut body = json!({"contents": contents});
    if let Some(system) = system_with_schema(prompt, settings) {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    if !config.is_empty() {
        body["generationConfig"] = Value::Object(config);
    }
    let model = settings.model.trim_start_matches("models/");
    let call = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    ModelRequest::new(format!("/models/{model}:{call}"), body)
}

/// The control of reasoning: a word since Gemini 3, a number of tokens before.
fn thinking(prompt: &Prompt, settings: &ModelSettings) -> Option<Value> {
    if let Some(word) = settings.effort(prompt) {
        return Some(json!({"thinkingLevel": word}));
    }
    let is_budget = settings.reasoning == Some(Reasoning::Budget)
        && !settings.refuses.contains(&Parameter::Effort);
    let tokens = match prompt.effort.filter(|_| is_budget)? {
        // 2.5 Pro takes no less than 128.
        ReasoningEffort::None => 128,
        ReasoningEffort::Low => 1024,
        ReasoningEffort::Medium => 4096,
        ReasoningEffort::High => return None,
    };
    Some(json!({"thinkingBudget": tokens}))
}

/// Parses responses and streams.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// Arguments of a tool call that arrives in pieces.
    open: Option<Value>,
    ended: bool,
}

impl DialectReader for Gemini {
    fn read_json(
        &mut self,
        _event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError> {
        if let Some(model) = value.get("modelVersion").and_then(Value::as_str) {
            draft.model = Some(model.to_owned());
        }
        let first = |value: &&Value| count_value(value.get("index")).unwrap_or(0) == 0;
        if let Some(candidate) = list_field(value, "candidates").iter().find(first) {
            self.candidate(candidate, draft);
        }
        if let Some(reason) = value.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            let why = value.pointer("/promptFeedback/blockReasonMessage").and_then(Value::as_str);
            draft.push_refusal(why.unwrap_or(reason));
            draft.finish = Some(FinishReason::Filter);
            self.ended = true;
        }
        if let Some(usage) = value.get("usageMetadata") {
            tokens(usage, draft);
        }
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.ended
    }
}

impl Gemini {
    fn candidate(&mut self, candidate: &Value, draft: &mut CompletionBuilder) {
        let content = candidate.get("content").unwrap_or(&Value::Null);
        for part in list_field(content, "parts") {
            if let Some(call) = part.get("functionCall").filter(|value| value.is_object()) {
                self.call(call, draft);
            } else if part.get("thought").and_then(Value::as_bool) == Some(true) {
                draft.push_reasoning(text_field(part, "text"));
            } else {
                draft.push_text(text_field(part, "text"));
            }
        }
        let grounding = candidate.get("groundingMetadata").unwrap_or(&Value::Null);
        for chunk in list_field(grounding, "groundingChunks") {
            for kind in ["/web/uri", "/retrievedContext/uri", "/maps/uri"] {
                draft.push_citation(chunk.pointer(kind));
            }
        }
        let cited = candidate.get("citationMetadata").unwrap_or(&Value::Null);
        for source in
            list_field(cited, "citationSources").iter().chain(list_field(cited, "citations"))
        {
            draft.push_citation(source.get("uri"));
        }
        let looked_up = candidate
            .get("urlContextMetadata")
            .or_else(|| candidate.get("url_context_metadata"))
            .unwrap_or(&Value::Null);
        for url in list_field(looked_up, "urlMetadata") {
            draft.push_citation(url.get("retrievedUrl"));
        }
        let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) else {
            return;
        };
        self.ended = true;
        draft.finish = Some(match reason {
            "STOP" if draft.has_calls() => FinishReason::Tool,
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
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
                draft.push_refusal(why.unwrap_or(reason));
                FinishReason::Filter
            }
            other => FinishReason::Other(other.to_owned()),
        });
    }

    /// Reads a tool call or, on Vertex, a piece of one: first its name, then its arguments by JSON path, then an end
    /// marker.
    fn call(&mut self, call: &Value, draft: &mut CompletionBuilder) {
        let goes_on = call.get("willContinue").and_then(Value::as_bool) == Some(true);
        let name = text_field(call, "name");
        if !name.is_empty() {
            let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
            draft.push_call(text_field(call, "id"), name, args.to_string());
            self.open = goes_on.then_some(args);
        }
        if let Some(args) = &mut self.open {
            for piece in list_field(call, "partialArgs") {
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

/// Sets one argument at its path; string continuations are appended.
fn set(args: &mut Value, piece: &Value) {
    let value = ["stringValue", "numberValue", "boolValue", "nullValue"]
        .iter()
        .find_map(|it| piece.get(*it).map(|value| (*it, value.clone())));
    let Some((kind, value)) = value else {
        return;
    };
    let path = text_field(piece, "jsonPath").trim_start_matches('$').replace('[', ".");
    let mut at = args;
    for step in path.split('.').map(|part| part.trim_matches([']', '\'', '"'])) {
        match step.parse::<usize>() {
            _ if step.is_empty() => continue,
            // The index is untrusted, so the array size is limited.
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

/// Thoughts and tool results are counted separately here; both are part of the total.
fn tokens(usage: &Value, draft: &mut CompletionBuilder) {
    let count = |name: &str| count_value(usage.get(name));
    let known = draft.tokens;
    let (prompt, tools) = (count("promptTokenCount"), count("toolUsePromptTokenCount"));
    let (answer, thoughts) = (count("candidatesTokenCount"), count("thoughtsTokenCount"));
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    draft.tokens = TokenUsage {
        input: sum(prompt, tools.filter(|_| prompt.is_some())).or(known.input),
        cached_input: count("cachedContentTokenCount").or(known.cached_input),
        cache_write: None,
        output: sum(answer, thoughts).or(known.output),
        reasoning_output: thoughts.or(known.reasoning_output),
    };
}
