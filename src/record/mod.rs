//! What happened: the one vocabulary that the command line, the API, MCP and the viewer speak.
mod event;
mod tally;
mod tool_trace;
mod trace;

pub use event::{Envelope, Event, FailReason, Outcome, Phase, RunStatusWord, VERSION};
pub use tally::{Tally, Target};
pub use tool_trace::{ToolTrace, plain, scrubbed};
pub use trace::{Run, RunStatus};
