//! The page of a report's share links, and its forms.
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, header};
use axum::response::Response;

use super::page::{FormFields, HtmlPage, Visitor, redirect};
use crate::http::api_error::ApiResult;
use crate::http::extract::OwnedRun;
use crate::http::share::{create_share, revoke_shares};
use crate::http::values::invalid_value;
use crate::view::live::RunHeader;
use crate::view::render;
use crate::view::share::SharePage;
use ibid_core::domain::ShareLink;
use ibid_report::html;

async fn share_page(
    mine: &OwnedRun,
    visitor: &Visitor,
    link: Option<(String, ShareLink)>,
) -> ApiResult<HtmlPage> {
    let (run, report) = mine.report().await?;
    Ok(HtmlPage(render(&SharePage {
        shell: visitor.shell("Share").narrow(),
        head: RunHeader::new(&run, "share"),
        local: html::has_local(&report),
        unaided: report.method.unaided.iter().any(|it| it == "write"),
        shares: mine.run.shares().await?,
        link,
    })?))
}

/// `GET /r/{id}/share`.
pub(super) async fn show(mine: OwnedRun, visitor: Visitor) -> ApiResult<HtmlPage> {
    share_page(&mine, &visitor, None).await
}

/// `POST /r/{id}/share`: creates a link and shows it once.
pub(super) async fn create(
    mine: OwnedRun,
    visitor: Visitor,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<HtmlPage> {
    let fields = FormFields::parse(bytes)?;
    let days = match fields.get("days") {
        "" => ShareLink::DAYS,
        days => days.parse().map_err(|_| invalid_value("days", "must be a whole number"))?,
    };
    let (token, share) = create_share(&mine, days, fields.get("private") == "yes").await?;
    // Authentication has compared it with the requested host.
    let origin = headers.get(header::ORIGIN).and_then(|header| header.to_str().ok());
    let origin = origin.filter(|origin| origin.starts_with("http")).unwrap_or_default();
    let link = (format!("{origin}/s/{token}"), share);
    share_page(&mine, &visitor, Some(link)).await
}

/// `POST /r/{id}/unshare`: revokes every link.
pub(super) async fn revoke(mine: OwnedRun) -> ApiResult<Response> {
    revoke_shares(&mine).await?;
    Ok(redirect(&format!("/r/{}/share", mine.id())))
}
