//! A plan in words (row E4), and the question broken down as rows D2 and D3 name it.
use serde_json::{Value, json};

use super::escape::line;
use super::evidence::topic_queries;
use crate::app::expanded;
use crate::app::models::Estimate;
use crate::domain::{Brief, Complexity, Plan, Question, Strategy};
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

/// A plan as one JSON object: what `ibid run --plan` reads, in words and broken down besides, with what it may come to.
///
/// # Errors
/// Those of [`broken_down`].
pub fn json(
    question: &Question,
    brief: &Brief,
    plan: &Plan,
    models: Option<&Estimate>,
) -> Result<Value> {
    let mut object = json!({
        "type": "plan",
        "question": question.text,
        "brief": brief,
        "plan": plan,
        "prose": prose(brief, plan),
        "estimate": {
            "items": plan.items().len(),
            "max_rounds": rounds(question),
            "max_searches": most_queries(question, plan),
            "max_pages": most_pages(question, plan),
            "max_calls": question.budget.calls,
            "max_seconds": question.budget.seconds,
            "model_calls": models.map_or(0, |it| it.calls),
            "tokens": models.map_or(0, |it| it.tokens_in + it.tokens_out),
            "usd": models.map_or(Some(0.0), |it| it.usd),
        },
    });
    let parts = broken_down(question, brief, plan)?;
    if let (Value::Object(object), Value::Object(parts)) = (&mut object, parts) {
        object.extend(parts);
    }
    Ok(object)
}

/// Rounds of a run at most.
pub(crate) fn rounds(question: &Question) -> u32 {
    question.method.depth.min(question.method.max_iterations)
}

/// Queries a run may send at most, by its strategy. Down a checklist: `breadth` for each item in the first round, then for
/// each that is still open; gaps get no more than three each.
pub(crate) fn most_queries(question: &Question, plan: &Plan) -> u32 {
    let method = &question.method;
    let later = rounds(question).saturating_sub(1);
    let items = u32::try_from(plan.items().len()).unwrap_or(u32::MAX);
    match question.strategy(plan.complexity) {
        Strategy::Checklist => items.saturating_mul(method.breadth + later * method.breadth.min(3)),
        Strategy::Planned => method.max_initial_search_tasks + 2 * method.max_refinement_iterations,
        // Of each gap one query closer, and up to three for what is missing.
        Strategy::Coverage => items.saturating_mul(method.breadth.min(3) + 4 * later),
        Strategy::Supervisor => {
            let team = method.team;
            let units = team
                .max_concurrent_research_units
                .saturating_mul(method.max_iterations);
            let units = units.min(team.max_researcher_iterations);
            units.saturating_mul(team.researcher_search_budget)
        }
    }
}

/// Pages a run may read at most: every hit of every query is another one, as far as the budget goes.
pub(crate) fn most_pages(question: &Question, plan: &Plan) -> u64 {
    let hits =
        u64::from(most_queries(question, plan)) * u64::from(question.method.results_per_query);
    let bounds = [question.budget.pages, question.budget.calls];
    bounds.into_iter().flatten().fold(hits, u64::min)
}
