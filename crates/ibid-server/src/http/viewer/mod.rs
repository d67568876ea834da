//! The web viewer: pages over the same runs as the API, made from events, reports and journal steps alone. Forms go through the same
//! functions as API requests.
mod actions;
mod ask_form;
mod assets;
mod bulk;
pub(super) mod error_pages;
mod login;
mod overview;
mod page;
mod pages;
pub(super) mod run_stats;
mod sharing;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::share;
use super::state::ServerState;

/// The routes of all pages. A test compares them with `openapi.json`.
pub(super) fn routes() -> Router<Arc<ServerState>> {
    Router::new()
        .route("/", get(pages::runs))
        .route("/new", get(actions::new).post(actions::submit))
        .route("/r/{id}", get(pages::live))
        .route("/r/{id}/live", get(pages::state))
        .route("/r/{id}/report", get(pages::report))
        .route("/r/{id}/quote/{k}", get(pages::quote))
        .route("/r/{id}/evidence", get(pages::evidence))
        .route("/r/{id}/sources", get(pages::sources))
        .route("/r/{id}/timeline", get(pages::timeline))
        .route("/r/{id}/trace", get(pages::trace))
        .route("/r/{id}/trace/{n}", get(pages::step))
        .route("/r/{id}/finish", post(actions::finish))
        .route("/r/{id}/cancel", post(actions::cancel))
        .route("/r/{id}/steer", post(actions::steer))
        .route("/r/{id}/approve", post(actions::approve))
        .route("/r/{id}/answers", post(actions::answers))
        .route("/r/{id}/rate", post(actions::rate))
        .route("/r/{id}/follow", post(actions::follow_up))
        .route("/r/{id}/share", get(sharing::show).post(sharing::create))
        .route("/r/{id}/unshare", post(sharing::revoke))
        .route("/runs/export", get(bulk::export))
        .route("/runs/delete", get(bulk::confirm_delete).post(bulk::delete))
        .route("/s/{token}", get(share::open))
        .route("/diff/{a}/{b}", get(overview::diff))
        .route("/costs", get(overview::costs))
        .route("/doctor", get(overview::doctor).post(overview::doctor_with_probes))
        .route("/login", get(login::show).post(login::sign_in))
        .route("/logout", post(login::sign_out))
        .route("/assets/style.css", get(assets::style))
        .route("/assets/script.js", get(assets::script))
        .route("/assets/icon.svg", get(assets::icon))
        .route("/favicon.ico", get(assets::icon))
}
