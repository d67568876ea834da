//! The traces of tools as their caller may see them.
use serde_json::Value;

use super::service::CallerService;
use ibid::app::traces::TraceUpdate;
use ibid_core::domain::RunId;
use ibid_core::ports::TraceFilter;
use ibid_core::record::{ToolTrace, TraceSummary};
use ibid_core::{Error, ErrorKind, Result};

/// Maximum number of traces of a user that have not ended.
const MAX_OPEN_TRACES: u32 = 1_000;

impl CallerService {
    /// The caller's trace `id`: a UUID, or the id of a run. Unless the caller is the operator, the trace of a run has no paths of the
    /// server and no messages of services.
    ///
    /// # Errors
    /// `NotFound` for an unknown trace, an invalid id and a trace of another owner alike.
    pub async fn trace(&self, id: &str) -> Result<ToolTrace> {
        let run = RunId::from_uuid(id).map_or_else(|| id.parse(), Ok);
        let run: RunId = run.map_err(|_| trace_not_found())?;
        let trace = match self.app().trace(&run.uuid()).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => return Err(trace_not_found()),
            trace => self.redact_error(trace)?,
        };
        let Some(owner) = &self.caller().owner else {
            return Ok(trace);
        };
        if trace.user_id != owner.user || trace.org_id != owner.org {
            return Err(trace_not_found());
        }
        if !trace.is_of_run() {
            return Ok(trace);
        }
        // The stored row was made of the events as they happened. The caller gets the trace of the events that they may see.
        let events = self.run(run.as_str()).await?.events(0).await?;
        ToolTrace::from_events(&run, &events).ok_or_else(trace_not_found)
    }

    /// The caller's traces of `tool`, or of all, newest first: at most `limit`. The operator gets those of everybody.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn traces(&self, tool: Option<String>, limit: u32) -> Result<Vec<TraceSummary>> {
        let filter = TraceFilter { tool, limit: Some(limit), ..self.own_traces() };
        self.redact_error(self.app().traces(&filter).await)
    }

    /// Creates a trace of the caller. `None` if as many as allowed have not ended.
    ///
    /// # Errors
    /// Those of [`App::create_trace`](ibid::app::App::create_trace).
    pub async fn create_trace(&self, tool: &str, input: Value) -> Result<Option<ToolTrace>> {
        if self.caller().owner.is_some() {
            let limit = Some(MAX_OPEN_TRACES);
            let filter = TraceFilter { open: true, limit, ..self.own_traces() };
            let open = self.redact_error(self.app().traces(&filter).await)?;
            if open.len() >= MAX_OPEN_TRACES as usize {
                return Ok(None);
            }
        }
        let id = self.redact_error(self.app().create_trace(tool, input).await)?;
        self.trace(&id).await.map(Some)
    }

    /// Stores what a tool reports in its trace `id`.
    ///
    /// # Errors
    /// Those of [`App::update_trace`](ibid::app::App::update_trace).
    pub async fn update_trace(&self, id: &str, update: TraceUpdate) -> Result<ToolTrace> {
        self.redact_error(self.app().update_trace(id, update).await)
    }

    fn own_traces(&self) -> TraceFilter {
        let user = self.caller().owner.as_ref().map(|owner| owner.user.clone());
        TraceFilter { user, ..TraceFilter::default() }
    }
}

fn trace_not_found() -> Error {
    Error::new(ErrorKind::NotFound, "there is no such trace")
}
