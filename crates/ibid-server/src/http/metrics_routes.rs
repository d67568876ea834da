//! `/metrics`, and pushing the metrics to a collector.
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::api_error::{ApiError, ApiResult};
use super::state::ServerState;
use crate::request_service::CallerService;

async fn encode_metrics(server: &ServerState) -> Option<String> {
    let (waiting, working) = server.operator.queue().counts();
    // Where the store cannot be read, the last values stay: the other metrics say what is wrong.
    if let Ok(load) = server.operator.app().server_load().await {
        server.metrics.set_load(&load);
    }
    server.metrics.encode(waiting, working)
}

/// Pushes the metrics to the telemetry collector at its interval. Never returns.
pub(super) async fn push_loop(server: &ServerState) {
    let telemetry = server.operator.app().telemetry().ok().flatten();
    let Some(interval) = telemetry.and_then(|telemetry| telemetry.interval()) else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(interval).await;
        push(server).await;
    }
}

/// Pushes the metrics once, if a collector is configured.
pub(super) async fn push(server: &ServerState) {
    let app = server.operator.app();
    let telemetry = app.telemetry().ok().flatten();
    if let Some(collector) = telemetry
        && let Some(text) = encode_metrics(server).await
    {
        collector.export_metrics(&text, server.metrics.since_ms, app.now_ms()).await;
    }
    if let Some(fault) = app.telemetry_error() {
        tracing::warn!(why = fault.chain(), "telemetry_lost");
    }
}

/// `GET /metrics`, for the operator only: the metrics cover all callers.
pub(super) async fn metrics(
    State(server): State<Arc<ServerState>>,
    Extension(service): Extension<CallerService>,
) -> ApiResult<Response> {
    if !service.caller().is_operator() {
        let what = "only the operator may read the metrics";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "operator_only", what)
            .with_hint("send the operator's token"));
    }
    let out = encode_metrics(&server).await.ok_or_else(|| {
        ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the metrics cannot be encoded",
        )
    })?;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media_type)], out).into_response())
}
