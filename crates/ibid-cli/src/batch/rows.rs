//! The rows of FILE, as questions.
use std::path::Path;

use serde_json::Value;

use crate::args::{AskArgs, BatchArgs, InteractionArgs, OutputArgs};
use crate::jsonl::json_lines;
use crate::question::{build_question, require_sources};
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::{OutputMode, Question};
use ibid_core::{Error, ErrorKind, Result};

/// One row of FILE.
pub(super) struct BatchRow {
    /// The ID as written: a string or a number.
    pub(super) id: Value,
    pub(super) prompt: String,
    pub(super) question: Question,
}

/// The rows of FILE, with the options of the command line applied to each question.
///
/// # Errors
/// `Usage` for a file without rows, a malformed row, or two rows of one ID; else those of `build_question`.
pub(super) fn read_rows(
    args: &BatchArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<Vec<BatchRow>> {
    let mut rows: Vec<BatchRow> = Vec::new();
    for (nth, row) in json_lines("FILE", &env.cwd.join(&args.file), &args.file)? {
        let row = read_row(&row, nth, args, loaded, env)?;
        if rows.iter().any(|earlier| earlier.id == row.id) {
            let what = format!("field `id` is {}, as in an earlier row", row.id);
            return Err(row_error(&args.file, nth, &what));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        let file = args.file.display();
        return Err(Error::new(ErrorKind::Usage, format!("reading FILE {file}: it has no rows"))
            .with_hint("write one {\"id\": …, \"prompt\": \"…\"} per line"));
    }
    Ok(rows)
}

/// The row on line `nth` of FILE.
fn read_row(
    row: &Value,
    nth: usize,
    args: &BatchArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<BatchRow> {
    let wrong = |what: &str| row_error(&args.file, nth, what);
    let fields = args.format.id_fields();
    let is_id = |id: &&Value| matches!(id, Value::String(_) | Value::Number(_));
    let Some(id) = fields.iter().map(|field| &row[*field]).find(is_id).cloned() else {
        let names =
            fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" or ");
        return Err(wrong(&format!("field {names} is missing, or neither a string nor a number")));
    };
    if let Some(problem) = args.format.id_problem(&id) {
        return Err(wrong(&format!("its ID {problem}")));
    }
    let prompt = ["prompt", "question", "query", "initial_prompt"]
        .iter()
        .find_map(|field| row[*field].as_str())
        .filter(|text| text.chars().any(char::is_alphanumeric))
        .ok_or_else(|| wrong("field `prompt` is missing, empty or not a string"))?;
    let ask = AskArgs {
        question: Some(prompt.to_owned()),
        sources: args.sources.clone(),
        turns: InteractionArgs::default(),
        clarify: false,
        work: args.work.clone(),
        output: OutputArgs { lang: args.lang.clone(), ..OutputArgs::default() },
    };
    let question = build_question(&ask, OutputMode::Report, loaded, env)
        .and_then(require_sources)
        .map_err(|fault| {
            let hint = fault.hint().unwrap_or_default().to_owned();
            Error::new(fault.kind(), row_place(&args.file, nth)).with_source(fault).with_hint(hint)
        })?;
    Ok(BatchRow { id, prompt: prompt.to_owned(), question })
}

fn row_place(file: &Path, nth: usize) -> String {
    format!("reading FILE {} line {nth}", file.display())
}

fn row_error(file: &Path, nth: usize, what: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("{}: {what}", row_place(file, nth)))
        .with_hint("write rows {\"id\": …, \"prompt\": \"…\"}")
}
