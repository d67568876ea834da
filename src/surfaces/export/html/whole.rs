//! The report as one file: no request leaves it, it works without script, and the claim records stand in it for machines.
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Body, STYLE};
use crate::domain::Report;
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::{Pages, escape, json as records};

#[derive(Template)]
#[template(path = "whole.html")]
struct Whole<'a> {
    body: &'a Body,
    /// Reference managers look at pages that are served.
    coins: bool,
    style: &'a str,
    /// What the page may do: nothing but show, in this one style.
    policy: String,
    data: String,
}

/// What a server says of the file besides: it is shown in no other page, and its style alone is its own.
pub const FRAME: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What a file that stands alone may do: show itself in the one stylesheet it holds.
pub fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// The report as one HTML file.
///
/// # Errors
/// `Internal` where it cannot be written down.
pub fn whole(report: &Report, pages: &Pages) -> Result<String> {
    page(&Body::of(report, pages, None), &data(report, pages))
}

/// The file of a body and its claim records.
pub(super) fn page(body: &Body, data: &Value) -> Result<String> {
    Whole {
        body,
        coins: false,
        style: STYLE,
        policy: policy(),
        data: inert(data),
    }
    .render()
    .map_err(|fault| Error::new(Kind::Internal, "writing the report as HTML").because(fault))
}

/// The claim records and what they rest on.
pub(super) fn data(report: &Report, pages: &Pages) -> Value {
    let mut all = records::report(report, pages);
    let mut out = json!({"type": "ibid-report", "version": 1});
    for key in [
        "run",
        "question",
        "mode",
        "date",
        "title",
        "lang",
        "claims",
        "sources",
        "checks",
        "confidence",
        "open",
    ] {
        out[key] = all.get_mut(key).map(Value::take).unwrap_or_default();
    }
    out
}

/// JSON in which nothing can end the element that it stands in or drive what shows it, whatever a stranger wrote.
fn inert(it: &Value) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for c in it.to_string().chars() {
        let drives = matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') || escape::drives(c);
        match drives {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let text = inert(&json!({"a": "</script><!--<script>&lt;\u{2028}\u{202e}\u{e0041}"}));
        assert!(text.is_ascii() && !text.contains(['<', '>', '&']), "{text}");
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            again["a"],
            "</script><!--<script>&lt;\u{2028}\u{202e}\u{e0041}"
        );
    }
}
