//! Requests as plain data: a path, headers without the key, a JSON body.
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::capabilities::{ModelCapabilities, Parameter, Reasoning, SchemaMode};
use ibid_core::domain::ReasoningEffort;
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
    /// How its reasoning is controlled; `None` if unknown, and then no effort is sent.
    pub reasoning: Option<Reasoning>,
    /// The words of effort that it accepts, lowest first.
    pub efforts: Vec<String>,
    /// The word of effort that holds if none is sent.
    pub default_effort: Option<String>,
    /// Parameters that must not be sent.
    pub refuses: BTreeSet<Parameter>,
    /// Parameters that must not be sent while it reasons.
    pub refuses_thinking: BTreeSet<Parameter>,
}

impl ModelSettings {
    /// Creates the dialect's default settings for `model`.
    pub fn new(model: impl Into<String>) -> ModelSettings {
        ModelSettings {
            model: model.into(),
            schemas: SchemaMode::Native,
            limit: LimitField::MaxTokens,
            ask_usage: true,
            reasoning: None,
            efforts: Vec::new(),
            default_effort: None,
            refuses: BTreeSet::new(),
            refuses_thinking: BTreeSet::new(),
        }
    }

    /// The settings with what is known of the model.
    #[must_use]
    pub(crate) fn with_capabilities(self, known: &ModelCapabilities) -> ModelSettings {
        let refuses_schemas = known.refuses.contains(&Parameter::Schema);
        let schemas = if refuses_schemas { SchemaMode::Prompted } else { self.schemas };
        ModelSettings {
            schemas: known.schemas.unwrap_or(schemas),
            reasoning: known.reasoning,
            efforts: known.efforts.clone(),
            default_effort: known.default_effort.clone(),
            refuses: known.refuses.iter().copied().collect(),
            refuses_thinking: known.refuses_thinking.iter().copied().collect(),
            ..self
        }
    }

    fn accepts(&self, parameter: Parameter, prompt: &Prompt) -> bool {
        let reasons = || match (self.effort(prompt).as_deref(), self.reasoning) {
            (Some("none"), _) | (_, Some(Reasoning::None)) => false,
            (Some(_), _) => true,
            (None, _) => self.default_effort.as_deref() != Some("none"),
        };
        !(self.refuses.contains(&parameter)
            || self.refuses_thinking.contains(&parameter) && reasons())
    }

    /// The word of effort to send, if any: the prompt's, or else the next lower one that the model accepts, or else
    /// its lowest.
    pub(super) fn effort(&self, prompt: &Prompt) -> Option<String> {
        let wanted = prompt.effort?;
        if self.refuses.contains(&Parameter::Effort) {
            return None;
        }
        let rank = |word: &str| EFFORTS.iter().position(|it| *it == word);
        let most = rank(wanted.as_str())?;
        let mut known: Vec<&String> = self.efforts.iter().filter(|it| rank(it).is_some()).collect();
        known.sort_by_key(|word| rank(word));
        // `none` only where no effort at all is wanted: a little reasoning is what makes these models right.
        let lowest_useful = known.iter().find(|word| *word.as_str() != *"none" || most == 0);
        let below = known.iter().rfind(|word| {
            rank(word).is_some_and(|at| at <= most) && (word.as_str() != "none" || most == 0)
        });
        below.or(lowest_useful).map(|word| (*word).clone())
    }

    /// How much `prompt` asks the model to reason, if that is known.
    pub(super) fn asked_effort(&self, prompt: &Prompt) -> Option<ReasoningEffort> {
        let can_be_set = self.reasoning.is_some_and(Reasoning::can_be_set);
        prompt.effort.filter(|_| can_be_set && !self.refuses.contains(&Parameter::Effort))
    }

    /// Whether the model should be told to reason; `None` to leave it as it is.
    pub(super) fn toggle(&self, prompt: &Prompt) -> Option<bool> {
        let is_toggle = self.reasoning == Some(Reasoning::Toggle);
        let wanted = prompt.effort.filter(|_| is_toggle && self.accepts(Parameter::Effort, prompt));
        wanted.map(|effort| effort > ReasoningEffort::Low)
    }

    /// The token limit to send, if any.
    pub(super) fn max_tokens(&self, prompt: &Prompt) -> Option<u32> {
        prompt.max_tokens.filter(|_| !self.refuses.contains(&Parameter::MaxTokens))
    }

    /// The stop sequences to send.
    pub(super) fn stop<'a>(&self, prompt: &'a Prompt) -> &'a [String] {
        if self.accepts(Parameter::Stop, prompt) { &prompt.stop } else { &[] }
    }

    /// The temperature to send, if any.
    pub(super) fn temperature(&self, prompt: &Prompt) -> Option<Value> {
        // Converted through text: as a float, 0.2 would be sent as 0.20000000298.
        let exact = prompt.temperature?.to_string().parse::<f64>().ok()?;
        self.accepts(Parameter::Temperature, prompt).then(|| exact.into())
    }
}

/// All words of effort of all providers, lowest first.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

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
            // Readers of prompt templates take `}}` for an escaped brace.
            schema.json.to_string().replace("}}", "} }").replace("}}", "} }")
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
