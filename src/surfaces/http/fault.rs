//! What goes wrong, as callers hear it: one error object everywhere, in the form that OpenAI's clients know.
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::app::orders::OrderRefusal;
use crate::error::{Error, Kind};
use crate::surfaces::asked::is_field;
use crate::surfaces::view::words::sentence;

/// A refusal: `{"error": {"message", "type", "param", "code", "hint"}}` with its status.
///
/// Boxed inside, so that an answer stays small.
#[derive(Debug)]
pub struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    status: StatusCode,
    code: &'static str,
    message: String,
    param: Option<String>,
    hint: Option<String>,
    retry_after: Option<u64>,
    /// What the operator alone is told.
    within: Option<String>,
}

/// The answer of a handler.
pub(super) type Answer<T> = std::result::Result<T, Fault>;

impl Fault {
    /// A refusal in the words of this surface.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Fault {
        Fault(Box::new(Inner {
            status,
            code,
            message: message.into(),
            param: None,
            hint: None,
            retry_after: None,
            within: None,
        }))
    }

    /// What is not there, or is not the caller's: the two must not be told apart.
    pub fn missing(what: &str) -> Fault {
        Fault::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no such {what}"),
        )
    }

    /// Whether what was asked does not fit to how things stand.
    pub fn conflicts(&self) -> bool {
        self.0.status == StatusCode::CONFLICT
    }

    /// The form of what was asked is right; what it asks cannot be done here: a name that is not offered, days in the wrong order.
    pub fn unmeant(it: Error) -> Fault {
        let mut fault = Fault::from(it);
        if fault.0.status == StatusCode::BAD_REQUEST {
            fault.0.status = StatusCode::UNPROCESSABLE_ENTITY;
        }
        fault
    }

    /// Too much is going on; come back in so many seconds.
    pub fn later(seconds: u64) -> Fault {
        Fault::new(
            StatusCode::TOO_MANY_REQUESTS,
            "queue_full",
            "too many runs wait already",
        )
        .hint("wait until runs have ended; approve, answer or cancel those that wait for you")
        .after(seconds)
    }

    /// The same, naming the field at fault.
    #[must_use]
    pub fn at(mut self, param: &str) -> Fault {
        self.0.param = Some(param.to_owned());
        self
    }

    /// The same, with what would help.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same, to be tried again after so many seconds.
    #[must_use]
    pub fn after(mut self, seconds: u64) -> Fault {
        self.0.retry_after = Some(seconds);
        self
    }

    /// Message and hint, as sentences.
    pub(super) fn told(&self) -> (String, Option<String>) {
        let hint = self.0.hint.as_deref();
        (sentence(&self.0.message), hint.map(sentence))
    }

    /// The status.
    pub(super) fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The word that OpenAI's clients sort errors by.
    fn kind(&self) -> &'static str {
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
            "type": self.kind(),
            "param": self.0.param,
            "code": self.0.code,
            "hint": self.0.hint,
        }})
    }
}

impl From<Error> for Fault {
    /// Status and code follow from the kind alone. What the operator must mend is told to the operator: its words name
    /// files and services inside.
    fn from(it: Error) -> Fault {
        let (status, code) = match it.kind() {
            Kind::Usage => (StatusCode::BAD_REQUEST, "invalid_value"),
            Kind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Kind::Cancelled => (StatusCode::CONFLICT, "cancelled"),
            Kind::Exhausted => (StatusCode::PAYMENT_REQUIRED, "budget_exhausted"),
            Kind::Transient => (StatusCode::SERVICE_UNAVAILABLE, "try_again"),
            Kind::Malformed => (StatusCode::BAD_GATEWAY, "bad_upstream"),
            Kind::Setup => (StatusCode::SERVICE_UNAVAILABLE, "not_set_up"),
            Kind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let refused = std::error::Error::source(&it).and_then(|it| it.downcast_ref());
        let (status, code) = match refused {
            Some(OrderRefusal::TooLong) => (StatusCode::UNPROCESSABLE_ENTITY, "too_long"),
            Some(OrderRefusal::TooMany) => (StatusCode::TOO_MANY_REQUESTS, "too_many_orders"),
            Some(OrderRefusal::NotAsked) => (StatusCode::CONFLICT, "not_waiting"),
            None => (status, code),
        };
        let open = matches!(it.kind(), Kind::Usage | Kind::Exhausted | Kind::Cancelled);
        let message = match it.kind() {
            Kind::NotFound => "there is no such thing here".to_owned(),
            // A setting that a field sets is judged as a flag is.
            _ if open => {
                let told = it.told();
                let of_flag = told.strip_prefix("flag ");
                let what = of_flag.and_then(|it| it.split_once(": "));
                what.map_or_else(|| told.clone(), |it| it.1.to_owned())
            }
            Kind::Transient => "this cannot be done just now".to_owned(),
            _ => "the server cannot do this; its log says why".to_owned(),
        };
        // Messages about the caller's words begin with the field: `budget must be …`, `reading since: …`.
        let doing = it.to_string();
        let mut words = doing.split(|it: char| !it.is_alphanumeric() && it != '_');
        let field = words
            .by_ref()
            .take(3)
            .find(|it| is_field(it) || *it == "webhook_url");
        // Or they say that nobody knows it.
        let unknown = doing.strip_prefix("there is no field `");
        let field = unknown.and_then(|it| it.strip_suffix('`')).or(field);
        Fault(Box::new(Inner {
            status,
            code,
            message,
            param: field
                .filter(|_| it.kind() == Kind::Usage)
                .map(str::to_owned),
            hint: it.help().filter(|_| open).map(str::to_owned),
            retry_after: matches!(it.kind(), Kind::Transient).then_some(2),
            within: (!open).then(|| it.chain()),
        }))
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = (self.0.status, Json(self.body())).into_response();
        if let Some(seconds) = self.0.retry_after {
            let value = HeaderValue::from(seconds);
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        if self.0.status == StatusCode::UNAUTHORIZED {
            let value = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, value);
        }
        response.extensions_mut().insert(Told {
            message: self.0.message,
            hint: self.0.hint,
        });
        response.extensions_mut().insert(Within(self.0.within));
        response
    }
}

/// What a refusal says to a person, for the page that a browser is shown.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// What the operator's log says of a refusal.
#[derive(Debug, Clone)]
pub(super) struct Within(pub(super) Option<String>);
