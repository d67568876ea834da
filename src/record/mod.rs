//! What happened: the one vocabulary that the command line, the API, MCP and the viewer speak.
mod event;
mod tally;
mod trace;

pub use event::{Envelope, Event, FailReason, Outcome, Phase, RunStatusWord, VERSION};
pub use tally::{Tally, Target};
pub use trace::{Run, RunStatus};
