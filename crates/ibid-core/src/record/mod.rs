//! The events of a run: the one vocabulary that the command line, the API, MCP and the viewer use.
mod aggregate;
mod event;
mod metrics;
mod run;
mod sent_query;
mod tool_progress;
mod tool_trace;

pub use aggregate::{AggregateMetrics, MetricTarget};
pub use event::{EVENT_VERSION, Envelope, Event, LogSource, Phase, RunOutcome, SearchOutcome};
pub use metrics::{CountsByKind, RunMetrics};
pub use run::{Run, RunStatus};
pub use sent_query::{SentQuery, sent_queries};
pub use tool_progress::{ToolProgress, ToolProgressTracker};
pub use tool_trace::{RUN_TOOLS, ToolTrace, TraceSummary, replace_nul, replace_nul_in_json};
