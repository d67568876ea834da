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
        // What would help is told; that nothing was found is said already.
        let fault = fault(run, Subtype::NoAnswer).filter(|_| !answer);
        let hint = fault.and_then(|it| it.help().map(sentence));
        hint.map_or(NONE.to_owned(), |it| format!("{NONE} {it}"))
    })
}

/// A hint as a sentence of its own.
fn sentence(hint: &str) -> String {
    let mut all = hint.chars();
    let first = all.next().into_iter().flat_map(char::to_uppercase);
    let end = if hint.ends_with('.') { "" } else { "." };
    first.chain(all).collect::<String>() + end
}

/// The marks of a report as annotations of the Responses API, in the order of the text. Documents of a folder are files where
/// the caller knows `files`; else they are addresses as all others, the one form there is in Open Responses.
pub(super) fn annotations(report: &Report, files: bool) -> Vec<Value> {
    let (_, marks) = cited(report);
    marks
        .iter()
        .filter_map(|it| annotation(report, it, files))
        .collect()
}

fn annotation(report: &Report, mark: &Mark, files: bool) -> Option<Value> {
    let source = source(report, mark.n)?;
    let url = target(&source.url).or_else(|| (!files).then(|| source.url.clone()));
    Some(match url {
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
