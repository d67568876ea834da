//! What a provider says when it will not answer, and what the caller should do about it.
//!
//! Providers agree on nothing here: statuses, codes, types and words are read together. Where only the words tell (a
//! prompt that is too long, a key that is wrong under status 400), they are matched in lower case against what the
//! providers documented or were recorded to say.
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::retry_after::{self, Headers};
use crate::error::{Error, Kind};
use crate::seams::TooLong;

/// The most characters of a server's message that are quoted.
const QUOTED: usize = 300;

/// A call that did not give a completion. Holds neither the key nor the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFault {
    /// What the caller should do. `Malformed` is a request that this model will not take (too long, a parameter or
    /// schema it does not know, a filter): which requests a model takes is known only by asking, so it is no fault of
    /// the program, and the step goes on without the answer.
    pub kind: Kind,
    /// The HTTP status, or the one that the message itself names.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's own word for the fault.
    pub code: Option<String>,
    /// What the provider said, at most 300 characters.
    pub message: String,
    /// The prompt is longer than the model can take: a shorter one may pass.
    pub context_too_long: bool,
    /// A filter held the prompt or the answer back: the same words will not pass.
    pub filtered: bool,
    /// The request is known never to have reached the provider, so that it is not billed.
    pub unsent: bool,
}

impl ModelFault {
    fn new(kind: Kind, message: impl Into<String>) -> ModelFault {
        ModelFault {
            kind,
            status: None,
            retry_after: None,
            code: None,
            message: message.into(),
            context_too_long: false,
            filtered: false,
            unsent: false,
        }
    }

    /// An answer that cannot be used.
    pub fn malformed(message: impl Into<String>) -> ModelFault {
        ModelFault::new(Kind::Malformed, message)
    }

    /// A fault on the way, such as a connection that was lost.
    pub fn transient(message: impl Into<String>) -> ModelFault {
        ModelFault::new(Kind::Transient, message)
    }

    /// A fault that only the operator can mend.
    pub fn setup(message: impl Into<String>) -> ModelFault {
        ModelFault::new(Kind::Setup, message)
    }

    /// An answer that ended before its end was said.
    pub fn cut_off() -> ModelFault {
        ModelFault::transient("the answer was cut off before its end")
    }

    /// A fault told in plain words, inside a stream or under `status`.
    pub fn said(status: Option<u16>, words: &str) -> ModelFault {
        of(status, None, None, words, &Headers::default(), None)
    }

    /// The fault that an answer with `status` is.
    pub fn of_answer(status: u16, headers: &Headers, body: &[u8]) -> ModelFault {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) => ModelFault::of_value(Some(status), headers, &value),
            Err(_) => of(Some(status), None, None, &plain(&text), headers, None),
        }
    }

    /// The fault that a JSON value tells, whichever dialect it is told in.
    pub fn of_value(status: Option<u16>, headers: &Headers, value: &Value) -> ModelFault {
        // Gemini answers an array where an array was expected.
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(error) if !error.is_null() => error,
            _ => value,
        };
        let word = |it: &Value| match it {
            Value::String(word) if !word.is_empty() => Some(word.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let field = |name: &str| error.get(name).or_else(|| value.get(name)).and_then(word);
        // The most telling first: Google says 400 in `code` and why in `details`.
        let reason = list(error, "details")
            .iter()
            .find_map(|it| it.get("reason").and_then(word));
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
            .filter_map(|it| it.parse().ok())
            .find(|it| (400..600).contains(it));
        // Under 200 the status is no news; what the message says is.
        let status = status.filter(|it| *it >= 300).or(named);
        let codes: Vec<String> = codes
            .into_iter()
            .flatten()
            .filter(|it| it.parse::<u64>().is_err() && it != "error")
            .collect();
        of(
            status,
            codes.first().cloned(),
            Some(codes.join(" ")),
            &words(error, value),
            headers,
            Some(error),
        )
    }

    /// The fault inside an error of this adapter, for whoever decides on waiting or on a shorter prompt.
    pub fn inside(error: &Error) -> Option<&ModelFault> {
        std::error::Error::source(error)?.downcast_ref()
    }
}

impl fmt::Display for ModelFault {
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

impl std::error::Error for ModelFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.context_too_long.then_some(&TooLong as _)
    }
}

/// `text` cut to `most` characters, with an ellipsis where it was.
pub(super) fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn of(
    status: Option<u16>,
    code: Option<String>,
    codes: Option<String>,
    message: &str,
    headers: &Headers,
    error: Option<&Value>,
) -> ModelFault {
    let codes = codes.unwrap_or_default().to_lowercase();
    let said = message.to_lowercase();
    let verdict = judge(status, &codes, &said, error);
    let retry_after = (verdict == Verdict::Later)
        .then(|| retry_after::asked(headers, error, &said))
        .flatten();
    ModelFault {
        kind: match verdict {
            Verdict::Operator => Kind::Setup,
            Verdict::Later => Kind::Transient,
            Verdict::TooLong | Verdict::Filtered | Verdict::Refused => Kind::Malformed,
        },
        status,
        retry_after,
        code,
        message: match cut(message, QUOTED) {
            it if it.is_empty() => "nothing more was said".to_owned(),
            it => it,
        },
        context_too_long: verdict == Verdict::TooLong,
        filtered: verdict == Verdict::Filtered,
        unsent: false,
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Verdict {
    Operator,
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

fn judge(status: Option<u16>, codes: &str, said: &str, error: Option<&Value>) -> Verdict {
    let any = |words: &[&str]| {
        words
            .iter()
            .any(|it| codes.contains(it) || said.contains(it))
    };
    let is_google_wait = codes.contains("resource_exhausted") || error.is_some_and(has_retry_info);
    // Outages first: their words may quote anything.
    if matches!(status, Some(408 | 409 | 423 | 425 | 498))
        || matches!(status, Some(it) if it >= 500 && it != 501)
    {
        return Verdict::Later;
    }
    // A missing model is often told in words that fit other faults too, hence before them.
    let names_model = any(MODEL)
        || said.contains("model")
            && (said.contains("does not exist") || said.contains("not found"));
    match status {
        Some(413) => Verdict::TooLong,
        _ if any(TOO_LONG) && status.is_none_or(|it| it != 401) => Verdict::TooLong,
        Some(451) => Verdict::Filtered,
        _ if any(FILTERED) => Verdict::Filtered,
        Some(402) => Verdict::Operator,
        _ if any(CREDIT) && !is_google_wait => Verdict::Operator,
        Some(429) if said.contains("exceeded your current quota") && !is_google_wait => {
            Verdict::Operator
        }
        Some(429) => Verdict::Later,
        // Under 429 the word stands in advice to pay for a higher limit.
        _ if any(&["billing"]) => Verdict::Operator,
        Some(300..=399 | 401 | 403 | 404 | 405 | 407 | 410 | 501) => Verdict::Operator,
        _ if any(KEY) || names_model => Verdict::Operator,
        Some(_) if any(&["rate_limit", "overloaded"]) => Verdict::Later,
        Some(_) => Verdict::Refused,
        None if any(LATER) => Verdict::Later,
        None if any(&["invalid", "unsupported", "bad_request", "bad request"]) => Verdict::Refused,
        // An answer that had begun well and ends in a fault nobody names is worth another try.
        None if codes.is_empty() || codes.contains("unknown") => Verdict::Later,
        None => Verdict::Refused,
    }
}

fn has_retry_info(error: &Value) -> bool {
    list(error, "details")
        .iter()
        .any(|it| it.get("retryDelay").is_some())
}

/// What the provider says in words.
fn words(error: &Value, value: &Value) -> String {
    // A gateway's own message may say less than the one that it passes on.
    let passed_on = error
        .pointer("/metadata/raw")
        .and_then(Value::as_str)
        .map(|raw| match serde_json::from_str::<Value>(raw) {
            Ok(inner) => words(inner.get("error").unwrap_or(&inner), &inner),
            Err(_) => plain(raw),
        });
    let own = [
        error.as_str(),
        error.get("message").and_then(Value::as_str),
        value.get("message").and_then(Value::as_str),
        value.get("detail").and_then(Value::as_str),
        error.get("msg").and_then(Value::as_str),
        value.get("Message").and_then(Value::as_str),
    ];
    let own = own.into_iter().flatten().find(|it| !it.is_empty());
    // A message may itself be JSON, with the request quoted in it: only its own words are taken.
    let inner = own.filter(|it| it.starts_with('{'));
    if let Some(Value::Object(inner)) = inner.and_then(|it| serde_json::from_str(it).ok()) {
        let inner = Value::Object(inner);
        return words(inner.get("error").unwrap_or(&inner), &inner);
    }
    match (own, passed_on) {
        (Some(own), Some(raw)) if !raw.is_empty() => format!("{own}: {raw}"),
        (Some(own), _) => own.to_owned(),
        (None, Some(raw)) => raw,
        // FastAPI and Mistral list what is wrong with each field.
        (None, None) => {
            let places = [
                error.pointer("/message/detail"),
                value.get("detail"),
                error.get("detail"),
                error.get("message"),
            ];
            let fields = places.into_iter().flatten().find_map(Value::as_array);
            let fields = fields.into_iter().flatten();
            let told = fields
                .filter_map(|it| Some(format!("{}: {}", place(it), it.get("msg")?.as_str()?)));
            told.collect::<Vec<_>>().join("; ")
        }
    }
}

fn place(it: &Value) -> String {
    let parts = list(it, "loc").iter().map(|it| match it {
        Value::String(it) => it.clone(),
        it => it.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// The elements of the list `name`; none where there is no such list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The words of a page or a line: what stands between `<` and `>` left out.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut in_tag = false;
    for c in text.chars().take(4096) {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                out.push(' ');
            }
            _ if !in_tag => out.push(c),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
