//! What happened: the one vocabulary that the command line, the API, MCP and the viewer speak.
mod event;
mod metrics;
mod sent;
mod tally;
mod tool;
mod tool_trace;
mod trace;

pub use event::{Envelope, Event, FailReason, Outcome, Phase, RunStatusWord, VERSION};
pub use metrics::{ByKind, Metrics};
pub use sent::{SentQuery, sent_queries};
pub use tally::{Tally, Target};
pub use tool::{ToolProgress, ToolStory};
pub use tool_trace::{ToolTrace, plain, scrubbed};
pub use trace::{Run, RunStatus};
