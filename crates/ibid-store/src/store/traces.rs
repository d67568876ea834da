//! Traces of tools: [`ToolTraces`] on either database, and the trace of a run, which follows its events.
use async_trait::async_trait;

use super::backend::{Backend, SqlStore};
use super::statement::{DbConnection, query};
use ibid_core::domain::RunId;
use ibid_core::ports::ToolTraces;
use ibid_core::record::{Envelope, ToolTrace};
use ibid_core::{Error, Kind, Result};

/// The columns that [`SqlStore::find_traces`] selects; columns of JSON are text.
type TraceRow = (
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    String,
    f64,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
);

fn trace_of(row: TraceRow) -> ToolTrace {
    let (id, user_id, org_id, tool_name, input_params, status, progress, current_stage, ..) = row;
    let (.., state, result, error_message, created_at, started_at, completed_at, metrics) = row;
    let json = |text: Option<String>| -> Option<serde_json::Value> {
        text.and_then(|text| serde_json::from_str(&text).ok())
    };
    ToolTrace {
        id,
        user_id,
        org_id,
        tool_name,
        input_params: json(input_params).unwrap_or_default(),
        status,
        progress,
        current_stage,
        state: json(state).unwrap_or_default(),
        result: json(result),
        error_message,
        created_at,
        started_at,
        completed_at,
        metrics: json(metrics).unwrap_or_default(),
    }
}

/// Stores a trace, in place of an earlier one with its id.
async fn put_trace(db: &mut DbConnection<'_>, trace: &ToolTrace) -> sqlx::Result<()> {
    let text = |json: &serde_json::Value| json.to_string();
    let json = db.to_json();
    query(format!(
        "insert into tool_traces (id, user_id, org_id, tool_name, input_params, status, progress,
         current_stage, state, result, error_message, created_at, started_at, completed_at, metrics)
         values ($1, $2, $3, $4, $5{json}, $6, $7, $8, $9{json}, $10{json}, $11, $12, $13, $14, $15{json})
         on conflict (id) do update set status = excluded.status, progress = excluded.progress,
         current_stage = excluded.current_stage, state = excluded.state, result = excluded.result,
         error_message = excluded.error_message, started_at = excluded.started_at,
         completed_at = excluded.completed_at, metrics = excluded.metrics"
    ))
    .bind(&trace.id)
    .bind(&trace.user_id)
    .bind(&trace.org_id)
    .bind(&trace.tool_name)
    .bind(text(&trace.input_params))
    .bind(&trace.status)
    .bind(trace.progress)
    .bind(&trace.current_stage)
    .bind(text(&trace.state))
    .bind(trace.result.as_ref().map(text))
    .bind(&trace.error_message)
    .bind(&trace.created_at)
    .bind(&trace.started_at)
    .bind(&trace.completed_at)
    .bind(text(&trace.metrics))
    .execute(db)
    .await?;
    Ok(())
}

/// Makes the trace of a run again from all its events, if one of those just `added` changes it.
pub(super) async fn update_trace(
    db: &mut DbConnection<'_>,
    run: &RunId,
    added: &[Envelope],
) -> sqlx::Result<()> {
    if !added.iter().any(|added| ToolTrace::is_changed_by(&added.event)) {
        return Ok(());
    }
    let bodies: Vec<(String,)> = query("select body from events where run = $1 order by seq")
        .bind(run.as_str())
        .fetch_all(db)
        .await?;
    let events: Vec<Envelope> =
        bodies.iter().filter_map(|(body,)| serde_json::from_str(body).ok()).collect();
    match ToolTrace::from_events(run, &events) {
        Some(trace) => put_trace(db, &trace).await,
        None => Ok(()),
    }
}

fn no_trace(id: &str) -> Error {
    Error::new(Kind::NotFound, format!("there is no trace {}", id.escape_debug()))
        .with_hint("list the traces of the user first")
}

impl<B: Backend> SqlStore<B> {
    /// The traces with this id, user and tool, as far as they are given and within the scope; the last created first.
    async fn find_traces(
        &self,
        id: Option<&str>,
        user: Option<&str>,
        tool: Option<&str>,
    ) -> Result<Vec<ToolTrace>> {
        let (scope_user, scope_org) = self.scope.parameters();
        let text = B::JSON_TO_TEXT;
        let statement = query(format!(
            "select id, user_id, org_id, tool_name, input_params{text}, status, progress,
             current_stage, state{text}, result{text}, error_message,
             created_at, started_at, completed_at, metrics{text} from tool_traces
             where (cast($1 as text) is null or id = $1) and (cast($2 as text) is null or user_id = $2)
             and (cast($3 as text) is null or tool_name = $3)
             and (cast($4 as text) is null or (user_id = $4 and coalesce(org_id, '') = $5))
             order by created_at desc, id desc"
        ))
        .bind(id)
        .bind(user)
        .bind(tool)
        .bind(scope_user)
        .bind(scope_org);
        let rows: Vec<TraceRow> = self.fetch_all(statement).await?;
        Ok(rows.into_iter().map(trace_of).collect())
    }

    /// Whether `trace` is within the scope.
    fn admits_trace(&self, trace: &ToolTrace) -> bool {
        let (user, org) = self.scope.parameters();
        user.is_none_or(|user| {
            user == trace.user_id && org == trace.org_id.clone().unwrap_or_default()
        })
    }

    async fn put(&self, trace: &ToolTrace) -> Result<()> {
        let put = async {
            let mut session = self.backend.direct_writer(&self.scope).await?;
            put_trace(&mut session.connection(), trace).await
        };
        put.await.map_err(|cause| self.write_error(&cause))
    }
}

#[async_trait]
impl<B: Backend> ToolTraces for SqlStore<B> {
    async fn create_trace(&self, trace: &ToolTrace) -> Result<()> {
        if !self.admits_trace(trace) {
            return Err(no_trace(&trace.id));
        }
        let existing = self.find_traces(Some(&trace.id), None, None).await?;
        if !existing.is_empty() {
            let what = format!("trace {} already exists", trace.id);
            return Err(Error::new(Kind::Usage, what).with_hint("choose another id"));
        }
        self.put(trace).await
    }

    async fn write_trace(&self, trace: &ToolTrace) -> Result<()> {
        let before = self.trace(&trace.id).await?;
        if before.completed_at.is_some() {
            let what = format!("trace {} has ended", trace.id);
            return Err(Error::new(Kind::Usage, what).with_hint("create another"));
        }
        self.put(trace).await
    }

    async fn trace(&self, id: &str) -> Result<ToolTrace> {
        let found = self.find_traces(Some(id), None, None).await?;
        found.into_iter().next().ok_or_else(|| no_trace(id))
    }

    async fn traces(&self, user: &str, tool: Option<&str>) -> Result<Vec<ToolTrace>> {
        self.find_traces(None, Some(user), tool).await
    }
}
