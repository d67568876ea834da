//! Share links: anyone with a link may read one report. The owner of the run creates, lists and revokes them.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::bodies::{CreatedShare, RevokedShares, ShareBody, ShareObject};
use super::extract::{OwnedRun, PathParams};
use super::state::ServerState;
use super::values::{invalid_value, read_optional_body};
use ibid_core::domain::{RunId, ShareLink};
use ibid_core::{Error, ErrorKind};
use ibid_report::html;

/// Keeps shared reports out of search engines.
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Creates a link to the report of a run and returns its token with the stored share. Used by the form and the API.
///
/// # Errors
/// 409 if the run has not ended, 404 if it has no report, 400 for a number of days out of range.
pub(super) async fn create_share(
    mine: &OwnedRun,
    days: u32,
    private: bool,
) -> ApiResult<(String, ShareLink)> {
    mine.require_ended()?;
    mine.report().await?;
    if !(1..=ShareLink::MAX_DAYS).contains(&days) {
        let range = format!("must be from 1 to {}", ShareLink::MAX_DAYS);
        return Err(invalid_value("days", &range));
    }
    Ok(mine.run.share(days, private).await?)
}

/// Revokes every link of a run and returns how many were active.
///
/// # Errors
/// 409 if the run has not ended.
pub(super) async fn revoke_shares(mine: &OwnedRun) -> ApiResult<usize> {
    mine.require_ended()?;
    Ok(mine.run.unshare().await?)
}

fn share_object(run: &RunId, share: &ShareLink) -> ShareObject {
    ShareObject {
        object: "share",
        run: run.to_string(),
        expires_at: share.until.clone(),
        include_private: share.private,
    }
}

/// `POST /v1/runs/{id}/share`.
pub(super) async fn create(
    mine: OwnedRun,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let body: ShareBody = read_optional_body(bytes)?;
    let days = body.days.map_or(ShareLink::DAYS, |days| u32::try_from(days).unwrap_or(u32::MAX));
    let private = body.include_private.unwrap_or_default();
    let (token, share) = create_share(&mine, days, private).await?;
    let share = share_object(mine.id(), &share);
    let created = CreatedShare { share, path: format!("/s/{token}") };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// `GET /v1/runs/{id}/share`: the active links, without their tokens, which are not stored.
pub(super) async fn list(mine: OwnedRun) -> ApiResult<Json<Value>> {
    let shares = mine.run.shares().await?;
    let data: Vec<ShareObject> =
        shares.iter().map(|share| share_object(mine.id(), share)).collect();
    Ok(Json(json!({"object": "list", "data": data, "has_more": false})))
}

/// `DELETE /v1/runs/{id}/share`: revokes every link.
pub(super) async fn revoke(mine: OwnedRun) -> ApiResult<Json<RevokedShares>> {
    let revoked = revoke_shares(&mine).await?;
    Ok(Json(RevokedShares { id: mine.id().to_string(), object: "share.revoked", revoked }))
}

/// `GET /s/{token}`: the report, for anyone with the link. Unknown, expired and revoked links get the same error.
pub(super) async fn open(
    State(server): State<Arc<ServerState>>,
    PathParams(token): PathParams<String>,
) -> ApiResult<Response> {
    let Some(shared) = server.requests.shared_report(&token).await? else {
        return Err(ApiError::not_found("shared report")
            .with_hint("the link has expired, was revoked, or is incomplete"));
    };
    let rendering = tokio::task::spawn_blocking(move || {
        html::render_shared(&shared.report, &shared.pages, shared.private)
    });
    let text = rendering.await.map_err(|error| {
        Error::new(ErrorKind::Internal, "rendering a shared report").with_source(error)
    })??;
    let mut response = text.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, html::VIEWER_POLICY),
        (ROBOTS, "noindex, nofollow, noarchive"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
