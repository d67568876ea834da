//! The page on which a report is shared, and what its forms do.
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, header};
use axum::response::Response;

use super::{Answer, Html, Visitor, fields, to};
use crate::domain::Share;
use crate::surfaces::export::html;
use crate::surfaces::http::extract::Mine;
use crate::surfaces::http::runs::bad;
use crate::surfaces::http::share::{made, taken_back};
use crate::surfaces::view::live::Head;
use crate::surfaces::view::page;
use crate::surfaces::view::share::SharePage;

async fn form(mine: &Mine, visitor: &Visitor, link: Option<(String, Share)>) -> Answer<Html> {
    let (run, report) = mine.report().await?;
    Ok(Html(page(&SharePage {
        shell: visitor.shell("Share").narrow(),
        head: Head::of(&run, "share"),
        local: html::has_local(&report),
        unaided: report.method.unaided.iter().any(|it| it == "write"),
        shares: mine.run.shares().await?,
        link,
    })?))
}

/// `GET /r/{id}/share`.
pub(super) async fn shown(mine: Mine, visitor: Visitor) -> Answer<Html> {
    form(&mine, &visitor, None).await
}

/// `POST /r/{id}/share`: makes a link and shows it, this once.
pub(super) async fn make(
    mine: Mine,
    visitor: Visitor,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Html> {
    let said = fields(bytes)?;
    let one = |name: &str| said.iter().find(|it| it.0 == name).map(|it| it.1.trim());
    let days = match one("days") {
        None | Some("") => Share::DAYS,
        Some(it) => it
            .parse()
            .map_err(|_| bad("days", "must be a whole number"))?,
    };
    let (token, share) = made(&mine, days, one("private") == Some("yes")).await?;
    // The gate has held it against the host that was asked for.
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok());
    let origin = origin
        .filter(|it| it.starts_with("http"))
        .unwrap_or_default();
    let link = (format!("{origin}/s/{token}"), share);
    form(&mine, &visitor, Some(link)).await
}

/// `POST /r/{id}/unshare`: every link ends.
pub(super) async fn end(mine: Mine) -> Answer<Response> {
    taken_back(&mine).await?;
    Ok(to(&format!("/r/{}/share", mine.id())))
}
