//! OpenAI's Responses API: `/v1/responses`.
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::sse::Event as Message;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, future, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::api_error::ApiResult;
use super::super::bodies::SteerBody;
use super::super::events::{event_batches, sse_response};
use super::super::extract::{OwnedRun, QueryParams};
use super::super::runs::{accept, check_capacity, idempotent_request, steer_command};
use super::super::state::ServerState;
use super::super::values::{invalid_value, json_body, parse_number, read_body};
use super::request::{self, RUN_TIMEOUT};
use super::response_fold::ResponseFold;
use crate::request_service::{CallerRun, CallerService};
use ibid_core::ports::RunCommand;
use ibid_core::record::Run;

/// How long a request waits for its cancel to take effect.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// `POST /v1/responses`.
pub(in crate::http) async fn create(
    State(server): State<Arc<ServerState>>,
    Extension(service): Extension<CallerService>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    check_capacity(&service, &headers)?;
    let idempotency = idempotent_request("/v1/responses", &headers, &bytes)?;
    let parsed = request::parse_responses(&json_body(bytes)?)?;
    let is = |name: &str| parsed.extras.get(name) == Some(&json!(true));
    let (stream, background) = (is("stream"), is("background"));
    let extras = Some(parsed.extras.into());
    let run = accept(&service, &parsed.request, extras, idempotency).await?;
    if stream {
        return Ok(stream_response(&server, &run, None));
    }
    if !background {
        run.wait(RUN_TIMEOUT).await?;
    }
    Ok(Json(response_object(&run).await?).into_response())
}

/// The current response object.
async fn response_object(run: &CallerRun) -> ApiResult<Value> {
    let mut fold = ResponseFold::new(Run::new(run.id().clone()));
    for event in run.events(0).await? {
        fold.apply(&event);
    }
    Ok(fold.response())
}

/// The response as a stream, from message `after` on if a client resumes.
fn stream_response(server: &ServerState, run: &CallerRun, after: Option<u64>) -> Response {
    let events = run.follow(0);
    let fold = ResponseFold::new(Run::new(run.id().clone()));
    let messages = event_batches(events, server.stopping.clone())
        .scan(fold, move |fold, batch| {
            let all: Vec<Value> = batch.iter().flat_map(|it| fold.apply(it)).collect();
            let new = all.into_iter().filter(|message| {
                after.is_none_or(|after| message["sequence_number"].as_u64() > Some(after))
            });
            future::ready(Some(new.collect::<Vec<_>>()))
        })
        .flat_map(stream::iter);
    let messages = messages.flat_map(|message| {
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        let last = matches!(
            kind.as_str(),
            "response.completed" | "response.failed" | "response.incomplete"
        );
        let mut out = vec![Ok(Message::default().event(kind).data(message.to_string()))];
        if last {
            out.push(Ok(Message::default().data("[DONE]")));
        }
        stream::iter(out)
    });
    sse_response(messages)
}

#[derive(Deserialize)]
pub(in crate::http) struct ResponseParams {
    stream: Option<String>,
    starting_after: Option<String>,
}

/// `GET /v1/responses/{id}`.
pub(in crate::http) async fn show(
    mine: OwnedRun,
    QueryParams(params): QueryParams<ResponseParams>,
) -> ApiResult<Response> {
    let after = match params.starting_after.as_deref() {
        None => None,
        Some(it) => Some(parse_number("starting_after", it)?),
    };
    match params.stream.as_deref() {
        None | Some("false") => Ok(Json(response_object(&mine.run).await?).into_response()),
        Some("true") => Ok(stream_response(&mine.server, &mine.run, after)),
        Some(_) => Err(invalid_value("stream", "must be true or false")),
    }
}

/// `POST /v1/responses/{id}/cancel`.
pub(in crate::http) async fn cancel(mine: OwnedRun) -> ApiResult<Json<Value>> {
    // Like OpenAI's API, answer a second or late cancel with the unchanged response.
    match mine.send_command(RunCommand::Cancel).await {
        Ok(()) => mine.run.wait(CANCEL_TIMEOUT).await?,
        Err(fault) if fault.is_conflict() => {}
        Err(fault) => return Err(fault),
    }
    Ok(Json(response_object(&mine.run).await?))
}

/// `POST /v1/responses/{id}/finish`: stops searching and writes the report.
pub(in crate::http) async fn finish(mine: OwnedRun) -> ApiResult<Json<Value>> {
    mine.send_command(RunCommand::Finish).await?;
    Ok(Json(response_object(&mine.run).await?))
}

/// `POST /v1/responses/{id}/steer`: adds to what the run should find out.
pub(in crate::http) async fn steer(
    mine: OwnedRun,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Json<Value>> {
    let body: SteerBody = read_body(bytes)?;
    let command = steer_command(&mine, &body.text).await?;
    mine.send_command(command).await?;
    Ok(Json(response_object(&mine.run).await?))
}

/// `DELETE /v1/responses/{id}`.
pub(in crate::http) async fn remove(mine: OwnedRun) -> ApiResult<Json<Value>> {
    mine.remove().await?;
    let id = mine.id().as_str().trim_start_matches("r_");
    Ok(Json(json!({"id": format!("resp_{id}"), "object": "response", "deleted": true})))
}
