//! Classifies error responses of services.
//!
//! Providers have no common format: statuses, codes, types and messages are evaluated together. Where only the
//! message tells (a prompt that is too long, a wrong key under status 400), it is matched in lower case against
//! messages that providers documented or were recorded to send.
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::html_tags::strip_tags;
use crate::json::list_field;
use crate::retry_after;
use crate::retry_after::ResponseHeaders;
use ibid_core::{Error, ErrorKind, FailureReason};

/// Maximum quoted length of a server's message, in characters.
const MAX_QUOTED_CHARS: usize = 300;

/// A failed call to a service. Contains neither the key nor the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceError {
    /// What the caller should do. `Malformed` is a request that this model does not accept (too long, an unsupported
    /// parameter or schema, a filter). What a model accepts is only known by trying, so this is not a bug; the step
    /// continues without the answer.
    pub kind: ErrorKind,
    /// The HTTP status, or the status named in the message.
    pub status: Option<u16>,
    /// The delay that the provider asks for.
    pub retry_after: Option<Duration>,
    /// The provider's error code.
    pub code: Option<String>,
    /// The provider's message, at most 300 characters.
    pub message: String,
    /// Why the service refused, if that decides what is tried next.
    pub reason: Option<FailureReason>,
    /// The request is known not to have reached the provider, so it is not billed.
    pub unsent: bool,
}

impl ServiceError {
    fn new(kind: ErrorKind, message: impl Into<String>) -> ServiceError {
        ServiceError {
            kind,
            status: None,
            retry_after: None,
            code: None,
            message: message.into(),
            reason: None,
            unsent: false,
        }
    }

    /// A response that cannot be used.
    pub fn malformed(message: impl Into<String>) -> ServiceError {
        ServiceError::new(ErrorKind::Malformed, message)
    }

    /// A temporary error, such as a lost connection.
    pub fn transient(message: impl Into<String>) -> ServiceError {
        ServiceError::new(ErrorKind::Transient, message)
    }

    /// The provider's rate limit was reached.
    pub fn rate_limited(message: impl Into<String>) -> ServiceError {
        ServiceError { reason: Some(FailureReason::Overloaded), ..ServiceError::transient(message) }
    }

    /// An error that only the operator can fix.
    pub fn setup(message: impl Into<String>) -> ServiceError {
        ServiceError::new(ErrorKind::Setup, message)
    }

    /// A response that broke off.
    pub fn truncated() -> ServiceError {
        ServiceError::transient("the response was cut off")
    }

    /// Classifies a plain-text error, in a stream or with `status`.
    pub fn from_text(status: Option<u16>, words: &str) -> ServiceError {
        build(status, &[], words, &ResponseHeaders::default(), None)
    }

    /// Classifies an error response.
    pub fn from_response(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ServiceError {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) => ServiceError::from_json(Some(status), headers, &value),
            Err(_) => build(Some(status), &[], &strip_tags(&text), headers, None),
        }
    }

    /// Classifies an error in JSON, in any provider's format.
    pub fn from_json(
        status: Option<u16>,
        headers: &ResponseHeaders,
        value: &Value,
    ) -> ServiceError {
        // Gemini answers with an array where an array was expected.
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(error) if !error.is_null() => error,
            _ => value,
        };
        let word = |value: &Value| match value {
            Value::String(word) if !word.is_empty() => Some(word.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let field = |name: &str| error.get(name).or_else(|| value.get(name)).and_then(word);
        // Most specific first: Google says 400 in `code` and the reason in `details`.
        let reason =
            list_field(error, "details").iter().find_map(|it| it.get("reason").and_then(word));
        let inner = error.pointer("/innererror/code").and_then(word);
        let codes = [reason, inner, field("code"), field("type"), field("status")];
        let numbers = [
            field("code"),
            field("status"),
            field("raw_status_code"),
            field("statusCode"),
            field("status_code"),
        ];
        let named = numbers
            .iter()
            .flatten()
            .filter_map(|number| number.parse().ok())
            .find(|it| (400..600).contains(it));
        // Under a success status, the status in the message counts.
        let status = status.filter(|status| *status >= 300).or(named);
        let codes: Vec<String> = codes
            .into_iter()
            .flatten()
            .filter(|code| code.parse::<u64>().is_err() && code != "error")
            .collect();
        build(status, &codes, &message_text(error, value), headers, Some(error))
    }

    /// Converts this into an error that occurred while `doing` something.
    pub fn into_error(self, doing: impl Into<String>) -> Error {
        let error = Error::new(self.kind, doing);
        let error = match self.reason.clone() {
            Some(reason) => error.with_reason(reason),
            None => error,
        };
        error.with_status(self.status).with_source(self)
    }

    /// Returns the service error inside `error`, if any.
    pub fn find_in(error: &Error) -> Option<&ServiceError> {
        std::error::Error::source(error)?.downcast_ref()
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, "status {status}: ")?;
        }
        if let Some(code) = &self.code {
            write!(f, "{code}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {}

/// Cuts `text` to `most` characters, with an ellipsis if it was longer.
pub fn truncate(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn build(
    status: Option<u16>,
    codes: &[String],
    message: &str,
    headers: &ResponseHeaders,
    error: Option<&Value>,
) -> ServiceError {
    let lower = message.to_lowercase();
    let verdict = classify(status, &codes.join(" ").to_lowercase(), &lower, error);
    let is_temporary = matches!(verdict, ErrorClass::Later | ErrorClass::Overloaded);
    let wait = retry_after::requested_wait(headers, error, &lower).filter(|_| is_temporary);
    ServiceError {
        kind: match verdict {
            ErrorClass::Quota | ErrorClass::Key | ErrorClass::Operator => ErrorKind::Setup,
            ErrorClass::Overloaded | ErrorClass::Later => ErrorKind::Transient,
            ErrorClass::TooLong | ErrorClass::Filtered | ErrorClass::Refused => {
                ErrorKind::Malformed
            }
        },
        status,
        retry_after: wait,
        code: codes.first().cloned(),
        message: match truncate(message, MAX_QUOTED_CHARS) {
            it if it.is_empty() => "no message".to_owned(),
            it => it,
        },
        reason: match verdict {
            ErrorClass::Quota => Some(FailureReason::Quota),
            ErrorClass::Key => Some(FailureReason::Key),
            ErrorClass::Overloaded => Some(FailureReason::Overloaded),
            ErrorClass::TooLong => {
                Some(FailureReason::PromptTooLong { window: named_window(&lower) })
            }
            ErrorClass::Filtered => Some(FailureReason::Declined),
            ErrorClass::Refused => {
                refused_parameter(status, error, message).map(FailureReason::RefusedParameter)
            }
            ErrorClass::Operator | ErrorClass::Later => None,
        },
        unsent: false,
    }
}

#[derive(PartialEq, Clone, Copy)]
enum ErrorClass {
    Quota,
    Key,
    Operator,
    Overloaded,
    Later,
    TooLong,
    Filtered,
    Refused,
}

const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context_window",
    "context window",
    "context size",
    "maximum context",
    "exceed_context",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "input token count",
    "maximum number of tokens allowed",
    "too many input tokens",
    "too many tokens: size limit",
    "too many tokens in",
    "tokens in the prompt cannot exceed",
    "reduce the length of the",
    "reduce your message size",
    "request_too_large",
    "request too large",
    "string_above_max_length",
    "exceeds the limit of tokens",
    "maximum prompt length",
];
const FILTERED: &[&str] = &[
    "content_filter",
    "content filter",
    "content_policy",
    "content policy",
    "responsibleai",
    "content management policy",
    "requires moderation",
    "flagged",
    "safety_violation",
    "content_moderation",
    "data_inspection_failed",
    "output blocked",
];
const CREDIT: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "insufficient_credits",
    "credit balance",
    "billing_hard_limit",
    "payment required",
    "out of credits",
    "requires more credits",
    "spending limit",
    "usage limit has been reached",
    "api usage limits",
];
const KEY: &[&str] = &[
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "api_key_invalid",
    "api key is invalid",
    "api key expired",
    "missing api key",
    "no api key",
    "invalid x-api-key",
    "invalid authentication",
    "authentication_error",
    "unauthenticated",
    "unauthorized",
    "permission_error",
    "permission_denied",
    "permission denied",
    "does not have access",
];
const MODEL: &[&str] = &[
    "model_not_found",
    "not_found_error",
    "model not found",
    "not a valid model",
    "unknown model",
    "invalid model",
    "invalid_model",
    "unknown_model",
    "model does not exist",
    "model not exist",
    "is not found for api version",
    "model_not_available",
    "no endpoints found",
    "deploymentnotfound",
    "model_decommissioned",
    "has been decommissioned",
    "model_not_supported",
];
const LATER: &[&str] = &[
    "overloaded",
    "rate_limit",
    "rate limit",
    "resource_exhausted",
    "too many requests",
    "server_error",
    "internal_error",
    "internal server error",
    "api_error",
    "timeout",
    "timed out",
    "unavailable",
    "deadline_exceeded",
    "engine_overloaded",
    "at capacity",
    "try again",
    "model is loading",
    "currently loading",
];

fn classify(status: Option<u16>, codes: &str, lower: &str, error: Option<&Value>) -> ErrorClass {
    let any =
        |words: &[&str]| words.iter().any(|word| codes.contains(word) || lower.contains(word));
    let is_google_wait = codes.contains("resource_exhausted") || error.is_some_and(has_retry_info);
    // Outages first: their messages may contain any text.
    if matches!(status, Some(503 | 529)) {
        return ErrorClass::Overloaded;
    }
    if matches!(status, Some(408 | 409 | 423 | 425 | 498))
        || matches!(status, Some(it) if it >= 500 && it != 501)
    {
        return ErrorClass::Later;
    }
    // Before the others, because messages about a missing model often match them too.
    let names_model = any(MODEL)
        || lower.contains("model")
            && (lower.contains("does not exist") || lower.contains("not found"));
    match status {
        Some(413) => ErrorClass::TooLong,
        _ if any(TOO_LONG) && status.is_none_or(|status| status != 401) => ErrorClass::TooLong,
        Some(451) => ErrorClass::Filtered,
        _ if any(FILTERED) => ErrorClass::Filtered,
        // OpenRouter holds credit back for calls in flight; it is free again when they end.
        Some(402) if error.is_some_and(is_credit_in_flight) => ErrorClass::Overloaded,
        Some(402) => ErrorClass::Quota,
        _ if any(CREDIT) && !is_google_wait => ErrorClass::Quota,
        Some(429) if lower.contains("exceeded your current quota") && !is_google_wait => {
            ErrorClass::Quota
        }
        Some(429) => ErrorClass::Overloaded,
        // Under 429, the word is part of advice to pay for a higher limit.
        _ if any(&["billing"]) => ErrorClass::Quota,
        Some(401 | 403) => ErrorClass::Key,
        Some(300..=399 | 404 | 405 | 407 | 410 | 501) => ErrorClass::Operator,
        _ if names_model => ErrorClass::Operator,
        _ if any(KEY) => ErrorClass::Key,
        Some(_) if any(&["rate_limit", "overloaded"]) => ErrorClass::Overloaded,
        // Groq refuses what the model wrote, not the request; the next answer may be well formed.
        Some(400) if any(&["json_validate_failed", "tool_use_failed"]) => ErrorClass::Later,
        None if any(&["rate_limit", "rate limit", "overloaded"]) => ErrorClass::Overloaded,
        Some(_) => ErrorClass::Refused,
        None if any(LATER) => ErrorClass::Later,
        None if any(&["invalid", "unsupported", "bad_request", "bad request"]) => {
            ErrorClass::Refused
        }
        // An unclassified error after a successful start is worth a retry.
        None if codes.is_empty() || codes.contains("unknown") => ErrorClass::Later,
        None => ErrorClass::Refused,
    }
}

/// The context window in a message such as `maximum context length is 8192 tokens`, which names the tokens of the prompt, too.
fn named_window(lower: &str) -> Option<u32> {
    const BEFORE: &[&str] = &[
        "maximum context length is ",
        "maximum context length of ",
        "context window of ",
        "context length is only ",
        "context length of ",
        "maximum prompt length is ",
        "configured limit of ",
        "tokens in the prompt cannot exceed ",
        "context size (",
        "n_ctx: ",
        "maximum: ",
        "tokens > ",
        "exceeds the maximum number of tokens allowed (",
    ];
    BEFORE.iter().find_map(|before| {
        let (_, after) = lower.split_once(before)?;
        let digits: String = after
            .chars()
            .take_while(|it| it.is_ascii_digit() || *it == ',')
            .filter(char::is_ascii_digit)
            .collect();
        digits.parse().ok().filter(|tokens| *tokens >= 256)
    })
}

/// The parameters of requests that some models refuse, in lower case.
const PARAMETERS: &[&str] = &[
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "maxoutputtokens",
    "num_predict",
    "temperature",
    "response_format",
    "responsejsonschema",
    "responseformat",
    "response_schema",
    "output_config",
    "output_format",
    "json_schema",
    "text.format",
    "structured output",
    "tool_choice",
    "reasoning_effort",
    "reasoning.effort",
    "reasoningeffort",
    "reasoning",
    "effort",
    "thinking_budget",
    "thinkingconfig",
    "thinking_config",
    "thinkinglevel",
    "thinking",
    "think",
    "stream_options",
    "stop_sequences",
    "stop",
    "schema",
];

/// The parameter that a model does not accept, from the field that names it, or else from the message.
fn refused_parameter(status: Option<u16>, error: Option<&Value>, message: &str) -> Option<String> {
    if !matches!(status, None | Some(400 | 404 | 422)) {
        return None;
    }
    let named = error.and_then(|error| error.get("param")).and_then(Value::as_str);
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return Some(truncate(named, 60));
    }
    let lower = message.to_lowercase();
    let is_refusal = [
        "not support",
        "unsupported",
        "deprecated",
        "does not accept",
        "not accept",
        "not allowed",
        "unknown name",
        "unrecognized",
        "unexpected keyword",
        "extra inputs",
        "extra fields",
        "not permitted",
        "cannot be used",
        "must be set to 1",
        "may only be",
        "is not available",
        "unknown field",
        "unknown parameter",
        "invalid parameter",
        "not enabled",
        "no longer",
        "is invalid",
        "must be one of",
        "too complex",
        "too many states",
    ]
    .iter()
    .any(|phrase| lower.contains(phrase));
    is_refusal.then(|| first_parameter(&lower)).flatten().map(str::to_owned)
}

/// The parameter that the message names first: what it names later is often advice. A name inside another word is not
/// counted, such as the end of the model's name `grok-4-fast-reasoning`.
fn first_parameter(lower: &str) -> Option<&'static str> {
    let place = |name: &str| {
        let mut places = lower.match_indices(name).map(|found| found.0);
        places.find(|at| {
            let before = lower[..*at].chars().next_back();
            !before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '-' | ':' | '/'))
        })
    };
    let named = PARAMETERS.iter().filter_map(|name| Some((place(name)?, *name)));
    named.min_by_key(|(at, name)| (*at, std::cmp::Reverse(name.len()))).map(|pair| pair.1)
}

/// Whether credit lacks only because other calls are in flight.
fn is_credit_in_flight(error: &Value) -> bool {
    let source = error.pointer("/metadata/limit_source").and_then(Value::as_str);
    source == Some("openrouter_in_flight_budget")
}

fn has_retry_info(error: &Value) -> bool {
    list_field(error, "details").iter().any(|it| it.get("retryDelay").is_some())
}

/// The provider's message.
fn message_text(error: &Value, value: &Value) -> String {
    // A gateway's own message may be less specific than the one it forwards.
    let passed_on =
        error.pointer("/metadata/raw").and_then(Value::as_str).map(
            |raw| match serde_json::from_str::<Value>(raw) {
                Ok(inner) => message_text(inner.get("error").unwrap_or(&inner), &inner),
                Err(_) => strip_tags(raw),
            },
        );
    let message = [
        error.as_str(),
        error.get("message").and_then(Value::as_str),
        value.get("message").and_then(Value::as_str),
        value.get("detail").and_then(Value::as_str),
        error.get("msg").and_then(Value::as_str),
        value.get("Message").and_then(Value::as_str),
    ];
    let message = message.into_iter().flatten().find(|it| !it.is_empty());
    // A message may be JSON that quotes the request; only its own text is used.
    let inner = message.filter(|it| it.starts_with('{'));
    if let Some(Value::Object(inner)) = inner.and_then(|inner| serde_json::from_str(inner).ok()) {
        let inner = Value::Object(inner);
        return message_text(inner.get("error").unwrap_or(&inner), &inner);
    }
    match (message, passed_on) {
        (Some(message), Some(raw)) if !raw.is_empty() => format!("{message}: {raw}"),
        (Some(message), _) => message.to_owned(),
        (None, Some(raw)) => raw,
        // FastAPI and Mistral list the errors of each field.
        (None, None) => {
            let places = [
                error.pointer("/message/detail"),
                value.get("detail"),
                error.get("detail"),
                error.get("message"),
            ];
            let fields = places.into_iter().flatten().find_map(Value::as_array);
            let fields = fields.into_iter().flatten();
            let messages = fields.filter_map(|field| {
                Some(format!("{}: {}", place(field), field.get("msg")?.as_str()?))
            });
            messages.collect::<Vec<_>>().join("; ")
        }
    }
}

fn place(it: &Value) -> String {
    let parts = list_field(it, "loc").iter().map(|it| match it {
        Value::String(it) => it.clone(),
        it => it.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}
