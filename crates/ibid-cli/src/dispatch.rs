//! From arguments to an exit code: parse, load the settings, run the command, report errors.
use std::ffi::OsString;

use clap::FromArgMatches as _;
use clap::error::{self, ContextKind};

use crate::args::{Cli, Command, EnginesAction};
use crate::console::Console;
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::{
    admin, approval, ask, batch, changes, check, doctor, documents, embedding_models, engines,
    evaluation, export, help, init, mcp_sources, plan, read_task, replay, runs, schedules, serve,
    setup, share, ssrf_check, traces, version, viewer,
};
use ibid::config::{Flag, ProcessEnv, layers};
use ibid_core::domain::OutputMode;
use ibid_core::{Error, ErrorKind};
use ibid_report::json;

/// Runs the command line `args`. Reports every error itself, with `--json` also as an object on stdout.
pub(super) fn run(args: &[OsString], env: &ProcessEnv) -> ExitStatus {
    let color = help::requested_color(args);
    let console = Console::from_process(color, false, false, &env.env);
    let json = args.iter().any(|arg| arg == "--json" || arg == "--jsonl");
    let help_args = match help::help_args(args) {
        Ok(help_args) => help_args,
        Err(fault) => {
            console.print_error(&fault);
            return ExitStatus::from_kind(fault.kind());
        }
    };
    let args = help_args.as_deref().unwrap_or(args);
    let moved = help::move_global_options(args);
    let args = moved.as_deref().unwrap_or(args);
    let matches = help::command(console).try_get_matches_from(args);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(fault) => return print_usage_error(args, console, json, &fault),
    };
    let console = Console { quiet: cli.common.quiet, verbose: cli.common.verbose, ..console };
    match dispatch(cli, env, console) {
        Ok(exit) => exit,
        // `ibid … | head` is a normal way to read long output, so a closed pipe is success.
        Err(CommandError::PipeClosed) => ExitStatus::Delivered,
        Err(CommandError::Reported(exit)) => exit,
        Err(CommandError::Fault(fault)) => {
            print_command_error(console, json, &fault);
            ExitStatus::from_kind(fault.kind())
        }
    }
}

/// Runs the command with the settings it needs.
fn dispatch(cli: Cli, env: &ProcessEnv, console: Console) -> CommandResult {
    let load = |flags: &[Flag]| layers::load(env, flags);
    let Some(command) = cli.command else {
        let turns = &cli.ask.turns;
        if cli.ask.question.is_none() && turns.plan.is_none() && turns.input.is_none() {
            help::print(console)?;
            return Ok(ExitStatus::Usage);
        }
        return ask::run_without_command(cli.ask, env, console);
    };
    match command {
        Command::Run(args) => ask::run(args, OutputMode::Report, env, console),
        Command::Answer(args) => ask::run(args, OutputMode::Answer, env, console),
        Command::Evidence(args) => ask::run(args, OutputMode::Evidence, env, console),
        Command::Plan(args) => plan::plan(args, env, console),
        Command::FollowUp(args) => ask::follow_up(args, env, console),
        Command::Approve(args) => approval::approve(&args, &load(&[])?, env, console),
        Command::Ls { json } => runs::ls(&load(&[])?, json, console),
        Command::Show(args) => {
            let run = args.run.as_deref().unwrap_or("last");
            if args.egress {
                engines::egress(&load(&[])?, run, args.render.json, console)
            } else {
                runs::show(&load(&[])?, run, &args.render, console)
            }
        }
        Command::Traces(args) => traces::traces(&args, &load(&[])?, console),
        Command::Init { yes } => init::init(env, yes, console),
        Command::Engines { action: None, json, try_them } => {
            engines::engines(&load(&[])?, json, try_them, console)
        }
        Command::Engines { action: Some(EnginesAction::Ls { json }), .. } => {
            engines::engines(&load(&[])?, json, false, console)
        }
        Command::Engines { action: Some(EnginesAction::Change(change)), .. } => {
            mcp_sources::manage(change, env, console)
        }
        Command::Open { run } => runs::open(&load(&[])?, &run, console),
        Command::View(args) => viewer::view(&args, &load(&args.flags())?, env, console),
        Command::Resume { run, output } => runs::resume(&load(&[])?, &run, &output, env, console),
        Command::Steer { run, text } => runs::steer(&load(&[])?, &run, &text, console),
        Command::Finish { run } => runs::finish(&load(&[])?, &run, console),
        Command::Cancel { run } => runs::cancel(&load(&[])?, &run, console),
        Command::Export(args) => export::export(&args, &load(&[])?, env, console),
        Command::Replay(args) => replay::replay(&args, &load(&args.work.flags()?)?, env, console),
        Command::Judge(args) => evaluation::judge(&args, &load(&args.flags()?)?, console),
        Command::Share(args) => share::share(&args, &load(&[])?, env, console),
        Command::Rate(args) => evaluation::rate(&args, &load(&[])?, console),
        Command::Stats { json } => evaluation::stats(&load(&[])?, json, console),
        Command::Diff(args) => changes::diff(&args, &load(&[])?, console),
        Command::Rerun(args) => changes::rerun(&args, &load(&[])?, env, console),
        Command::Schedule { action } => schedules::schedules(action, env, console),
        Command::Batch(args) => batch::batch(&args, &load(&args.work.flags()?)?, env, console),
        Command::Rm { runs } => runs::rm(&load(&[])?, &runs, console),
        Command::Cite { run, n, json } => runs::cite(&load(&[])?, &run, n, json, console),
        Command::Config { action } => setup::config(action, env, console),
        Command::Completions { shell } => setup::completions(shell, console),
        Command::Man { dir } => setup::man(dir.as_deref(), console),
        Command::Read(args) => match &args.task {
            Some(task) => read_task::read_for_task(&args, task, &load(&args.flags()?)?, console),
            None => documents::read(&load(&[])?, &args.paths, args.json || args.jsonl, console),
        },
        Command::Search(args) => documents::search(&args, &load(&[])?, env, console),
        Command::Check(args) => match &args.claims {
            Some(claims) => documents::check(claims, args.json, &load(&[])?, env, console),
            None => check::check(&args, &load(&args.flags()?)?, env, console),
        },
        Command::Index { action } => documents::index(&action, &load(&[])?, env, console),
        Command::Models { action } => embedding_models::models(&action, &load(&[])?, env, console),
        Command::Admin { action } => admin::admin(action, &load(&[])?, console),
        Command::Store { action } => admin::store(&action, &load(&[])?, console),
        Command::Doctor(args) => match (&args.guard, &args.guard_file) {
            (Some(url), _) => ssrf_check::check_url(env, url, console),
            (None, Some(file)) => ssrf_check::check_file(env, file, console),
            (None, None) => doctor::doctor(env, args.json, console),
        },
        Command::Version { json } => version::version(json, env, console),
        Command::Mcp(args) => serve::serve_mcp(&args, &load(&[])?, env, console),
        Command::Serve(args) => serve::serve(&args, &load(&args.flags())?, env, console),
    }
}

/// Prints an error to stderr, and with `--json` as an object to stdout.
fn print_command_error(console: Console, json: bool, fault: &Error) {
    console.print_error(fault);
    if json {
        // Nothing is left to do if stdout is closed: the error is on stderr.
        let _ = console.print_line(&json::error(fault).to_string());
    }
}

/// Prints the error that clap found, or the help or version that was requested.
fn print_usage_error(
    args: &[OsString],
    console: Console,
    json: bool,
    fault: &clap::Error,
) -> ExitStatus {
    let text = fault.render();
    if matches!(fault.kind(), error::ErrorKind::DisplayHelp | error::ErrorKind::DisplayVersion) {
        let text = if console.out.0 { text.ansi().to_string() } else { text.to_string() };
        return match console.print(&text) {
            Err(CommandError::Fault(_)) => ExitStatus::Failure,
            _ => ExitStatus::Delivered,
        };
    }
    if is_unquoted_question(fault)
        && let Some(command) = args.get(1).and_then(|word| help::suggest_command(word.to_str()?))
        && args[1] != command
    {
        let word = args[1].to_string_lossy();
        let fault =
            help::unknown_command(&word).with_hint(format!("did you mean `ibid {command}`?"));
        print_command_error(console, json, &fault);
        return ExitStatus::Usage;
    }
    if is_unquoted_question(fault) && !takes_no_question(args) {
        let fault = Error::new(ErrorKind::Usage, "the question is more than one argument")
            .with_hint("put it in quotes: ibid \"…\"");
        print_command_error(console, json, &fault);
        return ExitStatus::Usage;
    }
    let colored = if console.err.0 { text.ansi().to_string() } else { text.to_string() };
    console.eprint_line(colored.trim_end());
    if json {
        let text = text.to_string();
        let first = text.lines().next().unwrap_or_default();
        let fault = Error::new(ErrorKind::Usage, first.trim_start_matches("error: "));
        let _ = console.print_line(&json::error(&fault).to_string());
    }
    ExitStatus::Usage
}

/// Whether the arguments name a command that takes no question.
fn takes_no_question(args: &[OsString]) -> bool {
    let first = args.get(1).and_then(|arg| arg.to_str());
    first.is_some_and(|word| {
        !matches!(word, "run" | "answer" | "evidence" | "plan" | "ask" | "search")
            && help::plain_command().find_subcommand(word).is_some()
    })
}

/// Whether clap stumbled over the second word of a question without quotes.
fn is_unquoted_question(fault: &clap::Error) -> bool {
    fault.context().any(|(kind, value)| match (fault.kind(), kind) {
        (error::ErrorKind::UnknownArgument, ContextKind::InvalidArg) => {
            !value.to_string().starts_with('-')
        }
        (error::ErrorKind::ArgumentConflict, ContextKind::InvalidSubcommand) => true,
        _ => false,
    })
}
