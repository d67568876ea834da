//! The files of a batch: OUT holds the articles, `OUT.runs` the run of each row.
//!
//! Each line is written at once and synced. A killed process leaves at most one torn line, at the end; the next process
//! that opens the file removes it.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::console::Console;
use ibid_core::domain::RunId;
use ibid_core::{Error, ErrorKind, Result};

/// A line of OUT.
#[derive(Serialize, Deserialize)]
struct ArticleLine {
    id: Value,
    prompt: String,
    article: String,
}

/// A line of `OUT.runs`.
#[derive(Serialize, Deserialize)]
struct BatchRunLine {
    id: Value,
    prompt: String,
    run: RunId,
}

/// The two files. A lock on `OUT.runs` keeps other processes out.
pub(super) struct BatchOutput {
    path: PathBuf,
    out: Mutex<File>,
    runs: Mutex<File>,
    /// Prompts with an article in OUT, by row ID.
    answered: BTreeMap<String, String>,
    /// The latest run of each row ID and prompt.
    runs_by_row: BTreeMap<(String, String), RunId>,
}

impl BatchOutput {
    /// Opens or creates both files and removes torn lines.
    ///
    /// # Errors
    /// `Usage` if a file is not writable or holds something else, `Transient` if another batch writes to it.
    pub(super) fn open(path: &Path, console: Console) -> Result<BatchOutput> {
        let beside = runs_path(path);
        let mut runs = open_file(&beside)?;
        match runs.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    ErrorKind::Transient,
                    format!("another batch is writing {}", path.display()),
                )
                .with_hint("wait for it, or name another file with -o"));
            }
            Err(TryLockError::Error(fault)) => {
                return Err(file_error("locking", &beside).with_source(fault));
            }
        }
        let mut out = open_file(path)?;
        let mut answered = BTreeMap::new();
        for (nth, text) in whole_lines(&mut out, path, console)? {
            let row: ArticleLine = serde_json::from_str(&text).map_err(|fault| {
                file_error("reading", path)
                    .with_source(format!(
                        "line {nth} is not an object {{id, prompt, article}}: {fault}"
                    ))
                    .with_hint("name a new file, or the file of an earlier batch")
            })?;
            answered.insert(row.id.to_string(), row.prompt);
        }
        let mut runs_by_row = BTreeMap::new();
        for (nth, text) in whole_lines(&mut runs, &beside, console)? {
            let row: BatchRunLine = serde_json::from_str(&text).map_err(|fault| {
                file_error("reading", &beside)
                    .with_source(format!(
                        "line {nth} is not an object {{id, prompt, run}}: {fault}"
                    ))
                    .with_hint("delete the line to run its row again")
            })?;
            runs_by_row.insert((row.id.to_string(), row.prompt), row.run);
        }
        Ok(BatchOutput {
            path: path.to_owned(),
            out: Mutex::new(out),
            runs: Mutex::new(runs),
            answered,
            runs_by_row,
        })
    }

    /// The path of OUT.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether OUT has an article for this row.
    ///
    /// # Errors
    /// `Usage` if OUT has an article for another prompt of this ID.
    pub(super) fn is_answered(&self, id: &Value, prompt: &str) -> Result<bool> {
        match self.answered.get(&id.to_string()) {
            None => Ok(false),
            Some(answered) if answered == prompt => Ok(true),
            Some(_) => Err(file_error("writing", &self.path)
                .with_source(format!("it has an answer to another prompt with ID {id}"))
                .with_hint("name another file with -o, or give the row another ID")),
        }
    }

    /// The latest run of a row, if there is one.
    pub(super) fn run_of(&self, id: &Value, prompt: &str) -> Option<RunId> {
        let key = (id.to_string(), prompt.to_owned());
        self.runs_by_row.get(&key).cloned()
    }

    /// Records which run is about to start for a row.
    ///
    /// # Errors
    /// `Setup` if the file cannot be written.
    pub(super) fn record_run(&self, id: &Value, prompt: &str, run: &RunId) -> Result<()> {
        let row = BatchRunLine { id: id.clone(), prompt: prompt.to_owned(), run: run.clone() };
        append_line(&self.runs, &row, &runs_path(&self.path))
    }

    /// Writes the article of a row.
    ///
    /// # Errors
    /// `Setup` if the file cannot be written.
    pub(super) fn write_article(&self, id: &Value, prompt: &str, article: &str) -> Result<()> {
        let row =
            ArticleLine { id: id.clone(), prompt: prompt.to_owned(), article: article.to_owned() };
        append_line(&self.out, &row, &self.path)
    }
}

fn runs_path(path: &Path) -> PathBuf {
    beside(path, "runs")
}

/// The path of OUT with `.ending` appended.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn open_file(path: &Path) -> Result<File> {
    File::options().create(true).read(true).append(true).open(path).map_err(|fault| {
        file_error("writing", path)
            .with_source(fault)
            .with_hint("name a file in an existing, writable directory")
    })
}

/// The complete lines of a file with their numbers. A last line without a newline is torn and is removed from the file.
fn whole_lines(file: &mut File, path: &Path, console: Console) -> Result<Vec<(usize, String)>> {
    let broken = |fault: std::io::Error| file_error("reading", path).with_source(fault);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(broken)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < bytes.len() {
        console.eprint_line(&format!(
            "{} removed the torn last line of {}; its row is not lost",
            console.err.yellow("note:"),
            path.display()
        ));
        file.set_len(whole as u64).map_err(broken)?;
        bytes.truncate(whole);
    }
    let text = String::from_utf8(bytes)
        .map_err(|fault| file_error("reading", path).with_source(fault.utf8_error()))?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    Ok(lines.map(|(at, line)| (at + 1, line.to_owned())).collect())
}

/// Appends one line and syncs the file.
fn append_line(file: &Mutex<File>, row: &impl Serialize, path: &Path) -> Result<()> {
    let broken = |fault: std::io::Error| {
        Error::new(ErrorKind::Setup, format!("writing -o {}", path.display()))
            .with_source(fault)
            .with_hint("free disk space and run the same command again")
    };
    let mut text = serde_json::to_string(row)
        .map_err(|fault| Error::new(ErrorKind::Internal, "writing a row").with_source(fault))?;
    text.push('\n');
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(text.as_bytes()).map_err(broken)?;
    file.sync_data().map_err(broken)
}

/// A `Usage` error about a file of the batch.
fn file_error(what: &str, path: &Path) -> Error {
    Error::new(ErrorKind::Usage, format!("{what} -o {}", path.display()))
}
