//! Traces of tools: [`ToolTraces`] on either database, and the trace of a run, which follows its events.
use async_trait::async_trait;

use super::backend::{Backend, SqlStore};
use super::statement::{DbConnection, query};
use ibid_core::domain::RunId;
use ibid_core::ports::{ToolTraces, TraceFilter};
use ibid_core::record::{Envelope, RUN_TOOLS, ToolTrace, TraceSummary};
use ibid_core::{Error, ErrorKind, Result};

/// The columns that [`SqlStore::find_trace`] selects; columns of JSON are text.
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

/// The columns of a [`TraceSummary`], in its order.
type SummaryRow = (
    String,
    String,
    Option<String>,
    String,
    String,
    f64,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
);

fn summary_of(row: SummaryRow) -> TraceSummary {
    let (id, user_id, org_id, tool_name, status, progress, current_stage, ..) = row;
    let (.., created_at, started_at, completed_at) = row;
    TraceSummary {
        id,
        user_id,
        org_id,
        tool_name,
        status,
        progress,
        current_stage,
        created_at,
        started_at,
        completed_at,
    }
}

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

/// Stores a trace, in place of an earlier one with its id, with `if_open` only of one that has not ended. Returns whether it
/// was stored. The condition is in the statement, so that of two ends at once the first holds.
async fn put_trace(
    db: &mut DbConnection<'_>,
    trace: &ToolTrace,
    if_open: bool,
) -> sqlx::Result<bool> {
    let condition = if if_open { "where tool_traces.completed_at is null" } else { "" };
    let text = |json: &serde_json::Value| json.to_string();
    let json = db.to_json();
    query(format!(
        "insert into tool_traces (id, user_id, org_id, tool_name, input_params, status, progress,
         current_stage, state, result, error_message, created_at, started_at, completed_at, metrics)
         values ($1, $2, $3, $4, $5{json}, $6, $7, $8, $9{json}, $10{json}, $11, $12, $13, $14, $15{json})
         on conflict (id) do update set status = excluded.status, progress = excluded.progress,
         current_stage = excluded.current_stage, state = excluded.state, result = excluded.result,
         error_message = excluded.error_message, started_at = excluded.started_at,
         completed_at = excluded.completed_at, metrics = excluded.metrics {condition}"
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
    .await
    .map(|rows| rows > 0)
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
        Some(trace) => put_trace(db, &trace, false).await.map(|_| ()),
        None => Ok(()),
    }
}

fn no_trace(id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no trace {}", id.escape_debug()))
        .with_hint("see `ibid traces`")
}

impl<B: Backend> SqlStore<B> {
    /// The trace with this id, if it is within the scope.
    async fn find_trace(&self, id: &str) -> Result<Option<ToolTrace>> {
        let (scope_user, scope_org) = self.scope.parameters();
        let text = B::JSON_TO_TEXT;
        let statement = query(format!(
            "select id, user_id, org_id, tool_name, input_params{text}, status, progress,
             current_stage, state{text}, result{text}, error_message,
             created_at, started_at, completed_at, metrics{text} from tool_traces
             where id = $1
             and (cast($2 as text) is null or (user_id = $2 and coalesce(org_id, '') = $3))"
        ))
        .bind(id)
        .bind(scope_user)
        .bind(scope_org);
        let row: Option<TraceRow> = self.fetch_optional(statement).await?;
        Ok(row.map(trace_of))
    }

    /// Whether `trace` is within the scope.
    fn admits_trace(&self, trace: &ToolTrace) -> bool {
        let (user, org) = self.scope.parameters();
        user.is_none_or(|user| {
            user == trace.user_id && org == trace.org_id.clone().unwrap_or_default()
        })
    }

    async fn put(&self, trace: &ToolTrace) -> Result<bool> {
        let put = async {
            let mut session = self.backend.direct_writer(&self.scope).await?;
            let put = put_trace(&mut session.connection(), trace, true).await?;
            session.finish().await?;
            Ok(put)
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
        if self.find_trace(&trace.id).await?.is_some() {
            let what = format!("trace {} already exists", trace.id);
            return Err(Error::new(ErrorKind::Usage, what).with_hint("choose another id"));
        }
        self.put(trace).await.map(|_| ())
    }

    async fn write_trace(&self, trace: &ToolTrace) -> Result<()> {
        let before = self.trace(&trace.id).await?;
        if before.completed_at.is_some() || !self.put(trace).await? {
            let what = format!("trace {} has ended", trace.id);
            return Err(Error::new(ErrorKind::Usage, what).with_hint("create another"));
        }
        Ok(())
    }

    async fn trace(&self, id: &str) -> Result<ToolTrace> {
        self.find_trace(id).await?.ok_or_else(|| no_trace(id))
    }

    async fn traces(&self, filter: &TraceFilter) -> Result<Vec<TraceSummary>> {
        let (scope_user, scope_org) = self.scope.parameters();
        let statement = query(
            "select id, user_id, org_id, tool_name, status, progress, current_stage,
             created_at, started_at, completed_at from tool_traces
             where (cast($1 as text) is null or user_id = $1)
             and (cast($2 as text) is null or tool_name = $2)
             and ($3 = 0 or completed_at is null)
             and (cast($4 as text) is null or (user_id = $4 and coalesce(org_id, '') = $5))
             order by created_at desc, id desc limit $6",
        )
        .bind(&filter.user)
        .bind(&filter.tool)
        .bind(i64::from(filter.open))
        .bind(scope_user)
        .bind(scope_org)
        .bind(filter.limit.map_or(i64::MAX, i64::from));
        let rows: Vec<SummaryRow> = self.fetch_all(statement).await?;
        Ok(rows.into_iter().map(summary_of).collect())
    }

    async fn remove_traces_ended_before(&self, at: &str) -> Result<()> {
        let statement =
            query("delete from tool_traces where completed_at < $1 and tool_name not in ($2, $3)");
        let [one, other] = RUN_TOOLS;
        let removed = self.execute(statement.bind(at).bind(one).bind(other)).await;
        removed.map(drop).map_err(|cause| self.write_error(&cause))
    }
}
