//! What the parser of each dialect implements.
use serde_json::Value;

use super::builder::CompletionBuilder;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

/// Parses one response or stream of a dialect.
pub(super) trait DialectReader: Send + std::fmt::Debug {
    /// Reads the next value, whose field `error` is missing or null, into `draft`. `event` is the name of its event, or empty.
    fn read_json(
        &mut self,
        event: &str,
        value: &Value,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError>;

    /// Reads the end marker `[DONE]`.
    fn read_done(&mut self) {}

    /// Whether the end marker of the dialect was read.
    fn is_ended(&self) -> bool;

    /// Adds what was kept until the end of the stream.
    fn finish(&mut self, _draft: &mut CompletionBuilder) {}
}

/// The error that a value in a response or a stream reports.
pub(super) fn reported_error(value: &Value) -> ServiceError {
    ServiceError::from_json(None, &ResponseHeaders::default(), value)
}
