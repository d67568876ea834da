//! A report as JSON: the final object of a run, and every claim with its evidence.
use serde_json::{Map, Value, json};

use super::{PagesByHash, evidence, phrases};
use crate::markdown;
use ibid_core::domain::{
    Brief, Citation, Claim, Coverage, CoverageRow, ItemId, OutputMode, Page, Passage, Report,
    Source, StopReason, words,
};
use ibid_core::record::{Run, RunStatus};
use ibid_core::{Error, ErrorKind};

/// The outcome of a run in the final object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultSubtype {
    /// It has a report or an answer.
    Success,
    /// No source supports an answer.
    NoAnswer,
    /// The budget was used up before the report.
    Budget,
    /// It failed.
    Error,
}

impl ResultSubtype {
    /// The outcome of an ended run.
    pub fn from_run(run: &Run) -> ResultSubtype {
        let answered = run
            .report
            .as_ref()
            .is_some_and(|report| report.claims().next().is_some() || report.answer.is_some());
        let spent = matches!(
            run.stop_reason,
            Some(StopReason::BudgetUsd | StopReason::BudgetTime | StopReason::BudgetCalls)
        );
        match (answered, run.status) {
            (true, _) => ResultSubtype::Success,
            (false, RunStatus::Cancelled) => ResultSubtype::Error,
            (false, _) if spent => ResultSubtype::Budget,
            // The method fails with `NotFound` when nothing that it read is about the question.
            (false, RunStatus::Failed) => match run.failure {
                Some(ErrorKind::NotFound) => ResultSubtype::NoAnswer,
                Some(ErrorKind::Exhausted) => ResultSubtype::Budget,
                _ => ResultSubtype::Error,
            },
            (false, _) => ResultSubtype::NoAnswer,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            ResultSubtype::Success => "success",
            ResultSubtype::NoAnswer => "no_answer",
            ResultSubtype::Budget => "budget",
            ResultSubtype::Error => "error",
        }
    }
}

/// The final object: the line of `--json`, the last line of `--jsonl`, and the output of `resume --json`.
pub fn result(run: &Run, subtype: ResultSubtype, pages: &PagesByHash, quotes: bool) -> Value {
    let report = run.report.as_deref();
    let usage = report.map_or(run.usage, |report| report.usage);
    let free = (usage.model_calls == 0).then_some(0.0);
    let fault = failure(run, subtype);
    let mut out = json!({
        "type": "result",
        "subtype": subtype.as_str(),
        "is_error": fault.is_some(),
        "run_id": run.id,
        "trace_id": run.id.trace_id(),
        "status": status(run),
        "stop_reason": run.stop_reason,
        "question": run.question.as_ref().map(|question| &question.text),
        "follows": run.question.as_ref().and_then(|question| question.follows.as_ref()).map(|follows| &follows.run),
        "intake_decision": run.intake_decision,
        "awaiting_clarification": run.awaiting_clarification,
        "follow_up_questions": run.brief.iter().flat_map(|it| &it.clarified).map(|it| &it.question).collect::<Vec<_>>(),
        "combined_prompt": run.brief.as_ref().and_then(Brief::combined_prompt),
        "result": report.map(|report| markdown::report(report, quotes)),
        "answer": report.map(Report::cited_text),
        "one_line_answer": report.and_then(Report::one_line_answer),
        "confidence": report.map(|report| &report.confidence),
        "citations": report.map_or_else(Vec::new, |it| citations(it, pages)),
        "sources": report.map_or_else(Vec::new, sources),
        "checks": report.map(checks),
        "one_source": report.map(|report| phrases::one_source_note(report).is_some()),
        "nearest_only": report.map(|report| report.nearest_only),
        "unaided": report.map(|report| &report.method.unaided),
        "checklist_coverage": checklist_coverage(run),
        "conflicts": report.map_or_else(Vec::new, conflicts),
        "total_cost_usd": usage.usd.or(free),
        "usage": usage,
        "duration_ms": duration_ms(run),
        "num_searches": usage.searches,
        "num_pages": usage.pages,
        "iterations_used": run.round,
        "metrics": run.metrics(),
        "judgement": run.judgement,
        "rating": run.rating,
    });
    let Some(object) = out.as_object_mut() else {
        return out;
    };
    if let Some(report) = report.filter(|report| report.mode == OutputMode::Evidence) {
        let view = evidence::to_json(report, run.plan.as_ref());
        object.extend(view.as_object().cloned().unwrap_or_default());
    }
    if let Some(usd) = run.charged_usd_at_most() {
        object.insert("charged_usd_at_most".to_owned(), usd.into());
    }
    if let Some(fault) = fault {
        object.insert("error".to_owned(), error_json(&fault));
    }
    shorten_numbers(&mut out);
    out
}

/// Has numbers of single precision as few digits as they need: 0.48, not 0.47999998927116394.
fn shorten_numbers(it: &mut Value) {
    match it {
        Value::Number(number) => {
            let single = number.as_f64().filter(|it| it.fract() != 0.0).map(|it| (it, it as f32));
            let single = single.filter(|(it, single)| f64::from(*single) == *it);
            if let Some(short) =
                single.and_then(|(_, single)| single.to_string().parse::<f64>().ok())
            {
                *it = json!(short);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_numbers),
        Value::Object(fields) => fields.values_mut().for_each(shorten_numbers),
        _ => {}
    }
}

/// A failed run is `error` in this object only; everywhere else it is `failed`.
fn status(run: &Run) -> Value {
    match run.status {
        RunStatus::Failed => "error".into(),
        other => json!(other),
    }
}

/// The hint for a run that read nothing about the question.
pub const NO_ANSWER_HINT: &str =
    "ask in the words the documents use, or add documents with --folder";

/// Why an ended run has no answer, and a hint; `None` if it has one or has not ended.
pub fn failure(run: &Run, subtype: ResultSubtype) -> Option<Error> {
    if subtype == ResultSubtype::Success || !run.status.ended() {
        return None;
    }
    let why = |or: &str| run.error.clone().unwrap_or_else(|| or.to_owned());
    let (kind, message, hint) = match (subtype, run.status) {
        (_, RunStatus::Cancelled) => {
            (ErrorKind::Cancelled, "it was cancelled".to_owned(), Some("ask again to start over"))
        }
        // The method only knows that it found nothing; that it could not search further is the reason.
        (ResultSubtype::Budget, _) => (
            ErrorKind::Exhausted,
            "the budget ended before there was anything to report".to_owned(),
            Some("raise the bound with --budget, as in --budget 200calls or --budget 15m"),
        ),
        (ResultSubtype::NoAnswer, _) => (
            ErrorKind::NotFound,
            why("nothing that was read addresses the question"),
            Some(run.hint.as_deref().unwrap_or(NO_ANSWER_HINT)),
        ),
        _ => (
            run.failure.unwrap_or(ErrorKind::Internal),
            why("it ended without a report"),
            run.hint.as_deref(),
        ),
    };
    let fault = Error::new(kind, message);
    Some(match hint {
        Some(hint) => fault.with_hint(hint),
        None => fault,
    })
}

/// The `error` of the final object; `None` for a run with an answer, or that has not ended.
pub fn run_error(run: &Run) -> Option<Value> {
    failure(run, ResultSubtype::from_run(run)).as_ref().map(error_json)
}

fn error_json(fault: &Error) -> Value {
    json!({"kind": fault.kind(), "message": fault.chain(), "hint": fault.hint()})
}

/// The output of `--json` when there is no run.
pub fn error(fault: &Error) -> Value {
    json!({
        "type": "result",
        "subtype": "error",
        "is_error": true,
        "error": error_json(fault),
    })
}

/// The report with its claim records.
pub fn report(it: &Report, pages: &PagesByHash) -> Value {
    let mut out = serde_json::to_value(it).unwrap_or_default();
    if let Some(object) = out.as_object_mut() {
        object.insert("claims".to_owned(), claims(it, pages).into());
        object.insert("citations".to_owned(), citations(it, pages).into());
        object.insert("checks".to_owned(), checks(it));
        object.insert("one_source".to_owned(), json!(phrases::one_source_note(it).is_some()));
        object.insert("nearest_only".to_owned(), json!(it.nearest_only));
    }
    shorten_numbers(&mut out);
    out
}

/// One object for each distinct quote, in order of first use. `start` and `end` count Unicode code points in the text of the stored page;
/// they are null when the page is gone.
pub fn citations(report: &Report, pages: &PagesByHash) -> Vec<Value> {
    report
        .cited_passages()
        .into_iter()
        .map(|(n, passage)| {
            let source = report.sources.get((n as usize).wrapping_sub(1));
            let place = code_point_range(passage, pages);
            json!({
                "n": n,
                "source_id": source.map(|source| source.id),
                "doc_id": source.and_then(|source| source.doc_id.as_ref()),
                "url": source.map(|source| &source.url),
                "file": file(source, pages.get(passage.page())),
                "title": source.map(|source| &source.title),
                "quote": passage.text(),
                "start": place.as_ref().map(|place| place.start),
                "end": place.as_ref().map(|place| place.end),
                "page": passage.page(),
                "printed_page": passage.printed_page(),
            })
        })
        .collect()
}

/// Where the text was read, if not at the address of the source.
fn file<'a>(source: Option<&'a Source>, page: Option<&'a Page>) -> Option<&'a String> {
    match page {
        Some(page) => page.file.as_ref(),
        None => source?.file.as_ref(),
    }
}

fn code_point_range(passage: &Passage, pages: &PagesByHash) -> Option<std::ops::Range<usize>> {
    pages.get(passage.page()).map(|page| passage.code_point_range(page))
}

fn sources(report: &Report) -> Vec<Value> {
    report
        .sources
        .iter()
        .enumerate()
        .map(|(at, it)| {
            let mut out = serde_json::to_value(it).unwrap_or_default();
            if let Some(object) = out.as_object_mut() {
                object.insert("n".to_owned(), (at + 1).into());
                object.insert("type".to_owned(), json!(it.kind));
                object.insert("snippet".to_owned(), json!(report.snippet(at)));
            }
            out
        })
        .collect()
}

fn checks(report: &Report) -> Value {
    let it = report.checks;
    json!({
        "quotes": {"verified": it.quotes.passed, "total": it.quotes.total},
        "claims": {"cited": it.claims.passed, "total": it.claims.total},
        "numbers": {"matched": it.numbers.passed, "total": it.numbers.total},
        "removed": it.removed,
        "contradictions": it.contradictions,
    })
}

/// The coverage: the ids of satisfied items, gaps as `Q3 - partial coverage`, their counts, and the texts of the ids.
pub fn checklist_coverage(run: &Run) -> Value {
    let rows = run.coverage_rows();
    let satisfied: Vec<ItemId> = rows
        .iter()
        .filter(|row| matches!(row.state, Coverage::Covered | Coverage::Conflict))
        .map(|row| row.id)
        .collect();
    let gaps: Vec<String> = rows
        .iter()
        .filter_map(|row| match row.state {
            Coverage::Partial => Some(format!("{} - partial coverage", row.id)),
            Coverage::Open => Some(format!("{} - no coverage", row.id)),
            Coverage::Covered | Coverage::Conflict => None,
        })
        .collect();
    let items: Vec<Value> = rows
        .iter()
        .map(|row| json!({"id": row.id, "description": row.text, "coverage": row.state.status_word(), "gap": row.gap}))
        .collect();
    json!({
        "satisfied": satisfied,
        "gaps": gaps,
        "counts": CoverageRow::counts(&rows),
        "items": items,
    })
}

fn conflicts(report: &Report) -> Vec<Value> {
    report
        .conflicts
        .iter()
        .map(|conflict| {
            let sides: Vec<Value> = conflict
                .sides
                .iter()
                .map(|side| {
                    let quotes: Vec<Value> = side
                        .claim
                        .citations()
                        .iter()
                        .map(|citation| json!({"n": citation.n, "quote": citation.passage.text()}))
                        .collect();
                    json!({"says": side.says, "weight": side.weight, "quotes": quotes})
                })
                .collect();
            json!({"about": conflict.about, "sides": sides, "likely": conflict.likely, "cause": conflict.cause})
        })
        .collect()
}

/// Milliseconds from the first event to the last.
fn duration_ms(run: &Run) -> Option<i64> {
    let at = |text: &Option<String>| text.as_ref()?.parse::<jiff::Timestamp>().ok();
    Some(at(&run.updated_at)?.as_millisecond() - at(&run.started_at)?.as_millisecond())
}

/// Every claim in reading order, with its place in the report and the results of its checks.
fn claims(report: &Report, pages: &PagesByHash) -> Vec<Value> {
    let mut out = Vec::new();
    for it in &report.short {
        out.push(claim_json(it, "short", report, pages, &[]));
    }
    for it in &report.introduction {
        out.push(claim_json(it, "introduction", report, pages, &[]));
    }
    for it in &report.findings {
        let mark = [("confidence", json!(it.confidence.level)), ("why", json!(it.confidence.why))];
        out.push(claim_json(&it.claim, "findings", report, pages, &mark));
    }
    if let Some(table) = &report.comparison {
        for row in &table.rows {
            for (column, cell) in table.columns.iter().skip(1).zip(&row.cells) {
                let place = [("row", json!(row.label)), ("column", json!(column))];
                out.extend(
                    cell.iter().map(|it| claim_json(it, "comparison", report, pages, &place)),
                );
            }
        }
    }
    for (nth, section) in report.sections.iter().enumerate() {
        for it in section.paragraphs.iter().flatten() {
            out.push(claim_json(it, &(nth + 1).to_string(), report, pages, &[]));
        }
    }
    for side in report.conflicts.iter().flat_map(|conflict| &conflict.sides) {
        let says = [("says", json!(side.says))];
        out.push(claim_json(&side.claim, "conflicts", report, pages, &says));
    }
    for it in &report.conclusion {
        out.push(claim_json(it, "conclusion", report, pages, &[]));
    }
    out
}

fn claim_json(
    it: &Claim,
    section: &str,
    report: &Report,
    pages: &PagesByHash,
    more: &[(&str, Value)],
) -> Value {
    let mut out = Map::new();
    out.insert("claim_id".to_owned(), json!(it.id));
    out.insert("section".to_owned(), section.into());
    out.insert("text".to_owned(), it.text().into());
    if let Some(speaker) = it.speaker() {
        out.insert("speaker".to_owned(), speaker.into());
    }
    for (key, value) in more {
        out.insert((*key).to_owned(), value.clone());
    }
    let carried: Vec<Value> =
        it.citations().iter().map(|citation| citation_json(citation, report, pages)).collect();
    out.insert("citations".to_owned(), carried.into());
    out.insert("checks".to_owned(), claim_checks(it, pages));
    out.into()
}

fn citation_json(it: &Citation, report: &Report, pages: &PagesByHash) -> Value {
    let source = report.sources.get((it.n as usize).wrapping_sub(1));
    let passage = &it.passage;
    let place = code_point_range(passage, pages);
    let page = pages.get(passage.page());
    let url = source.map(|source| source.url.as_str());
    let web = url.is_some_and(|url| super::escape::web_url(url).is_some());
    json!({
        "n": it.n,
        "evidence_id": it.evidence,
        "source_id": source.map(|source| source.id),
        "doc_id": source.and_then(|source| source.doc_id.as_ref()),
        "quote": passage.text(),
        "match": "exact",
        "locator": {
            "start": place.as_ref().map(|place| place.start),
            "end": place.as_ref().map(|place| place.end),
            "first_sentence": passage.first(),
            "last_sentence": passage.last(),
            "page": passage.printed_page(),
            "section": page.and_then(|page| page.heading_above(passage.first())),
        },
        "url": url,
        "file": file(source, page),
        "fragment": web.then(|| format!("#{}", super::escape::text_fragment(passage.text().expose()))),
        "snapshot": passage.page(),
    })
}

/// The checks without a model: the quote is in the page, the numbers are in the quotes.
fn claim_checks(it: &Claim, pages: &PagesByHash) -> Value {
    let stands: Option<bool> = it
        .citations()
        .iter()
        .map(|citation| {
            pages.get(citation.passage.page()).map(|page| citation.passage.is_found_in(page))
        })
        .collect::<Option<Vec<bool>>>()
        .map(|all| all.into_iter().all(|it| it));
    json!({"quote_in_source": stands, "numbers_in_quote": numbers_in_quotes(it)})
}

/// Whether each number of a claim is in its quotes.
pub fn numbers_in_quotes(it: &Claim) -> bool {
    let quoted: Vec<f64> = it
        .citations()
        .iter()
        .flat_map(|citation| words::numbers(citation.passage.text().expose()))
        .map(|it| it.value)
        .collect();
    words::numbers(it.text()).iter().all(|it| quoted.iter().any(|known| known == &it.value))
}
