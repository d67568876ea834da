//! The command line: parse, configure, open what is needed and no more, run, say how it ended.
mod admin;
mod approving;
pub mod args;
mod ask;
mod asking;
mod batch;
mod changes;
mod check;
pub mod console;
mod doctor;
mod documents;
mod errand;
mod exit;
mod follow;
mod guard;
mod help;
mod indexing;
mod init;
mod judging;
pub mod live;
mod online;
mod outside;
mod plan;
pub mod progress;
mod replay;
mod runs;
mod serve;
mod setup;
mod sharing;
mod signals;
mod supervised;
mod turns;
mod view;
mod viewing;

use std::ffi::OsString;

use clap::FromArgMatches as _;
use clap::error::{ContextKind, ErrorKind};

use crate::app::App;
use crate::config::{Flag, Loaded, Surroundings};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::json;

use args::{Cli, Command, Exported, When};
use console::Console;
use exit::{Done, Exit, Stop};

/// Runs the command line given by `args` (the program's name first) and gives the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    let exit = match Surroundings::of_process() {
        Ok(surroundings) => begin(&args, &surroundings),
        Err(fault) => {
            let console = Console::of_process(When::Auto, false, false, &Default::default());
            console.fault(&fault);
            Exit::of(fault.kind())
        }
    };
    exit as u8
}

fn begin(args: &[OsString], surroundings: &Surroundings) -> Exit {
    let when = help::colour_asked(args);
    let console = Console::of_process(when, false, false, &surroundings.env);
    let json = args.iter().any(|it| it == "--json" || it == "--jsonl");
    let asked = match help::asked(args) {
        Ok(asked) => asked,
        Err(fault) => {
            console.fault(&fault);
            return Exit::of(fault.kind());
        }
    };
    let args = asked.as_deref().unwrap_or(args);
    let cli = match help::command(console).try_get_matches_from(args) {
        Ok(matches) => match Cli::from_arg_matches(&matches) {
            Ok(cli) => cli,
            Err(fault) => return misread(console, json, &fault),
        },
        Err(fault) => return misread(console, json, &fault),
    };
    let console = Console {
        quiet: cli.common.quiet,
        verbose: cli.common.verbose,
        ..console
    };
    match dispatch(cli, surroundings, console) {
        Ok(exit) => exit,
        // `ibid … | head` is how people read long output: it succeeded.
        Err(Stop::PipeClosed) => Exit::Delivered,
        Err(Stop::Told(exit)) => exit,
        Err(Stop::Fault(fault)) => {
            console.fault(&fault);
            if json {
                let _ = console.line(&json::error(&fault).to_string());
            }
            Exit::of(fault.kind())
        }
    }
}

fn dispatch(cli: Cli, surroundings: &Surroundings, console: Console) -> Done {
    let load = |flags: &[Flag]| crate::config::layers::load(surroundings, flags);
    let taken = |ask| turns::taken_in(ask, surroundings);
    let Some(command) = cli.command else {
        let turns = &cli.ask.turns;
        if cli.ask.question.is_none() && turns.plan.is_none() && turns.input.is_none() {
            help::print(console)?;
            return Ok(Exit::Usage);
        }
        let ask = taken(cli.ask)?;
        let loaded = load(&ask.work.flags()?)?;
        return ask::run(&ask, &loaded, surroundings, console, true);
    };
    match command {
        Command::Run(it) => {
            let it = taken(it)?;
            ask::run(&it, &load(&it.work.flags()?)?, surroundings, console, false)
        }
        Command::Evidence(it) => {
            let it = taken(it)?;
            ask::evidence(&it, &load(&it.work.flags()?)?, surroundings, console)
        }
        Command::Answer(it) => {
            let it = taken(it)?;
            ask::answer(&it, &load(&it.work.flags()?)?, surroundings, console)
        }
        Command::Plan(it) => {
            let ask = taken(it.ask)?;
            let loaded = load(&ask.work.flags()?)?;
            plan::plan(&ask, it.model_plan, &loaded, surroundings, console)
        }
        Command::FollowUp(it) => {
            let ask = taken(it.ask)?;
            let loaded = load(&ask.work.flags()?)?;
            ask::follow_up(&it.run, &ask, &loaded, surroundings, console)
        }
        Command::Approve(it) => approving::approve(&it, &load(&[])?, surroundings, console),
        Command::Ls { json } => runs::ls(&load(&[])?, json, console),
        Command::Show {
            run, shape, egress, ..
        } => {
            let run = run.as_deref().unwrap_or("last");
            match egress {
                true => outside::egress(&load(&[])?, run, shape.json, console),
                false => runs::show(&load(&[])?, run, &shape, console),
            }
        }
        Command::Init { yes } => init::init(surroundings, yes, console),
        Command::Engines { json, try_them } => {
            outside::engines(&load(&[])?, json, try_them, console)
        }
        Command::Open { run } => runs::open(&load(&[])?, &run, console),
        Command::View(it) => viewing::view(&it, &load(&it.flags())?, surroundings, console),
        Command::Resume { run, output } => {
            runs::resume(&load(&[])?, &run, &output, surroundings, console)
        }
        Command::Steer { run, text } => runs::steer(&load(&[])?, &run, &text, console),
        Command::Finish { run } => runs::finish(&load(&[])?, &run, console),
        Command::Cancel { run } => runs::cancel(&load(&[])?, &run, console),
        Command::Export(it) => {
            let to = it.output.as_ref().map(|to| surroundings.cwd.join(to));
            match it.format {
                Some(Exported::Plan) => plan::export(&load(&[])?, &it.run, to.as_deref(), console),
                Some(Exported::Recording) => {
                    replay::export(&load(&[])?, &it.run, to.as_deref(), console)
                }
                _ => runs::export(&load(&[])?, &it.run, &it.shape(), to.as_deref(), console),
            }
        }
        Command::Replay(it) => {
            replay::replay(&it, &load(&it.work.flags()?)?, surroundings, console)
        }
        Command::Judge(it) => judging::judge(&it, &load(&it.flags()?)?, console),
        Command::Share(it) => sharing::share(&it, &load(&[])?, surroundings, console),
        Command::Rate(it) => judging::rate(&it, &load(&[])?, console),
        Command::Stats { json } => judging::stats(&load(&[])?, json, console),
        Command::Diff(it) => changes::diff(&it, &load(&[])?, console),
        Command::Rerun(it) => changes::rerun(&it, &load(&[])?, surroundings, console),
        Command::Batch(it) => batch::batch(&it, &load(&it.work.flags()?)?, surroundings, console),
        Command::Rm { runs } => runs::rm(&load(&[])?, &runs, console),
        Command::Cite { run, n, json } => runs::cite(&load(&[])?, &run, n, json, console),
        Command::Config { action } => setup::config(action, surroundings, console),
        Command::Completions { shell } => setup::completions(shell, console),
        Command::Man { dir } => setup::man(dir.as_deref(), console),
        Command::Read(it) => match &it.task {
            Some(task) => errand::read(&it, task, &load(&it.flags()?)?, console),
            None => documents::read(&load(&[])?, &it.paths, it.json || it.jsonl, console),
        },
        Command::Search(it) => documents::search(&it, &load(&[])?, surroundings, console),
        Command::Check(it) => match &it.claims {
            Some(claims) => documents::check(claims, it.json, surroundings, console),
            None => check::check(&it, &load(&it.flags()?)?, surroundings, console),
        },
        Command::Index { action } => documents::index(&action, &load(&[])?, surroundings, console),
        Command::Admin { action } => admin::admin(action, &load(&[])?, console),
        Command::Store { action } => admin::store(&action, &load(&[])?, console),
        Command::Doctor {
            guard: Some(url), ..
        } => guard::one(surroundings, &url, console),
        Command::Doctor {
            guard_file: Some(file),
            ..
        } => guard::file(surroundings, &file, console),
        Command::Mcp(it) => serve::tools(&it, &load(&[])?, surroundings, console),
        Command::Serve(it) => serve::serve(&it, &load(&it.flags())?, surroundings, console),
        Command::Doctor { json, .. } => doctor::doctor(surroundings, json, console),
    }
}

/// Tells what clap found wrong, or the help that was asked for.
fn misread(console: Console, json: bool, fault: &clap::Error) -> Exit {
    let asked_for = matches!(
        fault.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let text = fault.render();
    if asked_for {
        let text = if console.out.0 {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        return match console.print(&text) {
            Err(Stop::Fault(_)) => Exit::Failure,
            _ => Exit::Delivered,
        };
    }
    let unquoted = fault
        .context()
        .any(|(kind, value)| match (fault.kind(), kind) {
            (ErrorKind::UnknownArgument, ContextKind::InvalidArg) => {
                !value.to_string().starts_with('-')
            }
            (ErrorKind::ArgumentConflict, ContextKind::InvalidSubcommand) => true,
            _ => false,
        });
    if unquoted {
        let fault = Error::new(Kind::Usage, "the question is more than one argument")
            .hint("put it in quotes: ibid \"…\"");
        console.fault(&fault);
        if json {
            let _ = console.line(&json::error(&fault).to_string());
        }
        return Exit::Usage;
    }
    let shown = if console.err.0 {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    console.tell(shown.trim_end());
    if json {
        let first = text.to_string();
        let first = first.lines().next().unwrap_or_default();
        let fault = Error::new(Kind::Usage, first.trim_start_matches("error: "));
        let _ = console.line(&json::error(&fault).to_string());
    }
    Exit::Usage
}

/// How long work in other threads may take to come to its end when nobody waits for it any more.
const LEAVE: std::time::Duration = std::time::Duration::from_secs(2);

/// A runtime, made only by commands that wait for something.
fn wait<T>(task: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|fault| Error::new(Kind::Setup, "starting the runtime").because(fault))?;
    let done = runtime.block_on(task);
    // A thread that is still indexing has been told to stop and keeps what it has; should it be busy
    // with one large file, what it holds of that is read again next time.
    runtime.shutdown_timeout(LEAVE);
    Ok(done)
}

/// Opens the application and does `task` with it.
fn with_app<F>(loaded: &Loaded, task: F) -> Done
where
    F: AsyncFnOnce(&App) -> Done,
{
    let settings = loaded.settings.clone();
    wait(async move {
        let app = App::open(settings).await?;
        task(&app).await
    })?
}
