//! What the parser of each dialect implements.
use super::builder::CompletionBuilder;
use super::frames::Frame;
use ibid_net::service_error::ServiceError;

/// Parses one response or stream of a dialect.
pub(super) trait DialectReader: Send + std::fmt::Debug {
    /// Reads the next frame into `draft`.
    fn read_frame(
        &mut self,
        frame: &Frame,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ServiceError>;

    /// Whether the end marker of the dialect was read.
    fn is_ended(&self) -> bool;

    /// Adds what was kept until the end of the stream.
    fn finish(&mut self, _draft: &mut CompletionBuilder) {}
}
