//! Asking: `ibid "…"`, `run`, `answer`, `ask`.
use std::io::Read as _;
use std::path::PathBuf;

use super::args::{Ask, Sources};
use super::console::Console;
use super::exit::Done;
use super::runs::find;
use super::{follow, help, turns, with_app};
use crate::app::engines::resolve;
use crate::app::given::PlanFile;
use crate::config::{Loaded, Settings, Surroundings};
use crate::domain::{Mode, Question};
use crate::error::{Error, Kind, Result};
use crate::surfaces::asked::{self, in_order, worth_asking};
use crate::surfaces::folder::folder;
use crate::surfaces::when::{Edge, day};

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

/// `ibid ask R "…"`.
pub(super) fn follow_up(
    run: &str,
    ask: &Ask,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    if ask.question.is_none() && run.contains(char::is_whitespace) {
        return Err(
            Error::new(Kind::Usage, "RUN is missing: which run is to be followed?")
                .hint("name it before the question, as in: ibid ask last \"And in winter?\"")
                .into(),
        );
    }
    let own = worded(ask, surroundings)?;
    follow::writable(&ask.output, surroundings)?;
    tell_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let before = find(app, run).await?;
        let today = jiff::Zoned::now().date();
        let mut question = app
            .follow_up(&before, &own.text, &today.to_string())
            .await?;
        loaded.lay_flags_over(&mut question)?;
        inherited(&mut question, ask, loaded, surroundings)?;
        let question = searched(said(question, own, ask, surroundings)?)?;
        let running = app.start(question).await?;
        follow::follow(app, running, &ask.output, surroundings, console).await
    })
}

/// Lays the sources that flags name over those of the run before.
fn inherited(
    question: &mut Question,
    ask: &Ask,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<()> {
    let sources = &ask.sources;
    if !sources.folder.is_empty() {
        question.folders = named_folders(&sources.folder, surroundings)?;
    }
    if sources.only_local {
        question.engines.clear();
    } else if !sources.engine.is_empty() {
        question.engines = resolve(&loaded.settings, &sources.engine)?;
    }
    for (field, named) in [
        (&mut question.domains, &sources.domain),
        (&mut question.not_domains, &sources.not_domain),
    ] {
        if !named.is_empty() {
            field.clone_from(named);
        }
    }
    let (since, until) = dates(sources, jiff::Zoned::now().date())?;
    question.since = since.or(question.since.take());
    question.until = until.or(question.until.take());
    in_order("--", question.since.as_deref(), question.until.as_deref())?;
    question.lang = asked::lang("--lang", ask.output.lang.as_deref())?.or(question.lang.take());
    question.mode = ask.turns.mode.unwrap_or(question.mode);
    Ok(())
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

/// The question, if there is anything to search for it.
pub(super) fn searched(question: Question) -> Result<Question> {
    if question.folders.is_empty() && question.engines.is_empty() {
        return Err(Error::new(Kind::Setup, "there is nothing to search")
            .hint("name a folder of documents with --folder DIR, or engines with --engine web (`ibid engines` lists them)"));
    }
    Ok(question)
}

/// Everything a run depends on, frozen now.
pub(super) fn question(
    ask: &Ask,
    mode: Mode,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<Question> {
    let own = worded(ask, surroundings)?;
    let today = jiff::Zoned::now().date();
    let settings = &loaded.settings;
    let folders = folders(&ask.sources.folder, loaded, surroundings)?;
    let (since, until) = dates(&ask.sources, today)?;
    let engines = asked::engines(
        &ask.sources.engine,
        ask.sources.only_local,
        settings,
        !folders.is_empty(),
    )?;
    let mode = ask.turns.mode.unwrap_or(mode);
    let method = asked::method(loaded, mode);
    let question = Question {
        mode,
        engines,
        budget: settings.budget,
        folders,
        domains: ask.sources.domain.clone(),
        not_domains: ask.sources.not_domain.clone(),
        since,
        until,
        lang: asked::lang("--lang", ask.output.lang.as_deref())?,
        models: settings.models.clone(),
        ..Question::new(own.text.clone(), today.to_string(), method)
    };
    said(question, own, ask, surroundings)
}

/// The words of a question, and the plan that came with them.
struct Worded {
    text: String,
    plan: Option<PlanFile>,
}

/// The question in words: as given, else as the plan has it.
fn worded(ask: &Ask, surroundings: &Surroundings) -> Result<Worded> {
    let plan = turns::plan_file(ask.turns.plan.as_deref(), surroundings)?;
    let planned = match (&ask.question, &plan) {
        (None, Some(it)) => it.question()?,
        _ => None,
    };
    let text = match planned {
        Some(it) => worth_asking(&it, false)?,
        None => text(ask.question.as_deref())?,
    };
    Ok(Worded { text, plan })
}

/// `question` with what was said and planned before, and with what may be asked back.
fn said(
    mut question: Question,
    own: Worded,
    ask: &Ask,
    surroundings: &Surroundings,
) -> Result<Question> {
    question.dialogue = turns::dialogue(&ask.turns, surroundings)?;
    question.clarify = ask.clarify && turns::silenced(surroundings).is_none();
    question.approve = turns::approval(ask, surroundings)?;
    if let Some(plan) = own.plan {
        question.given = Some(Box::new(plan.given(&question)?));
    }
    Ok(question)
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
    in_order("--", since.as_deref(), until.as_deref())?;
    Ok((since, until))
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
    worth_asking(&text, given == Some("-"))
}

/// The folders to search: those of the settings, then those `given` by `--folder`; each once, as an absolute path.
pub(super) fn folders(
    given: &[PathBuf],
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in &loaded.settings.folders {
        let path = folder("folders", path)?;
        if !found.contains(&path) {
            found.push(path);
        }
    }
    for path in named_folders(given, surroundings)? {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// The folders `given` by `--folder`, each once, as an absolute path.
fn named_folders(given: &[PathBuf], surroundings: &Surroundings) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in given {
        let path = folder("--folder", &surroundings.cwd.join(path))?;
        if !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(found)
}
