//! The files of `--plan`, `--dialogue` and `--input`, and whether a run may ask questions.
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::args::{AskArgs, InteractionArgs};
use ibid::app::plan_file::{MAX_BYTES, PlanFile};
use ibid::config::{Flag, ProcessEnv};
use ibid_core::domain::DialogueTurn;
use ibid_core::{Error, ErrorKind, Result};
use ibid_server::request::{DIALOGUE, PlanChoice, ResearchRequest, parse_turns};

/// `args` with the values of `--input` for everything that no option sets.
///
/// # Errors
/// `Usage` for an invalid field, which it names, or if several inputs are to be read from stdin.
pub(super) fn read_input(mut args: AskArgs, env: &ProcessEnv) -> Result<AskArgs> {
    check_single_stdin(&args)?;
    let Some(file) = args.turns.input.clone() else {
        return Ok(args);
    };
    let value = json("--input", &file, env)?;
    let request = if args.question.is_some() {
        ResearchRequest::parse_options(value)
    } else {
        ResearchRequest::parse(value)
    };
    request.and_then(|request| apply_request(&mut args, request)).map_err(|fault| {
        let what = format!("reading --input {}: {}", file.display(), fault.chain());
        Error::new(ErrorKind::Usage, what).with_hint(fault.hint().unwrap_or(
            "write {\"query\": \"…\", \"breadth\": 4, \"depth\": 2, \"mode\": \"report\"} into it",
        ))
    })?;
    Ok(args)
}

/// Sets what `request` holds and no option of `args` does.
fn apply_request(args: &mut AskArgs, request: ResearchRequest) -> Result<()> {
    request.require_no_webhook()?;
    request.date_range(jiff::Zoned::now().date())?;
    if args.question.is_none() {
        args.question = Some(request.text()?);
    }
    let flags = request.flags().into_iter().map(|flag| Flag { flag: "--input", ..flag });
    args.work.input = flags.collect();
    if let Some(value) = request.model.clone() {
        args.work.input.push(Flag { name: "model", flag: "--input", value });
    }
    let sources = &mut args.sources;
    if sources.engine.is_empty() && !sources.only_local {
        sources.engine = request.engine_names();
        sources.only_local = request.only_local.unwrap_or_default();
    }
    if sources.folder.is_empty() {
        let folders = request.folders.clone();
        sources.input_folders =
            folders.map(|folder| folder.into_iter().map(PathBuf::from).collect());
    }
    if sources.domain.is_empty() {
        sources.domain = request.domains.clone().unwrap_or_default();
    }
    if sources.not_domain.is_empty() {
        sources.not_domain = request.not_domains.clone().unwrap_or_default();
    }
    sources.since = sources.since.take().or_else(|| request.since.clone());
    sources.until = sources.until.take().or_else(|| request.until.clone());
    args.output.lang = args.output.lang.take().or(request.lang()?);
    args.clarify |= request.ask.unwrap_or_default() && !args.turns.no_prompt;
    args.turns.mode = request.mode();
    args.turns.input_dialogue = request.dialogue();
    args.turns.context = args.turns.context.take().or_else(|| request.context());
    args.turns.approve |= request.requires_approval();
    if let Some(PlanChoice::Provided(plan)) = request.plan {
        args.turns.input_plan = Some(plan);
    }
    args.turns.follows = request.follows;
    Ok(())
}

/// The earlier conversation of `--input`, then that of `--dialogue`.
///
/// # Errors
/// `Usage` for a file that cannot be read or is not a dialogue.
pub(super) fn dialogue(args: &InteractionArgs, env: &ProcessEnv) -> Result<Vec<DialogueTurn>> {
    let mut turns = args.input_dialogue.clone();
    if let Some(file) = &args.dialogue {
        let value = json("--dialogue", file, env)?;
        let rows = value.get(DIALOGUE).unwrap_or(&value);
        let more = parse_turns(rows).map_err(|what| {
            let doing = format!("reading --dialogue {}: {what}", file.display());
            Error::new(ErrorKind::Usage, doing).with_hint(
                "write a list such as [{\"assistant\": \"Which roof?\", \"user\": \"A flat one\"}]",
            )
        })?;
        turns.extend(more);
    }
    Ok(turns)
}

/// The plan that `--plan` names.
///
/// # Errors
/// `Usage` for a file that cannot be read or is not a plan.
pub(super) fn plan_file(file: Option<&Path>, env: &ProcessEnv) -> Result<Option<PlanFile>> {
    let Some(file) = file else { return Ok(None) };
    let name = match file.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => file.display().to_string(),
    };
    PlanFile::parse(&name, &text("--plan", file, env)?).map(Some)
}

/// Whether the plan must wait for approval. With `--jsonl`, the program that reads the events can approve it. Otherwise a
/// terminal is required, because a script would wait for ever.
///
/// # Errors
/// `Usage` if nobody could approve the plan.
pub(super) fn wants_approval(args: &AskArgs, env: &ProcessEnv) -> Result<bool> {
    if !args.turns.approve || args.output.jsonl {
        return Ok(args.turns.approve);
    }
    let why = match no_prompt_variable(env) {
        Some(name) => format!("{name} forbids questions"),
        None if !std::io::stdin().is_terminal() => "stdin is not a terminal".to_owned(),
        None => return Ok(true),
    };
    Err(Error::new(ErrorKind::Usage, format!("--approve needs your approval, but {why}")).with_hint(
        "make the plan first (`ibid plan \"…\" --json > plan.json`, then `ibid run --plan plan.json`), or add --jsonl and approve with `ibid approve RUN`",
    ))
}

/// The environment variable that forbids questions, if one is set.
pub(super) fn no_prompt_variable(env: &ProcessEnv) -> Option<&'static str> {
    let on = |name: &&str| env.var(name).is_some_and(|value| !matches!(value, "0" | "false"));
    ["IBID_NO_PROMPT", "CI"].into_iter().find(on)
}

fn check_single_stdin(args: &AskArgs) -> Result<()> {
    let turns = &args.turns;
    let is_stdin =
        |file: &Option<PathBuf>| file.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let readers = [
        ("the question", args.question.as_deref() == Some("-")),
        ("--plan", is_stdin(&turns.plan)),
        ("--dialogue", is_stdin(&turns.dialogue)),
        ("--input", is_stdin(&turns.input)),
    ];
    let named: Vec<&str> =
        readers.iter().filter(|(_, from_stdin)| *from_stdin).map(|(name, _)| *name).collect();
    match named.len() {
        0 | 1 => Ok(()),
        _ => Err(Error::new(
            ErrorKind::Usage,
            format!("{} cannot all be read from stdin", named.join(" and ")),
        )
        .with_hint("put all but one into files")),
    }
}

fn json(flag: &str, file: &Path, env: &ProcessEnv) -> Result<Value> {
    let text = text(flag, file, env)?;
    serde_json::from_str(&text).map_err(|fault| {
        Error::new(ErrorKind::Usage, format!("reading {flag} {}: it is not JSON", file.display()))
            .with_source(fault)
            .with_hint("docs/turns.md describes the format")
    })
}

/// The text of a file, or of stdin for `-`; at most [`MAX_BYTES`].
fn text(flag: &str, file: &Path, env: &ProcessEnv) -> Result<String> {
    let doing = format!("reading {flag} {}", file.display());
    let most = MAX_BYTES as u64 + 1;
    let mut text = String::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().lock().take(most).read_to_string(&mut text),
        _ => std::fs::File::open(env.cwd.join(file))
            .and_then(|file| file.take(most).read_to_string(&mut text)),
    };
    read.map_err(|fault| {
        Error::new(ErrorKind::Usage, doing.clone())
            .with_source(fault)
            .with_hint("name an existing file, or `-` for stdin")
    })?;
    if text.len() > MAX_BYTES {
        Err(Error::new(ErrorKind::Usage, format!("{doing}: it is longer than 256 KiB")))
    } else {
        Ok(text)
    }
}
