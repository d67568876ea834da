//! What was found, without prose (row D1): how far each topic is covered, and the passages by source.
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::escape::{self, target};
use crate::domain::{Coverage, CoverageRow, Evidence, Item, Plan, Report};
use crate::record::{Envelope, Event};

/// `success`, `completeness`, the topics and the results, as row D1 names them; beside them what the question was broken down
/// into, as row D2 does, where the plan is known.
pub fn view(it: &Report, plan: Option<&Plan>, threshold: f32) -> Value {
    let completeness = completeness(it);
    json!({
        "success": completeness >= threshold,
        "completeness": completeness,
        "original_query": it.question,
        "topics": it.coverage.iter().map(topic).collect::<Vec<_>>(),
        "topic_queries": plan.map(topic_queries),
        "complexity": plan.map(|it| it.complexity),
        "results": it.results.iter().map(|it| json!({
            "url": it.url, "title": it.title, "content": it.content, "score": it.score,
        })).collect::<Vec<_>>(),
    })
}

/// The first query of each topic, by the topic (row D2).
pub fn topic_queries(plan: &Plan) -> Value {
    let of = |it: &Item| (it.heading.clone(), it.query.clone().into());
    plan.items()
        .iter()
        .map(of)
        .collect::<Map<String, Value>>()
        .into()
}

fn topic(it: &CoverageRow) -> Value {
    json!({
        "topic": it.text,
        "covered": matches!(it.state, Coverage::Covered | Coverage::Conflict),
        "score": it.score,
        "evidence": it.proof,
        "gaps": it.gap.iter().collect::<Vec<_>>(),
    })
}

/// Two decimals are what can be told apart.
fn completeness(it: &Report) -> f32 {
    (CoverageRow::completeness(&it.coverage) * 100.0).round() / 100.0
}

/// Each piece of evidence that a run tells of, as it was found.
pub fn found(events: &[Envelope]) -> impl Iterator<Item = &Evidence> {
    events.iter().filter_map(|it| match &it.event {
        Event::EvidenceAdded { evidence } => Some(evidence),
        _ => None,
    })
}

/// The same, one piece of JSON a line.
pub fn lines(events: &[Envelope]) -> String {
    let each = found(events).filter_map(|it| serde_json::to_string(it).ok());
    each.collect::<Vec<_>>().join("\n")
}

/// How far the topics are covered, in a sentence.
pub fn covered(it: &Report) -> String {
    let percent = (completeness(it) * 100.0).round();
    format!("Covered: {percent} % of {} topics.", it.coverage.len())
}

/// What was found for people, as Markdown.
pub fn markdown(it: &Report) -> String {
    let mut out = format!("# Evidence: {}\n\n", escape::markdown(&it.question));
    let _ = writeln!(out, "{}\n", covered(it));
    for row in &it.coverage {
        let gap = row.gap.as_deref().map(escape::markdown);
        let gap = gap.map_or_else(String::new, |it| format!(" ({it})"));
        let _ = writeln!(
            out,
            "- **{}** {}{gap}",
            row.state.judged(),
            escape::markdown(&row.text)
        );
    }
    for (nth, it) in it.results.iter().enumerate() {
        let title = match it.title.trim() {
            "" => it.url.as_str(),
            title => title,
        };
        let _ = write!(out, "\n## {}. {}\n\n", nth + 1, escape::markdown(title));
        let place = match target(&it.url) {
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
