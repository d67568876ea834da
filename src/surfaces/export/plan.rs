//! A plan in words (row E4), and the question broken down as rows D2 and D3 name it.
use serde_json::{Value, json};

use super::escape::line;
use super::evidence::topic_queries;
use crate::app::expanded;
use crate::domain::{Brief, Complexity, Plan, Question};
use crate::error::Result;

/// The plan as a person would tell it to another: what is asked, what a complete answer says, what is searched for first, and
/// how the report will be written. Everything in it stands in the plan.
pub fn prose(brief: &Brief, plan: &Plan) -> String {
    let size = match plan.complexity {
        Complexity::Simple => "a small question",
        Complexity::Moderate => "a question of a few sides",
        Complexity::Complex => "a question of many sides",
    };
    let mut out = format!("\"{}\" is {size}", line(&brief.question));
    if !brief.subjects.is_empty() {
        out += &format!(", about {}", listed(&brief.subjects));
    }
    out.push('.');
    if !brief.scope_out.is_empty() {
        out += &format!(" Left out: {}.", listed(&brief.scope_out));
    }
    let items = plan.items();
    let things = match items.len() {
        1 => "one thing".to_owned(),
        n => format!("{n} things"),
    };
    out += &format!(" A complete answer says {things}.");
    for it in items {
        out += &format!(" {}", sentence(&it.asks));
    }
    let first: Vec<String> = match plan.search_tasks.is_empty() {
        true => items.iter().map(|it| quoted(&it.query)).collect(),
        false => plan
            .search_tasks
            .iter()
            .map(|it| quoted(&it.query))
            .collect(),
    };
    out += &format!(
        "\n\nThe search begins with {}; after each round it goes on with what is still open.",
        listed(&first)
    );
    let writing = &plan.writing;
    out += &format!("\n\n{}", sentence(&writing.overall_goal));
    if !writing.desired_tone.trim().is_empty() {
        out += &format!(" Its tone: {}", sentence(&writing.desired_tone));
    }
    for it in &writing.additional_directives {
        out += &format!(" {}", sentence(it));
    }
    if !writing.bibliography {
        out += " The list of sources is left out.";
    }
    out
}

/// The question as topics, each with its first query (row D2), and every query a topic is asked by (row D3).
///
/// # Errors
/// `Internal` where no queries can be made.
pub fn broken_down(question: &Question, brief: &Brief, plan: &Plan) -> Result<Value> {
    let topics: Vec<&str> = plan.items().iter().map(|it| it.heading.as_str()).collect();
    Ok(json!({
        "original_query": question.text,
        "topics": topics,
        "topic_queries": topic_queries(plan),
        "complexity": plan.complexity,
        "multi_query": expanded(brief, plan)?,
    }))
}

fn sentence(text: &str) -> String {
    let text = line(text.trim());
    match text.chars().last() {
        Some('.' | '?' | '!' | '…') | None => text,
        Some(_) => format!("{text}."),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", line(text))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|it| line(it)).collect();
    match all.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}
