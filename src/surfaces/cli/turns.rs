//! Files that say what was said and planned before: `--plan`, `--dialogue`, `--input`; and whether anybody may be asked.
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use serde_json::Value;

use super::args::{Ask, Turns};
use crate::app::given::{MOST_BYTES, PlanFile};
use crate::config::Surroundings;
use crate::domain::{Mode, Turn};
use crate::error::{Error, Kind, Result};
use crate::surfaces::asked::{DIALOGUE, turns};

/// `ask` with what its `--input` says, where no flag says otherwise.
///
/// # Errors
/// `Usage`, naming the field, and where several things are to be read from stdin.
pub(super) fn taken_in(mut ask: Ask, surroundings: &Surroundings) -> Result<Ask> {
    one_stdin(&ask)?;
    let Some(file) = ask.turns.input.clone() else {
        return Ok(ask);
    };
    let name = file.display().to_string();
    let wrong = |what: String| {
        Error::new(Kind::Usage, format!("reading --input {name}: {what}")).hint(
            "write {\"query\": \"…\", \"breadth\": 4, \"depth\": 2, \"mode\": \"report\"} into it",
        )
    };
    let value = json("--input", &file, surroundings)?;
    let Value::Object(fields) = &value else {
        return Err(wrong("it is no JSON object".to_owned()));
    };
    if ask.question.is_none() {
        ask.question = match fields.get("query") {
            Some(Value::String(it)) if !it.trim().is_empty() => Some(it.clone()),
            Some(Value::String(_)) => return Err(wrong("query is empty".to_owned())),
            Some(_) => return Err(wrong("query must be a text".to_owned())),
            None => return Err(wrong("query is missing".to_owned())),
        };
        if ask.question.as_deref() == Some("-") {
            return Err(wrong("query must be a question".to_owned()));
        }
    }
    let within = |field: &str, least: u64, most: u64| match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(it) => match it.as_u64().filter(|it| (least..=most).contains(it)) {
            Some(it) => Ok(Some(it.to_string())),
            None => Err(wrong(format!(
                "{field} is {it}; it must be a whole number from {least} to {most}"
            ))),
        },
    };
    let breadth = within("breadth", 2, 10)?;
    let depth = within("depth", 1, 5)?;
    let tokens = within("summaryTokens", 100, 1_000)?;
    ask.work.breadth = ask.work.breadth.or(breadth);
    ask.work.depth = ask.work.depth.or(depth);
    ask.work.summary_tokens = ask.work.summary_tokens.or(tokens);
    ask.turns.mode = match fields.get("mode") {
        None | Some(Value::Null) => None,
        Some(it) => match it.as_str() {
            Some("report") => Some(Mode::Report),
            Some("answer") => Some(Mode::Answer),
            _ => return Err(wrong(format!("mode is {it}; it must be report or answer"))),
        },
    };
    if let Some(it) = fields.get(DIALOGUE).filter(|it| !it.is_null()) {
        ask.turns.said = turns(it).map_err(wrong)?;
    }
    Ok(ask)
}

/// What was said before the question, by `--input` and `--dialogue`.
///
/// # Errors
/// `Usage` for what is no dialogue.
pub(super) fn dialogue(of: &Turns, surroundings: &Surroundings) -> Result<Vec<Turn>> {
    let mut said = of.said.clone();
    if let Some(file) = &of.dialogue {
        let value = json("--dialogue", file, surroundings)?;
        let rows = value.get(DIALOGUE).unwrap_or(&value);
        let own = turns(rows).map_err(|what| {
            let doing = format!("reading --dialogue {}: {what}", file.display());
            Error::new(Kind::Usage, doing).hint(
                "write a list, as in [{\"assistant\": \"Which roof?\", \"user\": \"A flat one\"}]",
            )
        })?;
        said.extend(own);
    }
    Ok(said)
}

/// The plan that `--plan` names.
///
/// # Errors
/// `Usage` for a file that cannot be read or is none.
pub(super) fn plan_file(
    file: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<Option<PlanFile>> {
    let Some(file) = file else { return Ok(None) };
    let name = match file.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => file.display().to_string(),
    };
    PlanFile::parse(&name, &text("--plan", file, surroundings)?).map(Some)
}

/// Whether the plan is to wait for a word. With `--jsonl` whoever reads the events may give it; else there must be
/// somebody at the terminal, for a script would wait for ever.
///
/// # Errors
/// `Usage` where nobody could be asked.
pub(super) fn approval(ask: &Ask, surroundings: &Surroundings) -> Result<bool> {
    if !ask.turns.approve || ask.output.jsonl {
        return Ok(ask.turns.approve);
    }
    let why = match silenced(surroundings) {
        Some(name) => format!("{name} says that nobody may be asked"),
        None if !std::io::stdin().is_terminal() => "stdin is no terminal".to_owned(),
        None => return Ok(true),
    };
    Err(Error::new(Kind::Usage, format!("--approve asks for your word, and {why}")).hint(
        "plan first (`ibid plan \"…\" --json > plan.json`, then `ibid run --plan plan.json`), or add --jsonl and answer with `ibid approve RUN`",
    ))
}

/// The variable that says that nobody may be asked, where one does.
pub(super) fn silenced(surroundings: &Surroundings) -> Option<&'static str> {
    let on = |name: &&str| {
        surroundings
            .var(name)
            .is_some_and(|it| !matches!(it, "0" | "false"))
    };
    ["IBID_NO_PROMPT", "CI"].into_iter().find(on)
}

fn one_stdin(ask: &Ask) -> Result<()> {
    let turns = &ask.turns;
    let file =
        |it: &Option<std::path::PathBuf>| it.as_ref().is_some_and(|it| it.as_os_str() == "-");
    let readers = [
        ("the question", ask.question.as_deref() == Some("-")),
        ("--plan", file(&turns.plan)),
        ("--dialogue", file(&turns.dialogue)),
        ("--input", file(&turns.input)),
    ];
    let named: Vec<&str> = readers.iter().filter(|it| it.1).map(|it| it.0).collect();
    match named.len() {
        0 | 1 => Ok(()),
        _ => Err(Error::new(
            Kind::Usage,
            format!("{} cannot all be read from stdin", named.join(" and ")),
        )
        .hint("put all but one of them into files")),
    }
}

fn json(flag: &str, file: &Path, surroundings: &Surroundings) -> Result<Value> {
    let text = text(flag, file, surroundings)?;
    serde_json::from_str(&text).map_err(|fault| {
        Error::new(
            Kind::Usage,
            format!("reading {flag} {}: it is no JSON", file.display()),
        )
        .because(fault)
        .hint("see docs/turns.md for its form")
    })
}

/// The words of a file, or of stdin for `-`; not more than a plan may have.
fn text(flag: &str, file: &Path, surroundings: &Surroundings) -> Result<String> {
    let doing = format!("reading {flag} {}", file.display());
    let most = MOST_BYTES as u64 + 1;
    let mut text = String::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().lock().take(most).read_to_string(&mut text),
        _ => std::fs::File::open(surroundings.cwd.join(file))
            .and_then(|it| it.take(most).read_to_string(&mut text)),
    };
    read.map_err(|fault| {
        Error::new(Kind::Usage, doing.clone())
            .because(fault)
            .hint("name a file that is there, or `-` for stdin")
    })?;
    match text.len() > MOST_BYTES {
        true => Err(Error::new(
            Kind::Usage,
            format!("{doing}: it is longer than 256 KiB"),
        )),
        false => Ok(text),
    }
}
