//! Requests as plain data: a path, headers without the key, a JSON body.
use serde_json::{Value, json};

use ibid_core::ports::{ChatMessage, Prompt, Role};

/// A request without host and key.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The path after the base URL, with its query.
    pub path: String,
    /// Headers besides the key and the content type.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl ModelRequest {
    pub(super) fn new(path: impl Into<String>, body: Value) -> ModelRequest {
        ModelRequest { path: path.into(), headers: Vec::new(), body }
    }
}

/// How requests to a model are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The provider's name for the model.
    pub model: String,
    /// How it accepts a JSON schema.
    pub schemas: SchemaMode,
    /// Its name for the token limit.
    pub limit: LimitField,
    /// Whether token counts of a stream must be requested. Mistral sends them anyway and rejects the request for
    /// them.
    pub ask_usage: bool,
}

impl ModelSettings {
    /// Creates the dialect's default settings for `model`.
    pub fn new(model: impl Into<String>) -> ModelSettings {
        ModelSettings {
            model: model.into(),
            schemas: SchemaMode::Native,
            limit: LimitField::MaxTokens,
            ask_usage: true,
        }
    }

    /// The temperature to send. OpenAI's reasoning models reject it, so none is sent to them.
    pub(super) fn temperature(&self, prompt: &Prompt) -> Option<Value> {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        let reasons = ["o1", "o3", "o4", "gpt-5"].iter().any(|prefix| name.starts_with(prefix));
        let refuses = reasons && !name.contains("chat");
        // Converted through text: as a float, 0.2 would be sent as 0.20000000298.
        let exact = prompt.temperature?.to_string().parse::<f64>().ok()?;
        (!refuses).then(|| exact.into())
    }
}

/// How a provider is asked for structured output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// The provider enforces the schema.
    Native,
    /// The provider enforces JSON; the schema is part of the prompt.
    JsonMode,
    /// The model must call a tool whose arguments have the schema.
    Tool,
    /// Nothing is enforced; the schema is part of the prompt.
    Prompted,
}

/// The name of the token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    MaxCompletionTokens,
}

/// The system prompt, with the schema in words if the provider does not accept schemas.
pub(super) fn system_with_schema(prompt: &Prompt, settings: &ModelSettings) -> Option<String> {
    let wanted = prompt.schema.as_ref().and_then(|schema| match settings.schemas {
        SchemaMode::Native | SchemaMode::Tool => None,
        SchemaMode::JsonMode | SchemaMode::Prompted => Some(format!(
            "Answer with one JSON object that fits this JSON schema, and with nothing else:\n{}",
            schema.json
        )),
    });
    match (&prompt.system, wanted) {
        (Some(system), Some(wanted)) => Some(format!("{system}\n\n{wanted}")),
        (system, wanted) => system.clone().or(wanted),
    }
}

/// The messages of `prompt` in the format that nearly all dialects share.
pub(super) fn messages(prompt: &Prompt) -> Vec<Value> {
    let turn = |message: &ChatMessage| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": message.text})
    };
    prompt.messages.iter().map(turn).collect()
}

/// The messages, with the system prompt as the first one.
pub(super) fn messages_with_system(prompt: &Prompt, settings: &ModelSettings) -> Vec<Value> {
    let system = system_with_schema(prompt, settings);
    let system = system.map(|system| json!({"role": "system", "content": system}));
    system.into_iter().chain(messages(prompt)).collect()
}

/// Whether OpenAI's strict mode accepts `schema`: every object is closed and every property required.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = match fields.get("properties") {
                Some(Value::Object(properties)) => {
                    let required = fields.get("required").and_then(Value::as_array);
                    let is_required = |name: &String| {
                        required.is_some_and(|required| required.iter().any(|it| it == name))
                    };
                    fields.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(is_required)
                }
                _ => fields.get("type") != Some(&json!("object")),
            };
            closed && fields.values().all(is_strict)
        }
        Value::Array(all) => all.iter().all(is_strict),
        _ => true,
    }
}

/// Returns `schema` with every object closed and without the keywords in `without`.
pub(super) fn close_schema(schema: &Value, without: &[&str]) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut out = serde_json::Map::new();
            for (name, value) in fields {
                let value = match (name.as_str(), value) {
                    // The keys of these are names chosen by the author, not keywords.
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => named
                        .iter()
                        .map(|(name, it)| (name.clone(), close_schema(it, without)))
                        .collect(),
                    ("enum" | "const" | "required" | "default", value) => value.clone(),
                    (name, _) if without.contains(&name) => continue,
                    (_, value) => close_schema(value, without),
                };
                out.insert(name.clone(), value);
            }
            if out.get("type") == Some(&json!("object")) {
                out.insert("additionalProperties".to_owned(), false.into());
            }
            Value::Object(out)
        }
        Value::Array(all) => all.iter().map(|it| close_schema(it, without)).collect(),
        other => other.clone(),
    }
}
