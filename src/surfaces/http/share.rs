//! Links by which anybody may read one report: made, listed and taken back by whose run it is, opened by whoever has one.
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Server;
use super::extract::{Mine, Place};
use super::fault::{Answer, Fault};
use super::runs::{bad, body};
use super::story::whole;
use crate::domain::{RunId, Share};
use crate::error::{Error, Kind};
use crate::surfaces::export::html;

/// What search engines are told of a shared report.
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Makes a link to the report of a run, for the form and the API alike: its token, and what is kept of it.
pub(super) async fn made(mine: &Mine, days: u32, private: bool) -> Answer<(String, Share)> {
    mine.ended()?;
    mine.report().await?;
    if !(1..=Share::MOST_DAYS).contains(&days) {
        let most = format!("must be from 1 to {}", Share::MOST_DAYS);
        return Err(bad("days", &most));
    }
    Ok(mine.run.share(days, private).await?)
}

/// Takes every link of a run back, and gives how many lasted until now.
pub(super) async fn taken_back(mine: &Mine) -> Answer<usize> {
    mine.ended()?;
    Ok(mine.run.unshare().await?)
}

fn told(run: &RunId, it: &Share) -> Value {
    json!({
        "object": "share",
        "run": run,
        "expires_at": it.until,
        "include_private": it.private,
    })
}

/// `POST /v1/runs/{id}/share`.
pub(super) async fn create(mine: Mine, bytes: Result<Bytes, BytesRejection>) -> Answer<Response> {
    let value = match bytes {
        Ok(it) if it.is_empty() => json!({}),
        it => body(it)?,
    };
    let Some(fields) = value.as_object() else {
        return Err(bad("body", "must be an object"));
    };
    if let Some(odd) = fields
        .keys()
        .find(|it| !["days", "include_private"].contains(&it.as_str()))
    {
        return Err(bad(odd, "is not known here"));
    }
    let days = match value.get("days") {
        None | Some(Value::Null) => Share::DAYS,
        Some(it) => whole(it)
            .and_then(|it| u32::try_from(it).ok())
            .ok_or_else(|| bad("days", "must be a whole number"))?,
    };
    let private = match value.get("include_private") {
        None | Some(Value::Null) => false,
        Some(it) => it
            .as_bool()
            .ok_or_else(|| bad("include_private", "must be true or false"))?,
    };
    let (token, share) = made(&mine, days, private).await?;
    let mut out = told(mine.id(), &share);
    out["path"] = json!(format!("/s/{token}"));
    Ok((StatusCode::CREATED, Json(out)).into_response())
}

/// `GET /v1/runs/{id}/share`: the links that last, without their tokens, which are kept nowhere.
pub(super) async fn list(mine: Mine) -> Answer<Json<Value>> {
    let shares = mine.run.shares().await?;
    let data: Vec<Value> = shares.iter().map(|it| told(mine.id(), it)).collect();
    Ok(Json(
        json!({"object": "list", "data": data, "has_more": false}),
    ))
}

/// `DELETE /v1/runs/{id}/share`: every link ends.
pub(super) async fn revoke(mine: Mine) -> Answer<Json<Value>> {
    let count = taken_back(&mine).await?;
    Ok(Json(
        json!({"id": mine.id(), "object": "share.revoked", "revoked": count}),
    ))
}

/// `GET /s/{token}`: the report, for whoever has the link. All that is amiss with one is told alike.
pub(super) async fn open(
    State(server): State<Arc<Server>>,
    Place(token): Place<String>,
) -> Answer<Response> {
    let Some(shared) = server.desk.shared(&token).await? else {
        return Err(Fault::missing("shared report")
            .hint("the link has ended, was taken back, or is not whole"));
    };
    let making = tokio::task::spawn_blocking(move || {
        html::shared(&shared.report, &shared.pages, shared.private)
    });
    let text = making
        .await
        .map_err(|it| Error::new(Kind::Internal, "making a shared report").because(it))??;
    let mut response = text.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, html::FRAME),
        (ROBOTS, "noindex, nofollow, noarchive"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
