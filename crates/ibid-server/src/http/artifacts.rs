//! The parts of a run: evidence, sources, coverage, plan, trace, pages, report.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::extract::{OwnedRun, PathParams, QueryParams};
use super::runs::{check_webhook, resolve_question};
use super::state::ServerState;
use super::values::json_body;
use crate::request::ResearchRequest;
use crate::request_service::CallerService;
use ibid::app::diff_reports;
use ibid_core::domain::PageHash;
use ibid_core::record::sent_queries;
use ibid_core::{Error, ErrorKind};
use ibid_report::references::bibliography;
use ibid_report::{ExportOptions, ReportFormat};

/// A complete list.
fn list_object(data: impl Serialize) -> Json<Value> {
    Json(json!({"object": "list", "data": data, "has_more": false}))
}

/// `GET /v1/runs/{id}/evidence`: each piece, in the order found.
pub(super) async fn evidence(mine: OwnedRun) -> ApiResult<Json<Value>> {
    let events = mine.run.events(0).await?;
    Ok(list_object(ibid_report::evidence::from_events(&events).collect::<Vec<_>>()))
}

/// `GET /v1/runs/{id}/sources`: the sources that were read.
pub(super) async fn sources(mine: OwnedRun) -> ApiResult<Json<Value>> {
    Ok(list_object(mine.run().await?.sources))
}

/// `GET /v1/runs/{id}/coverage`.
pub(super) async fn coverage(mine: OwnedRun) -> ApiResult<Json<Value>> {
    let run = mine.run().await?;
    let Json(mut out) = list_object(run.coverage_rows());
    out["gate"] = json!(run.gate);
    Ok(Json(out))
}

/// `GET /v1/runs/{id}/plan`.
pub(super) async fn plan(mine: OwnedRun) -> ApiResult<Json<Value>> {
    let run = mine.run().await?;
    match &run.plan {
        Some(plan) => Ok(Json(json!({"type": "plan", "brief": run.brief, "plan": plan}))),
        None => Err(ApiError::not_found("plan").with_hint("the run has not made it yet")),
    }
}

/// `GET /v1/runs/{id}/trace`: every external call, in order.
pub(super) async fn trace(mine: OwnedRun) -> ApiResult<Json<Value>> {
    Ok(list_object(mine.run.steps().await?))
}

/// `GET /v1/runs/{id}/egress`: the hosts contacted, and the queries sent with the origin of their words.
pub(super) async fn egress(mine: OwnedRun) -> ApiResult<Json<Value>> {
    let events = mine.run.events(0).await?;
    let hosts = mine.run.traffic().await?;
    Ok(Json(json!({"hosts": hosts, "queries": sent_queries(&events)})))
}

/// `GET /v1/runs/{id}/pages/{hash}`: a page that the report cites, as text.
pub(super) async fn page(
    mine: OwnedRun,
    PathParams((_, hash)): PathParams<(String, String)>,
) -> ApiResult<Json<Value>> {
    let (_, report) = mine.report().await?;
    let wanted: PageHash =
        serde_json::from_value(json!(hash)).map_err(|_| ApiError::not_found("page"))?;
    let passages = report.cited_passages();
    if !passages.iter().any(|passage| passage.1.page() == &wanted) {
        return Err(ApiError::not_found("page"));
    }
    let page = mine.run.page(&wanted).await?;
    page.map(Json).ok_or_else(|| ApiError::not_found("page"))
}

/// The query parameters of a report.
#[derive(Deserialize)]
pub(super) struct ReportParams {
    style: Option<String>,
}

/// `GET /v1/runs/{id}/report.md` and the other formats.
pub(super) async fn report(
    mine: OwnedRun,
    PathParams((_, file)): PathParams<(String, String)>,
    QueryParams(params): QueryParams<ReportParams>,
) -> ApiResult<Response> {
    let Some(name) = file.strip_prefix("report.") else {
        return Err(ApiError::not_found("page"));
    };
    let Some(format) = ReportFormat::from_name(name).filter(|format| format.is_built()) else {
        let formats =
            format!("the formats are report.{}", ReportFormat::names().replace(", ", ", report."));
        return Err(ApiError::not_found("report format").with_hint(formats));
    };
    let (_, report) = mine.report().await?;
    let pages = mine.run.pages(Some(&report)).await?;
    let info = format.info();
    let zip = if info.folder { ".zip" } else { "" };
    let file_name = format!("{}.{}{zip}", report.run, format.extension(&report));
    // Rendering takes a while and must not block the async threads.
    let rendering = tokio::task::spawn_blocking(move || {
        let options = ExportOptions {
            style: params.style.as_deref().unwrap_or(bibliography::DEFAULT),
            ..ExportOptions::default()
        };
        format.render(&report, &pages, options)?.into_bytes()
    });
    let bytes = rendering.await.map_err(|fault| {
        Error::new(ErrorKind::Internal, format!("rendering report.{name}")).with_source(fault)
    })??;
    let mut response = ([(header::CONTENT_TYPE, info.media_type)], bytes).into_response();
    if format == ReportFormat::Html {
        // The file contains its policy; the header repeats it when the file is opened from here.
        let policy = HeaderValue::from_static(ibid_report::html::VIEWER_POLICY);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if !matches!(format, ReportFormat::Md | ReportFormat::Html | ReportFormat::Json)
        && let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{file_name}\""))
    {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// `GET /v1/runs/{a}/diff/{b}`: the differences between the reports of two runs.
pub(super) async fn diff(
    State(server): State<Arc<ServerState>>,
    Extension(service): Extension<CallerService>,
    PathParams((a, b)): PathParams<(String, String)>,
) -> ApiResult<Json<Value>> {
    let before = OwnedRun::lookup(&server, &service, &a).await?.report().await?;
    let after = OwnedRun::lookup(&server, &service, &b).await?.report().await?;
    let found = diff_reports(&before.1, &after.1)?;
    Ok(Json(ibid_report::changes::to_json(&found)))
}

/// `POST /v1/plan`: the plan of a question and its estimated cost. Spends nothing.
pub(super) async fn preview_plan(
    Extension(service): Extension<CallerService>,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Json<Value>> {
    let request = ResearchRequest::parse(json_body(bytes)?)?;
    check_webhook(&service, &request)?;
    let question = resolve_question(&service, &request).await?;
    Ok(Json(service.plan(question).await?.to_json()?))
}
