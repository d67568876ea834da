//! Which part of the program a recorded row belongs to: by its interface and path, and where the path was left out, by
//! the shape of its answer.
use ibid_llm::Dialect;
use serde_json::Value;

/// What reads a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RecordedRoute {
    /// A completion in this dialect.
    Chat(Dialect),
    /// Embeddings.
    Embeddings,
    /// A list of models.
    Models,
    /// Scores of a reranker.
    Scores,
    /// An endpoint of a known service that Ibid does not call: a well-formed answer, or a classified error.
    Other,
    /// No adapter yet.
    None,
}

/// Providers that have an adapter; a recording's name begins with one of these.
const KNOWN: &[(&str, Dialect)] = &[
    ("openai-responses", Dialect::OpenAiResponses),
    ("open-responses", Dialect::OpenAiResponses),
    ("openai", Dialect::OpenAiChat),
    ("azure", Dialect::OpenAiChat),
    ("anthropic", Dialect::Anthropic),
    ("gemini", Dialect::Gemini),
    ("google", Dialect::Gemini),
    ("vertex", Dialect::Gemini),
    ("ollama", Dialect::Ollama),
    ("cohere", Dialect::Cohere),
    ("groq", Dialect::OpenAiChat),
    ("deepseek", Dialect::OpenAiChat),
    ("mistral", Dialect::OpenAiChat),
    ("xai", Dialect::OpenAiChat),
    ("openrouter", Dialect::OpenAiChat),
    ("perplexity", Dialect::OpenAiChat),
    ("llamacpp", Dialect::OpenAiChat),
    ("vllm", Dialect::OpenAiChat),
    ("lmstudio", Dialect::OpenAiChat),
    ("together", Dialect::OpenAiChat),
    ("fireworks", Dialect::OpenAiChat),
];

/// Catalogues that have an adapter. Rows that reach this module are of endpoints that the adapter does not call.
const CATALOGUES: &[&str] =
    &["crossref", "doi-content-negotiation", "openalex", "pubmed", "semanticscholar", "wikipedia"];

/// The route of a row with these `values` in its answer.
pub(super) fn of(row: &Value, values: &[Value]) -> RecordedRoute {
    let api = row.get("api").and_then(Value::as_str).unwrap_or_default();
    let api = api.trim_start_matches("fixture-");
    if CATALOGUES.iter().any(|name| api.starts_with(name)) {
        return RecordedRoute::Other;
    }
    let Some((_, usual)) = KNOWN.iter().find(|pair| api.starts_with(pair.0)) else {
        return RecordedRoute::None;
    };
    let url = row.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
    let method = row.pointer("/request/method").and_then(Value::as_str).unwrap_or_default();
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |parts| parts.1);
    let path = path.split_once('/').map_or("", |parts| parts.1).trim_end_matches('/');
    if path.is_empty() {
        return by_shape(values, *usual);
    }
    by_path(path, method, *usual, values)
}

fn by_path(path: &str, method: &str, usual: Dialect, values: &[Value]) -> RecordedRoute {
    let ends = |all: &[&str]| all.iter().any(|text| path.ends_with(text));
    if ends(&["embeddings", "api/embed", "/embed", ":embedContent", ":batchEmbedContents"]) {
        return RecordedRoute::Embeddings;
    }
    if ends(&["rerank"]) {
        return RecordedRoute::Scores;
    }
    match method {
        "GET" if ends(&["/models", "api/tags"]) || path == "models" => RecordedRoute::Models,
        "POST" if ends(&["/completions"]) || path == "completions" => {
            RecordedRoute::Chat(Dialect::OpenAiChat)
        }
        "POST" if ends(&[":generateContent", ":streamGenerateContent"]) => {
            RecordedRoute::Chat(Dialect::Gemini)
        }
        "POST" if ends(&["api/chat", "api/generate"]) => RecordedRoute::Chat(Dialect::Ollama),
        "POST" if usual == Dialect::Cohere && ends(&["v2/chat", "v1/chat"]) => {
            RecordedRoute::Chat(Dialect::Cohere)
        }
        "POST" if usual == Dialect::Anthropic && ends(&["v1/messages"]) => {
            RecordedRoute::Chat(Dialect::Anthropic)
        }
        "POST" if ends(&["/responses"]) || path == "responses" => {
            RecordedRoute::Chat(Dialect::OpenAiResponses)
        }
        // One that is fetched later has the same form.
        "GET" if path.contains("responses/") => match by_shape(values, Dialect::OpenAiResponses) {
            found @ RecordedRoute::Chat(_) => found,
            _ => RecordedRoute::Other,
        },
        _ => RecordedRoute::Other,
    }
}

/// What the first value with a telling field is.
fn by_shape(values: &[Value], usual: Dialect) -> RecordedRoute {
    // A spoken session has events of the same names.
    let is_session = |value: &Value| {
        value.pointer("/type").is_some_and(|pointer| {
            pointer.as_str().is_some_and(|text| text.starts_with("session."))
        })
    };
    if values.iter().any(is_session) {
        return RecordedRoute::Other;
    }
    for value in values {
        let has = |name: &str| value.get(name).is_some();
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        let object = value.get("object").and_then(Value::as_str).unwrap_or_default();
        if object == "response" || kind.starts_with("response.") {
            return RecordedRoute::Chat(Dialect::OpenAiResponses);
        }
        if has("choices") {
            return RecordedRoute::Chat(Dialect::OpenAiChat);
        }
        if kind == "message_start" || kind == "message" && has("content") {
            return RecordedRoute::Chat(Dialect::Anthropic);
        }
        if has("candidates") || has("promptFeedback") {
            return RecordedRoute::Chat(Dialect::Gemini);
        }
        if has("done") {
            return RecordedRoute::Chat(Dialect::Ollama);
        }
        if usual == Dialect::Cohere && (has("message") || kind == "message-start") {
            return RecordedRoute::Chat(Dialect::Cohere);
        }
        if has("embeddings") || has("embedding") || value.pointer("/data/0/embedding").is_some() {
            return RecordedRoute::Embeddings;
        }
        if value.pointer("/results/0/relevance_score").is_some() {
            return RecordedRoute::Scores;
        }
        // An error is told in the provider's usual dialect.
        let error = value.get("error").is_some_and(|value| !value.is_null());
        if error || kind == "error" || object == "error" {
            return RecordedRoute::Chat(usual);
        }
    }
    RecordedRoute::Other
}
