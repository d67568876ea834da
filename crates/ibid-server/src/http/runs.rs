//! The routes of runs: start, list, show, steer, delete. [`CallerService::run`] looks every run up, so that callers see only their own.
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::Extension;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::bodies::{AnswersBody, ApprovalBody, DeletedBody, RatedBody, RatingBody, SteerBody};
use super::extract::{OwnedRun, QueryParams};
use super::values::{
    invalid_value, json_body, parse_limit, parse_number, read_body, read_optional_body,
};
use crate::request::ResearchRequest;
use crate::request_service::{CallerRun, CallerService, SubmitOutcome};
use ibid::app::commands::MAX_TEXT_CHARS;
use ibid::app::plan_file::PlanFile;
use ibid_core::domain::{Approval, CoverageRow, Question, Rating, Report, RunId};
use ibid_core::ports::{RunCommand, RunRow};
use ibid_core::record::{Phase, Run, RunStatus};
use ibid_report::{json as shown, markdown};

/// Longest `wait` of a request, seconds: below the usual timeouts of clients and proxies.
const MAX_WAIT_SECS: u64 = 55;

/// `Retry-After` when the queue is full, in seconds.
const RETRY_AFTER_SECS: u64 = 5;

/// Maximum length of an `Idempotency-Key`, in characters.
const MAX_KEY_CHARS: usize = 255;

#[derive(Deserialize)]
pub(super) struct RunParams {
    wait: Option<String>,
    shape: Option<String>,
}

impl RunParams {
    fn wait_time(&self) -> ApiResult<Duration> {
        let seconds = self.wait.as_deref().map_or(Ok(0), |wait| parse_number("wait", wait))?;
        if seconds > MAX_WAIT_SECS {
            let limit = format!("must be at most {MAX_WAIT_SECS} seconds");
            return Err(invalid_value("wait", &limit));
        }
        Ok(Duration::from_secs(seconds))
    }

    fn response_shape(&self) -> ApiResult<ResponseShape> {
        match self.shape.as_deref() {
            None | Some("run") => Ok(ResponseShape::Run),
            Some("result") => Ok(ResponseShape::Result),
            Some("report") => Ok(ResponseShape::Report),
            Some(_) => Err(invalid_value("shape", "must be run, result or report")),
        }
    }
}

/// The shape of a run in the response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseShape {
    /// Its state, and its result once there is one.
    Run,
    /// Only the result object.
    Result,
    /// `markdown` or `answer`, and `sources`.
    Report,
}

/// An idempotency key with the route and the body it was sent with. A repeated request returns the run of the first.
pub(super) struct IdempotentRequest {
    key: String,
    sent: Vec<u8>,
}

/// Reads the `Idempotency-Key` header, if the request has one.
pub(super) fn idempotent_request(
    route: &str,
    headers: &HeaderMap,
    bytes: &Result<Bytes, BytesRejection>,
) -> ApiResult<Option<IdempotentRequest>> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = key.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > MAX_KEY_CHARS {
        return Err(invalid_value(
            "Idempotency-Key",
            &format!("must be a text of at most {MAX_KEY_CHARS} characters"),
        ));
    }
    Ok(bytes.as_ref().ok().map(|sent| IdempotentRequest {
        key: key.to_owned(),
        sent: [route.as_bytes(), b"\n", sent].concat(),
    }))
}

/// Builds the question of a request.
///
/// # Errors
/// 400 for a value out of bounds, 422 for a valid value that this server cannot accept.
pub(super) async fn resolve_question(
    service: &CallerService,
    request: &ResearchRequest,
) -> ApiResult<Question> {
    service.load_settings(&request.flags())?;
    let question = service.question(request).await;
    question.map_err(ApiError::unprocessable)
}

/// Checks that the webhook of a request may be sent.
///
/// # Errors
/// 422 if it may not.
pub(super) fn check_webhook(service: &CallerService, request: &ResearchRequest) -> ApiResult<()> {
    match &request.webhook_url {
        Some(url) => service.check_webhook_url(url).map_err(ApiError::unprocessable),
        None => Ok(()),
    }
}

/// Starts a run for the caller, or returns the run of an earlier request with the same key. `extras` holds the fields besides the
/// question.
///
/// # Errors
/// 429 if the queue is full; 422 for a key that another request has used; those of [`resolve_question`].
pub(super) async fn accept(
    service: &CallerService,
    request: &ResearchRequest,
    extras: Option<Value>,
    idempotency: Option<IdempotentRequest>,
) -> ApiResult<CallerRun> {
    check_webhook(service, request)?;
    let question = resolve_question(service, request).await?;
    let key =
        idempotency.map(|idempotency| service.request_key(&idempotency.key, &idempotency.sent));
    match service.accept(question, extras, key).await? {
        SubmitOutcome::Started(run) => Ok(run),
        SubmitOutcome::Full => Err(ApiError::queue_full(RETRY_AFTER_SECS)),
        SubmitOutcome::Other => Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "this Idempotency-Key was used for a different request",
        )),
    }
}

/// Refuses a request early if the queue is full. A request with a key is let through, because its run may exist already.
///
/// # Errors
/// 429 if the queue is full.
pub(super) fn check_capacity(service: &CallerService, headers: &HeaderMap) -> ApiResult<()> {
    let keyed = headers.contains_key("idempotency-key");
    if !keyed && service.is_full() {
        return Err(ApiError::queue_full(RETRY_AFTER_SECS));
    }
    Ok(())
}

/// `POST /v1/runs`.
pub(super) async fn create(
    Extension(service): Extension<CallerService>,
    QueryParams(params): QueryParams<RunParams>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    check_capacity(&service, &headers)?;
    let idempotency = idempotent_request("/v1/runs", &headers, &bytes)?;
    let (wait, shape) = (params.wait_time()?, params.response_shape()?);
    let request = ResearchRequest::parse(json_body(bytes)?)?;
    let extras = request.extras();
    let run = accept(&service, &request, extras, idempotency).await?;
    run.wait(wait).await?;
    let mut response = run_response(&run, shape).await?;
    let location = format!("/v1/runs/{}", run.id());
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// The run in this shape: 200 once it has ended, 202 before.
async fn run_response(handle: &CallerRun, shape: ResponseShape) -> ApiResult<Response> {
    let run = handle.run().await?;
    let status = if run.status.ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let value = match shape {
        ResponseShape::Run => run_object(handle, &run).await?,
        ResponseShape::Result => run_result(handle, &run).await?,
        ResponseShape::Report => report_object(&run),
    };
    Ok((status, Json(value)).into_response())
}

async fn run_result(handle: &CallerRun, run: &Run) -> ApiResult<Value> {
    let pages = handle.pages(run.report.as_deref()).await?;
    Ok(shown::result(run, shown::ResultSubtype::from_run(run), &pages, true))
}

/// The report in Markdown, the answer in one line where there is one, and the sources; of a run without an answer also the error
/// of its `result`.
fn report_object(run: &Run) -> Value {
    let report = run.report.as_deref();
    let sources: Vec<Value> = report
        .iter()
        .flat_map(|it| &it.sources)
        .map(|source| json!({"url": source.url, "title": source.title}))
        .collect();
    let mut object = json!({
        "status": run.status,
        "markdown": report.map(|report| markdown::report(report, true)),
        "sources": sources,
    });
    if let Some(line) = report.and_then(Report::one_line_answer) {
        object["one_line_answer"] = line.into();
        // Its older name, kept for one version.
        object["answer"] = line.into();
    }
    if let Some(error) = shown::run_error(run) {
        object["error"] = error;
    }
    object
}

/// The run object: its state, and its result once there is one.
pub(super) async fn run_object(handle: &CallerRun, run: &Run) -> ApiResult<Value> {
    let id = &run.id;
    let at = |text: &str| format!("/v1/runs/{id}{text}");
    let ratio = CoverageRow::completeness(&run.coverage_rows());
    let waits_for = match (run.awaiting_clarification, run.awaiting_approval) {
        (true, _) => Some("clarification"),
        (_, true) => Some("approval"),
        _ => None,
    };
    let result = if run.status.ended() { Some(run_result(handle, run).await?) } else { None };
    Ok(json!({
        "id": id,
        "object": "run",
        "status": run.status,
        "question": run.question.as_ref().map(|question| &question.text),
        "mode": run.question.as_ref().map(|question| question.mode),
        "created_at": run.started_at,
        "updated_at": run.updated_at,
        "last_event": run.seq,
        "waits_for": waits_for,
        "asks": run.asks,
        "progress": {
            "phase": run.phase,
            "wave": run.round,
            "searches": run.searches,
            "pages": run.pages,
            "evidence": run.evidence,
            "completeness": f64::from((ratio * 100.0).round()) / 100.0,
        },
        "usage": run.usage,
        "charged_usd_at_most": run.charged_usd_at_most(),
        "stop_reason": run.stop_reason,
        "error": run.error,
        "links": {
            "events": at("/events"),
            "report": run.report.as_ref().map(|_| at("/report.md")),
        },
        "result": result,
    }))
}

#[derive(Deserialize)]
pub(super) struct ListParams {
    status: Option<String>,
    q: Option<String>,
    limit: Option<String>,
    after: Option<String>,
}

/// `GET /v1/runs`: newest first.
pub(super) async fn list(
    Extension(service): Extension<CallerService>,
    QueryParams(params): QueryParams<ListParams>,
) -> ApiResult<Json<Value>> {
    let limit = parse_limit(params.limit.as_deref())?;
    let status: Option<RunStatus> = match &params.status {
        None => None,
        Some(it) => Some(
            serde_json::from_value(json!(it))
                .map_err(|_| invalid_value("status", "is not a status of runs"))?,
        ),
    };
    let after: Option<RunId> = match &params.after {
        None => None,
        Some(it) => {
            Some(it.parse().map_err(|_| invalid_value("after", "must be the id of a run"))?)
        }
    };
    let filter = RunFilter {
        words: params.q.unwrap_or_default(),
        status,
        after,
        limit: limit as usize,
        ..RunFilter::default()
    };
    let (rows, more) = filter_runs(&service, &filter).await?;
    // With `id`, as in the run object.
    let named = |run_row: &RunRow| {
        let mut row = json!(run_row);
        row["id"] = json!(run_row.run_id);
        row
    };
    let data: Vec<Value> = rows.iter().map(named).collect();
    Ok(Json(json!({"object": "list", "data": data, "has_more": more})))
}

/// Which runs to list.
#[derive(Default, Clone)]
pub(super) struct RunFilter {
    /// Text that the question contains.
    pub(super) words: String,
    pub(super) status: Option<RunStatus>,
    /// The first and the last day of their start, `YYYY-MM-DD`, UTC.
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    /// List only runs older than this one.
    pub(super) after: Option<RunId>,
    pub(super) limit: usize,
}

/// The caller's runs that match, newest first, and whether there are more.
pub(super) async fn filter_runs(
    service: &CallerService,
    filter: &RunFilter,
) -> ApiResult<(Vec<RunRow>, bool)> {
    let words = filter.words.trim().to_lowercase();
    let mut data = Vec::new();
    for row in service.rows().await? {
        let day = row.started_at.get(..10).unwrap_or_default();
        let matches = filter.after.as_ref().is_none_or(|it| row.run_id < *it)
            && filter.status.is_none_or(|status| row.status == status)
            && filter.since.as_deref().is_none_or(|it| day >= it)
            && filter.until.as_deref().is_none_or(|it| day <= it)
            && row.question.to_lowercase().contains(&words);
        if !matches {
            continue;
        }
        if data.len() == filter.limit {
            return Ok((data, true));
        }
        data.push(row);
    }
    Ok((data, false))
}

/// `GET /v1/runs/{id}`.
pub(super) async fn show(
    mine: OwnedRun,
    QueryParams(params): QueryParams<RunParams>,
) -> ApiResult<Response> {
    let (wait, shape) = (params.wait_time()?, params.response_shape()?);
    mine.run.wait(wait).await?;
    let mut response = run_response(&mine.run, shape).await?;
    *response.status_mut() = StatusCode::OK;
    Ok(response)
}

/// `DELETE /v1/runs/{id}`: deletes an ended run.
pub(super) async fn remove(mine: OwnedRun) -> ApiResult<Json<DeletedBody>> {
    mine.remove().await?;
    Ok(Json(DeletedBody { id: mine.id().to_string(), object: "run.deleted", deleted: true }))
}

/// Sends a command to the run, and returns the run object.
async fn send_and_show(mine: &OwnedRun, command: RunCommand) -> ApiResult<Response> {
    mine.send_command(command).await?;
    let object = run_object(&mine.run, &mine.run().await?).await?;
    Ok((StatusCode::ACCEPTED, Json(object)).into_response())
}

/// `POST /v1/runs/{id}/finish`: stops searching and writes the report.
pub(super) async fn finish(mine: OwnedRun) -> ApiResult<Response> {
    send_and_show(&mine, RunCommand::Finish).await
}

/// `POST /v1/runs/{id}/cancel`: cancels the run.
pub(super) async fn cancel(mine: OwnedRun) -> ApiResult<Response> {
    send_and_show(&mine, RunCommand::Cancel).await
}

/// `POST /v1/runs/{id}/steer`: adds to what the run should find out.
pub(super) async fn steer(
    mine: OwnedRun,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let body: SteerBody = read_body(bytes)?;
    let command = steer_command(&mine, &body.text).await?;
    send_and_show(&mine, command).await
}

/// The command to steer the run with `text`.
///
/// # Errors
/// 400 for an empty or overlong text; 409 if the run is already writing its report.
pub(super) async fn steer_command(mine: &OwnedRun, text: &str) -> ApiResult<RunCommand> {
    let words = text.trim();
    if !(1..=MAX_TEXT_CHARS).contains(&words.chars().count()) {
        let limit = format!("must be a text of at most {MAX_TEXT_CHARS} characters");
        return Err(invalid_value("text", &limit));
    }
    let phase = mine.run().await?.phase;
    if !mine.has_ended() && matches!(phase, Phase::Write | Phase::Check) {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "too_late",
            "the run is already writing its report",
        )
        .with_hint("ask a follow-up after it has ended"));
    }
    Ok(RunCommand::Steer(words.to_owned()))
}

/// `POST /v1/runs/{id}/approve`: approves the plan, replaces it, or requests changes.
pub(super) async fn approve(
    mine: OwnedRun,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let approval = read_approval(&mine, read_optional_body(bytes)?).await?;
    send_and_show(&mine, RunCommand::Approve(approval)).await
}

/// Reads the decision on the plan.
///
/// # Errors
/// 409 if the run has ended or does not ask for approval; 400 if the decision is invalid.
pub(super) async fn read_approval(mine: &OwnedRun, body: ApprovalBody) -> ApiResult<Approval> {
    let known = mine.run().await?;
    if mine.has_ended() || !known.question.as_ref().is_some_and(|question| question.approve) {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "not_waiting",
            "the run is not waiting for approval of its plan",
        ));
    }
    Ok(match (body.plan, body.change) {
        (None, None) => Approval::Approve,
        (None, Some(words)) if !words.trim().is_empty() => {
            Approval::RequestChanges(words.trim().to_owned())
        }
        (Some(plan), None) => {
            let file = PlanFile::parse("of the request", &json!({"plan": plan}).to_string())?;
            let asked = known.question.ok_or_else(|| ApiError::not_found("run"))?;
            Approval::ReplacePlan(Box::new(file.provided_plan(&asked)?))
        }
        _ => {
            return Err(invalid_value(
                "plan",
                "must be a plan; or send change with a text instead",
            ));
        }
    })
}

/// `POST /v1/runs/{id}/answers`: answers the clarifying questions.
pub(super) async fn answers(
    mine: OwnedRun,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let body: AnswersBody = read_body(bytes)?;
    let reply = reply_command(&mine, body.answers).await?;
    send_and_show(&mine, reply).await
}

/// The command that answers the run's clarifying questions.
///
/// # Errors
/// 409 if the run is not waiting for answers.
pub(super) async fn reply_command(mine: &OwnedRun, answers: Vec<String>) -> ApiResult<RunCommand> {
    if mine.has_ended() || mine.run().await?.awaiting_clarification {
        return Ok(RunCommand::Reply(answers));
    }
    let what = "the run is not waiting for answers";
    Err(ApiError::new(StatusCode::CONFLICT, "not_waiting", what)
        .with_hint("steer it to add what you want to know"))
}

/// `POST /v1/runs/{id}/rating`.
pub(super) async fn rate(
    mine: OwnedRun,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Json<RatedBody>> {
    save_rating(&mine, read_body(bytes)?).await.map(Json)
}

/// Stores a reader's rating of the report.
///
/// # Errors
/// 400 for an overlong note; 409 if the run has not ended or has no report.
pub(super) async fn save_rating(mine: &OwnedRun, body: RatingBody) -> ApiResult<RatedBody> {
    let RatingBody { vote, note } = body;
    if note.as_ref().is_some_and(|note| note.chars().count() > Rating::NOTE_CHARS) {
        let limit = format!("must be a text of at most {} characters", Rating::NOTE_CHARS);
        return Err(invalid_value("note", &limit));
    }
    mine.require_ended()?;
    if mine.run().await?.report.is_none() {
        let what = "the run has no report to rate";
        return Err(ApiError::new(StatusCode::CONFLICT, "no_report", what));
    }
    let rating = Rating { vote, note: note.clone() };
    mine.run.rate(rating).await?;
    Ok(RatedBody { id: mine.id().to_string(), vote, note })
}
