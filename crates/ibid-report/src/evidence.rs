//! The evidence without prose: the coverage of each topic, and the excerpts by source.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::escape::{self, web_url};
use super::phrases::one_source_note;
use ibid_core::domain::{
    ChecklistItem, Coverage, CoverageRow, Evidence, Excerpt, Plan, Report, SourceId,
};
use ibid_core::record::{Envelope, Event, Run};

/// The JSON of mode `evidence`: `success`, `completeness`, the topics and the results, and the breakdown of the question where
/// the plan is known. `success` says that something was found; how much is what `completeness` says.
pub fn to_json(it: &Report, plan: Option<&Plan>) -> Value {
    view(&it.question, &it.coverage, &it.results, plan)
}

/// The same fields for a run without a report: the quotes found so far, by source, best source first.
pub fn to_json_so_far(run: &Run, events: &[Envelope]) -> Value {
    let question = run.question.as_ref().map_or("", |question| question.text.as_str());
    view(question, &run.coverage_rows(), &excerpts(run, events), run.plan.as_ref())
}

fn view(
    question: &str,
    coverage: &[CoverageRow],
    results: &[Excerpt],
    plan: Option<&Plan>,
) -> Value {
    json!({
        "success": !results.is_empty(),
        "completeness": completeness(coverage),
        "original_query": question,
        "topics": coverage.iter().map(topic_json).collect::<Vec<_>>(),
        "topic_queries": plan.map(topic_queries),
        "complexity": plan.map(|plan| plan.complexity),
        "results": results.iter().map(|result| json!({
            "url": result.url, "title": result.title, "content": result.content, "score": result.score,
        })).collect::<Vec<_>>(),
    })
}

/// The quotes of each source in the order of the page, with gaps marked.
fn excerpts(run: &Run, events: &[Envelope]) -> Vec<Excerpt> {
    let mut by_source: BTreeMap<SourceId, Vec<&Evidence>> = BTreeMap::new();
    for it in from_events(events) {
        by_source.entry(it.source).or_default().push(it);
    }
    let mut found: Vec<Excerpt> = Vec::new();
    for (id, mut evidence) in by_source {
        let Some(source) = run.sources.iter().find(|source| source.id == id) else {
            continue;
        };
        evidence.sort_by_key(|it| it.passage.first());
        let mut quotes: Vec<&str> =
            evidence.iter().map(|it| it.passage.text().expose().trim()).collect();
        quotes.dedup();
        found.push(Excerpt {
            source: id,
            url: source.url.clone(),
            title: source.title.clone(),
            content: quotes.join("\n…\n"),
            score: evidence.iter().map(|it| it.score).fold(0.0, f32::max),
        });
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.source.cmp(&b.source)));
    found
}

/// The first query of each topic.
pub fn topic_queries(plan: &Plan) -> Value {
    let of = |it: &ChecklistItem| (it.heading.clone(), it.query.clone().into());
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
fn completeness(coverage: &[CoverageRow]) -> f64 {
    (f64::from(CoverageRow::completeness(coverage)) * 100.0).round() / 100.0
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
    if it.coverage.is_empty() {
        return "No topics.".to_owned();
    }
    let percent = (completeness(&it.coverage) * 100.0).round();
    format!("Covered: {percent} % of {} topics.", it.coverage.len())
}

/// The evidence as Markdown.
pub fn to_markdown(it: &Report) -> String {
    let mut out = format!("# Evidence: {}\n\n", escape::markdown(&it.question));
    if let Some(note) = one_source_note(it) {
        let _ = writeln!(out, "**{note}**\n");
    }
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
