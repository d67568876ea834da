//! API errors: one error object everywhere, in the form of OpenAI's APIs.
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::request::{FieldError, ResearchRequest, caller_message};
use crate::view::format::sentence;
use ibid::app::commands::CommandRefusal;
use ibid_core::{Error, ErrorKind};

/// An error response: `{"error": {"message", "type", "param", "code", "hint"}}` with its status.
///
/// Boxed, so that results stay small.
#[derive(Debug)]
pub struct ApiError(Box<ApiErrorInner>);

#[derive(Debug)]
struct ApiErrorInner {
    status: StatusCode,
    code: &'static str,
    message: String,
    param: Option<String>,
    hint: Option<String>,
    retry_after: Option<u64>,
    /// Details for the operator's log only.
    internal: Option<String>,
}

/// The result of a handler.
pub(super) type ApiResult<T> = std::result::Result<T, ApiError>;

impl ApiError {
    /// An error with this status, code and message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError(Box::new(ApiErrorInner {
            status,
            code,
            message: message.into(),
            param: None,
            hint: None,
            retry_after: None,
            internal: None,
        }))
    }

    /// 404, for what does not exist and for what is not the caller's: callers must not be able to tell the two apart.
    pub fn not_found(what: &str) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    /// Whether the request conflicts with the state of the run (409).
    pub(crate) fn is_conflict(&self) -> bool {
        self.0.status == StatusCode::CONFLICT
    }

    /// Like `From<Error>`, but with 422 instead of 400: the request is well-formed but cannot be accepted, as with an unknown name or
    /// dates in the wrong order.
    pub(crate) fn unprocessable(error: Error) -> ApiError {
        let mut fault = ApiError::from(error);
        if fault.0.status == StatusCode::BAD_REQUEST {
            fault.0.status = StatusCode::UNPROCESSABLE_ENTITY;
        }
        fault
    }

    /// 429: the queue is full; retry after this many seconds.
    pub(crate) fn queue_full(seconds: u64) -> ApiError {
        ApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            "queue_full",
            "too many runs are waiting",
        )
        .with_hint(
            "wait until runs have ended; approve, answer or cancel runs that wait for your input",
        )
        .with_retry_after(seconds)
    }

    /// Names the field at fault.
    #[must_use]
    pub(crate) fn with_param(mut self, param: &str) -> ApiError {
        self.0.param = Some(param.to_owned());
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> ApiError {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds `Retry-After`, in seconds.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, seconds: u64) -> ApiError {
        self.0.retry_after = Some(seconds);
        self
    }

    /// Message and hint, as sentences.
    pub(super) fn user_message(&self) -> (String, Option<String>) {
        let hint = self.0.hint.as_deref();
        (sentence(&self.0.message), hint.map(sentence))
    }

    /// The status.
    pub(super) fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The `type` by which OpenAI's clients classify errors.
    fn error_type(&self) -> &'static str {
        match self.0.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            it if it.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// The error object.
    pub fn body(&self) -> Value {
        json!({"error": {
            "message": self.0.message,
            "type": self.error_type(),
            "param": self.0.param,
            "code": self.0.code,
            "hint": self.0.hint,
        }})
    }
}

impl From<Error> for ApiError {
    /// The kind determines the status and the code. Messages of faults that the operator must fix go to the log, because they name
    /// internal files and services.
    fn from(error: Error) -> ApiError {
        let (status, code) = match error.kind() {
            ErrorKind::Usage => (StatusCode::BAD_REQUEST, "invalid_value"),
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            ErrorKind::Cancelled => (StatusCode::CONFLICT, "cancelled"),
            ErrorKind::Exhausted => (StatusCode::PAYMENT_REQUIRED, "budget_exhausted"),
            ErrorKind::Transient => (StatusCode::SERVICE_UNAVAILABLE, "try_again"),
            ErrorKind::Malformed => (StatusCode::BAD_GATEWAY, "bad_upstream"),
            ErrorKind::Setup => (StatusCode::SERVICE_UNAVAILABLE, "not_set_up"),
            ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let refused = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
        let (status, code) = match refused {
            Some(CommandRefusal::TooLong) => (StatusCode::UNPROCESSABLE_ENTITY, "too_long"),
            Some(CommandRefusal::TooMany) => (StatusCode::TOO_MANY_REQUESTS, "too_many_orders"),
            Some(CommandRefusal::NotWaiting) => (StatusCode::CONFLICT, "not_waiting"),
            None => (status, code),
        };
        let is_public =
            matches!(error.kind(), ErrorKind::Usage | ErrorKind::Exhausted | ErrorKind::Cancelled);
        let message = match error.kind() {
            ErrorKind::NotFound => "not found".to_owned(),
            _ if is_public => caller_message(&error),
            ErrorKind::Transient => "temporarily unavailable".to_owned(),
            _ => "internal error; see the server's log".to_owned(),
        };
        // Messages about the request begin with the field: `budget must be …`, `reading since: …`.
        let doing = error.to_string();
        let mut words = doing.split(|c: char| !c.is_alphanumeric() && c != '_');
        let field = words.by_ref().take(3).find(|word| ResearchRequest::has_field(word));
        // Or they name an unknown field.
        let unknown = doing.strip_prefix("there is no field `");
        let field = unknown.and_then(|it| it.strip_suffix('`')).or(field);
        ApiError(Box::new(ApiErrorInner {
            status,
            code,
            message,
            param: field.filter(|_| error.kind() == ErrorKind::Usage).map(str::to_owned),
            hint: error.hint().filter(|_| is_public).map(str::to_owned),
            retry_after: matches!(error.kind(), ErrorKind::Transient).then_some(2),
            internal: (!is_public).then(|| error.chain()),
        }))
    }
}

impl From<FieldError> for ApiError {
    fn from(fault: FieldError) -> ApiError {
        let error = ApiError::new(StatusCode::BAD_REQUEST, "invalid_value", fault.message);
        let error = match fault.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        };
        if fault.field.is_empty() { error } else { error.with_param(&fault.field) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.0.status, Json(self.body())).into_response();
        if let Some(seconds) = self.0.retry_after {
            let value = HeaderValue::from(seconds);
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        if self.0.status == StatusCode::UNAUTHORIZED {
            let value = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
            .extensions_mut()
            .insert(ErrorMessage { message: self.0.message, hint: self.0.hint });
        response.extensions_mut().insert(InternalDetail(self.0.internal));
        response
    }
}

/// The message of an error, for the error page of browsers.
#[derive(Debug, Clone)]
pub(super) struct ErrorMessage {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// The details of an error for the operator's log.
#[derive(Debug, Clone)]
pub(super) struct InternalDetail(pub(super) Option<String>);
