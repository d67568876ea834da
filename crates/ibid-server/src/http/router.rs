//! Every route of the server.
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};

use super::openai::{chat, models, responses};
use super::state::ServerState;
use super::viewer::error_pages::error_pages;
use super::{
    artifacts, auth, deadline, events, metrics_routes, openapi, request_log, runs, schedules,
    share, system_routes, traces, viewer,
};
use crate::mcp::McpServer;

/// The router. A test compares its routes with `openapi.json`.
pub(super) fn router(server: Arc<ServerState>, agentic_search: bool) -> Router {
    let max_body_bytes = server.max_body_bytes;
    Router::new()
        .route("/v1/runs", post(runs::create).get(runs::list))
        .route("/v1/runs/{id}", get(runs::show).delete(runs::remove))
        .route("/v1/runs/{id}/events", get(events::events))
        .route("/v1/runs/{id}/finish", post(runs::finish))
        .route("/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/v1/runs/{id}/steer", post(runs::steer))
        .route("/v1/runs/{id}/approve", post(runs::approve))
        .route("/v1/runs/{id}/answers", post(runs::answers))
        .route("/v1/runs/{id}/rating", post(runs::rate))
        .route("/v1/runs/{id}/share", get(share::list).post(share::create).delete(share::revoke))
        .route("/v1/runs/{id}/evidence", get(artifacts::evidence))
        .route("/v1/runs/{id}/sources", get(artifacts::sources))
        .route("/v1/runs/{id}/coverage", get(artifacts::coverage))
        .route("/v1/runs/{id}/plan", get(artifacts::plan))
        .route("/v1/runs/{id}/trace", get(artifacts::trace))
        .route("/v1/runs/{id}/egress", get(artifacts::egress))
        .route("/v1/runs/{id}/pages/{hash}", get(artifacts::page))
        .route("/v1/runs/{id}/{file}", get(artifacts::report))
        .route("/v1/runs/{a}/diff/{b}", get(artifacts::diff))
        .route("/v1/traces", post(traces::create).get(traces::list))
        .route("/v1/traces/{id}", get(traces::show).post(traces::update))
        .route("/v1/schedules", post(schedules::create).get(schedules::list))
        .route("/v1/schedules/{id}", get(schedules::show).delete(schedules::remove))
        .route("/v1/schedules/{id}/pause", post(schedules::pause))
        .route("/v1/schedules/{id}/resume", post(schedules::resume))
        .route("/v1/schedules/{id}/run", post(schedules::run_now))
        .route("/v1/schedules/{id}/feed.atom", get(schedules::feed))
        .route("/v1/plan", post(artifacts::preview_plan))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{id}", get(responses::show).delete(responses::remove))
        .route("/v1/responses/{id}/cancel", post(responses::cancel))
        .route("/v1/responses/{id}/finish", post(responses::finish))
        .route("/v1/responses/{id}/steer", post(responses::steer))
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/models", get(models::models))
        .route("/v1/models/{id}", get(models::model))
        .route("/metrics", get(metrics_routes::metrics))
        .route("/healthz", get(system_routes::health))
        .route("/readyz", get(system_routes::ready))
        .route("/openapi.json", get(openapi::document))
        .route("/llms.txt", get(system_routes::llms))
        .route_service("/mcp", McpServer::http(agentic_search, max_body_bytes))
        .merge(viewer::routes())
        .fallback(system_routes::not_found)
        .method_not_allowed_fallback(system_routes::method_not_allowed)
        .layer(DefaultBodyLimit::max(max_body_bytes))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), deadline::enforce_deadline))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), auth::authenticate))
        .layer(middleware::from_fn(error_pages))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), request_log::log_requests))
        .with_state(server)
}
