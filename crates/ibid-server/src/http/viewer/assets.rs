//! The stylesheet, the script and the icon of the pages.
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::view::{ICON, SCRIPT};
use ibid_report::html::STYLE;

/// A static file. Pages request it with a version stamp, so browsers may cache it for good.
fn asset(media_type: &'static str, text: &'static str) -> Response {
    (
        [
            (header::CONTENT_TYPE, media_type),
            (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        ],
        text,
    )
        .into_response()
}

pub(super) async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

pub(super) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

pub(super) async fn icon() -> Response {
    asset("image/svg+xml", ICON)
}
