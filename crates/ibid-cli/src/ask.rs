//! Asking a question: `ibid "…"`, `run`, `answer`, `evidence`, `ask`.
use crate::args::{AskArgs, FollowUpArgs};
use crate::console::Console;
use crate::exit::CommandResult;
use crate::find_run::find;
use crate::follow::follow;
use crate::model_notice::print_model;
use crate::question::{add_interaction, build_question, question_text, require_sources};
use crate::report_output::{RunOutput, check_output_path};
use crate::runtime::with_app;
use crate::sources::{apply_filters, named_folders};
use crate::{help, input_files};
use ibid::app::engines::resolve;
use ibid::config::{LoadedConfig, ProcessEnv, layers};
use ibid_core::domain::{OutputMode, Question};
use ibid_core::{Error, ErrorKind, Result};

/// `ibid "…"`. A single word that resembles a command is refused, because it is most likely a typo; so is any plain word where no
/// source is named, because research on it would contact every engine.
pub(super) fn run_without_command(
    args: AskArgs,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let args = input_files::read_input(args, env)?;
    // Invalid options are reported before a misspelt command.
    let loaded = layers::load(env, &args.work.flags()?)?;
    if let Some(word) = args.question.as_deref()
        && let Some(command) = help::suggest_command(word)
    {
        let hint =
            format!("did you mean `ibid {command}`? To ask about it, write `ibid run {word}`");
        return Err(help::unknown_command(word).with_hint(hint).into());
    }
    let is_named = !args.sources.folder.is_empty() || !args.sources.engine.is_empty();
    let plain_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    if let Some(word) = args.question.as_deref().filter(plain_word).filter(|_| !is_named) {
        let hint =
            format!("`ibid --help` lists the commands. To ask about it, write `ibid run {word}`");
        return Err(help::unknown_command(word).with_hint(hint).into());
    }
    start(&args, OutputMode::Report, &loaded, env, console)
}

/// `ibid run "…"`, `ibid answer "…"`, `ibid evidence "…"`.
pub(super) fn run(
    args: AskArgs,
    mode: OutputMode,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let args = input_files::read_input(args, env)?;
    let loaded = layers::load(env, &args.work.flags()?)?;
    start(&args, mode, &loaded, env, console)
}

/// Starts a run and follows it.
fn start(
    args: &AskArgs,
    mode: OutputMode,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    if let Some(run) = &args.turns.follows {
        return start_follow_up(run, args, loaded, env, console);
    }
    let question = require_sources(build_question(args, mode, loaded, env)?)?;
    check_output_path(&args.output, env)?;
    print_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let running = app.start(question).await?;
        follow(app, running, RunOutput::new(&args.output, env, console)).await
    })
}

/// `ibid ask R "…"`.
pub(super) fn follow_up(args: FollowUpArgs, env: &ProcessEnv, console: Console) -> CommandResult {
    let run = args.run;
    let args = input_files::read_input(args.ask, env)?;
    let loaded = layers::load(env, &args.work.flags()?)?;
    if args.question.is_none() && run.contains(char::is_whitespace) {
        return Err(Error::new(
            ErrorKind::Usage,
            "RUN is missing: which run do you want to follow up?",
        )
        .with_hint("name the run before the question: ibid ask last \"And in winter?\"")
        .into());
    }
    start_follow_up(&run, &args, &loaded, env, console)
}

/// Starts a follow-up of `run` and follows it.
fn start_follow_up(
    run: &str,
    args: &AskArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let text = question_text(args, env)?;
    check_output_path(&args.output, env)?;
    print_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let earlier = find(app, run).await?;
        let today = jiff::Zoned::now().date();
        let mut question = app.follow_up(&earlier, &text.text, &today.to_string()).await?;
        loaded.apply_flags(&mut question)?;
        override_sources(&mut question, args, loaded, env)?;
        let question = require_sources(add_interaction(question, text, args, env)?)?;
        let running = app.start(question).await?;
        follow(app, running, RunOutput::new(&args.output, env, console)).await
    })
}

/// Replaces the sources of the earlier run by those that flags name.
fn override_sources(
    question: &mut Question,
    args: &AskArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<()> {
    let sources = &args.sources;
    if let Some(only) = &sources.input_folders {
        question.folders = named_folders("folders", only, env)?;
    } else if !sources.folder.is_empty() {
        question.folders = named_folders("--folder", &sources.folder, env)?;
    }
    if sources.only_local {
        question.engines.clear();
    } else if !sources.engine.is_empty() {
        question.engines = resolve(&loaded.settings, &sources.engine)?;
    }
    apply_filters(question, sources, args.output.lang.as_deref())?;
    question.mode = args.turns.mode.unwrap_or(question.mode);
    Ok(())
}
