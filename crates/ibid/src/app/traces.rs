//! Traces of long-running tools: their input, progress and result. A run has a trace by itself; other tools write theirs here.
use serde_json::Value;

use super::App;
use ibid_core::Result;
use ibid_core::record::{ToolTrace, replace_nul, replace_nul_in_json};

impl App {
    /// Creates a trace for a tool that is not a run, for the owner of this app. Returns its id.
    ///
    /// # Errors
    /// `Setup` when the store cannot be written.
    pub async fn create_trace(&self, tool: &str, input: Value) -> Result<String> {
        let owner = self.owner.clone();
        let trace = ToolTrace {
            id: self.new_run_id().uuid(),
            user_id: owner.as_ref().map(|owner| owner.user.clone()).unwrap_or_default(),
            org_id: owner.and_then(|owner| owner.org),
            tool_name: tool.chars().filter(|c| *c != '\0').take(100).collect(),
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

    /// Stores the progress of a tool: its stage, a number from 0 to 1, and its state if given.
    ///
    /// # Errors
    /// `NotFound` for a trace that does not exist or belongs to another owner, `Usage` for one that has ended.
    pub async fn update_progress(
        &self,
        id: &str,
        stage: &str,
        progress: f64,
        state: Option<Value>,
    ) -> Result<()> {
        let store = self.store().await?;
        let mut trace = store.trace(id).await?;
        trace.status = "in_progress".to_owned();
        trace.current_stage = Some(replace_nul(stage).chars().take(100).collect());
        trace.progress = if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) };
        trace.started_at.get_or_insert_with(|| self.timestamp_after(0));
        if let Some(state) = state {
            trace.state = replace_nul_in_json(state);
        }
        store.write_trace(&trace).await
    }

    /// Ends a trace with its result and metrics.
    ///
    /// # Errors
    /// Those of [`App::update_progress`].
    pub async fn complete_trace(&self, id: &str, result: Value, metrics: Value) -> Result<()> {
        let store = self.store().await?;
        let mut trace = store.trace(id).await?;
        trace.status = "completed".to_owned();
        trace.progress = 1.0;
        trace.result = Some(replace_nul_in_json(result));
        trace.metrics = replace_nul_in_json(metrics);
        trace.completed_at = Some(self.timestamp_after(0));
        store.write_trace(&trace).await
    }

    /// Ends a trace with an error message.
    ///
    /// # Errors
    /// Those of [`App::update_progress`].
    pub async fn fail_trace(&self, id: &str, message: &str) -> Result<()> {
        let store = self.store().await?;
        let mut trace = store.trace(id).await?;
        trace.status = "failed".to_owned();
        trace.error_message = Some(replace_nul(message));
        trace.completed_at = Some(self.timestamp_after(0));
        store.write_trace(&trace).await
    }

    /// A trace by its id; for a run that is [`ibid_core::domain::RunId::uuid`].
    ///
    /// # Errors
    /// `NotFound` for one that does not exist or belongs to another owner.
    pub async fn trace(&self, id: &str) -> Result<ToolTrace> {
        self.store().await?.trace(id).await
    }

    /// The traces of a user (empty for the operator) by one tool or all, latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn traces(&self, user: &str, tool: Option<&str>) -> Result<Vec<ToolTrace>> {
        self.store().await?.traces(user, tool).await
    }
}
