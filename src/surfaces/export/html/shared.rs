//! The report as whoever has a link to it sees it: what documents of folders are called and where they lie is nobody's business,
//! and what they say word for word only where that was wanted.
use serde_json::{Value, json};

use super::card::leaf;
use super::{Body, whole};
use crate::domain::{Excerpt, Report, Source, SourceKind, Work};
use crate::error::Result;
use crate::surfaces::export::Pages;
use crate::surfaces::export::escape::target;

/// What stands in the place of a quote that is kept back.
pub(super) const HELD: &str = "kept back: the words of a local document";

/// What a document of a folder is called, and what stands in the place of its path.
const UNNAMED: &str = "A private document";
const PLACE: &str = "a folder";

/// The report as one HTML file for whoever has a link. `private` shows the quotes of local documents.
///
/// # Errors
/// `Internal` where it cannot be written down.
pub fn shared(report: &Report, pages: &Pages, private: bool) -> Result<String> {
    let report = &nameless(report);
    let mut body = Body::of(report, pages, None);
    let mut data = whole::data(report, pages);
    placeless(report, &mut body, &mut data);
    if !private {
        wordless(report, &mut body, &mut data);
    }
    whole::page(&body, &data)
}

/// Whether any quote is of a document that was read from a folder.
pub fn has_local(report: &Report) -> bool {
    report.sources.iter().any(is_local)
        || report.results.iter().any(|it| is_local_taken(report, it))
}

/// Whether it was read from a folder, whatever address it gives as its own.
fn is_local(it: &Source) -> bool {
    it.kind == SourceKind::Local || it.file.is_some() || target(&it.url).is_none()
}

fn is_local_taken(report: &Report, it: &Excerpt) -> bool {
    let source = report.sources.iter().find(|known| known.id == it.source);
    source.map_or_else(|| target(&it.url).is_none(), is_local)
}

fn is_local_n(report: &Report, n: u64) -> bool {
    let source = usize::try_from(n)
        .ok()
        .and_then(|n| report.sources.get(n.checked_sub(1)?));
    // A number that leads nowhere is kept back rather than shown.
    source.is_none_or(is_local)
}

/// The report without what its documents of folders are called, who wrote them and where they lie.
fn nameless(report: &Report) -> Report {
    let mut shown = report.clone();
    // Why sources disagree is told with their titles.
    let local = report.sources.iter().filter(|it| is_local(it));
    for title in local
        .map(|it| it.title.as_str())
        .filter(|it| !it.is_empty())
    {
        for it in shown
            .conflicts
            .iter_mut()
            .filter_map(|it| it.likely.as_mut())
        {
            *it = it.replace(title, UNNAMED);
        }
    }
    for it in shown.sources.iter_mut().filter(|it| is_local(it)) {
        *it = Source {
            kind: SourceKind::Local,
            url: PLACE.to_owned(),
            file: None,
            doc_id: None,
            title: UNNAMED.to_owned(),
            author: None,
            site: None,
            domain: String::new(),
            work: Work::default(),
            ..it.clone()
        };
    }
    for it in &mut shown.results {
        if is_local_taken(report, it) {
            UNNAMED.clone_into(&mut it.title);
            PLACE.clone_into(&mut it.url);
        }
    }
    shown
}

/// Leaves nothing of the folders that documents lie in.
fn placeless(report: &Report, body: &mut Body, data: &mut Value) {
    for it in &mut body.taken {
        if it.link.is_none() {
            it.place = leaf(&it.place);
        }
    }
    for it in &mut body.open {
        let is_of = |page: &str| it.0.ends_with(&super::line(page)) && target(page).is_none();
        if report
            .method
            .pages_failed
            .iter()
            .any(|(page, _)| is_of(page))
        {
            *it = (
                format!("Not read: {UNNAMED}"),
                "could not be read".to_owned(),
            );
        }
    }
    for it in all(data, "sources") {
        let n = it.get("n").and_then(Value::as_u64);
        if n.is_none_or(|n| is_local_n(report, n)) {
            it["page"] = Value::Null;
        }
        named(it, "url");
        named(it, "file");
        named(it, "domain");
    }
    for claim in all(data, "claims") {
        for it in all(claim, "citations") {
            let n = it.get("n").and_then(Value::as_u64).unwrap_or_default();
            if is_local_n(report, n) {
                // A stored page tells where it was read, whatever the report says.
                it["file"] = Value::Null;
                // Whoever has the document could tell it by its hash.
                it["snapshot"] = Value::Null;
            }
            named(it, "url");
            named(it, "file");
        }
    }
}

/// Leaves nothing of the words that only stand in local documents.
fn wordless(report: &Report, body: &mut Body, data: &mut Value) {
    for it in &mut body.quotes {
        if is_local_n(report, u64::from(it.n)) {
            HELD.clone_into(&mut it.words);
            it.place.clear();
            // Its address would tell the words to search for.
            it.live = None;
        }
    }
    for (row, finding) in body.rows.iter_mut().zip(&report.findings) {
        for (quote, citation) in row.quotes.iter_mut().zip(finding.claim.citations()) {
            if is_local_n(report, u64::from(citation.n)) {
                HELD.clone_into(quote);
            }
        }
    }
    for (it, found) in body.taken.iter_mut().zip(&report.results) {
        if is_local_taken(report, found) {
            it.pieces = vec![HELD.to_owned()];
        }
    }
    for claim in all(data, "claims") {
        for it in all(claim, "citations") {
            let n = it.get("n").and_then(Value::as_u64).unwrap_or_default();
            if is_local_n(report, n) {
                it["quote"] = Value::Null;
                it["locator"] = Value::Null;
                it["fragment"] = Value::Null;
                it["held_back"] = json!(true);
            }
        }
    }
}

/// The elements of a list in an object.
fn all<'v>(it: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    it.get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// Where a place on a machine stands, the name of its file.
fn named(it: &mut Value, key: &str) {
    let Some(place) = it.get(key).and_then(Value::as_str) else {
        return;
    };
    if target(place).is_none() && place.contains(['/', '\\']) {
        it[key] = json!(leaf(place));
    }
}
