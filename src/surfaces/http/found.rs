//! What a run has found and written, piece by piece.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Server;
use super::extract::Place;
use super::fault::{Answer, Fault};
use super::runs::{body, mine};
use crate::app::{changes, models};
use crate::domain::{PageHash, Report};
use crate::record::{Event, Run};
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::Caller;
use crate::surfaces::export::{self, json as shown, markdown};

/// The report of a run of the caller's.
async fn with_report(server: &Server, caller: &Caller, id: &str) -> Answer<(Run, Report)> {
    let (run, row) = mine(server, caller, id).await?;
    let run = server.desk.app.run(&run).await?;
    match run.report.clone() {
        Some(report) => Ok((run, *report)),
        None if row.status.ended() => {
            Err(Fault::missing("report").hint("the run ended without one"))
        }
        None => Err(Fault::missing("report").hint("the run has not written it yet")),
    }
}

/// `GET /v1/runs/{id}/evidence`: each piece as it was found.
pub(super) async fn evidence(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place(id): Place<String>,
) -> Answer<Json<Value>> {
    let (run, _) = mine(&server, &caller, &id).await?;
    let events = server.desk.app.events(&run, 0).await?;
    let data: Vec<Value> = events
        .iter()
        .filter_map(|it| match &it.event {
            Event::EvidenceAdded { evidence } => Some(json!(evidence)),
            _ => None,
        })
        .collect();
    Ok(Json(
        json!({"object": "list", "data": data, "has_more": false}),
    ))
}

/// `GET /v1/runs/{id}/sources`: what was read.
pub(super) async fn sources(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place(id): Place<String>,
) -> Answer<Json<Value>> {
    let (run, _) = mine(&server, &caller, &id).await?;
    let run = server.desk.app.run(&run).await?;
    Ok(Json(
        json!({"object": "list", "data": run.sources, "has_more": false}),
    ))
}

/// `GET /v1/runs/{id}/coverage`.
pub(super) async fn coverage(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place(id): Place<String>,
) -> Answer<Json<Value>> {
    let (run, _) = mine(&server, &caller, &id).await?;
    let run = server.desk.app.run(&run).await?;
    Ok(Json(
        json!({"object": "list", "data": run.coverage, "has_more": false, "gate": run.gate}),
    ))
}

/// `GET /v1/runs/{id}/plan`.
pub(super) async fn plan(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place(id): Place<String>,
) -> Answer<Json<Value>> {
    let (run, _) = mine(&server, &caller, &id).await?;
    let run = server.desk.app.run(&run).await?;
    match &run.plan {
        Some(plan) => Ok(Json(
            json!({"type": "plan", "brief": run.brief, "plan": plan}),
        )),
        None => Err(Fault::missing("plan").hint("the run has not made it yet")),
    }
}

/// `GET /v1/runs/{id}/trace`: every call to the outside, in order, as far as it came.
pub(super) async fn trace(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place(id): Place<String>,
) -> Answer<Json<Value>> {
    let (run, _) = mine(&server, &caller, &id).await?;
    let steps = server.desk.app.steps(&run).await?;
    Ok(Json(
        json!({"object": "list", "data": steps, "has_more": false}),
    ))
}

/// `GET /v1/runs/{id}/egress`: which hosts were contacted for it.
pub(super) async fn egress(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place(id): Place<String>,
) -> Answer<Json<Value>> {
    let (run, _) = mine(&server, &caller, &id).await?;
    Ok(Json(json!(server.desk.app.traffic(&run).await?)))
}

/// `GET /v1/runs/{id}/pages/{hash}`: a page that the report of this run rests on, as text.
pub(super) async fn page(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place((id, hash)): Place<(String, String)>,
) -> Answer<Json<Value>> {
    let (_, report) = with_report(&server, &caller, &id).await?;
    let wanted: PageHash =
        serde_json::from_value(json!(hash)).map_err(|_| Fault::missing("page"))?;
    let passages = export::passages(&report);
    if !passages.iter().any(|it| it.1.page() == &wanted) {
        return Err(Fault::missing("page"));
    }
    match server.desk.app.page(&wanted).await? {
        Some(page) => Ok(Json(json!(page))),
        None => Err(Fault::missing("page")),
    }
}

/// `GET /v1/runs/{id}/report.md` and its other forms.
pub(super) async fn report(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place((id, file)): Place<(String, String)>,
) -> Answer<Response> {
    let Some(form) = file.strip_prefix("report.") else {
        return Err(Fault::missing("page"));
    };
    if !["md", "json"].contains(&form) {
        return Err(Fault::missing("form of a report").hint("there are report.md and report.json"));
    }
    let (_, report) = with_report(&server, &caller, &id).await?;
    if form == "md" {
        let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
        return Ok((kind, markdown::report(&report, true)).into_response());
    }
    let pages = export::pages(&server.desk.app, Some(&report)).await?;
    Ok(Json(shown::report(&report, &pages)).into_response())
}

/// `GET /v1/runs/{a}/diff/{b}`: what changed from one run to another.
pub(super) async fn diff(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place((a, b)): Place<(String, String)>,
) -> Answer<Json<Value>> {
    let (_, before) = with_report(&server, &caller, &a).await?;
    let (_, after) = with_report(&server, &caller, &b).await?;
    Ok(Json(export::changes::json(&changes(&before, &after)?)))
}

/// `POST /v1/plan`: what would be done with a question, and what it may cost; nothing is spent.
pub(super) async fn preview(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Json<Value>> {
    let asked = Asked::parse(&body(bytes)?, &["webhook_url"])?;
    let question = server.desk.question(&caller, &asked).await?;
    let (brief, plan) = server.desk.app.plan(&question).await?;
    let models = models::estimate(server.desk.app.settings(), &question)?;
    Ok(Json(json!({
        "type": "plan",
        "question": question.text,
        "brief": brief,
        "plan": plan,
        "estimate": {
            "items": plan.items().len(),
            "max_calls": question.budget.calls,
            "max_seconds": question.budget.seconds,
            "model_calls": models.as_ref().map_or(0, |it| it.calls),
            "tokens": models.as_ref().map_or(0, |it| it.tokens_in + it.tokens_out),
            "usd": models.as_ref().map_or(Some(0.0), |it| it.usd),
        },
    })))
}
