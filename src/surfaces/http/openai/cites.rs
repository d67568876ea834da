//! What a run has written, as text with annotations.
use serde_json::{Value, json};

use crate::domain::{Report, Source};
use crate::error::Kind;
use crate::record::Run;
use crate::surfaces::export::cited::{Mark, cited};
use crate::surfaces::export::escape::target;
use crate::surfaces::export::json::{Subtype, fault};
use crate::surfaces::export::markdown::file_name;

/// What is said where nothing that was read carries an answer.
const NONE: &str = "No supported answer found.";

/// The text of an ended run; `None` where it failed for another reason than that nothing was found.
pub(super) fn text(run: &Run) -> Option<String> {
    if let Some(report) = run
        .report
        .as_deref()
        .filter(|_| Subtype::of(run) == Subtype::Success)
    {
        return Some(cited(report).0);
    }
    let found_nothing =
        Subtype::of(run) == Subtype::NoAnswer || run.failure == Some(Kind::NotFound);
    found_nothing.then(|| {
        let answer = run
            .question
            .as_ref()
            .is_some_and(|it| it.mode == crate::domain::Mode::Answer);
        let why = fault(run, Subtype::NoAnswer).filter(|_| !answer);
        why.map_or(NONE.to_owned(), |it| format!("{NONE} {}.", it.chain()))
    })
}

/// The marks of a report as annotations of the Responses API, in the order of the text.
pub(super) fn annotations(report: &Report) -> Vec<Value> {
    let (_, marks) = cited(report);
    marks
        .iter()
        .filter_map(|it| annotation(report, it))
        .collect()
}

fn annotation(report: &Report, mark: &Mark) -> Option<Value> {
    let source = source(report, mark.n)?;
    Some(match target(&source.url) {
        Some(url) => json!({
            "type": "url_citation",
            "start_index": mark.start,
            "end_index": mark.end,
            "url": url,
            "title": source.title,
        }),
        None => json!({
            "type": "file_citation",
            "file_id": source.id,
            "filename": file_name(source),
            "index": mark.start,
        }),
    })
}

pub(super) fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}
