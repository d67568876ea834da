//! The text of a run with its citations as annotations.
use serde_json::{Value, json};

use ibid_core::ErrorKind;
use ibid_core::domain::{Report, Source};
use ibid_core::record::Run;
use ibid_report::citation_spans::{CitationSpan, text_with_citations};
use ibid_report::escape::web_url;
use ibid_report::json::{ResultSubtype, failure};
use ibid_report::markdown::source_file_name;

/// The text of a run that found no answer.
const NO_ANSWER: &str = "No supported answer found.";

/// The text of an ended run; `None` if it failed for another reason than finding nothing.
pub(super) fn output_text(run: &Run) -> Option<String> {
    if let Some(report) =
        run.report.as_deref().filter(|_| ResultSubtype::from_run(run) == ResultSubtype::Success)
    {
        return Some(text_with_citations(report).0);
    }
    let found_nothing = ResultSubtype::from_run(run) == ResultSubtype::NoAnswer
        || run.failure == Some(ErrorKind::NotFound);
    found_nothing.then(|| {
        let answer = run
            .question
            .as_ref()
            .is_some_and(|question| question.mode == ibid_core::domain::OutputMode::Answer);
        // Add the hint only; the text already says that nothing was found.
        let fault = failure(run, ResultSubtype::NoAnswer).filter(|_| !answer);
        let hint = fault.and_then(|error| error.hint().map(crate::view::format::sentence));
        hint.map_or(NO_ANSWER.to_owned(), |hint| format!("{NO_ANSWER} {hint}"))
    })
}

/// The citations of a report as annotations of the Responses API, in text order. With `files`, local documents are file citations;
/// otherwise all are URL citations, the only form in Open Responses.
pub(super) fn annotations(report: &Report, files: bool) -> Vec<Value> {
    let (_, marks) = text_with_citations(report);
    marks.iter().filter_map(|mark| annotation(report, mark, files)).collect()
}

fn annotation(report: &Report, mark: &CitationSpan, files: bool) -> Option<Value> {
    let source = source(report, mark.n)?;
    let url = web_url(&source.url).or_else(|| (!files).then(|| source.url.clone()));
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
            "filename": source_file_name(source),
            "index": mark.start,
        }),
    })
}

/// The source with number `n` in the report, from 1.
pub(super) fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}
