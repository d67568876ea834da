//! What a report says of itself: how it came about, and what it could not establish. Both are lines of text; `shown` makes the
//! words of strangers in them fit for where they are shown.
use super::markdown::{checks, counted, plural, stopped};
use crate::domain::Report;

/// Characters shown of why a step did without its model.
const WHY: usize = 200;

/// How many documents that could not be read are named.
const UNREAD_SHOWN: usize = 10;

/// What could not be established, each point with its name, where it has one, and what is to be said of it.
pub(super) fn not_established(
    it: &Report,
    shown: impl Fn(&str) -> String,
) -> Vec<(Option<String>, String)> {
    let mut out: Vec<(Option<String>, String)> = it
        .open
        .iter()
        .map(|point| (Some(shown(&point.what)), shown(&point.why)))
        .collect();
    let failed = &it.method.pages_failed;
    for (page, reason) in failed.iter().take(UNREAD_SHOWN) {
        let text = format!("Not read: {} — {}", shown(page), shown(reason));
        out.push((None, text));
    }
    if failed.len() > UNREAD_SHOWN {
        let more = (failed.len() - UNREAD_SHOWN) as u64;
        let text = format!(
            "Not read either: {} more. The report as JSON names each.",
            counted(more, "document")
        );
        out.push((None, text));
    }
    if it.checks.removed > 0 {
        let text = format!(
            "{} removed because their words did not hold against the page.",
            counted(u64::from(it.checks.removed), "sentence")
        );
        out.push((None, text));
    }
    out
}

/// How the report came about, a line each.
pub(super) fn method(it: &Report, shown: impl Fn(&str) -> String) -> Vec<String> {
    let method = &it.method;
    let listed = |items: &[String]| -> String {
        let items: Vec<String> = items.iter().map(|it| shown(it)).collect();
        items.join(", ")
    };
    let engines = match method.engines.is_empty() {
        true => "nothing".to_owned(),
        false => listed(&method.engines),
    };
    let mut out = vec![format!(
        "Searched {engines} with {} in {}; {} read, {} not readable.",
        plural(method.queries.len() as u64, "query", "queries"),
        counted(u64::from(method.waves), "round"),
        counted(u64::from(method.pages_read), "page"),
        method.pages_failed.len(),
    )];
    if !method.queries.is_empty() {
        let queries: Vec<String> = method
            .queries
            .iter()
            .map(|it| format!("“{}”", shown(it)))
            .collect();
        out.push(format!("Queries: {}.", queries.join("; ")));
    }
    let gate = &method.gate;
    let reason = gate.reason.as_ref();
    out.push(format!(
        "Evidence gate {}: {}, {} cited, {}{}.",
        if gate.pass { "passed" } else { "not passed" },
        plural(u64::from(gate.evidence_records), "record", "records"),
        gate.cited_records,
        plural(u64::from(gate.source_domains), "site", "sites"),
        reason.map_or_else(String::new, |it| format!(" ({})", shown(it)))
    ));
    if let Some(it) = &method.followed {
        let known = match it.known {
            1 => "1 page was".to_owned(),
            n => format!("{n} pages were"),
        };
        out.push(format!(
            "Follows {}, read as: {} {known} known from there.",
            it.run,
            shown(&it.read_as)
        ));
    }
    for it in &method.clarified {
        let (asked, said) = (&it.question, it.answer.as_deref().unwrap_or_default());
        out.push(format!(
            "Asked back: {} You said: {}",
            shown(asked),
            shown(said)
        ));
    }
    if let Some(strategy) = method.strategy {
        out.push(format!("Strategy: {}.", strategy.word()));
    }
    out.push(format!("Stopped because {}.", stopped(method.stop)));
    if !method.models.is_empty() {
        out.push(format!("Models: {}.", shown(&method.models.join("; "))));
    }
    if !method.unaided.is_empty() {
        out.push(format!("Without a model: {}.", listed(&method.unaided)));
    }
    if let Some((step, why)) = method.unaided_because.first() {
        let why: String = why.chars().take(WHY).collect();
        out.push(format!("Why {step} did without its model: {}", shown(&why)));
    }
    out.push(format!("Checked by code: {}.", checks(it)));
    out
}
