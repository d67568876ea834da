//! What goes out, as plain parts: a path, headers without the key, a JSON body.
use serde_json::{Value, json};

use crate::seams::{Message, Prompt, Role};

/// A request without host and key.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// What follows the base URL, with its query.
    pub path: String,
    /// Headers besides the key and the content type.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Outgoing {
    pub(super) fn new(path: impl Into<String>, body: Value) -> Outgoing {
        Outgoing {
            path: path.into(),
            headers: Vec::new(),
            body,
        }
    }
}

/// How a model at a provider wants to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The provider's name for the model.
    pub model: String,
    /// How it takes a JSON schema.
    pub schemas: Schemas,
    /// What it calls the bound on tokens.
    pub limit: LimitField,
    /// Whether tokens of a stream must be asked for. Mistral counts unasked, and refuses to be asked.
    pub ask_usage: bool,
}

impl ModelSettings {
    /// Settings for `model` where the dialect's own ways hold.
    pub fn plain(model: impl Into<String>) -> ModelSettings {
        ModelSettings {
            model: model.into(),
            schemas: Schemas::Native,
            limit: LimitField::MaxTokens,
            ask_usage: true,
        }
    }

    /// The temperature to ask for. OpenAI's reasoning models refuse any, so none is sent to them.
    pub(super) fn temperature(&self, prompt: &Prompt) -> Option<Value> {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        let reasons = ["o1", "o3", "o4", "gpt-5"]
            .iter()
            .any(|it| name.starts_with(it));
        let refuses = reasons && !name.contains("chat");
        // By way of its text: 0.2 as a float of half the size would go out as 0.20000000298.
        let exact = prompt.temperature?.to_string().parse::<f64>().ok()?;
        (!refuses).then(|| exact.into())
    }
}

/// How a provider is asked for an answer of a given shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schemas {
    /// It holds the model to a schema.
    Native,
    /// It holds the model to JSON; the schema stands in the prompt.
    JsonMode,
    /// The model must call a tool whose arguments have the schema.
    Tool,
    /// It does neither; the schema stands in the prompt.
    Prompted,
}

/// The name of the bound on tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// The system text; where the provider takes no schema, with the schema in words.
pub(super) fn system_asking_for(prompt: &Prompt, settings: &ModelSettings) -> Option<String> {
    let wanted = prompt.schema.as_ref().and_then(|it| match settings.schemas {
        Schemas::Native | Schemas::Tool => None,
        Schemas::JsonMode | Schemas::Prompted => Some(format!(
            "Answer with one JSON object that fits this JSON schema, and with nothing else:\n{}",
            it.json
        )),
    });
    match (&prompt.system, wanted) {
        (Some(system), Some(wanted)) => Some(format!("{system}\n\n{wanted}")),
        (system, wanted) => system.clone().or(wanted),
    }
}

/// The turns of `prompt` as nearly every dialect writes them.
pub(super) fn turns(prompt: &Prompt) -> Vec<Value> {
    let turn = |it: &Message| {
        let role = match it.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": it.text})
    };
    prompt.messages.iter().map(turn).collect()
}

/// The same after the system text, which many dialects take as a turn of its own.
pub(super) fn turns_after_system(prompt: &Prompt, settings: &ModelSettings) -> Vec<Value> {
    let system = system_asking_for(prompt, settings);
    let system = system.map(|it| json!({"role": "system", "content": it}));
    system.into_iter().chain(turns(prompt)).collect()
}

/// Whether OpenAI's strict mode takes `schema`: each object closed, each property required.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = match fields.get("properties") {
                Some(Value::Object(properties)) => {
                    let required = fields.get("required").and_then(Value::as_array);
                    let is_required =
                        |name: &String| required.is_some_and(|it| it.iter().any(|it| it == name));
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

/// `schema` with each object closed and without the keywords named in `without`.
pub(super) fn closed(schema: &Value, without: &[&str]) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut out = serde_json::Map::new();
            for (name, value) in fields {
                let value = match (name.as_str(), value) {
                    // These hold names of the author's, which are no keywords.
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => named
                        .iter()
                        .map(|(name, it)| (name.clone(), closed(it, without)))
                        .collect(),
                    ("enum" | "const" | "required" | "default", value) => value.clone(),
                    (name, _) if without.contains(&name) => continue,
                    (_, value) => closed(value, without),
                };
                out.insert(name.clone(), value);
            }
            if out.get("type") == Some(&json!("object")) {
                out.insert("additionalProperties".to_owned(), false.into());
            }
            Value::Object(out)
        }
        Value::Array(all) => all.iter().map(|it| closed(it, without)).collect(),
        other => other.clone(),
    }
}
