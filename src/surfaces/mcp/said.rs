//! What tools say of a run, and how they say it.
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::calls::{POLL, Said};
use super::{Answer, complete};
use crate::domain::{Claim, Coverage, Hit, Mode, Report};
use crate::error::{Error, Kind, Result};
use crate::record::{Run, RunStatus};
use crate::surfaces::export::cited::cited;

/// A run as a task of the protocol.
pub(super) fn task(run: &Run) -> Value {
    let status = match run.status {
        RunStatus::Pending | RunStatus::InProgress => "working",
        RunStatus::Cancelled => "cancelled",
        // A run that failed has a result, too: the reason.
        _ => "completed",
    };
    json!({
        "taskId": run.id,
        "status": status,
        "statusMessage": progress(run),
        "createdAt": run.started_at,
        "lastUpdatedAt": run.updated_at,
        "ttlMs": null,
        "pollIntervalMs": POLL * 1000,
    })
}

/// One line on how far a run is.
pub(super) fn progress(run: &Run) -> String {
    let (searches, pages) = (run.searches, run.pages);
    let mut out = format!(
        "{searches} searches · {pages} pages · coverage {}",
        covered(run)
    );
    if run.wave > 0 {
        out = format!("wave {} · {out}", run.wave);
    }
    if let Some(usd) = run.usage.usd.filter(|it| *it > 0.0) {
        out.push_str(&format!(" · ${usd:.2}"));
    }
    out
}

/// Items that are covered, of how many.
pub(super) fn covered(run: &Run) -> String {
    let rows = run.coverage.iter();
    let done = rows.filter(|it| matches!(it.state, Coverage::Covered | Coverage::Conflict));
    format!("{}/{}", done.count(), run.coverage.len())
}

/// Sentences with their marks.
fn marked(claims: &[Claim]) -> String {
    let each = claims.iter().map(|it| {
        let marks = it.citations().iter().map(|it| format!(" [{}]", it.n));
        format!("{}{}", it.text(), marks.collect::<String>())
    });
    each.collect::<Vec<_>>().join(" ")
}

/// The short answer, with its marks.
pub(super) fn summary(report: &Report) -> String {
    if report.mode == Mode::Answer {
        return cited(report).0;
    }
    marked(&report.short).chars().take(1_500).collect()
}

pub(super) fn section(report: &Report, wanted: &str) -> Result<String> {
    let nth = wanted
        .strip_prefix("section:")
        .and_then(|it| it.parse::<usize>().ok());
    let found = nth.and_then(|it| report.sections.get(it.wrapping_sub(1)));
    let Some(section) = found else {
        return Err(Error::new(
            Kind::Usage,
            "part must be summary, full, evidence, sources or section:N",
        )
        .hint(format!("there are {} sections", report.sections.len())));
    };
    let paragraphs = section.paragraphs.iter().map(|it| marked(it));
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    Ok(format!("## {}\n\n{text}", section.title))
}

/// A name for a hit that is the same each time it is found.
pub(super) fn id(hit: &Hit) -> String {
    let what = format!("{}\n{}", hit.url, hit.doc_id.as_deref().unwrap_or_default());
    format!("s_{}", hex::encode(&Sha256::digest(what.as_bytes())[..8]))
}

/// A tool's result: structured, and as text for hosts that read no other.
pub(super) fn result(said: Said) -> Value {
    match said {
        Ok(value) => json!({
            "content": [{"type": "text", "text": value.to_string()}],
            "structuredContent": value,
            "isError": false,
        }),
        Err(fault) => {
            let inside = !matches!(
                fault.kind(),
                Kind::Usage | Kind::NotFound | Kind::Transient | Kind::Exhausted
            );
            let text = match (inside, fault.help()) {
                (true, _) => "the server cannot do this just now".to_owned(),
                (false, Some(hint)) => format!("{}; {hint}", fault.told()),
                (false, None) => fault.told(),
            };
            json!({"content": [{"type": "text", "text": text}], "isError": true})
        }
    }
}

pub(super) fn told(said: Said) -> Answer<CallToolResponse> {
    Ok(CallToolResponse::Complete(complete(result(said))?))
}

/// The contract of `search` and `fetch`: one text that holds the JSON, and nothing else.
pub(super) fn worded(said: Said) -> Answer<CallToolResponse> {
    let mut it = result(said);
    if let Some(it) = it.as_object_mut() {
        it.remove("structuredContent");
    }
    Ok(CallToolResponse::Complete(complete(it)?))
}
