//! Values of a request: the JSON body, numbers, and the error for a wrong field.
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use crate::request::read_fields;

/// Default number of rows of a list.
const DEFAULT_LIMIT: u64 = 50;
/// Maximum number of rows of a list.
const MAX_LIMIT: u32 = 200;

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
    let bytes = bytes.map_err(|error| {
        let status = error.status();
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::new(status, "too_large", "the body is too large")
            }
            _ => ApiError::new(StatusCode::BAD_REQUEST, "cut_off", "the body is incomplete"),
        }
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("the body is not valid JSON: {error}"),
        )
    })
}

/// Reads the body as the fields of `T`.
///
/// # Errors
/// Those of [`json_body`]; 400 for a field that is missing, unknown or wrong.
pub(super) fn read_body<T: DeserializeOwned>(bytes: Result<Bytes, BytesRejection>) -> ApiResult<T> {
    Ok(read_fields(json_body(bytes)?)?)
}

/// The same, where an empty body is `{}`.
pub(super) fn read_optional_body<T: DeserializeOwned>(
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<T> {
    match bytes {
        Ok(it) if it.is_empty() => Ok(read_fields(json!({}))?),
        it => read_body(it),
    }
}

/// Parses the whole number in parameter `name`.
pub(super) fn parse_number(name: &str, text: &str) -> ApiResult<u64> {
    text.parse().map_err(|_| invalid_value(name, "must be a whole number"))
}

/// Parses the parameter `limit` of a list.
pub(super) fn parse_limit(text: Option<&str>) -> ApiResult<u32> {
    let limit = text.map_or(Ok(DEFAULT_LIMIT), |text| parse_number("limit", text))?;
    match u32::try_from(limit) {
        Ok(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        _ => Err(invalid_value("limit", &format!("must be from 1 to {MAX_LIMIT}"))),
    }
}
