//! The results of tools: a run as JSON and as text.
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::protocol::{McpResult, complete_result};
use crate::request::caller_message;
use ibid_core::domain::{Claim, CoverageRow, Hit, OutputMode, Report, SectionLayout};
use ibid_core::record::{Run, RunStatus};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::citation_spans::text_with_citations;

/// Characters of a piece of a text by default.
const DEFAULT_RESULT_CHARS: usize = 20_000;

/// How soon a client should poll again, in seconds.
pub(super) const POLL_SECS: u64 = 5;

/// Maximum length of a summary in characters.
const MAX_SUMMARY_CHARS: usize = 1_500;

/// The structured result of a tool, or its error.
pub(super) type McpToolResult = Result<Value>;

/// A run as a task of the protocol.
pub(super) fn task_json(run: &Run) -> Value {
    let status = match run.status {
        RunStatus::Pending | RunStatus::InProgress => "working",
        RunStatus::Cancelled => "cancelled",
        // A failed run has a result, too: the reason.
        _ => "completed",
    };
    json!({
        "taskId": run.id,
        "status": status,
        "statusMessage": progress_line(run),
        "createdAt": run.started_at,
        "lastUpdatedAt": run.updated_at,
        "ttlMs": null,
        "pollIntervalMs": POLL_SECS * 1000,
    })
}

/// The progress of a run in one line.
pub(super) fn progress_line(run: &Run) -> String {
    let (searches, pages) = (run.searches, run.pages);
    let mut out = format!("{searches} searches · {pages} pages · coverage {}", coverage_ratio(run));
    if run.round > 0 {
        out = format!("wave {} · {out}", run.round);
    }
    if let Some(usd) = run.usage.usd.filter(|usd| *usd > 0.0) {
        out.push_str(&format!(" · ${usd:.2}"));
    }
    out
}

/// Covered checklist items, as `covered/all`.
pub(super) fn coverage_ratio(run: &Run) -> String {
    let rows = run.coverage_rows();
    format!("{}/{}", CoverageRow::counts(&rows).satisfied, rows.len())
}

/// Sentences with their citation marks.
fn claims_text(claims: &[Claim]) -> String {
    let each = claims.iter().map(|claim| {
        let marks = claim.citations().iter().map(|citation| format!(" [{}]", citation.n));
        format!("{}{}", claim.told(), marks.collect::<String>())
    });
    each.collect::<Vec<_>>().join(" ")
}

/// The short answer with its citation marks.
pub(super) fn summary(report: &Report) -> String {
    if report.mode == OutputMode::Answer {
        return text_with_citations(report).0;
    }
    let layout = report.short_layout();
    let text = match layout {
        SectionLayout::Prose => claims_text(&report.short),
        _ => {
            let item = |(nth, claim): (usize, &Claim)| {
                format!("{}{}", layout.marker(nth), claims_text(std::slice::from_ref(claim)))
            };
            (1..).zip(&report.short).map(item).collect::<Vec<_>>().join("\n")
        }
    };
    text.chars().take(MAX_SUMMARY_CHARS).collect()
}

/// The text of one section. `wanted` is `section:N`, from 1.
///
/// # Errors
/// `Usage` if there is no such section.
pub(super) fn section(report: &Report, wanted: &str) -> Result<String> {
    let nth = wanted.strip_prefix("section:").and_then(|rest| rest.parse::<usize>().ok());
    let found = nth.and_then(|nth| report.sections.get(nth.wrapping_sub(1)));
    let Some(section) = found else {
        return Err(Error::new(
            ErrorKind::Usage,
            "part must be summary, full, evidence, sources or section:N",
        )
        .with_hint(format!("the report has {} sections", report.sections.len())));
    };
    let paragraphs = section.paragraphs.iter().map(|paragraph| claims_text(paragraph));
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    Ok(format!("## {}\n\n{text}", section.title))
}

/// A stable id of a hit: the same each time it is found.
pub(super) fn hit_id(hit: &Hit) -> String {
    let what = format!("{}\n{}", hit.url, hit.doc_id.as_deref().unwrap_or_default());
    format!("s_{}", hex::encode(&Sha256::digest(what.as_bytes())[..8]))
}

/// A piece of a text: `{text, next_offset, total_chars}`, with `next_offset` null at its end.
pub(super) fn text_piece(text: &str, offset: Option<u64>, max_chars: Option<u64>) -> Value {
    let offset = offset.map_or(0, |offset| offset as usize);
    let limit = max_chars.map_or(DEFAULT_RESULT_CHARS, |max_chars| max_chars as usize);
    let limit = limit.clamp(100, 100_000);
    let total = text.chars().count();
    let piece: String = text.chars().skip(offset).take(limit).collect();
    let next = offset + piece.chars().count();
    json!({"text": piece, "next_offset": (next < total).then_some(next), "total_chars": total})
}

/// A tool's result: structured, and as text for hosts that only read text.
pub(super) fn result_json(result: McpToolResult) -> Value {
    match result {
        Ok(value) => json!({
            "content": [{"type": "text", "text": value.to_string()}],
            "structuredContent": value,
            "isError": false,
        }),
        Err(fault) => {
            let is_internal = !matches!(
                fault.kind(),
                ErrorKind::Usage
                    | ErrorKind::NotFound
                    | ErrorKind::Transient
                    | ErrorKind::Exhausted
            );
            let text = match (is_internal, fault.hint()) {
                (true, _) => "temporarily unavailable".to_owned(),
                (false, Some(hint)) => format!("{}; {hint}", caller_message(&fault)),
                (false, None) => caller_message(&fault),
            };
            json!({"content": [{"type": "text", "text": text}], "isError": true})
        }
    }
}

pub(super) fn structured_result(result: McpToolResult) -> McpResult<CallToolResponse> {
    let result = complete_result(result_json(result))?;
    Ok(CallToolResponse::Complete(result))
}

/// The result of `search` and `fetch`: their contract is one text with the JSON and nothing else.
pub(super) fn text_result(result: McpToolResult) -> McpResult<CallToolResponse> {
    let mut result = result_json(result);
    if let Some(fields) = result.as_object_mut() {
        fields.remove("structuredContent");
    }
    Ok(CallToolResponse::Complete(complete_result(result)?))
}
