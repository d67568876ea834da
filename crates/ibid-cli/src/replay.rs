//! Recordings: `ibid export R -f recording`, `ibid replay FILE`.
use std::io::Read as _;
use std::path::Path;

use crate::args::ReplayArgs;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::find;
use crate::follow::follow;
use crate::report_output::{RunOutput, check_output_path, deliver, write_or_print};
use crate::runtime::with_app;
use crate::signals::until_stopped;
use crate::sources::{apply_filters, named_folders};
use ibid::app::{App, Recording, ReplayCounts, ReplayDiff};
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::Question;
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::PagesByHash;

/// `ibid export R -f recording`.
pub(super) fn export(
    loaded: &LoadedConfig,
    name: &str,
    path: Option<&Path>,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        let recording = app.recording(&find(app, name).await?).await?;
        let name = format!("{}.recording.jsonl", recording.run);
        write_or_print(&recording.to_jsonl()?, path, &name, console)
    })
}

/// `ibid replay FILE`.
pub(super) fn replay(
    args: &ReplayArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let recording = load_recording(&args.file, env)?;
    let output = || RunOutput::new(&args.output, env, console);
    if args.has_overrides() {
        let question = changed_question(&recording.question, args, loaded, env)?;
        with_app(loaded, async |app| fork(app, &recording, question, output()).await)
    } else {
        with_app(loaded, async |app| replay_report(app, &recording, output()).await)
    }
}

fn load_recording(file: &Path, env: &ProcessEnv) -> Result<Recording> {
    let name = file.display().to_string();
    let mut bytes = Vec::new();
    let outcome = match name.as_str() {
        "-" => std::io::stdin().lock().read_to_end(&mut bytes),
        _ => std::fs::File::open(env.cwd.join(file))
            .and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    outcome.map_err(|fault| {
        Error::new(ErrorKind::Usage, format!("reading recording {name}"))
            .with_source(fault)
            .with_hint("make one with `ibid export RUN -f recording -o FILE`")
    })?;
    Recording::parse(&name, &bytes)
}

/// Replays the recording and says whether the report and the events are as recorded.
async fn replay_report(app: &App, recording: &Recording, output: RunOutput<'_>) -> CommandResult {
    let console = output.console;
    let replayed = until_stopped(app.replay(recording)).await?;
    if output.args.jsonl {
        for event in &replayed.events {
            let line = serde_json::to_string(event).map_err(|fault| {
                Error::new(ErrorKind::Internal, "writing an event").with_source(fault)
            })?;
            console.print_line(&line)?;
        }
    }
    let mut pages = PagesByHash::new();
    for (_, passage) in replayed.run.report.iter().flat_map(|report| report.cited_passages()) {
        if let Some(page) = recording.pages.get(passage.page()) {
            pages.insert(passage.page().clone(), page.clone());
        }
    }
    let exit = deliver(&replayed.run, &pages, output)?;
    let same = replayed.differences.is_empty();
    if !same || !console.quiet {
        console.eprint_line(&verdict(
            &replayed.differences,
            replayed.events.len(),
            replayed.calls,
            console,
        ));
    }
    Ok(match exit {
        _ if !same => ExitStatus::Strict,
        ExitStatus::Strict => ExitStatus::Strict,
        _ => ExitStatus::Delivered,
    })
}

fn verdict(diff: &ReplayDiff, events: usize, calls: u64, console: Console) -> String {
    if diff.is_empty() {
        let mark = console.err.green("✓");
        return format!(
            "{mark} report and {events} events are byte for byte as recorded; {calls} calls were answered from the recording and none was made"
        );
    }
    let describe = |what: &str, place: &Option<String>| match place {
        None => format!("the {what} as recorded"),
        Some(place) => format!("different {what} than recorded ({place})"),
    };
    format!(
        "{} {}, {}",
        console.err.red("✗"),
        describe("report", &diff.report),
        describe("events", &diff.events)
    )
}

/// Starts a new run that takes recorded answers where there are any and makes all other calls live.
async fn fork(
    app: &App,
    recording: &Recording,
    question: Question,
    output: RunOutput<'_>,
) -> CommandResult {
    check_output_path(output.args, output.env)?;
    let (running, counts) = app.fork(recording, question).await?.into_parts();
    let exit = follow(app, running, output).await?;
    if !output.console.quiet {
        output.console.eprint_line(&source_counts(&counts()));
    }
    Ok(exit)
}

fn source_counts(counts: &ReplayCounts) -> String {
    let missing = match counts.unanswered {
        0 => String::new(),
        n => format!(
            "; {n} not recorded and not made (only the folders and models that you name are called live)"
        ),
    };
    format!("calls: {} answered from the recording, {} live{missing}", counts.recorded, counts.live)
}

/// The recorded question with the settings and folders of the flags. It keeps its date, because the recorded answers are of
/// that day.
fn changed_question(
    recorded: &Question,
    args: &ReplayArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<Question> {
    let mut question = recorded.clone();
    loaded.apply_flags(&mut question)?;
    question.folders = named_folders("--folder", &args.sources.folder, env)?;
    apply_filters(&mut question, &args.sources, args.output.lang.as_deref())?;
    Ok(question)
}
