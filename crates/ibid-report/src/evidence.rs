//! The evidence without prose: the coverage of each topic, and the excerpts by source.
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::escape::{self, web_url};
use ibid_core::domain::{Coverage, CoverageRow, Evidence, Item, Plan, Report};
use ibid_core::record::{Envelope, Event};

/// The JSON of mode `evidence`: `success`, `completeness`, the topics and the results, and the breakdown of the question where the plan is
/// known.
pub fn to_json(it: &Report, plan: Option<&Plan>, threshold: f32) -> Value {
    let completeness = completeness(it);
    json!({
        "success": completeness >= threshold,
        "completeness": completeness,
        "original_query": it.question,
        "topics": it.coverage.iter().map(topic_json).collect::<Vec<_>>(),
        "topic_queries": plan.map(topic_queries),
        "complexity": plan.map(|plan| plan.complexity),
        "results": it.results.iter().map(|result| json!({
            "url": result.url, "title": result.title, "content": result.content, "score": result.score,
        })).collect::<Vec<_>>(),
    })
}

/// The first query of each topic.
pub fn topic_queries(plan: &Plan) -> Value {
    let of = |it: &Item| (it.heading.clone(), it.query.clone().into());
    plan.items().iter().map(of).collect::<Map<String, Value>>().into()
}

fn topic_json(it: &CoverageRow) -> Value {
    json!({
        "topic": it.text,
        "covered": matches!(it.state, Coverage::Covered | Coverage::Conflict),
        "score": it.score,
        "evidence": it.proof,
        "gaps": it.gap.iter().collect::<Vec<_>>(),
    })
}

/// Rounds to two decimals.
fn completeness(it: &Report) -> f32 {
    (CoverageRow::completeness(&it.coverage) * 100.0).round() / 100.0
}

/// The evidence records of a run.
pub fn from_events(events: &[Envelope]) -> impl Iterator<Item = &Evidence> {
    events.iter().filter_map(|event| match &event.event {
        Event::EvidenceAdded { evidence } => Some(evidence),
        _ => None,
    })
}

/// The evidence records as JSON Lines.
pub fn to_jsonl(events: &[Envelope]) -> String {
    let each = from_events(events).filter_map(|it| serde_json::to_string(it).ok());
    each.collect::<Vec<_>>().join("\n")
}

/// The coverage of the topics as a sentence.
pub(crate) fn coverage_sentence(it: &Report) -> String {
    let percent = (completeness(it) * 100.0).round();
    format!("Covered: {percent} % of {} topics.", it.coverage.len())
}

/// The evidence as Markdown.
pub fn to_markdown(it: &Report) -> String {
    let mut out = format!("# Evidence: {}\n\n", escape::markdown(&it.question));
    let _ = writeln!(out, "{}\n", coverage_sentence(it));
    for row in &it.coverage {
        let gap = row.gap.as_deref().map(escape::markdown);
        let gap = gap.map_or_else(String::new, |it| format!(" ({it})"));
        let _ =
            writeln!(out, "- **{}** {}{gap}", row.state.status_word(), escape::markdown(&row.text));
    }
    for (nth, it) in it.results.iter().enumerate() {
        let title = match it.title.trim() {
            "" => it.url.as_str(),
            title => title,
        };
        let _ = write!(out, "\n## {}. {}\n\n", nth + 1, escape::markdown(title));
        let place = match web_url(&it.url) {
            Some(link) => format!("<{link}>"),
            None => escape::markdown(&it.url),
        };
        let _ = writeln!(out, "{place} · score {:.2}\n", it.score);
        for piece in it.content.split('\n') {
            let _ = writeln!(out, "> {}", escape::markdown(piece));
        }
    }
    out
}
