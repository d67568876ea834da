//! Recordings: `export -f recording`, `replay`.
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use super::args::Replay;
use super::ask::dates;
use super::console::Console;
use super::exit::{Done, Exit};
use super::runs::find;
use super::signals::until_stopped;
use super::{follow, with_app};
use crate::app::{App, Differences, Recording, Taken};
use crate::config::{Loaded, Surroundings};
use crate::domain::Question;
use crate::error::{Error, Kind, Result};
use crate::surfaces::asked::{in_order, lang};
use crate::surfaces::export::{Pages, passages};
use crate::surfaces::folder::folder;

/// `ibid export R -f recording`.
pub(super) fn export(loaded: &Loaded, name: &str, to: Option<&Path>, console: Console) -> Done {
    with_app(loaded, async |app| {
        let recording = app.record(&find(app, name).await?).await?;
        let text = recording.text()?;
        let Some(to) = to else {
            console.print(&text)?;
            return Ok(Exit::Delivered);
        };
        let path = match to.is_dir() {
            true => to.join(format!("{}.recording.jsonl", recording.run)),
            false => to.to_owned(),
        };
        std::fs::write(&path, text).map_err(|fault| {
            Error::new(Kind::Setup, format!("writing -o {}", path.display()))
                .because(fault)
                .hint("name a file or directory that you may write")
        })?;
        console.tell(&format!("wrote {}", path.display()));
        Ok(Exit::Delivered)
    })
}

/// `ibid replay FILE`.
pub(super) fn replay(
    it: &Replay,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let recording = read(&it.file, surroundings)?;
    match it.forks() {
        true => {
            let question = changed(&recording.question, it, loaded, surroundings)?;
            with_app(loaded, async |app| {
                fork(app, &recording, question, it, surroundings, console).await
            })
        }
        false => with_app(loaded, async |app| {
            tell_again(app, &recording, it, surroundings, console).await
        }),
    }
}

fn read(file: &Path, surroundings: &Surroundings) -> Result<Recording> {
    let name = file.display().to_string();
    let mut bytes = Vec::new();
    let outcome = match name.as_str() {
        "-" => std::io::stdin().lock().read_to_end(&mut bytes),
        _ => std::fs::File::open(surroundings.cwd.join(file))
            .and_then(|mut it| it.read_to_end(&mut bytes)),
    };
    outcome.map_err(|fault| {
        Error::new(Kind::Usage, format!("reading recording {name}"))
            .because(fault)
            .hint("make one with `ibid export RUN -f recording -o FILE`")
    })?;
    Recording::parse(&name, &bytes)
}

/// The same report again, and whether it is the same.
async fn tell_again(
    app: &App,
    recording: &Recording,
    it: &Replay,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let began = Instant::now();
    let told = until_stopped(app.replay(recording)).await?;
    if it.output.jsonl {
        for event in &told.events {
            let line = serde_json::to_string(event)
                .map_err(|fault| Error::new(Kind::Internal, "writing an event").because(fault))?;
            console.line(&line)?;
        }
    }
    let mut pages = Pages::new();
    for (_, passage) in told.run.report.iter().flat_map(|it| passages(it)) {
        if let Some(page) = recording.pages.get(passage.page()) {
            pages.insert(passage.page().clone(), page.clone());
        }
    }
    let exit = follow::deliver(&told.run, &pages, &it.output, surroundings, console, began)?;
    let same = told.differences.none();
    if !same || !console.quiet {
        console.tell(&verdict(
            &told.differences,
            told.events.len(),
            told.calls,
            console,
        ));
    }
    Ok(match exit {
        _ if !same => Exit::Strict,
        Exit::Strict => Exit::Strict,
        _ => Exit::Delivered,
    })
}

fn verdict(parts: &Differences, events: usize, calls: u64, console: Console) -> String {
    if parts.none() {
        let mark = console.err.green("✓");
        return format!(
            "{mark} report and {events} events are byte for byte those recorded; {calls} calls were answered from the recording, none was made"
        );
    }
    let say = |what: &str, place: &Option<String>| match place {
        None => format!("the {what} as recorded"),
        Some(place) => format!("other {what} than recorded ({place})"),
    };
    format!(
        "{} {}, {}",
        console.err.red("✗"),
        say("report", &parts.report),
        say("events", &parts.events)
    )
}

/// A new run from what was recorded and what is asked live.
async fn fork(
    app: &App,
    recording: &Recording,
    question: Question,
    it: &Replay,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    follow::writable(&it.output, surroundings)?;
    let (running, taken) = app.fork(recording, question).await?.parts();
    let exit = follow::follow(app, running, &it.output, surroundings, console).await?;
    if !console.quiet {
        console.tell(&sources(taken()));
    }
    Ok(exit)
}

fn sources(taken: Taken) -> String {
    let Taken {
        recorded,
        live,
        unheard,
    } = taken;
    let nobody = match unheard {
        0 => String::new(),
        n => format!(
            "; {n} not recorded and asked of nobody (live are folders and models that you name)"
        ),
    };
    format!("calls: {recorded} answered from the recording, {live} live{nobody}")
}

/// The recorded question with what the flags say, and the folders they name. The day it was asked stays: the
/// world that was recorded is that day's.
fn changed(
    recorded: &Question,
    it: &Replay,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<Question> {
    let mut question = recorded.clone();
    loaded.lay_flags_over(&mut question)?;
    question.folders.clear();
    for path in &it.sources.folder {
        let path = folder("--folder", &surroundings.cwd.join(path))?;
        if !question.folders.contains(&path) {
            question.folders.push(path);
        }
    }
    let (since, until) = dates(&it.sources, jiff::Zoned::now().date())?;
    question.since = since.or(question.since);
    question.until = until.or(question.until);
    in_order("--", question.since.as_deref(), question.until.as_deref())?;
    for (field, named) in [
        (&mut question.domains, &it.sources.domain),
        (&mut question.not_domains, &it.sources.not_domain),
    ] {
        if !named.is_empty() {
            field.clone_from(named);
        }
    }
    question.lang = lang("--lang", it.output.lang.as_deref())?.or(question.lang);
    Ok(question)
}
