//! The method and the limitations of a report, as lines of text. `shown` escapes untrusted text.
use super::phrases::{checks_line, evidence_count, pluralize, pluralize_as};
use ibid_core::domain::{MethodNote, Report};

/// Maximum length of the reason why a step ran without its model, in characters.
const MAX_REASON_CHARS: usize = 200;

/// Queries that are named.
const QUERIES_SHOWN: usize = 3;

/// Unread documents that are named.
const UNREAD_SHOWN: usize = 10;

/// The points that could not be established: the name of each, if any, and the reason.
pub(super) fn unresolved_points(
    it: &Report,
    shown: impl Fn(&str) -> String,
) -> Vec<(Option<String>, String)> {
    let mut out: Vec<(Option<String>, String)> =
        it.open.iter().map(|point| (Some(shown(&point.what)), shown(&point.why))).collect();
    let failed = &it.method.pages_failed;
    for (page, reason) in failed.iter().take(UNREAD_SHOWN) {
        // A reader's error may begin with the address.
        let rest = reason.strip_prefix(page.as_str()).and_then(|rest| rest.strip_prefix(": "));
        let reason = rest.unwrap_or(reason);
        let text = format!("Not read: {} — {}", shown(page), shown(reason));
        out.push((None, text));
    }
    if failed.len() > UNREAD_SHOWN {
        let more = (failed.len() - UNREAD_SHOWN) as u64;
        let text = format!(
            "Also not read: {} more. The JSON report lists them.",
            pluralize(more, "document")
        );
        out.push((None, text));
    }
    out
}

/// How many sentences failed a check, and what became of them; `None` if none did.
pub(super) fn removed_sentences(it: &Report) -> Option<String> {
    let removed = u64::from(it.checks.removed);
    (removed > 0)
        .then(|| format!("{}, left out or replaced by quotes", pluralize(removed, "sentence")))
}

/// How many pages were read, known and not readable: "7 pages read, 2 not readable".
pub(super) fn pages_line(method: &MethodNote) -> String {
    // A follow-up says for itself how many pages it knew.
    let known = match method.pages_known {
        known if known > 0 && method.followed.is_none() => {
            format!(", {known} known from a run with nearly the same question")
        }
        _ => String::new(),
    };
    let read = pluralize(u64::from(method.pages_read), "page");
    format!("{read} read{known}, {} not readable", method.pages_failed.len())
}

/// The method, one line for each fact.
pub(super) fn method_lines(it: &Report, shown: impl Fn(&str) -> String) -> Vec<String> {
    let method = &it.method;
    let listed = |items: &[String]| -> String {
        let items: Vec<String> = items.iter().map(|item| shown(item)).collect();
        items.join(", ")
    };
    let engines =
        if method.engines.is_empty() { "nothing".to_owned() } else { listed(&method.engines) };
    let mut out = vec![format!(
        "Searched {engines} with {} in {}; {}.",
        pluralize_as(method.queries.len() as u64, "query", "queries"),
        pluralize(u64::from(method.rounds), "round"),
        pages_line(method),
    )];
    if !method.queries.is_empty() {
        let queries: Vec<String> =
            method.queries.iter().map(|query| format!("“{}”", shown(query))).collect();
        let more = match queries.len().saturating_sub(QUERIES_SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more, in the JSON report"),
        };
        let first = &queries[..queries.len().min(QUERIES_SHOWN)];
        out.push(format!("Queries: {}{more}.", first.join("; ")));
    }
    out.push(format!("Evidence: {}.", evidence_count(&method.gate)));
    if let Some(it) = &method.followed {
        let known = match it.known {
            1 => "1 page was".to_owned(),
            n => format!("{n} pages were"),
        };
        out.push(format!(
            "Follows {}, read as: {} {known} reused from it.",
            it.run,
            shown(&it.read_as)
        ));
    }
    for it in &method.clarified {
        let (asked, answer) = (&it.question, it.answer.as_deref().unwrap_or_default());
        out.push(format!("Clarified: {} You said: {}", shown(asked), shown(answer)));
    }
    if let Some(strategy) = method.strategy {
        out.push(format!("Strategy: {}.", strategy.as_str()));
    }
    out.push(format!("Stopped because {}.", method.stop.phrase()));
    if !method.models.is_empty() {
        out.push(format!("Models: {}.", shown(&method.models.join("; "))));
    }
    if method.models.is_empty() {
        out.push("Written without a language model.".to_owned());
    } else if !method.unaided.is_empty() {
        out.push(format!("Without a model: {}.", listed(&method.unaided)));
    }
    if let Some((step, why)) = method.unaided_because.first() {
        let why: String = why.chars().take(MAX_REASON_CHARS).collect();
        out.push(format!("Why step {step} ran without a model: {}", shown(&why)));
    }
    out.push(format!("Checked by code: {}.", checks_line(it)));
    if let Some(removed) = removed_sentences(it) {
        out.push(format!("Not held by their sources: {removed}."));
    }
    out
}
