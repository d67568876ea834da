use async_trait::async_trait;

use crate::Result;
use crate::record::{ToolTrace, TraceSummary};

/// Which traces to list.
#[derive(Debug, Clone, Default)]
pub struct TraceFilter {
    /// Only those of this user; empty for those without a user.
    pub user: Option<String>,
    /// Only those of this tool.
    pub tool: Option<String>,
    /// Only those that have not ended.
    pub open: bool,
    /// At most so many.
    pub limit: Option<u32>,
}

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
    /// Returns the traces that match, newest first.
    async fn traces(&self, filter: &TraceFilter) -> Result<Vec<TraceSummary>>;
    /// Deletes the traces of tools other than runs that ended before `at`.
    async fn remove_traces_ended_before(&self, at: &str) -> Result<()>;
}
