//! Routes that are not about runs: health, help for language models, and unknown routes.
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::state::ServerState;
use ibid_core::{Error, ErrorKind};

/// How long the store may take to answer: load balancers give up soon, and a busy machine adds its
/// own delay.
const READY_TIMEOUT: Duration = Duration::from_secs(1);

/// `GET /healthz`: the process is alive.
pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`: the store answers in time, so that the server can accept questions.
pub(super) async fn ready(State(server): State<Arc<ServerState>>) -> ApiResult<Json<Value>> {
    let app = server.operator.app();
    let answered = tokio::time::timeout(READY_TIMEOUT, app.ready()).await;
    answered
        .unwrap_or_else(|_| Err(Error::new(ErrorKind::Transient, "the store does not respond")))?;
    let (waiting, working) = server.operator.queue().counts();
    Ok(Json(json!({"status": "ok", "waiting": waiting, "working": working})))
}

/// `GET /llms.txt`: a description of the server for language models.
pub(super) async fn llms() -> impl IntoResponse {
    const TEXT: &str = include_str!("llms.txt");
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], TEXT)
}

/// The response to an unknown path.
pub(super) async fn not_found() -> ApiError {
    ApiError::not_found("page").with_hint("see /openapi.json for all routes")
}

/// The response to an unsupported method.
pub(super) async fn method_not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", "method not allowed")
        .with_hint("see /openapi.json for the methods of each route")
}
