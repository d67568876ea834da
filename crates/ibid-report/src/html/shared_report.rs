//! The report for share links: without the names and paths of local documents, and with their quotes only if the link allows it.
use serde_json::{Value, json};

use super::report_body::ReportBody;
use super::source_card::url_file_name;
use super::standalone;
use crate::PagesByHash;
use crate::escape::{single_line, web_url};
use ibid_core::Result;
use ibid_core::domain::{Excerpt, Report, Source, SourceKind, Work};

/// Replaces a hidden quote.
pub(super) const REDACTED_QUOTE: &str = "withheld: quote from a local document";

/// Replaces the title and the path of a local document.
const REDACTED_TITLE: &str = "A private document";
const REDACTED_PLACE: &str = "a folder";

/// The report as one HTML file for a share link. `private` includes the quotes of local documents.
///
/// # Errors
/// `Internal` when it cannot be rendered.
pub fn render_shared(report: &Report, pages: &PagesByHash, private: bool) -> Result<String> {
    let report = &redact_names(report);
    let mut body = ReportBody::from_report(report, pages, None);
    let mut data = standalone::claim_data(report, pages);
    redact_paths(report, &mut body, &mut data);
    if !private {
        redact_quotes(report, &mut body, &mut data);
    }
    standalone::render_page(&body, &data)
}

/// Whether any quote is from a local document.
pub fn has_local(report: &Report) -> bool {
    report.sources.iter().any(is_local)
        || report.results.iter().any(|result| is_local_excerpt(report, result))
}

/// Whether a source was read from a folder, whatever address it states.
fn is_local(it: &Source) -> bool {
    it.kind == SourceKind::Local || it.file.is_some() || web_url(&it.url).is_none()
}

fn is_local_excerpt(report: &Report, it: &Excerpt) -> bool {
    let source = report.sources.iter().find(|known| known.id == it.source);
    source.map_or_else(|| web_url(&it.url).is_none(), is_local)
}

fn is_local_number(report: &Report, n: u64) -> bool {
    let source = usize::try_from(n).ok().and_then(|n| report.sources.get(n.checked_sub(1)?));
    // A citation of an unknown source counts as local.
    source.is_none_or(is_local)
}

/// Removes the titles, authors and paths of local documents.
fn redact_names(report: &Report) -> Report {
    let mut shown = report.clone();
    // The reasons for conflicts contain titles.
    let local = report.sources.iter().filter(|source| is_local(source));
    for title in local.map(|it| it.title.as_str()).filter(|title| !title.is_empty()) {
        for it in shown.conflicts.iter_mut().filter_map(|conflict| conflict.likely.as_mut()) {
            *it = it.replace(title, REDACTED_TITLE);
        }
    }
    for it in shown.sources.iter_mut().filter(|source| is_local(source)) {
        *it = Source {
            kind: SourceKind::Local,
            url: REDACTED_PLACE.to_owned(),
            file: None,
            doc_id: None,
            title: REDACTED_TITLE.to_owned(),
            author: None,
            site: None,
            domain: String::new(),
            work: Work::default(),
            ..it.clone()
        };
    }
    for it in &mut shown.results {
        if is_local_excerpt(report, it) {
            REDACTED_TITLE.clone_into(&mut it.title);
            REDACTED_PLACE.clone_into(&mut it.url);
        }
    }
    shown
}

/// Removes all paths of local documents.
fn redact_paths(report: &Report, body: &mut ReportBody, data: &mut Value) {
    for it in &mut body.taken {
        if it.link.is_none() {
            it.place = url_file_name(&it.place);
        }
    }
    for it in &mut body.open {
        let is_of = |page: &str| it.0.ends_with(&single_line(page)) && web_url(page).is_none();
        if report.method.pages_failed.iter().any(|(page, _)| is_of(page)) {
            *it = (format!("Not read: {REDACTED_TITLE}"), "could not be read".to_owned());
        }
    }
    for it in array_items(data, "sources") {
        let n = it.get("n").and_then(Value::as_u64);
        if n.is_none_or(|n| is_local_number(report, n)) {
            it["page"] = Value::Null;
        }
        keep_file_name(it, "url");
        keep_file_name(it, "file");
        keep_file_name(it, "domain");
    }
    for claim in array_items(data, "claims") {
        for it in array_items(claim, "citations") {
            let n = it.get("n").and_then(Value::as_u64).unwrap_or_default();
            if is_local_number(report, n) {
                // A stored page names its file, whatever the report says.
                it["file"] = Value::Null;
                // The hash would identify the document to anyone who has it.
                it["snapshot"] = Value::Null;
            }
            keep_file_name(it, "url");
            keep_file_name(it, "file");
        }
    }
}

/// Removes the text that occurs only in local documents.
fn redact_quotes(report: &Report, body: &mut ReportBody, data: &mut Value) {
    for it in &mut body.quotes {
        if is_local_number(report, u64::from(it.n)) {
            REDACTED_QUOTE.clone_into(&mut it.words);
            it.place.clear();
            // Its text fragment would contain the quote.
            it.live = None;
        }
    }
    for (row, finding) in body.rows.iter_mut().zip(&report.findings) {
        for (quote, citation) in row.quotes.iter_mut().zip(finding.claim.citations()) {
            if is_local_number(report, u64::from(citation.n)) {
                REDACTED_QUOTE.clone_into(quote);
            }
        }
    }
    for (it, found) in body.taken.iter_mut().zip(&report.results) {
        if is_local_excerpt(report, found) {
            it.pieces = vec![REDACTED_QUOTE.to_owned()];
        }
    }
    for claim in array_items(data, "claims") {
        for it in array_items(claim, "citations") {
            let n = it.get("n").and_then(Value::as_u64).unwrap_or_default();
            if is_local_number(report, n) {
                it["quote"] = Value::Null;
                it["locator"] = Value::Null;
                it["fragment"] = Value::Null;
                it["held_back"] = json!(true);
            }
        }
    }
}

/// The elements of a list in an object.
fn array_items<'v>(it: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    it.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The file name instead of a local path.
fn keep_file_name(it: &mut Value, key: &str) {
    let Some(place) = it.get(key).and_then(Value::as_str) else {
        return;
    };
    if web_url(place).is_none() && place.contains(['/', '\\']) {
        it[key] = json!(url_file_name(place));
    }
}
