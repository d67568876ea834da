//! What long-running tools were asked and what came of it: those of runs as they stand, those of other tools by hand.
use serde_json::Value;

use super::App;
use crate::error::Result;
use crate::record::{ToolTrace, plain, scrubbed};

impl App {
    /// Begins the trace of a tool that is no run, for the owner of this app; its id.
    ///
    /// # Errors
    /// `Setup` when the store cannot be written.
    pub async fn create_trace(&self, tool: &str, input: Value) -> Result<String> {
        let owner = self.owner.clone();
        let trace = ToolTrace {
            id: self.new_id().uuid(),
            user_id: owner.as_ref().map(|it| it.user.clone()).unwrap_or_default(),
            org_id: owner.and_then(|it| it.org),
            tool_name: tool.chars().filter(|it| *it != '\0').take(100).collect(),
            input_params: plain(input),
            status: "pending".to_owned(),
            progress: 0.0,
            current_stage: None,
            state: Value::Object(Default::default()),
            result: None,
            error_message: None,
            created_at: self.now(0),
            started_at: None,
            completed_at: None,
            metrics: Value::Object(Default::default()),
        };
        self.store().await?.create_trace(&trace).await?;
        Ok(trace.id)
    }

    /// Writes down how far a tool is: its stage, 0 to 1, and what it knows where that is given.
    ///
    /// # Errors
    /// `NotFound` for a trace that is not there or is another's, `Usage` for one that has ended.
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
        trace.current_stage = Some(scrubbed(stage).chars().take(100).collect());
        // What is no number is no progress.
        trace.progress = match progress.is_nan() {
            true => 0.0,
            false => progress.clamp(0.0, 1.0),
        };
        trace.started_at.get_or_insert_with(|| self.now(0));
        if let Some(state) = state {
            trace.state = plain(state);
        }
        store.write_trace(&trace).await
    }

    /// Ends a trace with what came of it and what was counted.
    ///
    /// # Errors
    /// Those of [`App::update_progress`].
    pub async fn complete_trace(&self, id: &str, result: Value, metrics: Value) -> Result<()> {
        let store = self.store().await?;
        let mut trace = store.trace(id).await?;
        trace.status = "completed".to_owned();
        trace.progress = 1.0;
        trace.result = Some(plain(result));
        trace.metrics = plain(metrics);
        trace.completed_at = Some(self.now(0));
        store.write_trace(&trace).await
    }

    /// Ends a trace with why nothing came of it.
    ///
    /// # Errors
    /// Those of [`App::update_progress`].
    pub async fn fail_trace(&self, id: &str, message: &str) -> Result<()> {
        let store = self.store().await?;
        let mut trace = store.trace(id).await?;
        trace.status = "failed".to_owned();
        trace.error_message = Some(scrubbed(message));
        trace.completed_at = Some(self.now(0));
        store.write_trace(&trace).await
    }

    /// A trace by its id; of a run that is [`crate::domain::RunId::uuid`].
    ///
    /// # Errors
    /// `NotFound` for one that is not there or is another's.
    pub async fn trace(&self, id: &str) -> Result<ToolTrace> {
        self.store().await?.trace(id).await
    }

    /// Traces of a user, empty for nobody's, by one tool or all, latest first.
    pub async fn traces(&self, user: &str, tool: Option<&str>) -> Result<Vec<ToolTrace>> {
        self.store().await?.traces(user, tool).await
    }
}
