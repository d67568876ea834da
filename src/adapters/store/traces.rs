//! What tools were asked and what came of it: the statements, written once as a macro for every database.

/// Writes of traces on a connection; `$json` is how a text becomes a column of JSON.
macro_rules! trace_writes {
    ($connection:ty, $json:literal) => {
        /// Puts a trace in its row: a new one, or in place of what was there.
        pub(super) async fn put_trace(
            db: &mut $connection,
            trace: &ToolTrace,
        ) -> sqlx::Result<()> {
            let json = |it: &serde_json::Value| it.to_string();
            sqlx::query(concat!(
                "insert into tool_traces (id, user_id, org_id, tool_name, input_params, status, progress,
                 current_stage, state, result, error_message, created_at, started_at, completed_at, metrics)
                 values ($1, $2, $3, $4, $5", $json, ", $6, $7, $8, $9", $json, ", $10", $json,
                ", $11, $12, $13, $14, $15", $json, ")
                 on conflict (id) do update set status = excluded.status, progress = excluded.progress,
                 current_stage = excluded.current_stage, state = excluded.state, result = excluded.result,
                 error_message = excluded.error_message, started_at = excluded.started_at,
                 completed_at = excluded.completed_at, metrics = excluded.metrics"
            ))
            .bind(&trace.id)
            .bind(&trace.user_id)
            .bind(&trace.org_id)
            .bind(&trace.tool_name)
            .bind(json(&trace.input_params))
            .bind(&trace.status)
            .bind(trace.progress)
            .bind(&trace.current_stage)
            .bind(json(&trace.state))
            .bind(trace.result.as_ref().map(json))
            .bind(&trace.error_message)
            .bind(&trace.created_at)
            .bind(&trace.started_at)
            .bind(&trace.completed_at)
            .bind(json(&trace.metrics))
            .execute(db)
            .await?;
            Ok(())
        }

        /// Tells the trace of a run anew from its events, where one of those just added changes it.
        pub(super) async fn retell(
            db: &mut $connection,
            run: &RunId,
            added: &[Envelope],
        ) -> sqlx::Result<()> {
            if !added.iter().any(|it| ToolTrace::turns_at(&it.event)) {
                return Ok(());
            }
            let bodies: Vec<String> =
                sqlx::query_scalar("select body from events where run = $1 order by seq")
                    .bind(run.as_str())
                    .fetch_all(&mut *db)
                    .await?;
            let events: Vec<Envelope> = bodies
                .iter()
                .filter_map(|it| serde_json::from_str(it).ok())
                .collect();
            match ToolTrace::of(run, &events) {
                Some(trace) => put_trace(db, &trace).await,
                None => Ok(()),
            }
        }
    };
}

/// The traces over a store; `$text` is how a column of JSON becomes a text.
macro_rules! traces {
    ($store:ty, $row:ty, $text:literal) => {
        fn trace_of(row: &$row) -> sqlx::Result<ToolTrace> {
            let json = |column| -> sqlx::Result<Option<serde_json::Value>> {
                let text: Option<String> = row.try_get(column)?;
                Ok(text.and_then(|it| serde_json::from_str(&it).ok()))
            };
            Ok(ToolTrace {
                id: row.try_get("id")?,
                user_id: row.try_get("user_id")?,
                org_id: row.try_get("org_id")?,
                tool_name: row.try_get("tool_name")?,
                input_params: json("input")?.unwrap_or_default(),
                status: row.try_get("status")?,
                progress: row.try_get("progress")?,
                current_stage: row.try_get("current_stage")?,
                state: json("state_text")?.unwrap_or_default(),
                result: json("result_text")?,
                error_message: row.try_get("error_message")?,
                created_at: row.try_get("created_at")?,
                started_at: row.try_get("started_at")?,
                completed_at: row.try_get("completed_at")?,
                metrics: json("metrics_text")?.unwrap_or_default(),
            })
        }

        impl $store {
            async fn traces_where(
                &self,
                id: Option<&str>,
                user: Option<&str>,
                tool: Option<&str>,
            ) -> Result<Vec<ToolTrace>> {
                let (of, org) = self.scope.words();
                let rows = patiently!(self, db => sqlx::query(concat!(
                    "select id, user_id, org_id, tool_name, input_params", $text, " as input, status, progress,
                     current_stage, state", $text, " as state_text, result", $text, " as result_text, error_message,
                     created_at, started_at, completed_at, metrics", $text, " as metrics_text from tool_traces
                     where (cast($1 as text) is null or id = $1) and (cast($2 as text) is null or user_id = $2)
                     and (cast($3 as text) is null or tool_name = $3)
                     and (cast($4 as text) is null or (user_id = $4 and coalesce(org_id, '') = $5))
                     order by created_at desc, id desc"
                ))
                .bind(id)
                .bind(user)
                .bind(tool)
                .bind(&of)
                .bind(&org)
                .fetch_all(db))?;
                rows.iter()
                    .map(|it| trace_of(it).map_err(|it| self.unread(&it)))
                    .collect()
            }

            /// That a trace is within what this store may see.
            fn admits(&self, trace: &ToolTrace) -> bool {
                let (of, org) = self.scope.words();
                of.is_none_or(|it| {
                    it == trace.user_id && org == trace.org_id.clone().unwrap_or_default()
                })
            }

            async fn put(&self, trace: &ToolTrace) -> Result<()> {
                let put = async {
                    let mut session = self.desk().await?;
                    put_trace(&mut session, trace).await
                };
                put.await.map_err(|it| self.unwritten(&it))
            }
        }

        #[async_trait]
        impl Traces for $store {
            async fn create_trace(&self, trace: &ToolTrace) -> Result<()> {
                if !self.admits(trace) {
                    return Err(absent(&trace.id));
                }
                let same = self.traces_where(Some(&trace.id), None, None).await?;
                if !same.is_empty() {
                    let what = format!("trace {} is there already", trace.id);
                    return Err(Error::new(Kind::Usage, what).hint("choose another id"));
                }
                self.put(trace).await
            }

            async fn write_trace(&self, trace: &ToolTrace) -> Result<()> {
                let before = self.trace(&trace.id).await?;
                if before.completed_at.is_some() {
                    let what = format!("trace {} has ended", trace.id);
                    return Err(Error::new(Kind::Usage, what).hint("create another"));
                }
                self.put(trace).await
            }

            async fn trace(&self, id: &str) -> Result<ToolTrace> {
                let found = self.traces_where(Some(id), None, None).await?;
                found.into_iter().next().ok_or_else(|| absent(id))
            }

            async fn traces(&self, user: &str, tool: Option<&str>) -> Result<Vec<ToolTrace>> {
                self.traces_where(None, Some(user), tool).await
            }
        }
    };
}

/// That there is no such trace, or none for who asks.
pub(super) fn absent(id: &str) -> Error {
    Error::new(
        Kind::NotFound,
        format!("there is no trace {}", id.escape_debug()),
    )
    .hint("list the traces of the user first")
}

use crate::error::{Error, Kind};

pub(super) use {trace_writes, traces};
