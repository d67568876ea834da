//! Runs: asked, listed, looked at, steered, forgotten. Every one is looked up by [`CallerService::run`], so that nobody sees another's.
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::Extension;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Mine, Params};
use super::fault::{Answer, Fault};
use super::story::number;
use crate::app::given::PlanFile;
use crate::app::orders::LONGEST_WORDS;
use crate::domain::{Approval, CoverageRow, Question, Rating, RunId, Vote};
use crate::record::{Phase, Run, RunStatus};
use crate::seams::{Order, RunRow};
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::{CallerRun, CallerService, Submitted};
use crate::surfaces::export::{json as shown, markdown};

/// Longest wait of one call, seconds: shorter than what clients and proxies give up after.
const LONGEST_WAIT: u64 = 55;

/// Seconds after which to come again where too many wait.
const LATER: u64 = 5;

/// Runs of one page of the list.
const PAGE: usize = 50;
const MOST: u64 = 200;

/// The body as JSON.
pub(super) fn body(bytes: Result<Bytes, BytesRejection>) -> Answer<Value> {
    let bytes = bytes.map_err(|it| {
        let status = it.status();
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Fault::new(status, "too_large", "the body is too large")
            }
            _ => Fault::new(
                StatusCode::BAD_REQUEST,
                "cut_off",
                "the body did not arrive whole",
            ),
        }
    })?;
    serde_json::from_slice(&bytes).map_err(|it| {
        Fault::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("the body is no JSON: {it}"),
        )
    })
}

/// The same, where a call may come without a body.
fn optional(bytes: Result<Bytes, BytesRejection>) -> Answer<Value> {
    match bytes {
        Ok(it) if it.is_empty() => Ok(json!({})),
        it => body(it),
    }
}

#[derive(Deserialize)]
pub(super) struct Shape {
    wait: Option<String>,
    shape: Option<String>,
}

impl Shape {
    fn wait(&self) -> Answer<Duration> {
        let seconds = self
            .wait
            .as_deref()
            .map_or(Ok(0), |it| number("wait", it))?;
        match seconds <= LONGEST_WAIT {
            true => Ok(Duration::from_secs(seconds)),
            false => Err(bad(
                "wait",
                &format!("must be at most {LONGEST_WAIT} seconds"),
            )),
        }
    }

    fn form(&self) -> Answer<Form> {
        match self.shape.as_deref() {
            None | Some("run") => Ok(Form::Run),
            Some("result") => Ok(Form::Result),
            Some("report") => Ok(Form::Report),
            Some(_) => Err(bad("shape", "must be run, result or report")),
        }
    }
}

/// How a run is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Where it stands, and its result once there is one.
    Run,
    /// The result alone, as row B8 has it.
    Result,
    /// `markdown` or `answer`, and `sources`, as row E2 has it.
    Report,
}

pub(super) fn bad(field: &str, what: &str) -> Fault {
    Fault::new(
        StatusCode::BAD_REQUEST,
        "invalid_value",
        format!("{field} {what}"),
    )
    .at(field)
}

/// What makes the same request the same run, however often it is sent: the key, and what was sent under it to which route.
pub(super) struct Once {
    key: String,
    sent: Vec<u8>,
}

/// The key of a request that has one.
pub(super) fn once(
    route: &str,
    headers: &HeaderMap,
    bytes: &Result<Bytes, BytesRejection>,
) -> Answer<Option<Once>> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = key.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > 255 {
        return Err(bad(
            "Idempotency-Key",
            "must be a text of at most 255 characters",
        ));
    }
    Ok(bytes.as_ref().ok().map(|sent| Once {
        key: key.to_owned(),
        sent: [route.as_bytes(), b"\n", sent].concat(),
    }))
}

/// What was asked, as a question. A value out of bounds is answered 400; what is in order and cannot be meant here, 422.
pub(super) async fn meant(service: &CallerService, asked: &Asked) -> Answer<Question> {
    service.loaded(&asked.flags)?;
    let question = service.question(asked).await;
    question.map_err(Fault::unmeant)
}

/// Accepts what was asked for the caller, or says that too many wait. What was accepted under its key before is not accepted
/// again.
pub(super) async fn accept(
    service: &CallerService,
    asked: &Asked,
    request: Option<Value>,
    once: Option<Once>,
) -> Answer<CallerRun> {
    if let Some(url) = request.as_ref().and_then(|it| it.get("webhook_url")) {
        let url = url
            .as_str()
            .ok_or_else(|| bad("webhook_url", "must be a text"))?;
        service.may_deliver(url).map_err(Fault::unmeant)?;
    }
    let question = meant(service, asked).await?;
    let key = once.map(|it| service.request_key(&it.key, &it.sent));
    match service.accept(question, request, key).await? {
        Submitted::Begun(run) => Ok(run),
        Submitted::Full => Err(Fault::later(LATER)),
        Submitted::Other => Err(Fault::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "another request was made under this Idempotency-Key",
        )),
    }
}

/// Refuses before anything is read where too many wait already. A request with a key may have begun its run before.
pub(super) fn room(service: &CallerService, headers: &HeaderMap) -> Answer<()> {
    let keyed = headers.contains_key("idempotency-key");
    match !keyed && service.is_full() {
        true => Err(Fault::later(LATER)),
        false => Ok(()),
    }
}

/// `POST /v1/runs`.
pub(super) async fn create(
    Extension(service): Extension<CallerService>,
    Params(shape): Params<Shape>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Response> {
    room(&service, &headers)?;
    let once = once("/v1/runs", &headers, &bytes)?;
    let (wait, form) = (shape.wait()?, shape.form()?);
    let value = body(bytes)?;
    let asked = Asked::parse(&value, &["webhook_url"])?;
    let request = value.get("webhook_url").filter(|it| !it.is_null());
    let request = request.map(|it| json!({"api": "runs", "webhook_url": it}));
    let run = accept(&service, &asked, request, once).await?;
    run.wait(wait).await?;
    let mut response = view(&run, form).await?;
    let place = format!("/v1/runs/{}", run.id());
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// The run as asked for: 200 once it has ended, 202 before.
async fn view(of: &CallerRun, form: Form) -> Answer<Response> {
    let run = of.run().await?;
    let status = match run.status.ended() {
        true => StatusCode::OK,
        false => StatusCode::ACCEPTED,
    };
    let value = match form {
        Form::Run => object(of, &run).await?,
        Form::Result => result(of, &run).await?,
        Form::Report => reported(&run),
    };
    Ok((status, Json(value)).into_response())
}

async fn result(of: &CallerRun, run: &Run) -> Answer<Value> {
    let pages = of.pages(run.report.as_deref()).await?;
    Ok(shown::result(run, shown::Subtype::of(run), &pages, true))
}

/// Row E2: what was written, and what it rests on.
fn reported(run: &Run) -> Value {
    let report = run.report.as_deref();
    let sources: Vec<Value> = report
        .iter()
        .flat_map(|it| &it.sources)
        .map(|it| json!({"url": it.url, "title": it.title}))
        .collect();
    let answer = report.and_then(|it| it.answer.as_ref());
    match answer {
        Some(it) => json!({"status": run.status, "answer": it.text, "sources": sources}),
        None => json!({
            "status": run.status,
            "markdown": report.map(|it| markdown::report(it, true)),
            "sources": sources,
        }),
    }
}

/// The run object: where it stands, and its result once there is one.
pub(super) async fn object(of: &CallerRun, run: &Run) -> Answer<Value> {
    let id = &run.id;
    let at = |it: &str| format!("/v1/runs/{id}{it}");
    let ratio = CoverageRow::completeness(&run.coverage);
    let waits = match (run.awaiting_clarification, run.awaiting_approval) {
        (true, _) => Some("clarification"),
        (_, true) => Some("approval"),
        _ => None,
    };
    let result = match run.status.ended() {
        true => Some(result(of, run).await?),
        false => None,
    };
    Ok(json!({
        "id": id,
        "object": "run",
        "status": run.status,
        "question": run.question.as_ref().map(|it| &it.text),
        "mode": run.question.as_ref().map(|it| it.mode),
        "created_at": run.started_at,
        "updated_at": run.updated_at,
        "last_event": run.seq,
        "waits_for": waits,
        "asks": run.asks,
        "progress": {
            "phase": run.phase,
            "wave": run.wave,
            "searches": run.searches,
            "pages": run.pages,
            "evidence": run.evidence,
            "completeness": f64::from((ratio * 100.0).round()) / 100.0,
        },
        "usage": run.usage,
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
pub(super) struct Listed {
    status: Option<String>,
    q: Option<String>,
    limit: Option<String>,
    after: Option<String>,
}

/// `GET /v1/runs`: newest first.
pub(super) async fn list(
    Extension(service): Extension<CallerService>,
    Params(wanted): Params<Listed>,
) -> Answer<Json<Value>> {
    let limit = wanted
        .limit
        .as_deref()
        .map_or(Ok(PAGE as u64), |it| number("limit", it))?;
    if !(1..=MOST).contains(&limit) {
        return Err(bad("limit", &format!("must be from 1 to {MOST}")));
    }
    let status: Option<RunStatus> = match &wanted.status {
        None => None,
        Some(it) => Some(
            serde_json::from_value(json!(it))
                .map_err(|_| bad("status", "is none that runs have"))?,
        ),
    };
    let after: Option<RunId> = match &wanted.after {
        None => None,
        Some(it) => Some(
            it.parse()
                .map_err(|_| bad("after", "must be the id of a run"))?,
        ),
    };
    let wanted = Wanted {
        words: wanted.q.unwrap_or_default(),
        status,
        after,
        limit: limit as usize,
        ..Wanted::default()
    };
    let (rows, more) = listed(&service, &wanted).await?;
    // Named as in the run itself, too.
    let named = |it: &RunRow| {
        let mut row = json!(it);
        row["id"] = json!(it.run_id);
        row
    };
    let data: Vec<Value> = rows.iter().map(named).collect();
    Ok(Json(
        json!({"object": "list", "data": data, "has_more": more}),
    ))
}

/// Which runs of the list.
#[derive(Default, Clone)]
pub(super) struct Wanted {
    /// Words of the question.
    pub(super) words: String,
    pub(super) status: Option<RunStatus>,
    /// The first and the last day they began on, `YYYY-MM-DD`, UTC.
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    /// The last one that is known.
    pub(super) after: Option<RunId>,
    pub(super) limit: usize,
}

/// The caller's runs that are wanted, newest first, and whether there are more.
pub(super) async fn listed(
    service: &CallerService,
    wanted: &Wanted,
) -> Answer<(Vec<RunRow>, bool)> {
    let words = wanted.words.trim().to_lowercase();
    let mut data = Vec::new();
    for row in service.rows().await? {
        let day = row.started_at.get(..10).unwrap_or_default();
        let here = wanted.after.as_ref().is_none_or(|it| row.run_id < *it)
            && wanted.status.is_none_or(|it| row.status == it)
            && wanted.since.as_deref().is_none_or(|it| day >= it)
            && wanted.until.as_deref().is_none_or(|it| day <= it)
            && row.question.to_lowercase().contains(&words);
        if !here {
            continue;
        }
        if data.len() == wanted.limit {
            return Ok((data, true));
        }
        data.push(row);
    }
    Ok((data, false))
}

/// `GET /v1/runs/{id}`.
pub(super) async fn show(mine: Mine, Params(shape): Params<Shape>) -> Answer<Response> {
    let (wait, form) = (shape.wait()?, shape.form()?);
    mine.run.wait(wait).await?;
    let mut response = view(&mine.run, form).await?;
    *response.status_mut() = StatusCode::OK;
    Ok(response)
}

/// `DELETE /v1/runs/{id}`: of an ended run.
pub(super) async fn remove(mine: Mine) -> Answer<Json<Value>> {
    mine.remove().await?;
    Ok(Json(
        json!({"id": mine.id(), "object": "run.deleted", "deleted": true}),
    ))
}

/// Leaves an order for the run, and shows it.
async fn ordered(mine: &Mine, order: Order) -> Answer<Response> {
    mine.order(order).await?;
    let object = object(&mine.run, &mine.run().await?).await?;
    Ok((StatusCode::ACCEPTED, Json(object)).into_response())
}

/// `POST /v1/runs/{id}/finish`: write with what there is.
pub(super) async fn finish(mine: Mine) -> Answer<Response> {
    ordered(&mine, Order::Finish).await
}

/// `POST /v1/runs/{id}/cancel`: stop for good.
pub(super) async fn cancel(mine: Mine) -> Answer<Response> {
    ordered(&mine, Order::Cancel).await
}

/// `POST /v1/runs/{id}/steer`: what the person wants to know besides.
pub(super) async fn steer(mine: Mine, bytes: Result<Bytes, BytesRejection>) -> Answer<Response> {
    let order = steering(&mine, said(&body(bytes)?)).await?;
    ordered(&mine, order).await
}

/// The `text` of a body.
pub(super) fn said(value: &Value) -> &str {
    value
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The order that `text` gives, while there is still something to steer.
pub(super) async fn steering(mine: &Mine, text: &str) -> Answer<Order> {
    let words = text.trim();
    if !(1..=LONGEST_WORDS).contains(&words.chars().count()) {
        let most = format!("must be a text of at most {LONGEST_WORDS} characters");
        return Err(bad("text", &most));
    }
    let phase = mine.run().await?.phase;
    if !mine.has_ended() && matches!(phase, Phase::Write | Phase::Check) {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "too_late",
            "the run is being written already",
        )
        .hint("ask a follow-up once it has ended"));
    }
    Ok(Order::Steer(words.to_owned()))
}

/// `POST /v1/runs/{id}/approve`: go by the plan, by another one, or make it anew with some words in mind.
pub(super) async fn approve(mine: Mine, bytes: Result<Bytes, BytesRejection>) -> Answer<Response> {
    let approval = approval(&mine, &optional(bytes)?).await?;
    ordered(&mine, Order::Approve(approval)).await
}

/// The word on the plan that a request says, where the run waits for one.
pub(super) async fn approval(mine: &Mine, value: &Value) -> Answer<Approval> {
    let known = mine.run().await?;
    if mine.has_ended() || !known.question.as_ref().is_some_and(|it| it.approve) {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "not_waiting",
            "the run does not wait for a word on its plan",
        ));
    }
    Ok(match (value.get("plan"), value.get("change")) {
        (None, None) => Approval::Go,
        (None, Some(Value::String(words))) if !words.trim().is_empty() => {
            Approval::Words(words.trim().to_owned())
        }
        (Some(plan @ Value::Object(_)), None) => {
            let file = PlanFile::parse("of the request", &json!({"plan": plan}).to_string())?;
            let asked = known.question.ok_or_else(|| Fault::missing("run"))?;
            Approval::Plan(Box::new(file.given(&asked)?))
        }
        _ => {
            return Err(bad(
                "plan",
                "must be a plan, or change some words; not both",
            ));
        }
    })
}

/// `POST /v1/runs/{id}/answers`: what the person says to the questions back.
pub(super) async fn answers(mine: Mine, bytes: Result<Bytes, BytesRejection>) -> Answer<Response> {
    let value = body(bytes)?;
    let given = value.get("answers").and_then(Value::as_array);
    let texts = given.map(|it| it.iter().map(|it| it.as_str().map(str::to_owned)).collect());
    let Some(Some(answers)) = texts else {
        return Err(bad(
            "answers",
            "must be a list of texts, one for each question",
        ));
    };
    let reply = replying(&mine, answers).await?;
    ordered(&mine, reply).await
}

/// The order that answers the questions of the run, where it waits for answers.
pub(super) async fn replying(mine: &Mine, answers: Vec<String>) -> Answer<Order> {
    match mine.has_ended() || mine.run().await?.awaiting_clarification {
        true => Ok(Order::Reply(answers)),
        false => Err(Fault::new(
            StatusCode::CONFLICT,
            "not_waiting",
            "the run asks for no answer",
        )
        .hint("steer it to say what you want to know besides")),
    }
}

/// `POST /v1/runs/{id}/rating`.
pub(super) async fn rate(mine: Mine, bytes: Result<Bytes, BytesRejection>) -> Answer<Json<Value>> {
    rated(&mine, &body(bytes)?).await.map(Json)
}

/// Keeps what a reader thinks of the report.
pub(super) async fn rated(mine: &Mine, value: &Value) -> Answer<Value> {
    let vote = match value.get("vote").and_then(Value::as_str) {
        Some("up") => Vote::Up,
        Some("down") => Vote::Down,
        _ => return Err(bad("vote", "must be up or down")),
    };
    let note = match value.get("note") {
        None | Some(Value::Null) => None,
        Some(Value::String(it)) if it.chars().count() <= Rating::NOTE_CHARS => Some(it.clone()),
        Some(_) => return Err(bad("note", "must be a text of at most 2000 characters")),
    };
    mine.ended()?;
    if mine.run().await?.report.is_none() {
        let what = "the run has no report to rate";
        return Err(Fault::new(StatusCode::CONFLICT, "no_report", what));
    }
    let rating = Rating {
        vote,
        note: note.clone(),
    };
    mine.run.rate(rating).await?;
    Ok(json!({"id": mine.id(), "vote": vote, "note": note}))
}
