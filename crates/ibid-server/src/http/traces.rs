//! The routes of traces: create, list, show and update the traces of tools. Those of runs can only be read.
use axum::Json;
use axum::body::Bytes;
use axum::extract::Extension;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::bodies::{NewTraceBody, TraceUpdateBody};
use super::extract::{PathParams, QueryParams};
use super::values::{invalid_value, parse_limit, read_body};
use crate::request_service::CallerService;
use ibid::app::traces::{MAX_NAME_CHARS, ToolStatus, TraceUpdate};
use ibid_core::ErrorKind;
use ibid_core::record::ToolTrace;

/// Maximum size of an input, a state, a result and metrics, each as JSON, in bytes.
const MAX_JSON_BYTES: usize = 1 << 20;
/// Maximum length of an error message, in characters.
const MAX_ERROR_CHARS: usize = 4_000;

#[derive(Deserialize)]
pub(super) struct TraceParams {
    tool: Option<String>,
    limit: Option<String>,
}

/// `GET /v1/traces`: newest first, without input, state and result.
pub(super) async fn list(
    Extension(service): Extension<CallerService>,
    QueryParams(params): QueryParams<TraceParams>,
) -> ApiResult<Json<Value>> {
    let limit = parse_limit(params.limit.as_deref())?;
    if let Some(tool) = &params.tool {
        check_name("tool", tool)?;
    }
    let mut rows = service.traces(params.tool, limit + 1).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    Ok(Json(json!({"object": "list", "data": rows, "has_more": more})))
}

/// `GET /v1/traces/{id}`.
pub(super) async fn show(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<Value>> {
    Ok(Json(trace_object(&find(&service, &id).await?)))
}

/// `POST /v1/traces`.
pub(super) async fn create(
    Extension(service): Extension<CallerService>,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let body: NewTraceBody = read_body(bytes)?;
    check_name("tool", &body.tool)?;
    if ToolTrace::is_run_tool(&body.tool) {
        let hint = "start a run instead, or choose another name";
        return Err(invalid_value("tool", "is the name of runs").with_hint(hint));
    }
    check_size("input", body.input.as_ref())?;
    let input = body.input.unwrap_or_else(|| json!({}));
    let Some(trace) = service.create_trace(&body.tool, input).await? else {
        let what = "too many of your traces have not ended";
        return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_traces", what)
            .with_hint("complete or fail the traces of tools that have stopped"));
    };
    let mut response = (StatusCode::CREATED, Json(trace_object(&trace))).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/traces/{}", trace.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// `POST /v1/traces/{id}`: what the tool reports.
pub(super) async fn update(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Json<Value>> {
    let trace = find(&service, &id).await?;
    check_open(&trace)?;
    let update = trace_update(read_body(bytes)?)?;
    match service.update_trace(&trace.id, update).await {
        Ok(trace) => Ok(Json(trace_object(&trace))),
        Err(fault) => {
            // It ended after the lookup.
            check_open(&find(&service, &trace.id).await?)?;
            Err(fault.into())
        }
    }
}

async fn find(service: &CallerService, id: &str) -> ApiResult<ToolTrace> {
    match service.trace(id).await {
        Err(fault) if fault.kind() == ErrorKind::NotFound => Err(ApiError::not_found("trace")),
        trace => Ok(trace?),
    }
}

/// Checks that a tool may write to the trace.
fn check_open(trace: &ToolTrace) -> ApiResult<()> {
    let (code, what) = if trace.is_of_run() {
        ("of_run", "the trace follows the events of its run")
    } else if trace.completed_at.is_some() {
        ("ended", "the trace has ended already")
    } else {
        return Ok(());
    };
    Err(ApiError::new(StatusCode::CONFLICT, code, what).with_hint("create another trace"))
}

/// What a body reports, within the limits of its fields.
fn trace_update(body: TraceUpdateBody) -> ApiResult<TraceUpdate> {
    let status = match body.status.as_deref() {
        None | Some("in_progress") => ToolStatus::InProgress,
        Some("completed") => ToolStatus::Completed,
        Some("failed") => ToolStatus::Failed,
        Some(_) => {
            return Err(invalid_value("status", "must be in_progress, completed or failed"));
        }
    };
    if let Some(stage) = &body.stage {
        check_name("stage", stage)?;
    }
    if body.progress.is_some_and(|progress| !(0.0..=1.0).contains(&progress)) {
        return Err(invalid_value("progress", "must be from 0 to 1"));
    }
    for (name, value) in
        [("state", &body.state), ("result", &body.result), ("metrics", &body.metrics)]
    {
        check_size(name, value.as_ref())?;
    }
    if body.result.is_some() && status != ToolStatus::Completed {
        return Err(invalid_value("result", "needs the status completed"));
    }
    if body.error.is_some() && status != ToolStatus::Failed {
        return Err(invalid_value("error", "needs the status failed"));
    }
    if body.error.as_ref().is_some_and(|it| it.chars().count() > MAX_ERROR_CHARS) {
        let limit = format!("must be a text of at most {MAX_ERROR_CHARS} characters");
        return Err(invalid_value("error", &limit));
    }
    Ok(TraceUpdate {
        status,
        stage: body.stage,
        progress: body.progress,
        state: body.state,
        result: body.result,
        metrics: body.metrics,
        error: body.error,
    })
}

/// Checks the name of a tool or a stage. No database stores a NUL.
fn check_name(field: &str, name: &str) -> ApiResult<()> {
    if !name.trim().is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.contains('\0') {
        return Ok(());
    }
    let limit = format!("must be a text of at most {MAX_NAME_CHARS} characters, without NUL");
    Err(invalid_value(field, &limit))
}

fn check_size(field: &str, value: Option<&Value>) -> ApiResult<()> {
    if value.is_some_and(|value| value.to_string().len() > MAX_JSON_BYTES) {
        return Err(invalid_value(field, "must be at most 1 MiB of JSON"));
    }
    Ok(())
}

fn trace_object(trace: &ToolTrace) -> Value {
    let mut object = json!(trace);
    object["object"] = "trace".into();
    object
}
