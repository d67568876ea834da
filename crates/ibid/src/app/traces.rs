//! Traces of long-running tools: their input, progress and result. A run has a trace by itself; other tools write theirs here.
use serde_json::Value;

use super::App;
use ibid_core::ports::TraceFilter;
use ibid_core::record::{ToolTrace, TraceSummary, replace_nul, replace_nul_in_json};
use ibid_core::{Error, ErrorKind, Result};

/// Maximum length of the name of a tool and of a stage, in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// What a tool reports. `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceUpdate {
    /// Whether the tool is still at work.
    pub status: ToolStatus,
    /// The stage that it is in.
    pub stage: Option<String>,
    /// 0 to 1; 1 for a tool that has completed.
    pub progress: Option<f64>,
    /// Its state.
    pub state: Option<Value>,
    /// Its result.
    pub result: Option<Value>,
    /// Its metrics.
    pub metrics: Option<Value>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Whether a tool is still at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolStatus {
    /// It is.
    #[default]
    InProgress,
    /// It has ended with a result.
    Completed,
    /// It has ended with an error.
    Failed,
}

impl App {
    /// Creates a trace for a tool that is not a run, for the owner of this app. Returns its id.
    ///
    /// # Errors
    /// `Usage` for the name of a tool whose traces are those of runs, `Setup` when the store cannot be written.
    pub async fn create_trace(&self, tool: &str, input: Value) -> Result<String> {
        if ToolTrace::is_run_tool(tool) {
            let what = format!("the tool name `{tool}` is reserved for runs");
            return Err(Error::new(ErrorKind::Usage, what).with_hint("choose another name"));
        }
        let owner = self.owner.clone();
        let trace = ToolTrace {
            id: self.new_run_id().uuid(),
            user_id: owner.as_ref().map(|owner| owner.user.clone()).unwrap_or_default(),
            org_id: owner.and_then(|owner| owner.org),
            tool_name: tool.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect(),
            input_params: replace_nul_in_json(input),
            status: "pending".to_owned(),
            progress: 0.0,
            current_stage: None,
            state: Value::Object(Default::default()),
            result: None,
            error_message: None,
            created_at: self.timestamp_after(0),
            started_at: None,
            completed_at: None,
            metrics: Value::Object(Default::default()),
        };
        self.store().await?.create_trace(&trace).await?;
        Ok(trace.id)
    }

    /// Stores what a tool reports of itself. Returns the trace.
    ///
    /// # Errors
    /// `NotFound` for a trace that does not exist or belongs to another owner, `Usage` for one that has ended and for that of a run.
    pub async fn update_trace(&self, id: &str, update: TraceUpdate) -> Result<ToolTrace> {
        let store = self.store().await?;
        let mut trace = store.trace(id).await?;
        if trace.is_of_run() {
            let what = format!("trace {id} follows the events of its run");
            return Err(
                Error::new(ErrorKind::Usage, what).with_hint("create a trace of another tool")
            );
        }
        if let Some(stage) = update.stage {
            trace.current_stage = Some(replace_nul(&stage).chars().take(MAX_NAME_CHARS).collect());
        }
        if let Some(progress) = update.progress {
            trace.progress = if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) };
        }
        if let Some(state) = update.state {
            trace.state = replace_nul_in_json(state);
        }
        if let Some(result) = update.result {
            trace.result = Some(replace_nul_in_json(result));
        }
        if let Some(metrics) = update.metrics {
            trace.metrics = replace_nul_in_json(metrics);
        }
        if let Some(error) = update.error {
            trace.error_message = Some(replace_nul(&error));
        }
        let now = self.timestamp_after(0);
        match update.status {
            ToolStatus::InProgress => {
                trace.status = "in_progress".to_owned();
                trace.started_at.get_or_insert(now);
            }
            ToolStatus::Completed => {
                trace.status = "completed".to_owned();
                trace.progress = 1.0;
                trace.completed_at = Some(now);
            }
            ToolStatus::Failed => {
                trace.status = "failed".to_owned();
                trace.completed_at = Some(now);
            }
        }
        store.write_trace(&trace).await?;
        Ok(trace)
    }

    /// A trace by its id; for a run that is [`ibid_core::domain::RunId::uuid`].
    ///
    /// # Errors
    /// `NotFound` for one that does not exist or belongs to another owner.
    pub async fn trace(&self, id: &str) -> Result<ToolTrace> {
        match self.store_if_any().await? {
            Some(store) => store.trace(id).await,
            None => Err(Error::new(ErrorKind::NotFound, format!("there is no trace {id}"))
                .with_hint("see `ibid traces`")),
        }
    }

    /// The traces that match, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn traces(&self, filter: &TraceFilter) -> Result<Vec<TraceSummary>> {
        match self.store_if_any().await? {
            Some(store) => store.traces(filter).await,
            None => Ok(Vec::new()),
        }
    }
}
