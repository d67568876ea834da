//! `/v1/responses`.
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

use super::super::Server;
use super::super::extract::{Mine, Params};
use super::super::fault::Answer;
use super::super::runs::{accept, bad, body, once, room, said, steering};
use super::super::story::{batches, number, streamed};
use super::stream::Fold;
use super::{FOREVER, asked};
use crate::record::Run;
use crate::seams::Order;
use crate::surfaces::desk::{CallerRun, CallerService};

/// How long a cancel is waited for.
const SOON: Duration = Duration::from_secs(5);

/// `POST /v1/responses`.
pub(in crate::surfaces::http) async fn create(
    State(server): State<Arc<Server>>,
    Extension(service): Extension<CallerService>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Response> {
    room(&service, &headers)?;
    let once = once("/v1/responses", &headers, &bytes)?;
    let read = asked::responses(&body(bytes)?)?;
    let is = |name: &str| read.kept.get(name) == Some(&json!(true));
    let (stream, background) = (is("stream"), is("background"));
    let run = accept(&service, &read.asked, Some(read.kept.into()), once).await?;
    if stream {
        return Ok(told(&server, &run, None));
    }
    if !background {
        run.wait(FOREVER).await?;
    }
    Ok(Json(response(&run).await?).into_response())
}

/// The response as it stands.
async fn response(run: &CallerRun) -> Answer<Value> {
    let mut fold = Fold::new(Run::new(run.id().clone()));
    for it in run.events(0).await? {
        fold.take(&it);
    }
    Ok(fold.response())
}

/// The response as it comes, after `after` where a client comes back.
fn told(server: &Server, run: &CallerRun, after: Option<u64>) -> Response {
    let story = run.follow(0);
    let fold = Fold::new(Run::new(run.id().clone()));
    let messages = batches(story, server.stopping.clone())
        .scan(fold, move |fold, batch| {
            let all: Vec<Value> = batch.iter().flat_map(|it| fold.take(it)).collect();
            let new = all.into_iter().filter(|it| {
                after.is_none_or(|after| it["sequence_number"].as_u64() > Some(after))
            });
            let ended = new.collect::<Vec<_>>();
            future::ready(Some(ended))
        })
        .flat_map(stream::iter);
    let messages = messages.flat_map(|it| {
        let kind = it["type"].as_str().unwrap_or_default().to_owned();
        let last = matches!(
            kind.as_str(),
            "response.completed" | "response.failed" | "response.incomplete"
        );
        let mut out = vec![Ok(Message::default().event(kind).data(it.to_string()))];
        if last {
            out.push(Ok(Message::default().data("[DONE]")));
        }
        stream::iter(out)
    });
    streamed(messages)
}

#[derive(Deserialize)]
pub(in crate::surfaces::http) struct Wanted {
    stream: Option<String>,
    starting_after: Option<String>,
}

/// `GET /v1/responses/{id}`.
pub(in crate::surfaces::http) async fn show(
    mine: Mine,
    Params(wanted): Params<Wanted>,
) -> Answer<Response> {
    let after = match wanted.starting_after.as_deref() {
        None => None,
        Some(it) => Some(number("starting_after", it)?),
    };
    match wanted.stream.as_deref() {
        None | Some("false") => Ok(Json(response(&mine.run).await?).into_response()),
        Some("true") => Ok(told(&mine.server, &mine.run, after)),
        Some(_) => Err(bad("stream", "must be true or false")),
    }
}

/// `POST /v1/responses/{id}/cancel`.
pub(in crate::surfaces::http) async fn cancel(mine: Mine) -> Answer<Json<Value>> {
    // OpenAI's API answers a second cancel, or one that comes too late, with the response as it is.
    match mine.order(Order::Cancel).await {
        // What the order comes to is told by the run itself.
        Ok(()) => mine.run.wait(SOON).await?,
        Err(fault) if fault.conflicts() => {}
        Err(fault) => return Err(fault),
    }
    Ok(Json(response(&mine.run).await?))
}

/// `POST /v1/responses/{id}/finish`: write with what there is.
pub(in crate::surfaces::http) async fn finish(mine: Mine) -> Answer<Json<Value>> {
    mine.order(Order::Finish).await?;
    Ok(Json(response(&mine.run).await?))
}

/// `POST /v1/responses/{id}/steer`: what the person wants to know besides.
pub(in crate::surfaces::http) async fn steer(
    mine: Mine,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Json<Value>> {
    let order = steering(&mine, said(&body(bytes)?)).await?;
    mine.order(order).await?;
    Ok(Json(response(&mine.run).await?))
}

/// `DELETE /v1/responses/{id}`.
pub(in crate::surfaces::http) async fn remove(mine: Mine) -> Answer<Json<Value>> {
    mine.remove().await?;
    let id = mine.id().as_str().trim_start_matches("r_");
    Ok(Json(
        json!({"id": format!("resp_{id}"), "object": "response", "deleted": true}),
    ))
}
