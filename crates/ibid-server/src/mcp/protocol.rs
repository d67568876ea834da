//! Conversions between this program's types and those of the protocol.
use rmcp::ErrorData;

use crate::request::caller_message;
use ibid_core::{Error, ErrorKind};

/// The result of a protocol handler.
pub(super) type McpResult<T> = std::result::Result<T, ErrorData>;

/// Converts an error to an MCP error.
pub(super) fn to_error_data(error: &Error) -> ErrorData {
    match error.kind() {
        ErrorKind::Usage => ErrorData::invalid_params(caller_message(error), None),
        ErrorKind::NotFound => ErrorData::resource_not_found("not found", None),
        _ => ErrorData::internal_error("temporarily unavailable", None),
    }
}

/// Builds a result marked as complete: hosts of revision 2026-07-28 require the mark, and the SDK does not set it.
pub(super) fn complete_result<T: serde::de::DeserializeOwned>(
    mut value: serde_json::Value,
) -> McpResult<T> {
    value["resultType"] = "complete".into();
    from_json(value)
}

/// Builds a protocol value from JSON: the SDK's types have no constructors.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> McpResult<T> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
