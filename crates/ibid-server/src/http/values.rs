//! Values of a request: the JSON body, numbers, and the error for a wrong field.
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};

/// The error for a wrong value: `{field} {what}`, 400.
pub(super) fn invalid_value(field: &str, what: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "invalid_value", format!("{field} {what}"))
        .with_param(field)
}

/// Parses the body as JSON.
///
/// # Errors
/// 413 for a body that is too large, 400 for one that is incomplete or not JSON.
pub(super) fn json_body(bytes: Result<Bytes, BytesRejection>) -> ApiResult<Value> {
    let bytes = bytes.map_err(|it| {
        let status = it.status();
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::new(status, "too_large", "the body is too large")
            }
            _ => ApiError::new(StatusCode::BAD_REQUEST, "cut_off", "the body is incomplete"),
        }
    })?;
    serde_json::from_slice(&bytes).map_err(|it| {
        ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("the body is not valid JSON: {it}"),
        )
    })
}

/// Parses the body as JSON; an empty body is `{}`.
pub(super) fn optional_json_body(bytes: Result<Bytes, BytesRejection>) -> ApiResult<Value> {
    match bytes {
        Ok(it) if it.is_empty() => Ok(json!({})),
        it => json_body(it),
    }
}

/// The field `text` of a body; empty if it is missing or not a string.
pub(super) fn text_field(value: &Value) -> &str {
    value.get("text").and_then(Value::as_str).unwrap_or_default()
}

/// Parses the whole number in parameter `name`.
pub(super) fn parse_number(name: &str, text: &str) -> ApiResult<u64> {
    text.parse().map_err(|_| invalid_value(name, "must be a whole number"))
}

/// A whole number in a body, also written as `5.0`.
pub(super) fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
        (0.0..1e15).contains(&number).then_some(number as u64)
    })
}
