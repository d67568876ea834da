//! What is not about runs: health, help for programs, and what is not there.
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::Server;
use super::fault::{Answer, Fault};
use crate::error::{Error, Kind};

/// How long the store is waited for: who asks gives up soon, too.
const READY: Duration = Duration::from_millis(1500);

/// Whether the process lives.
pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Whether it can take questions: the store answers, and does so in time.
pub(super) async fn ready(State(server): State<Arc<Server>>) -> Answer<Json<Value>> {
    let app = server.operator.app();
    let answered = tokio::time::timeout(READY, app.ready()).await;
    answered.unwrap_or_else(|_| Err(Error::new(Kind::Transient, "the store does not answer")))?;
    let (waiting, working) = server.operator.queue().count();
    Ok(Json(
        json!({"status": "ok", "waiting": waiting, "working": working}),
    ))
}

/// The server in words, for language models that are to use it.
pub(super) async fn llms() -> impl IntoResponse {
    const TEXT: &str = include_str!("llms.txt");
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], TEXT)
}

/// What no route leads to.
pub(super) async fn nowhere() -> Fault {
    Fault::missing("page").hint("/openapi.json lists what there is")
}

/// A route that does not take the method.
pub(super) async fn wrong_method() -> Fault {
    Fault::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong_method",
        "this cannot be done here",
    )
    .hint("/openapi.json lists what can")
}
