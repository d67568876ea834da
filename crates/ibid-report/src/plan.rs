//! A plan as prose, and the breakdown of a question into topics and queries.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::escape::single_line;
use super::evidence::topic_queries;
use super::phrases::{end_sentence, pluralize_as};
use ibid_core::Result;
use ibid_core::domain::{
    Brief, Complexity, CostEstimate, Plan, Question, ReasoningEffort, Strategy, WritingPlan,
};
use ibid_research::expand_queries;

/// The plan as prose: how the planner model goes about the question, or what a plan by code covers and searches for first; and how the
/// report will be written.
pub fn to_prose(brief: &Brief, plan: &Plan) -> String {
    let writing = writing_prose(&plan.writing);
    match plan.approach.is_empty() {
        true => format!("{}\n\n{writing}", coverage_prose(brief, plan)),
        false => format!("{}\n\n{writing}", end_sentence(&single_line(&plan.approach))),
    }
}

/// The plan as prose above a list of its items, which it does not repeat.
pub fn to_short_prose(brief: &Brief, plan: &Plan) -> String {
    if !plan.approach.is_empty() {
        return to_prose(brief, plan);
    }
    format!("{}\n\n{}", summary_prose(brief, plan), writing_prose(&plan.writing))
}

/// The question, what a complete answer covers, and the first searches.
fn coverage_prose(brief: &Brief, plan: &Plan) -> String {
    let size = match plan.complexity {
        Complexity::Simple => "a small question",
        Complexity::Moderate => "a question with a few aspects",
        Complexity::Complex => "a question with many aspects",
    };
    let mut out = format!("\"{}\" is {size}", single_line(&brief.question));
    if !brief.subjects.is_empty() {
        out += &format!(", about {}", join_with_and(&brief.subjects));
    }
    out.push('.');
    if !brief.scope_out.is_empty() {
        out += &format!(" Left out: {}.", join_with_and(&brief.scope_out));
    }
    let items = plan.items();
    let things = match items.len() {
        1 => "one checklist item".to_owned(),
        n => format!("{n} checklist items"),
    };
    out += &format!(" A complete answer covers {things}:");
    for it in items {
        out += &format!(" {}", end_sentence(&single_line(&it.asks)));
    }
    let first: Vec<String> = if plan.search_tasks.is_empty() {
        items.iter().map(|item| quoted(&item.query)).collect()
    } else {
        plan.search_tasks.iter().map(|search_task| quoted(&search_task.query)).collect()
    };
    out += &format!(
        "\n\nThe search begins with {}; after each round it goes on with what is still open.",
        join_with_and(&first)
    );
    out
}

/// What the question is about, in how many parts it is answered, and how the search goes on.
fn summary_prose(brief: &Brief, plan: &Plan) -> String {
    let size = match plan.complexity {
        Complexity::Simple => "This is a small question",
        Complexity::Moderate => "This question has a few aspects",
        Complexity::Complex => "This question has many aspects",
    };
    let mut out = size.to_owned();
    if !brief.scope_out.is_empty() {
        out += &format!(", without {}", join_with_and(&brief.scope_out));
    }
    let many = plan.items().len();
    let parts = pluralize_as(many as u64, "part", "parts");
    let first = match plan.search_tasks.len() {
        0 => format!(
            ". A complete answer has {parts}, and the search begins with one query for each"
        ),
        n => format!(
            ". A complete answer has {parts}, and the search begins with {}",
            pluralize_as(n as u64, "query", "queries")
        ),
    };
    out += &first;
    out += ". After each round it goes on with what is still open.";
    out
}

/// How the report will be written.
fn writing_prose(writing: &WritingPlan) -> String {
    let mut out = end_sentence(&single_line(&writing.overall_goal)).to_string();
    if !writing.desired_tone.trim().is_empty() {
        out += &format!(" Its tone: {}", end_sentence(&single_line(&writing.desired_tone)));
    }
    for it in &writing.additional_directives {
        out += &format!(" {}", end_sentence(&single_line(it)));
    }
    if !writing.bibliography {
        out += " The list of sources is left out.";
    }
    out
}

/// The topics of the question, each with its first query, and all queries of each topic.
///
/// # Errors
/// `Internal` when no queries can be made.
fn breakdown_json(question: &Question, brief: &Brief, plan: &Plan) -> Result<Value> {
    let topics: Vec<&str> = plan.items().iter().map(|item| item.heading.as_str()).collect();
    Ok(json!({
        "original_query": question.text,
        "topics": topics,
        "topic_queries": topic_queries(plan),
        "complexity": plan.complexity,
        "multi_query": expand_queries(brief, plan, question.method.breadth)?,
    }))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", single_line(text))
}

/// `a`, `a and b`, `a, b and c`.
fn join_with_and(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|text| single_line(text)).collect();
    match all.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// A plan with what every surface shows beside it.
#[derive(Debug, Clone)]
pub struct PlanDetails {
    /// The question that the plan is for.
    pub question: Question,
    /// The refined question.
    pub brief: Brief,
    /// The plan.
    pub plan: Plan,
    /// The most that models may cost, if the run uses any.
    pub models: Option<CostEstimate>,
    /// How much models are asked to reason, by step; without steps whose model is unknown.
    pub reasoning: Vec<(&'static str, ReasoningEffort)>,
    /// How the planner model was asked, if it was.
    pub attempt: Option<PlannerAttempt>,
}

/// One request to the planner model.
#[derive(Debug, Clone)]
pub struct PlannerAttempt {
    /// Why the model made no plan, if it failed.
    pub failed: Option<String>,
    /// What the request cost in US dollars, if known.
    pub usd: Option<f64>,
}

impl PlanDetails {
    /// Why the planner model made no plan, if it was asked and failed.
    pub fn planner_failed(&self) -> Option<&str> {
        self.attempt.as_ref().and_then(|attempt| attempt.failed.as_deref())
    }

    /// The plan as one JSON object: what `ibid run --plan` reads, the prose, the breakdown, the estimate, and how the plan was made.
    ///
    /// # Errors
    /// `Internal` if the plan has no queries.
    pub fn to_json(&self) -> Result<Value> {
        let (question, plan, models) = (&self.question, &self.plan, self.models.as_ref());
        let by_model = self.attempt.is_some() && self.planner_failed().is_none();
        let effort: BTreeMap<_, _> = self.reasoning.iter().copied().collect();
        let mut object = json!({
            "type": "plan",
            "question": question.text,
            "brief": self.brief,
            "plan": plan,
            "prose": to_prose(&self.brief, plan),
            "estimate": {
                "items": plan.items().len(),
                "max_rounds": max_rounds(question),
                "max_searches": max_queries(question, plan),
                "max_pages": max_pages(question, plan),
                "max_calls": question.budget.calls,
                "max_seconds": question.budget.seconds,
                "model_calls": models.map_or(0, |models| models.calls),
                "tokens": models.map_or(0, |models| models.tokens_in + models.tokens_out),
                "usd": models.map_or(Some(0.0), |models| models.usd),
            },
            "made_by": if by_model { "model" } else { "words" },
            "planner_failed": self.planner_failed(),
            "reasoning_effort": effort,
        });
        let parts = breakdown_json(question, &self.brief, plan)?;
        if let (Value::Object(object), Value::Object(parts)) = (&mut object, parts) {
            object.extend(parts);
        }
        Ok(object)
    }
}

/// The maximum number of rounds of a run.
pub fn max_rounds(question: &Question) -> u32 {
    question.method.depth.min(question.method.max_iterations)
}

/// The maximum number of queries of a run, by its strategy. For a checklist: `breadth` for each item in the first round, then for each open
/// one, but at most three for each gap.
pub fn max_queries(question: &Question, plan: &Plan) -> u32 {
    let method = &question.method;
    let later = max_rounds(question).saturating_sub(1);
    let items = u32::try_from(plan.items().len()).unwrap_or(u32::MAX);
    match question.strategy(plan.complexity) {
        Strategy::Checklist => items.saturating_mul(method.breadth + later * method.breadth.min(3)),
        Strategy::Planned => method.max_initial_search_tasks + 2 * method.max_refinement_iterations,
        // One refined query for each gap, and up to three for what is missing.
        Strategy::Coverage => items.saturating_mul(method.breadth.min(3) + 4 * later),
        Strategy::Supervisor => {
            let team = method.team;
            let units = team.max_concurrent_research_units.saturating_mul(method.max_iterations);
            let units = units.min(team.max_researcher_iterations);
            units.saturating_mul(team.researcher_search_budget)
        }
    }
}

/// The maximum number of pages that a run reads: one for each hit of each query, within the budget.
pub(crate) fn max_pages(question: &Question, plan: &Plan) -> u64 {
    let hits =
        u64::from(max_queries(question, plan)) * u64::from(question.method.results_per_query);
    let bounds = [question.budget.pages, question.budget.calls];
    bounds.into_iter().flatten().fold(hits, u64::min)
}
