//! The question of a run, built from flags, settings and the files they name.
use std::io::Read as _;

use crate::args::AskArgs;
use crate::input_files;
use crate::sources::{all_folders, date_range, named_folders};
use ibid::app::plan_file::PlanFile;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::{OutputMode, Question};
use ibid_core::{Error, ErrorKind, Result};
use ibid_server::request::{
    MAX_TEXT_CHARS, method_for, parse_lang, select_engines, validate_question,
};

/// Passes `question` on if it has somewhere to search, or follows a run whose sources it may use without a search.
///
/// # Errors
/// `Setup` if it has neither folders nor engines.
pub(super) fn require_sources(question: Question) -> Result<Question> {
    let may_search = !question.folders.is_empty() || !question.engines.is_empty();
    if !may_search && question.follows.is_none() {
        return Err(Error::new(ErrorKind::Setup, "no folder or engine to search")
            .with_hint("name a folder of documents with --folder DIR, or engines with --engine web (`ibid engines` lists them)"));
    }
    Ok(question)
}

/// Everything that a run depends on, fixed now.
///
/// # Errors
/// `Usage` or `Setup` for an option, file or setting that is invalid.
pub(super) fn build_question(
    args: &AskArgs,
    mode: OutputMode,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<Question> {
    let text = question_text(args, env)?;
    let today = jiff::Zoned::now().date();
    let settings = &loaded.settings;
    let folders = match &args.sources.input_folders {
        Some(only) => named_folders("folders", only, env)?,
        None => all_folders(&args.sources.folder, loaded, env)?,
    };
    let (since, until) = date_range(&args.sources, today)?;
    let engines = select_engines(
        &args.sources.engine,
        args.sources.only_local,
        settings,
        !folders.is_empty(),
    )?;
    let mode = args.turns.mode.unwrap_or(mode);
    let method = method_for(loaded, mode);
    let question = Question {
        mode,
        engines,
        budget: settings.budget,
        folders,
        domains: args.sources.domain.clone(),
        not_domains: args.sources.not_domain.clone(),
        since,
        until,
        lang: parse_lang("--lang", args.output.lang.as_deref())?,
        models: settings.models.clone(),
        ..Question::new(text.text.clone(), today.to_string(), method)
    };
    add_interaction(question, text, args, env)
}

/// The text of a question, and the plan given with it.
pub(super) struct QuestionText {
    pub(super) text: String,
    plan: Option<PlanFile>,
}

/// The question as given, else the question of the plan file.
///
/// # Errors
/// `Usage` for a missing or invalid question, or an invalid plan file.
pub(super) fn question_text(args: &AskArgs, env: &ProcessEnv) -> Result<QuestionText> {
    let plan = input_files::plan_file(args.turns.plan.as_deref(), env)?;
    let plan = plan.or_else(|| args.turns.input_plan.clone());
    let planned = match (&args.question, &plan) {
        (None, Some(plan)) => plan.question()?,
        _ => None,
    };
    let text = match planned {
        Some(text) => validate_question(&text, false)?,
        None => read_question(args.question.as_deref())?,
    };
    Ok(QuestionText { text, plan })
}

/// Adds the earlier conversation, the given plan, and whether the run may ask questions.
///
/// # Errors
/// `Usage` for an invalid file, for a context that is too long, or if approval is requested and nobody can give it.
pub(super) fn add_interaction(
    mut question: Question,
    text: QuestionText,
    args: &AskArgs,
    env: &ProcessEnv,
) -> Result<Question> {
    question.dialogue = input_files::dialogue(&args.turns, env)?;
    question.context = args.turns.context.as_deref().map(checked_context).transpose()?;
    question.clarify = args.clarify && input_files::no_prompt_variable(env).is_none();
    question.approve = input_files::wants_approval(args, env)?;
    if let Some(plan) = text.plan {
        question.given = Some(Box::new(plan.provided_plan(&question)?));
    }
    Ok(question)
}

/// The text of the question, read from stdin for `-`.
fn read_question(given: Option<&str>) -> Result<String> {
    let text = match given {
        Some("-") => {
            let mut text = String::new();
            // One byte more than the limit shows that the question is too long.
            std::io::stdin()
                .lock()
                .take(Question::MAX_BYTES as u64 + 1)
                .read_to_string(&mut text)
                .map_err(|fault| {
                    Error::new(ErrorKind::Usage, "reading the question from stdin")
                        .with_source(fault)
                })?;
            text
        }
        Some(text) => text.to_owned(),
        None => {
            return Err(Error::new(ErrorKind::Usage, "question is missing")
                .with_hint("write it in quotes, or `-` to read it from stdin"));
        }
    };
    validate_question(&text, given == Some("-"))
}

fn checked_context(text: &str) -> Result<String> {
    let length = text.chars().count();
    if length > MAX_TEXT_CHARS {
        let message = format!("`--context` has {length} characters, {MAX_TEXT_CHARS} are allowed");
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("say who asks and what for; put documents into a folder"));
    }
    Ok(text.to_owned())
}
