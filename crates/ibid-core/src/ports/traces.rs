use async_trait::async_trait;

use crate::Result;
use crate::record::ToolTrace;

/// The traces of long-running tools.
///
/// Contract: traces of runs are written in the same commit as their events, not here. A trace that does not exist or
/// belongs to another user is `NotFound`. Changing a trace that has ended is an error of kind `Usage`.
#[async_trait]
pub trait ToolTraces: Send + Sync {
    /// Adds a trace. Fails with `Usage` if it exists.
    async fn create_trace(&self, trace: &ToolTrace) -> Result<()>;
    /// Replaces the state of a trace.
    async fn write_trace(&self, trace: &ToolTrace) -> Result<()>;
    /// Returns the trace with this id.
    async fn trace(&self, id: &str) -> Result<ToolTrace>;
    /// Returns the traces of a user, of one tool or all, newest first.
    async fn traces(&self, user: &str, tool: Option<&str>) -> Result<Vec<ToolTrace>>;
}
