//! The routes of schedules: create, list, show, pause, delete, and their feeds.
use axum::Json;
use axum::body::Bytes;
use axum::extract::Extension;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::extract::PathParams;
use super::runs::resolve_question;
use super::values::{invalid_value, read_body};
use crate::request::ResearchRequest;
use crate::request_service::{CallerService, check_schedulable};
use crate::schedules::feed::atom;
use ibid::app::schedules::{NewSchedule, interval_text, parse_interval};
use ibid_core::ErrorKind;
use ibid_core::domain::RunId;
use ibid_core::ports::Schedule;

/// A question to ask again at intervals.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSchedule")]
pub(super) struct ScheduleBody {
    /// The question with its options. It may neither wait for approval nor ask questions.
    #[schemars(with = "ResearchRequest")]
    request: Value,
    /// The time between two reruns, from 15m to 365d: 30m, 12h, 7d.
    #[schemars(regex(pattern = "^\\s*[0-9]+[mhd]\\s*$"))]
    every: String,
    /// URL that is called after each rerun. The SSRF guard must allow it.
    #[schemars(length(max = 2_000))]
    webhook_url: Option<String>,
}

/// A question that is asked again at intervals.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Schedule")]
pub(super) struct ScheduleObject {
    id: String,
    #[schemars(extend("const" = "schedule"))]
    object: &'static str,
    question: String,
    /// The request of each rerun.
    #[schemars(extend("type" = "object"))]
    request: Value,
    /// The time between two reruns: 30m, 12h, 7d.
    every: String,
    /// When the next rerun is due.
    #[schemars(extend("format" = "date-time"))]
    next_at: String,
    paused: bool,
    webhook_url: Option<String>,
    /// The directory of mail files, which only the command line sets.
    mail_dir: Option<String>,
    /// How many reruns have started.
    reruns: u64,
    /// The rerun that has started and has not been delivered.
    #[schemars(with = "Option<String>")]
    active_run: Option<RunId>,
    /// The newest rerun with a report.
    #[schemars(with = "Option<String>")]
    latest_run: Option<RunId>,
    /// The rerun with a report before that one.
    #[schemars(with = "Option<String>")]
    previous_run: Option<RunId>,
    /// Why the last rerun could not start or not be delivered.
    last_error: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// The path of its feed.
    feed: String,
}

/// A deleted schedule.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ScheduleDeleted")]
pub(super) struct DeletedSchedule {
    id: String,
    #[schemars(extend("const" = "schedule.deleted"))]
    object: &'static str,
    #[schemars(extend("const" = true))]
    deleted: bool,
}

/// `POST /v1/schedules`.
pub(super) async fn create(
    Extension(service): Extension<CallerService>,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let body: ScheduleBody = read_body(bytes)?;
    let request = ResearchRequest::parse(body.request.clone())?;
    let interval_secs = parse_interval("every", &body.every).map_err(|fault| {
        let what = fault.to_string();
        let error = invalid_value("every", what.trim_start_matches("every "));
        error.with_hint(fault.hint().unwrap_or_default().to_owned())
    })?;
    check_schedulable(&request)?;
    resolve_question(&service, &request).await?;
    if let Some(url) = &body.webhook_url {
        service.check_webhook_url(url).map_err(ApiError::unprocessable)?;
    }
    let new = NewSchedule {
        request: body.request,
        interval_secs,
        webhook_url: body.webhook_url,
        mail_dir: None,
    };
    let schedule = match service.add_schedule(new).await {
        Err(fault) if fault.kind() == ErrorKind::Exhausted => {
            let (status, what) = (StatusCode::TOO_MANY_REQUESTS, fault.public_message());
            return Err(ApiError::new(status, "too_many_schedules", what)
                .with_hint("delete a schedule first"));
        }
        schedule => schedule?,
    };
    let location = HeaderValue::from_str(&format!("/v1/schedules/{}", schedule.id));
    let mut response = (StatusCode::CREATED, Json(schedule_object(schedule))).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// `GET /v1/schedules`: newest first.
pub(super) async fn list(Extension(service): Extension<CallerService>) -> ApiResult<Json<Value>> {
    let all = service.schedules().await?;
    let data: Vec<ScheduleObject> = all.into_iter().map(schedule_object).collect();
    Ok(Json(json!({"object": "list", "data": data, "has_more": false})))
}

/// `GET /v1/schedules/{id}`.
pub(super) async fn show(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ScheduleObject>> {
    Ok(Json(schedule_object(find(&service, &id).await?)))
}

/// `DELETE /v1/schedules/{id}`: its runs stay.
pub(super) async fn remove(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<DeletedSchedule>> {
    let id = find(&service, &id).await?.id;
    service.remove_schedule(&id).await?;
    Ok(Json(DeletedSchedule { id, object: "schedule.deleted", deleted: true }))
}

/// `POST /v1/schedules/{id}/pause`.
pub(super) async fn pause(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ScheduleObject>> {
    set_paused(&service, &id, true).await
}

/// `POST /v1/schedules/{id}/resume`.
pub(super) async fn resume(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ScheduleObject>> {
    set_paused(&service, &id, false).await
}

/// `POST /v1/schedules/{id}/run`: makes the next rerun due now.
pub(super) async fn run_now(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ScheduleObject>> {
    if find(&service, &id).await?.paused {
        let what = "the schedule is paused";
        return Err(
            ApiError::new(StatusCode::CONFLICT, "paused", what).with_hint("resume it first")
        );
    }
    service.run_schedule_now(&id).await?;
    Ok(Json(schedule_object(find(&service, &id).await?)))
}

/// `GET /v1/schedules/{id}/feed.atom`.
pub(super) async fn feed(
    Extension(service): Extension<CallerService>,
    PathParams(id): PathParams<String>,
) -> ApiResult<Response> {
    let schedule = find(&service, &id).await?;
    let feed = atom(&service, &schedule).await?;
    Ok(([(header::CONTENT_TYPE, "application/atom+xml; charset=utf-8")], feed).into_response())
}

async fn set_paused(
    service: &CallerService,
    id: &str,
    paused: bool,
) -> ApiResult<Json<ScheduleObject>> {
    let id = find(service, id).await?.id;
    service.pause_schedule(&id, paused).await?;
    Ok(Json(schedule_object(find(service, &id).await?)))
}

async fn find(service: &CallerService, id: &str) -> ApiResult<Schedule> {
    match service.schedule(id).await {
        Err(fault) if fault.kind() == ErrorKind::NotFound => Err(ApiError::not_found("schedule")),
        schedule => Ok(schedule?),
    }
}

fn schedule_object(schedule: Schedule) -> ScheduleObject {
    ScheduleObject {
        question: schedule.question().to_owned(),
        feed: format!("/v1/schedules/{}/feed.atom", schedule.id),
        id: schedule.id,
        object: "schedule",
        request: schedule.request,
        every: interval_text(schedule.interval_secs),
        next_at: schedule.next_at,
        paused: schedule.paused,
        webhook_url: schedule.webhook_url,
        mail_dir: schedule.mail_dir,
        reruns: schedule.reruns,
        active_run: schedule.active_run,
        latest_run: schedule.latest_run,
        previous_run: schedule.previous_run,
        last_error: schedule.last_error,
        created_at: schedule.created_at,
    }
}
