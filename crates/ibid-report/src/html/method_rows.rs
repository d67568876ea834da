//! The rows of the section "Method".
use crate::escape::single_line;
use crate::method_notes::{pages_line, removed_sentences};
use crate::phrases::{evidence_count, pluralize, pluralize_as};
use ibid_core::domain::{MethodNote, Report, Usage};

/// A name and a text.
pub(super) type MethodRow = (&'static str, String);

/// Maximum length of the reason why a step ran without its model, in characters.
const REASON_CHARS: usize = 200;

/// How the report was made: pairs of a name and a text.
pub(super) fn method_rows(report: &Report) -> Vec<MethodRow> {
    let method = &report.method;
    let mut out = search_rows(method);
    if let Some(it) = &method.followed {
        out.push((
            "Follows",
            format!(
                "{}, read as: {} ({} reused from it)",
                it.run,
                single_line(&it.read_as),
                pluralize(u64::from(it.known), "page")
            ),
        ));
    }
    for it in &method.clarified {
        let answer = it.answer.as_deref().unwrap_or_default();
        out.push(("Clarified", format!("{} — {}", single_line(&it.question), single_line(answer))));
    }
    if let Some(strategy) = method.strategy {
        out.push(("Strategy", strategy.as_str().to_owned()));
    }
    out.push(("Stopped because", method.stop.phrase().to_owned()));
    if !method.models.is_empty() {
        out.push(("Models", list(&method.models, "; ")));
    }
    if !method.unaided.is_empty() {
        out.push(("Without a model", list(&method.unaided, ", ")));
    }
    if let Some((step, why)) = method.unaided_because.first() {
        out.push((
            "Reason",
            format!(
                "{}: {}",
                single_line(step),
                single_line(why).chars().take(REASON_CHARS).collect::<String>()
            ),
        ));
    }
    if let Some(removed) = removed_sentences(report) {
        out.push(("Not held by their sources", removed));
    }
    if report.usage.model_calls > 0 {
        out.push(spent_row(&report.usage));
    }
    out
}

/// What was searched and read, and whether that passed the evidence gate.
fn search_rows(method: &MethodNote) -> Vec<MethodRow> {
    let mut out = vec![(
        "Searched",
        format!(
            "{} with {} in {}",
            if method.engines.is_empty() {
                "nothing".to_owned()
            } else {
                list(&method.engines, ", ")
            },
            pluralize_as(method.queries.len() as u64, "query", "queries"),
            pluralize(u64::from(method.rounds), "round"),
        ),
    )];
    if !method.queries.is_empty() {
        let queries: Vec<String> =
            method.queries.iter().map(|query| format!("“{}”", single_line(query))).collect();
        out.push(("Queries", queries.join(" · ")));
    }
    out.push(("Pages", pages_line(method)));
    out.push(("Evidence", evidence_count(&method.gate)));
    out
}

/// What the models of the run cost.
fn spent_row(usage: &Usage) -> MethodRow {
    let usd = usage.usd.map_or("price unknown".to_owned(), |usd| format!("${usd:.4}"));
    let reasoning = match usage.tokens_reasoning {
        0 => String::new(),
        tokens => format!(" ({tokens} for reasoning)"),
    };
    (
        "Spent",
        format!(
            "{} of models, {} tokens{reasoning}, {usd}",
            pluralize(usage.model_calls, "call"),
            usage.tokens_in + usage.tokens_out
        ),
    )
}

/// The items, made safe for one line, joined.
fn list(items: &[String], separator: &str) -> String {
    let items: Vec<String> = items.iter().map(|item| single_line(item)).collect();
    items.join(separator)
}
