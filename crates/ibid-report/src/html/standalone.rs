//! The report as one HTML file: it makes no request, works without scripts, and contains the claim records for machines.
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::report_body::ReportBody;
use super::style::STYLE;
use crate::{PagesByHash, escape, json as records};
use ibid_core::domain::Report;
use ibid_core::{Error, ErrorKind, Result};

#[derive(Template)]
#[template(path = "standalone.html")]
struct StandalonePage<'a> {
    body: &'a ReportBody,
    /// Whether to include records for reference managers, which look at served pages only.
    coins: bool,
    style: &'a str,
    /// The content security policy: only this style.
    policy: String,
    data: String,
}

/// The content security policy of the served file: not in a frame, and only its own style.
pub const VIEWER_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The content security policy of a standalone file: only the stylesheet that it contains.
pub fn content_security_policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// The report as one HTML file.
///
/// # Errors
/// `Internal` when it cannot be rendered.
pub fn render_standalone(report: &Report, pages: &PagesByHash) -> Result<String> {
    render_page(&ReportBody::from_report(report, pages, None), &claim_data(report, pages))
}

/// The file of a body and its claim records.
pub(super) fn render_page(body: &ReportBody, data: &Value) -> Result<String> {
    StandalonePage {
        body,
        coins: false,
        style: STYLE,
        policy: content_security_policy(),
        data: inert_json(data),
    }
    .render()
    .map_err(|fault| {
        Error::new(ErrorKind::Internal, "writing the report as HTML").with_source(fault)
    })
}

/// The claim records and their evidence.
pub(super) fn claim_data(report: &Report, pages: &PagesByHash) -> Value {
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

/// JSON that cannot end the element that contains it, or drive a terminal, whatever text it contains.
fn inert_json(it: &Value) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for c in it.to_string().chars() {
        let drives =
            matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') || escape::is_unsafe_char(c);
        if drives {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c)
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let text = inert_json(&json!({"a": "</script><!--<script>&lt;\u{2028}\u{202e}\u{e0041}"}));
        assert!(text.is_ascii() && !text.contains(['<', '>', '&']), "{text}");
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(again["a"], "</script><!--<script>&lt;\u{2028}\u{202e}\u{e0041}");
    }
}
