//! Tasks of the published benchmarks, each a JSON line.
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Fault, sets};

/// A task that reports are written for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BenchmarkTask {
    /// What reports may name it by; the first is its own id.
    pub(crate) ids: Vec<String>,
    /// What was asked.
    pub(crate) prompt: String,
    /// `en`, `zh`, or empty where the set does not say.
    pub(crate) language: String,
    /// Everything else that the set says of it.
    pub(crate) row: Value,
}

/// The fields of a row that may hold its id.
pub(crate) const ID_FIELDS: &[&str] = &["id", "idx", "sample_id", "case_id", "arxiv_id"];

impl BenchmarkTask {
    /// Reads a row of any of the sets.
    pub(crate) fn of(row: Value) -> Result<BenchmarkTask, String> {
        let ids: Vec<String> = ID_FIELDS.iter().filter_map(|name| id_text(&row[*name])).collect();
        if ids.is_empty() {
            return Err(format!("it has none of the fields {}", ID_FIELDS.join(", ")));
        }
        let prompt = ["prompt", "initial_prompt", "query"]
            .iter()
            .find_map(|name| row[*name].as_str())
            .ok_or("it has no field `prompt`")?
            .to_owned();
        let language = row["language"].as_str().unwrap_or_default().to_owned();
        Ok(BenchmarkTask { ids, prompt, language, row })
    }

    /// Its own id.
    pub(crate) fn id(&self) -> &str {
        self.ids.first().map_or("", String::as_str)
    }
}

/// An id as text, whether it is written as text or as a number.
pub(crate) fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The tasks of a file of JSON lines, packed where its name ends in `.gz`.
pub(crate) fn read_tasks(path: &Path) -> Result<Vec<BenchmarkTask>, Fault> {
    let mut tasks = Vec::new();
    for (nth, row) in json_lines(path)? {
        let wrong = |why: &dyn std::fmt::Display| format!("{}, line {nth}: {why}", path.display());
        let row = row.map_err(|why| wrong(&why))?;
        tasks.push(BenchmarkTask::of(row).map_err(|why| wrong(&why))?);
    }
    if tasks.is_empty() {
        return Err(format!("{}: there are no tasks", path.display()).into());
    }
    Ok(tasks)
}

/// A line of a file: its number, and its value or why it has none.
pub(crate) type NumberedLine = (usize, Result<Value, String>);

/// Every line of a file as JSON.
pub(crate) fn json_lines(path: &Path) -> Result<Vec<NumberedLine>, Fault> {
    let text = match path.extension().is_some_and(|extension| extension == "gz") {
        true => sets::unpacked(path)?,
        false => {
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
    };
    let lines = text.lines().enumerate().filter(|line| !line.1.trim().is_empty());
    let rows = lines.map(|(at, line)| {
        (at + 1, serde_json::from_str(line).map_err(|error| format!("this is not JSON: {error}")))
    });
    Ok(rows.collect())
}
