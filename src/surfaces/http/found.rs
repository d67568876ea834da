//! What a run has found and written, piece by piece.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use super::Server;
use super::extract::{Mine, Place};
use super::fault::{Answer, Fault};
use super::runs::body;
use crate::app::{changes, models};
use crate::domain::PageHash;
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::Caller;
use crate::surfaces::export::{self, json as shown, markdown};

/// A list that is whole.
fn list(data: impl Serialize) -> Json<Value> {
    Json(json!({"object": "list", "data": data, "has_more": false}))
}

/// `GET /v1/runs/{id}/evidence`: each piece as it was found.
pub(super) async fn evidence(mine: Mine) -> Answer<Json<Value>> {
    let events = mine.app.events(&mine.id, 0).await?;
    Ok(list(export::evidence::found(&events).collect::<Vec<_>>()))
}

/// `GET /v1/runs/{id}/sources`: what was read.
pub(super) async fn sources(mine: Mine) -> Answer<Json<Value>> {
    Ok(list(mine.run().await?.sources))
}

/// `GET /v1/runs/{id}/coverage`.
pub(super) async fn coverage(mine: Mine) -> Answer<Json<Value>> {
    let run = mine.run().await?;
    let Json(mut out) = list(run.coverage);
    out["gate"] = json!(run.gate);
    Ok(Json(out))
}

/// `GET /v1/runs/{id}/plan`.
pub(super) async fn plan(mine: Mine) -> Answer<Json<Value>> {
    let run = mine.run().await?;
    match &run.plan {
        Some(plan) => Ok(Json(
            json!({"type": "plan", "brief": run.brief, "plan": plan}),
        )),
        None => Err(Fault::missing("plan").hint("the run has not made it yet")),
    }
}

/// `GET /v1/runs/{id}/trace`: every call to the outside, in order, as far as it came.
pub(super) async fn trace(mine: Mine) -> Answer<Json<Value>> {
    Ok(list(mine.app.steps(&mine.id).await?))
}

/// `GET /v1/runs/{id}/egress`: which hosts were contacted for it.
pub(super) async fn egress(mine: Mine) -> Answer<Json<Value>> {
    Ok(Json(json!(mine.app.traffic(&mine.id).await?)))
}

/// `GET /v1/runs/{id}/pages/{hash}`: a page that the report of this run rests on, as text.
pub(super) async fn page(
    mine: Mine,
    Place((_, hash)): Place<(String, String)>,
) -> Answer<Json<Value>> {
    let (_, report) = mine.report().await?;
    let wanted: PageHash =
        serde_json::from_value(json!(hash)).map_err(|_| Fault::missing("page"))?;
    let passages = export::passages(&report);
    if !passages.iter().any(|it| it.1.page() == &wanted) {
        return Err(Fault::missing("page"));
    }
    match mine.app.page(&wanted).await? {
        Some(page) => Ok(Json(json!(page))),
        None => Err(Fault::missing("page")),
    }
}

/// `GET /v1/runs/{id}/report.md` and its other forms.
pub(super) async fn report(
    mine: Mine,
    Place((_, file)): Place<(String, String)>,
) -> Answer<Response> {
    let Some(form) = file.strip_prefix("report.") else {
        return Err(Fault::missing("page"));
    };
    if !["md", "json", "html"].contains(&form) {
        return Err(Fault::missing("form of a report")
            .hint("there are report.md, report.html and report.json"));
    }
    let (_, report) = mine.report().await?;
    if form == "md" {
        let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
        return Ok((kind, markdown::report(&report, true)).into_response());
    }
    let pages = export::pages(&mine.app, Some(&report)).await?;
    if form == "html" {
        // The file says itself what it may do; the header says so for where it is opened from here.
        let kind = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, export::html::FRAME),
        ];
        return Ok((kind, export::html::whole(&report, &pages)?).into_response());
    }
    Ok(Json(shown::report(&report, &pages)).into_response())
}

/// `GET /v1/runs/{a}/diff/{b}`: what changed from one run to another.
pub(super) async fn diff(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    Place((a, b)): Place<(String, String)>,
) -> Answer<Json<Value>> {
    let before = Mine::named(&server, &caller, &a).await?.report().await?;
    let after = Mine::named(&server, &caller, &b).await?.report().await?;
    let found = changes(&before.1, &after.1)?;
    Ok(Json(export::changes::json(&found)))
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
    let models = models::bounded(server.desk.app.settings(), &question)?;
    Ok(Json(export::plan::json(
        &question,
        &brief,
        &plan,
        models.as_ref(),
    )?))
}
