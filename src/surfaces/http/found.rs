//! What a run has found and written, piece by piece.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Server;
use super::extract::{Mine, Params, Place};
use super::fault::{Answer, Fault};
use super::runs::{bad, body};
use crate::app::changes;
use crate::domain::PageHash;
use crate::error::{Error, Kind};
use crate::record::sent_queries;
use crate::surfaces::asked::Asked;
use crate::surfaces::desk::CallerService;
use crate::surfaces::export::references::styled;
use crate::surfaces::export::{self, Form, Options};

/// A list that is whole.
fn list(data: impl Serialize) -> Json<Value> {
    Json(json!({"object": "list", "data": data, "has_more": false}))
}

/// `GET /v1/runs/{id}/evidence`: each piece as it was found.
pub(super) async fn evidence(mine: Mine) -> Answer<Json<Value>> {
    let events = mine.run.events(0).await?;
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
    Ok(list(mine.run.steps().await?))
}

/// `GET /v1/runs/{id}/egress`: which hosts were contacted for it, and which queries were sent, of whose words.
pub(super) async fn egress(mine: Mine) -> Answer<Json<Value>> {
    let events = mine.run.events(0).await?;
    let hosts = mine.run.traffic().await?;
    Ok(Json(
        json!({"hosts": hosts, "queries": sent_queries(&events)}),
    ))
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
    let page = mine.run.page(&wanted).await?;
    page.map(Json).ok_or_else(|| Fault::missing("page"))
}

/// How a report is made, after the `?`.
#[derive(Deserialize)]
pub(super) struct Made {
    style: Option<String>,
}

/// `GET /v1/runs/{id}/report.md` and its other forms.
pub(super) async fn report(
    mine: Mine,
    Place((_, file)): Place<(String, String)>,
    Params(asked): Params<Made>,
) -> Answer<Response> {
    let Some(name) = file.strip_prefix("report.") else {
        return Err(Fault::missing("page"));
    };
    let Some(form) = Form::named(name).filter(|it| it.is_built()) else {
        let there = format!(
            "there are report.{}",
            Form::names().replace(", ", ", report.")
        );
        return Err(Fault::missing("form of a report").hint(there));
    };
    let (_, report) = mine.report().await?;
    let pages = mine.run.pages(Some(&report)).await?;
    let about = form.about();
    let zip = if about.folder { ".zip" } else { "" };
    let named = format!("{}.{}{zip}", report.run, form.ending(&report));
    // Laying out pages takes a while, and others wait for this thread.
    let making = tokio::task::spawn_blocking(move || {
        let options = Options {
            style: asked.style.as_deref().unwrap_or(styled::DEFAULT),
            ..Options::default()
        };
        form.make(&report, &pages, options)?.bytes()
    });
    let bytes = making
        .await
        .map_err(|it| Error::new(Kind::Internal, format!("making report.{name}")).because(it))??;
    let mut response = ([(header::CONTENT_TYPE, about.media)], bytes).into_response();
    if form == Form::Html {
        // The file says itself what it may do; the header says so for where it is opened from here.
        let policy = HeaderValue::from_static(export::html::FRAME);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if !matches!(form, Form::Md | Form::Html | Form::Json)
        && let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{named}\""))
    {
        response
            .headers_mut()
            .insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// `GET /v1/runs/{a}/diff/{b}`: what changed from one run to another.
pub(super) async fn diff(
    State(server): State<Arc<Server>>,
    Extension(service): Extension<CallerService>,
    Place((a, b)): Place<(String, String)>,
) -> Answer<Json<Value>> {
    let before = Mine::named(&server, &service, &a).await?.report().await?;
    let after = Mine::named(&server, &service, &b).await?.report().await?;
    let found = changes(&before.1, &after.1)?;
    Ok(Json(export::changes::json(&found)))
}

/// `POST /v1/plan`: what would be done with a question, and what it may cost; nothing is spent.
pub(super) async fn preview(
    Extension(service): Extension<CallerService>,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Json<Value>> {
    let value = body(bytes)?;
    match value.get("webhook_url") {
        None | Some(Value::Null) => {}
        Some(Value::String(url)) => service.may_deliver(url).map_err(Fault::unmeant)?,
        Some(_) => return Err(bad("webhook_url", "must be a text")),
    }
    let asked = Asked::parse(&value, &["webhook_url"])?;
    let question = super::runs::meant(&service, &asked).await?;
    let (brief, plan, models) = service.plan(&question).await?;
    Ok(Json(export::plan::json(
        &question,
        &brief,
        &plan,
        models.as_ref(),
    )?))
}
