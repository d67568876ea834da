//! What the HTTP server, the viewer and the MCP server share: they accept questions and return runs only to their owner.
//!
//! A surface holds a [`CallerService`], which knows its caller and reaches nothing of other callers. Requests without a caller (metrics,
//! readiness, retention) uses an [`OperatorService`], which only start-up code and the operator get.
mod account;
mod caller;
mod folder_names;
mod intake;
mod operator;
mod permitted;
mod redaction;
mod run;
mod schedules;
mod service;
mod shared_report;
mod submit;
mod traces;

pub use caller::Caller;
pub use intake::{RequestService, queue_limits};
pub use operator::OperatorService;
pub use run::{CallerEventStream, CallerRun};
pub use schedules::check_schedulable;
pub use service::{CallerHit, CallerSearchResult, CallerService};
pub use shared_report::SharedReport;
pub use submit::SubmitOutcome;
