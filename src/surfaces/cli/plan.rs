//! The plan: `plan`, `export -f plan`, and how it is shown to whoever is asked for it.
use std::path::Path;

use serde_json::{Value, json};

use super::args::{Ask, Form, Output};
use super::ask;
use super::console::{Console, Paint};
use super::exit::{Done, Exit};
use super::runs::find;
use super::{follow, signals, with_app};
use crate::app::Planned;
use crate::app::models::{Estimate, bounded};
use crate::app::spending::SpendGrant;
use crate::config::{Loaded, Surroundings};
use crate::domain::{Brief, Mode, Plan, Question, Strategy};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::plural;
use crate::surfaces::export::plan::{self as shown, most_queries, prose, rounds};

/// A plan with all that is shown of it.
pub(super) struct Shown {
    pub(super) question: Question,
    pub(super) brief: Brief,
    pub(super) plan: Plan,
    /// What models may cost, where there are any.
    pub(super) models: Option<Estimate>,
    /// What its making cost, where the planner made it.
    pub(super) made: Option<Made>,
}

/// A plan that the planner was asked for.
pub(super) struct Made {
    /// Why it could not, if it could not.
    pub(super) failed: Option<String>,
    /// What was spent on it, where that is known.
    pub(super) usd: Option<f64>,
}

/// `ibid plan "…"`.
pub(super) fn plan(
    asked: &Ask,
    by_model: bool,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let output = &asked.output;
    planned_form(output)?;
    let question = ask::question(asked, Mode::Report, loaded, surroundings)?;
    with_app(loaded, async |app| {
        let (brief, plan, made) = match by_model {
            true => {
                let Planned {
                    brief,
                    plan,
                    unaided,
                    usage,
                } = signals::until_stopped(
                    app.plan_by_model(&question, &SpendGrant::of_operator(&question.budget)),
                )
                .await?;
                let made = Made {
                    failed: unaided,
                    usd: usage.usd,
                };
                (brief, plan, Some(made))
            }
            false => {
                let (brief, plan) = app.plan(&question).await?;
                (brief, plan, None)
            }
        };
        let shown = Shown {
            models: bounded(app.settings(), &question)?,
            question,
            brief,
            plan,
            made,
        };
        let as_json = wants_json(output);
        let object = shown.json()?;
        let text = |paint: Paint| match as_json {
            true => format!("{object}\n"),
            false => shown.text(paint),
        };
        match &output.output {
            Some(to) => {
                let name = if as_json { "plan.json" } else { "plan.txt" };
                let path = follow::place(&surroundings.cwd.join(to), name)?;
                follow::put(&path, &text(Paint(false)))?;
                if !console.quiet {
                    console.tell(&format!("wrote {}", path.display()));
                }
            }
            None => console.print(&text(console.out))?,
        }
        Ok(Exit::Delivered)
    })
}

/// `ibid export R -f plan`.
pub(super) fn export(loaded: &Loaded, name: &str, to: Option<&Path>, console: Console) -> Done {
    with_app(loaded, async |app| {
        let run = app.run(&find(app, name).await?).await?;
        let (Some(question), Some(brief), Some(plan)) = (run.question, run.brief, run.plan) else {
            let what = format!("run {} has no plan", run.id);
            return Err(Error::new(Kind::NotFound, what)
                .hint("it ended before there was one; ask again")
                .into());
        };
        let shown = Shown {
            models: None,
            question,
            brief,
            plan,
            made: None,
        };
        let text = shown.file();
        match to {
            Some(to) => {
                let path = follow::place(to, "plan.json")?;
                follow::put(&path, &text)?;
                console.tell(&format!("wrote {}", path.display()));
            }
            None => console.print(&text)?,
        }
        Ok(Exit::Delivered)
    })
}

/// Refuses, before anything is spent, the forms of a report that a plan does not come in.
fn planned_form(output: &Output) -> Result<()> {
    let ending = output.output.as_ref().and_then(|it| Form::of_path(it));
    match output.format.or(ending) {
        None | Some(Form::Md | Form::Json) => Ok(()),
        Some(form) => Err(Error::new(
            Kind::Usage,
            format!(
                "form `{}` is one of reports, not of plans",
                form.about().name
            ),
        )
        .hint("write -f md (the words for people) or -f json (what `ibid run --plan` reads)")),
    }
}

/// Whether JSON is asked for: by a flag, or by the name of the file it goes to.
fn wants_json(output: &Output) -> bool {
    let named = || {
        let to = output.output.as_ref()?;
        Some(to.extension()? == "json")
    };
    match output.format {
        Some(form) => form == Form::Json,
        None => output.json || output.jsonl || named().unwrap_or(false),
    }
}

impl Shown {
    /// Whether the planner made none.
    pub(super) fn failed(&self) -> bool {
        self.made.as_ref().is_some_and(|it| it.failed.is_some())
    }

    /// As one JSON object: what `ibid run --plan` reads, with what it may come to.
    ///
    /// # Errors
    /// `Internal` where no queries can be made of it.
    pub(super) fn json(&self) -> Result<Value> {
        let made = self.made.as_ref();
        let by = match made {
            Some(it) if it.failed.is_none() => "model",
            _ => "words",
        };
        let models = self.models.as_ref();
        let mut object = shown::json(&self.question, &self.brief, &self.plan, models)?;
        object["made_by"] = by.into();
        object["planner_failed"] = json!(made.and_then(|it| it.failed.as_ref()));
        Ok(object)
    }

    /// As a file that a person edits.
    pub(super) fn file(&self) -> String {
        let object = json!({
            "type": "plan",
            "question": self.question.text,
            "brief": self.brief,
            "plan": self.plan,
        });
        format!(
            "{}\n",
            serde_json::to_string_pretty(&object).unwrap_or_default()
        )
    }

    /// For people. Where the planner failed, of the brief alone (row C10): the plan that takes over was made by words.
    pub(super) fn text(&self, paint: Paint) -> String {
        match self.made.as_ref().and_then(|it| it.failed.as_ref()) {
            Some(why) => format!(
                "{}\n{}\n",
                self.scope(paint),
                paint.yellow(&format!(
                    "The planner made no plan ({}). The one made without a model takes over: {}.",
                    line(why),
                    plural(self.plan.items().len() as u64, "track", "tracks")
                ))
            ),
            None => self.whole(paint),
        }
    }

    /// For people, all of it.
    pub(super) fn whole(&self, paint: Paint) -> String {
        let mut out = self.scope(paint);
        out += &format!("\n{}\n", paint.bold("In words"));
        for paragraph in prose(&self.brief, &self.plan).split("\n\n") {
            out += &format!("  {paragraph}\n");
        }
        out += &format!("\n{}\n", paint.bold("A complete answer covers"));
        for it in self.plan.items() {
            out += &format!(
                "  {}  {}\n      {}\n",
                paint.cyan(&it.id.to_string()),
                line(&it.asks),
                paint.dim(&format!("search: {}", line(&it.query)))
            );
        }
        out += &format!("\n{}\n", paint.bold("Evidence"));
        out += &self.evidence();
        out += &format!("\n{}\n", paint.bold("Report"));
        out += &self.form();
        out += &format!("\n{}\n", self.bound());
        out
    }

    /// The refined question: what it is about, what is in and what is out.
    fn scope(&self, paint: Paint) -> String {
        let brief = &self.brief;
        let mut out = format!("{}\n\n", paint.bold(&line(&brief.question)));
        out += &listed("About", &brief.subjects);
        out += &listed("In scope", &brief.scope_in);
        out += &listed("Left out", &brief.scope_out);
        out += &listed("Key terms", &brief.key_terms);
        out
    }

    /// Where is searched, what the gate wants, and how many rounds.
    fn evidence(&self) -> String {
        let question = &self.question;
        let method = &question.method;
        let folders = question.folders.iter().map(|it| format!("folder {it}"));
        let places: Vec<String> = folders.chain(question.engines.iter().cloned()).collect();
        let mut out = match places.is_empty() {
            true => "  Search    nowhere yet: name --folder DIR or --engine web\n".to_owned(),
            false => format!("  Search    {}\n", line(&places.join(", "))),
        };
        let only: Vec<String> = [
            named("only", &question.domains),
            named("not", &question.not_domains),
            question.since.as_ref().map(|it| format!("since {it}")),
            question.until.as_ref().map(|it| format!("until {it}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !only.is_empty() {
            out += &format!("  Sources   {}\n", line(&only.join(", ")));
        }
        out += &format!(
            "  Enough    {} of evidence from {}, and {} % of the tracks covered\n",
            plural(method.min_evidence_records.into(), "piece", "pieces"),
            plural(method.min_source_domains.into(), "voice", "voices"),
            (method.completeness_threshold * 100.0).round()
        );
        let strategy = question.strategy(self.plan.complexity);
        let team = method.team;
        let rounds = match strategy {
            Strategy::Planned => format!(
                "one of at most {}",
                plural(method.max_initial_search_tasks.into(), "search", "searches")
            ),
            Strategy::Supervisor => format!(
                "at most {} of up to {} side by side",
                plural(method.max_iterations.into(), "wave", "waves"),
                plural(
                    team.max_concurrent_research_units.into(),
                    "researcher",
                    "researchers"
                )
            ),
            _ => format!(
                "at most {}, each for what is still open",
                plural(rounds(question).into(), "round", "rounds")
            ),
        };
        out += &format!(
            "  Strategy  {}\n  Rounds    {rounds}, then {} for what the report lacks\n",
            strategy.word(),
            plural(method.max_refinement_iterations.into(), "round", "rounds"),
        );
        out
    }

    /// What the report will look like.
    fn form(&self) -> String {
        let writing = &self.plan.writing;
        let form = match self.question.mode {
            Mode::Report => "a cited report",
            Mode::Answer => "one line of at most 140 characters",
            Mode::Evidence => "passages by source, without prose",
        };
        let titles: Vec<String> = writing.sections.iter().map(|it| line(&it.title)).collect();
        let lang = self.question.lang.as_ref().unwrap_or(&self.brief.lang);
        let mut out = format!("  Form      {form}, language {}\n", line(lang));
        if self.question.mode == Mode::Report {
            out += &format!("  Sections  {}\n", titles.join("; "));
        }
        out += &format!("  Tone      {}\n", line(&writing.desired_tone));
        out
    }

    /// What it may come to, in a sentence.
    fn bound(&self) -> String {
        let question = &self.question;
        format!(
            "At most {}{}{}. {}",
            plural(
                most_queries(question, &self.plan).into(),
                "query",
                "queries"
            ),
            question.budget.calls.map_or_else(String::new, |it| format!(
                ", {}",
                plural(it, "call", "calls")
            )),
            question
                .budget
                .seconds
                .map_or_else(String::new, |it| format!(
                    ", {}",
                    super::progress::clock(it)
                )),
            self.spending()
        )
    }

    /// What models may cost at most, in a sentence.
    fn spending(&self) -> String {
        let Some(it) = &self.models else {
            return "Costs nothing: no model is used.".to_owned();
        };
        // Up to the next thousand, for it is a bound and no count.
        let tokens = grouped((it.tokens_in + it.tokens_out).div_ceil(1_000) * 1_000);
        let money = match it.usd {
            Some(usd) => format!("${usd:.2}"),
            None => "a price that is not known (set `price`)".to_owned(),
        };
        let made = match &self.made {
            Some(Made { usd: Some(usd), .. }) => {
                format!("The plan itself was made by one, for ${usd:.4}.")
            }
            Some(_) => "The plan itself was made by one.".to_owned(),
            None => "The plan itself was made without one.".to_owned(),
        };
        format!(
            "Of models at most {}, {tokens} tokens, {money}; mostly far less. {made}",
            plural(it.calls, "call", "calls")
        )
    }
}

fn listed(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: Vec<String> = items.iter().map(|it| line(it)).collect();
    format!("{title:<12}{}\n", items.join("; "))
}

fn named(word: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{word} {}", names.join(" ")))
}

/// A number with a comma between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn shown(made: Option<Made>) -> Shown {
        let settings = Settings::defaults_in(Path::new("/nowhere")).unwrap();
        let question = Question::new("What is cork?", "2026-01-15", settings.method);
        let app = crate::app::Parts::machine();
        let (brief, plan) = (app.plan)(&question).unwrap();
        Shown {
            question,
            brief,
            plan,
            models: None,
            made,
        }
    }

    #[test]
    fn where_the_planner_failed_the_brief_alone_is_shown_and_what_takes_over_is_said() {
        let whole = shown(None).text(Paint(false));
        assert!(whole.contains("A complete answer covers") && whole.contains("Q1"));
        let failed = Some(Made {
            failed: Some("it was away".to_owned()),
            usd: None,
        });
        let it = shown(failed);
        let alone = it.text(Paint(false));
        assert!(
            alone.contains("In scope") && !alone.contains("Q1"),
            "{alone}"
        );
        assert!(alone.contains("(it was away). The one made without a model takes over"));
        assert!(it.whole(Paint(false)).contains("Q1"));
        assert_eq!(it.json().unwrap()["planner_failed"], "it was away");
    }

    #[test]
    fn thousands_are_set_apart() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_375_000, "1,375,000"),
        ] {
            assert_eq!(grouped(n), text);
        }
    }
}
