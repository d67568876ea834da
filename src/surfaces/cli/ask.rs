//! Asking: `ibid "…"`, `run`, `answer`, `plan`.
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{Ask, Form, Output, Sources};
use super::console::{Console, Paint};
use super::exit::{Done, Exit};
use super::when::{Edge, day};
use super::{follow, help, with_app};
use crate::app::engines::resolve;
use crate::app::models::{Estimate, estimate as estimate_of};
use crate::config::{Loaded, Settings, Surroundings};
use crate::domain::{Brief, Mode, Plan, Question};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::plural;

/// `ibid "…"` (`bare`) and `ibid run "…"`.
pub(super) fn run(
    ask: &Ask,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
    bare: bool,
) -> Done {
    if let (true, Some(word)) = (bare, ask.question.as_deref())
        && let Some(command) = help::meant(word)
    {
        return Err(
            Error::new(Kind::Usage, format!("there is no command `{word}`"))
                .hint(format!(
                    "did you mean `ibid {command}`? To ask about it, write `ibid run {word}`"
                ))
                .into(),
        );
    }
    one(ask, Mode::Report, loaded, surroundings, console)
}

/// `ibid answer "…"`.
pub(super) fn answer(
    ask: &Ask,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    one(ask, Mode::Answer, loaded, surroundings, console)
}

/// `ibid evidence "…"`.
pub(super) fn evidence(
    ask: &Ask,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    one(ask, Mode::Evidence, loaded, surroundings, console)
}

/// One run in this mode.
fn one(
    ask: &Ask,
    mode: Mode,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let question = searched(question(ask, mode, loaded, surroundings)?)?;
    follow::writable(&ask.output, surroundings)?;
    tell_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let running = app.start(question).await?;
        follow::follow(app, running, &ask.output, surroundings, console).await
    })
}

/// Says which model is asked where nobody named one, and what it may cost: it must not surprise.
pub(super) fn tell_model(settings: &Settings, console: Console) {
    let (Some(variable), Some(model)) = (settings.models_by_key, settings.models.values().next())
    else {
        return;
    };
    if !console.quiet {
        let most = settings.budget.usd.unwrap_or_default();
        console.tell(&format!(
            "model {model}, because {variable} is set; at most ${most:.2} (--model none does without, --budget sets another bound)"
        ));
    }
}

/// `ibid plan "…"`.
pub(super) fn plan(
    ask: &Ask,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let question = question(ask, Mode::Report, loaded, surroundings)?;
    with_app(loaded, async |app| {
        let (brief, plan) = app.plan(&question).await?;
        let mut models = estimate_of(app.settings(), &question)?;
        // The budget is a wall: no more than that is ever spent.
        if let (Some(it), Some(most)) = (&mut models, question.budget.usd) {
            it.usd = it.usd.map(|usd| usd.min(most));
        }
        let as_json = wants_json(&ask.output);
        let text = |paint: Paint| match as_json {
            true => {
                let estimate = estimate(&question, &plan, models.as_ref());
                let object =
                    json!({"type": "plan", "brief": brief, "plan": plan, "estimate": estimate});
                format!("{object}\n")
            }
            false => plan_text(&question, &brief, &plan, models.as_ref(), paint),
        };
        match &ask.output.output {
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

/// Queries a run may send at most: `breadth` for each item in the first round, then for each that is
/// still open; gaps get no more than three each.
fn most_queries(question: &Question, plan: &Plan) -> u32 {
    let method = &question.method;
    let later = method.depth.min(method.max_iterations).saturating_sub(1);
    let items = u32::try_from(plan.items().len()).unwrap_or(u32::MAX);
    items.saturating_mul(method.breadth + later * method.breadth.min(3))
}

/// What a run may cost at most: rounds, queries, and what the budget allows.
fn estimate(question: &Question, plan: &Plan, models: Option<&Estimate>) -> serde_json::Value {
    let method = &question.method;
    let rounds = method.depth.min(method.max_iterations);
    json!({
        "items": plan.items().len(),
        "max_rounds": rounds,
        "max_searches": most_queries(question, plan),
        "max_calls": question.budget.calls,
        "max_seconds": question.budget.seconds,
        "model_calls": models.map_or(0, |it| it.calls),
        "tokens": models.map_or(0, |it| it.tokens_in + it.tokens_out),
        "usd": models.map_or(Some(0.0), |it| it.usd),
    })
}

fn plan_text(
    question: &Question,
    brief: &Brief,
    plan: &Plan,
    models: Option<&Estimate>,
    paint: Paint,
) -> String {
    let bold = |text: &str| paint.bold(text);
    let mut out = format!("{}\n\n", bold(&line(&brief.question)));
    let listed = |title: &str, items: &[String]| -> String {
        if items.is_empty() {
            return String::new();
        }
        let items: Vec<String> = items.iter().map(|it| line(it)).collect();
        format!("{title:<12}{}\n", items.join("; "))
    };
    out += &listed("About", &brief.subjects);
    out += &listed("In scope", &brief.scope_in);
    out += &listed("Left out", &brief.scope_out);
    out += &listed("Key terms", &brief.key_terms);
    out += &format!("\n{}\n", bold("A complete answer covers"));
    for it in plan.items() {
        out += &format!(
            "  {}  {}\n      {}\n",
            paint.cyan(&it.id.to_string()),
            line(&it.asks),
            paint.dim(&format!("search: {}", line(&it.query)))
        );
    }
    let method = &question.method;
    let rounds = method.depth.min(method.max_iterations);
    out += &format!(
        "\nAt most {} of {} queries for each item that is open, {}{}{}. {}\n",
        plural(rounds.into(), "round", "rounds"),
        method.breadth,
        plural(most_queries(question, plan).into(), "query", "queries"),
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
        spending(models)
    );
    out
}

/// What models may cost at most, in a sentence.
fn spending(models: Option<&Estimate>) -> String {
    let Some(it) = models else {
        return "Costs nothing: no model is used.".to_owned();
    };
    // Up to the next thousand, for it is a bound and no count.
    let tokens = grouped((it.tokens_in + it.tokens_out).div_ceil(1_000) * 1_000);
    let money = match it.usd {
        Some(usd) => format!("${usd:.2}"),
        None => "a price that is not known (set `price`)".to_owned(),
    };
    format!(
        "Of models at most {}, {tokens} tokens, {money}; mostly far less. The plan itself was made without one.",
        plural(it.calls, "call", "calls")
    )
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

/// The question, if there is anything to search for it.
pub(super) fn searched(question: Question) -> Result<Question> {
    if question.folders.is_empty() && question.engines.is_empty() {
        return Err(Error::new(Kind::Setup, "there is nothing to search")
            .hint("name a folder of documents with --folder DIR, or engines with --engine web (`ibid engines` lists them)"));
    }
    Ok(question)
}

/// The engines to ask: those named by `--engine`, else those of the settings. Where these say `auto`, folders that are named are
/// searched alone: who has put documents together means these.
fn engines(sources: &Sources, loaded: &Loaded, with_folders: bool) -> Result<Vec<String>> {
    let settings = &loaded.settings;
    if sources.only_local {
        return Ok(Vec::new());
    }
    let named = if sources.engine.is_empty() {
        &settings.engines
    } else {
        &sources.engine
    };
    if sources.engine.is_empty() && with_folders && *named == ["auto"] {
        return Ok(Vec::new());
    }
    resolve(settings, named)
}

/// Everything a run depends on, frozen now.
pub(super) fn question(
    ask: &Ask,
    mode: Mode,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<Question> {
    let text = text(ask.question.as_deref())?;
    let today = jiff::Zoned::now().date();
    let settings = &loaded.settings;
    let folders = folders(&ask.sources.folder, loaded, surroundings)?;
    let (since, until) = dates(&ask.sources, today)?;
    let engines = engines(&ask.sources, loaded, !folders.is_empty())?;
    Ok(Question {
        mode,
        engines,
        budget: settings.budget,
        folders,
        domains: ask.sources.domain.clone(),
        not_domains: ask.sources.not_domain.clone(),
        since,
        until,
        lang: lang(ask.output.lang.as_deref())?,
        clarify: ask.clarify,
        models: settings.models.clone(),
        ..Question::new(text, today.to_string(), settings.method.clone())
    })
}

/// The first and last day that sources may be of.
pub(super) fn dates(
    sources: &Sources,
    today: jiff::civil::Date,
) -> Result<(Option<String>, Option<String>)> {
    let edge = |flag, text: &Option<String>, edge| {
        text.as_deref()
            .map(|it| day(flag, it, edge, today))
            .transpose()
    };
    let since = edge("--since", &sources.since, Edge::First)?;
    let until = edge("--until", &sources.until, Edge::Last)?;
    in_order(since.as_deref(), until.as_deref())?;
    Ok((since, until))
}

/// Whether the first day comes before the last.
pub(super) fn in_order(since: Option<&str>, until: Option<&str>) -> Result<()> {
    match (since, until) {
        (Some(since), Some(until)) if since > until => Err(Error::new(
            Kind::Usage,
            format!("--since {since} is after --until {until}"),
        )),
        _ => Ok(()),
    }
}

pub(super) fn lang(given: Option<&str>) -> Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let code = given.to_ascii_lowercase();
    if code.len() == 2 && code.bytes().all(|it| it.is_ascii_lowercase()) {
        return Ok(Some(code));
    }
    Err(Error::new(
        Kind::Usage,
        format!(
            "--lang must be a two-letter language code, not `{}`",
            line(given)
        ),
    )
    .hint("write en, de, fr, …"))
}

/// The words of the question; from stdin for `-` alone.
fn text(given: Option<&str>) -> Result<String> {
    let most = crate::domain::Question::MAX_BYTES;
    let text = match given {
        Some("-") => {
            let mut text = String::new();
            // One byte more than is allowed is enough to know that there is too much.
            std::io::stdin()
                .lock()
                .take(most as u64 + 1)
                .read_to_string(&mut text)
                .map_err(|fault| {
                    Error::new(Kind::Usage, "reading the question from stdin").because(fault)
                })?;
            text
        }
        Some(text) => text.to_owned(),
        None => {
            return Err(Error::new(Kind::Usage, "question is missing")
                .hint("write it in quotes, or `-` to read it from stdin"));
        }
    };
    let trimmed = text.trim();
    if !trimmed.chars().any(char::is_alphanumeric) {
        return Err(Error::new(Kind::Usage, "question is empty")
            .hint("write what you want to find out, in quotes"));
    }
    if trimmed.len() > most {
        let long = if given == Some("-") {
            format!("more than {most}")
        } else {
            trimmed.len().to_string()
        };
        return Err(Error::new(
            Kind::Usage,
            format!("question is {long} bytes long; allowed are 1 to {most}"),
        )
        .hint("put long material into a document and search it with --folder"));
    }
    Ok(trimmed.to_owned())
}

/// The folders to search: those of the settings, then those `given` by `--folder`; each once, as an absolute path.
pub(super) fn folders(
    given: &[PathBuf],
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<Vec<String>> {
    let configured = loaded.settings.folders.iter().cloned();
    let configured = configured.map(|it| ("folders", it));
    let flagged = given
        .iter()
        .map(|it| ("--folder", surroundings.cwd.join(it)));
    let mut found = Vec::new();
    for (field, path) in configured.chain(flagged) {
        let path = folder(field, &path)?;
        if !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// A folder that can be searched, as an absolute path.
pub(super) fn folder(field: &str, path: &Path) -> Result<String> {
    let doing = || format!("opening {field} {}", path.display());
    let real = path.canonicalize().map_err(|fault| {
        let fault: Box<dyn std::error::Error + Send + Sync> = match fault.kind() {
            ErrorKind::NotFound => "there is no such folder".into(),
            _ => fault.into(),
        };
        Error::new(Kind::Usage, doing())
            .because(fault)
            .hint("name a folder that exists and that you may enter")
    })?;
    if !real.is_dir() {
        return Err(Error::new(Kind::Usage, doing())
            .because("this is not a folder")
            .hint("name the folder that holds your documents"));
    }
    std::fs::read_dir(&real).map_err(|fault| {
        Error::new(Kind::Usage, doing())
            .because(fault)
            .hint(format!(
                "give yourself permission to read it: chmod u+rx {}",
                path.display()
            ))
    })?;
    real.into_os_string()
        .into_string()
        .map_err(|_| Error::new(Kind::Usage, doing()).because("its path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::grouped;

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
