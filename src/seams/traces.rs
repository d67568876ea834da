use async_trait::async_trait;

use crate::error::Result;
use crate::record::ToolTrace;

/// What long-running tools were asked and what came of it (row B9).
///
/// Contract: traces of runs come with their events, in the same commit, and are not written here. A trace that is not
/// there, or is another's, is `NotFound`. One that has ended is not changed any more: that is a fault of kind `Usage`.
#[async_trait]
pub trait Traces: Send + Sync {
    /// Adds a trace. One that is there is `Usage`.
    async fn create_trace(&self, trace: &ToolTrace) -> Result<()>;
    /// Writes how far a trace is, in place of how far it was.
    async fn write_trace(&self, trace: &ToolTrace) -> Result<()>;
    /// A trace by its id.
    async fn trace(&self, id: &str) -> Result<ToolTrace>;
    /// Traces of a user by one tool, or all, latest first.
    async fn traces(&self, user: &str, tool: Option<&str>) -> Result<Vec<ToolTrace>>;
}
