//! A plan as people and programs see it.
use std::collections::BTreeMap;

use serde_json::json;

use crate::console::Palette;
use crate::progress::clock;
use ibid_core::domain::{OutputMode, ReasoningEffort, Strategy};
use ibid_report::escape::single_line;
use ibid_report::markdown::pluralize_as;
use ibid_report::phrases::grouped;
use ibid_report::plan::{PlanDetails, PlannerAttempt, max_queries, max_rounds, to_short_prose};

/// A plan as text.
pub(super) struct PlanView(pub(super) PlanDetails);

impl PlanView {
    /// Whether the planner model was asked and failed.
    pub(super) fn failed(&self) -> bool {
        self.0.planner_failed().is_some()
    }

    /// The file that a user edits.
    pub(super) fn file(&self) -> String {
        let object = json!({
            "type": "plan",
            "question": self.0.question.text,
            "brief": self.0.brief,
            "plan": self.0.plan,
        });
        format!("{}\n", serde_json::to_string_pretty(&object).unwrap_or_default())
    }

    /// The plan as text. If the planner model failed, only the brief: the plan used instead was made without a model.
    pub(super) fn text(&self, paint: Palette) -> String {
        match self.0.planner_failed() {
            Some(why) => format!(
                "{}\n{}\n",
                self.scope(paint),
                paint.yellow(&format!(
                    "The planner made no plan ({}). The plan made without a model is used: {}.",
                    single_line(why),
                    pluralize_as(
                        self.0.plan.items().len() as u64,
                        "checklist item",
                        "checklist items"
                    )
                ))
            ),
            None => self.full_text(paint),
        }
    }

    /// The whole plan as text.
    pub(super) fn full_text(&self, paint: Palette) -> String {
        let mut out = self.scope(paint);
        out += &format!("\n{}\n", paint.bold("In words"));
        for paragraph in to_short_prose(&self.0.brief, &self.0.plan).split("\n\n") {
            out += &format!("  {paragraph}\n");
        }
        out += &format!("\n{}\n", paint.bold("A complete answer covers"));
        for item in self.0.plan.items() {
            out += &format!(
                "  {}  {}\n      {}\n",
                paint.cyan(&item.id.to_string()),
                single_line(&item.asks),
                paint.dim(&format!("search: {}", single_line(&item.query)))
            );
        }
        out += &format!("\n{}\n", paint.bold("Evidence"));
        out += &self.evidence();
        out += &format!("\n{}\n", paint.bold("Report"));
        out += &self.report_form();
        out += &self.reasoning_line();
        out += &format!("\n{}\n", self.estimate_text());
        out
    }

    /// The refined question and its scope.
    fn scope(&self, paint: Palette) -> String {
        let brief = &self.0.brief;
        let mut out = format!("{}\n\n", paint.bold(&single_line(&brief.question)));
        // The scope by code begins with the subjects.
        if brief.scope_in.first() != Some(&brief.subjects.join(", ")) {
            out += &format_list("About", &brief.subjects);
        }
        out += &format_list("In scope", &brief.scope_in);
        out += &format_list("Left out", &brief.scope_out);
        out += &format_list("Key terms", &brief.key_terms);
        out
    }

    /// Where the run searches, what the evidence gate needs, and how many rounds there may be.
    fn evidence(&self) -> String {
        let question = &self.0.question;
        let method = &question.method;
        let folders = question.folders.iter().map(|folder| format!("folder {folder}"));
        let places: Vec<String> = folders.chain(question.engines.iter().cloned()).collect();
        let mut out = if places.is_empty() {
            "  Search    nowhere yet: name --folder DIR or --engine web\n".to_owned()
        } else {
            format!("  Search    {}\n", single_line(&places.join(", ")))
        };
        let only: Vec<String> = [
            names_line("only", &question.domains),
            names_line("not", &question.not_domains),
            question.since.as_ref().map(|it| format!("since {it}")),
            question.until.as_ref().map(|it| format!("until {it}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !only.is_empty() {
            out += &format!("  Sources   {}\n", single_line(&only.join(", ")));
        }
        out += &format!(
            "  Enough    {} of evidence from {}, and {} % of the checklist items covered\n",
            pluralize_as(method.min_evidence_records.into(), "piece", "pieces"),
            pluralize_as(method.min_source_domains.into(), "domain", "domains"),
            (method.completeness_threshold * 100.0).round()
        );
        let strategy = question.strategy(self.0.plan.complexity);
        let team = method.team;
        let rounds = match strategy {
            Strategy::Planned => format!(
                "one with at most {}",
                pluralize_as(method.max_initial_search_tasks.into(), "search", "searches")
            ),
            Strategy::Supervisor => format!(
                "at most {} of up to {} side by side",
                pluralize_as(method.max_iterations.into(), "round", "rounds"),
                pluralize_as(
                    team.max_concurrent_research_units.into(),
                    "researcher",
                    "researchers"
                )
            ),
            _ => match max_rounds(question) {
                1 => "one".to_owned(),
                n => format!("at most {n}, each for what is still open"),
            },
        };
        out += &format!(
            "  Strategy  {}\n  Rounds    {rounds}, then {} for what the report lacks\n",
            strategy.as_str(),
            pluralize_as(method.max_refinement_iterations.into(), "round", "rounds"),
        );
        out
    }

    /// Form, sections and tone of the report.
    fn report_form(&self) -> String {
        let writing = &self.0.plan.writing;
        let form = match self.0.question.mode {
            OutputMode::Report => "a cited report",
            OutputMode::Answer => "one line of at most 140 characters",
            OutputMode::Evidence => "passages by source, without prose",
        };
        let titles: Vec<String> =
            writing.sections.iter().map(|section| single_line(&section.title)).collect();
        let lang = self.0.question.lang.as_ref().unwrap_or(&self.0.brief.lang);
        let mut out = format!("  Form      {form}, language {}\n", single_line(lang));
        if self.0.question.mode == OutputMode::Report {
            out += &format!("  Sections  {}\n", titles.join("; "));
        }
        out += &format!("  Tone      {}\n", single_line(&writing.desired_tone));
        out
    }

    /// How much models are asked to reason in which steps; empty if none is known.
    fn reasoning_line(&self) -> String {
        let mut groups: BTreeMap<ReasoningEffort, Vec<&str>> = BTreeMap::new();
        for (step, effort) in &self.0.reasoning {
            groups.entry(*effort).or_default().push(step);
        }
        let groups: Vec<String> = groups
            .into_iter()
            .map(|(effort, steps)| format!("{} for {}", effort.as_str(), steps.join(", ")))
            .collect();
        if groups.is_empty() {
            return String::new();
        }
        format!("  Effort    of reasoning: {}\n", groups.join("; "))
    }

    /// The most queries, calls, time and money of the run, in a sentence.
    fn estimate_text(&self) -> String {
        let question = &self.0.question;
        format!(
            "At most {}{}{}. {}",
            pluralize_as(max_queries(question, &self.0.plan).into(), "query", "queries"),
            question.budget.calls.map_or_else(String::new, |calls| format!(
                ", {}",
                pluralize_as(calls, "call", "calls")
            )),
            question
                .budget
                .seconds
                .map_or_else(String::new, |seconds| format!(", {}", clock(seconds))),
            self.cost_text()
        )
    }

    /// The most that models may cost, in a sentence.
    fn cost_text(&self) -> String {
        let Some(estimate) = &self.0.models else {
            return "Costs nothing: no model is used.".to_owned();
        };
        // Rounded up to thousands: it is a limit, not a count.
        let tokens =
            grouped((estimate.tokens_in + estimate.tokens_out).div_ceil(1_000) * 1_000, ',');
        let money = match estimate.usd {
            Some(usd) => format!("${usd:.2}"),
            None => "at an unknown price (set `price`)".to_owned(),
        };
        let made = match &self.0.attempt {
            Some(PlannerAttempt { usd: Some(usd), .. }) => {
                format!("A model made this plan, for ${usd:.4}.")
            }
            Some(_) => "A model made this plan.".to_owned(),
            None => "This plan was made without a model.".to_owned(),
        };
        format!(
            "Models: at most {}, {tokens} tokens, {money}; usually far less. {made}",
            pluralize_as(estimate.calls, "call", "calls")
        )
    }
}

fn format_list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: Vec<String> = items.iter().map(|item| single_line(item)).collect();
    format!("{title:<12}{}\n", items.join("; "))
}

fn names_line(word: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{word} {}", names.join(" ")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use ibid::config::Settings;
    use ibid_core::domain::Question;

    fn plan_view(made: Option<PlannerAttempt>) -> PlanView {
        let settings = Settings::defaults_in(Path::new("/nowhere")).unwrap();
        let question = Question::new("What is cork?", "2026-01-15", settings.method);
        let app = ibid::app::AppComponents::local();
        let (brief, plan) = (app.plan)(&question).unwrap();
        PlanView(PlanDetails {
            question,
            brief,
            plan,
            models: None,
            reasoning: Vec::new(),
            attempt: made,
        })
    }

    #[test]
    fn where_the_planner_failed_the_brief_alone_is_shown_and_what_takes_over_is_said() {
        let whole = plan_view(None).text(Palette(false));
        assert!(whole.contains("A complete answer covers") && whole.contains("Q1"));
        let failed = Some(PlannerAttempt { failed: Some("it was away".to_owned()), usd: None });
        let it = plan_view(failed);
        let alone = it.text(Palette(false));
        assert!(alone.contains("In scope") && !alone.contains("Q1"), "{alone}");
        assert!(alone.contains("(it was away). The plan made without a model is used"));
        assert!(it.full_text(Palette(false)).contains("Q1"));
        assert_eq!(it.0.to_json().unwrap()["planner_failed"], "it was away");
    }

    #[test]
    fn thousands_are_set_apart() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_375_000, "1,375,000")] {
            assert_eq!(grouped(n, ','), text);
        }
    }
}
