//! OUT, and `OUT.runs` beside it: what is delivered, and which run belongs to which row.
//!
//! Each line is written whole and at once, and made durable. A process that is killed leaves at most one torn line, at
//! the end; whoever opens the file next takes it off.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::unusable;
use crate::domain::RunId;
use crate::error::{Error, Kind, Result};
use crate::surfaces::cli::console::Console;

/// A line of OUT.
#[derive(Serialize, Deserialize)]
struct Line {
    id: Value,
    prompt: String,
    article: String,
}

/// A line of `OUT.runs`.
#[derive(Serialize, Deserialize)]
struct Belongs {
    id: Value,
    prompt: String,
    run: RunId,
}

/// The two files, held by this process.
pub(super) struct Sheet {
    path: PathBuf,
    out: Mutex<File>,
    runs: Mutex<File>,
    /// Prompts that are answered, by id.
    answered: BTreeMap<String, String>,
    /// The run that was begun last for an id and prompt.
    begun: BTreeMap<(String, String), RunId>,
}

impl Sheet {
    /// Opens or makes both files, and takes off what was torn.
    ///
    /// # Errors
    /// `Usage` for a place that cannot be written or an OUT that holds something else, `Transient` where another
    /// batch writes there.
    pub(super) fn open(path: &Path, console: Console) -> Result<Sheet> {
        let beside = beside(path);
        let mut runs = opened(&beside)?;
        match runs.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    Kind::Transient,
                    format!("another batch is writing {}", path.display()),
                )
                .hint("wait for its end, or name another file with -o"));
            }
            Err(TryLockError::Error(fault)) => {
                return Err(unusable("locking", &beside).because(fault));
            }
        }
        let mut out = opened(path)?;
        let mut answered = BTreeMap::new();
        for (nth, text) in whole_lines(&mut out, path, console)? {
            let row: Line = serde_json::from_str(&text).map_err(|fault| {
                unusable("reading", path)
                    .because(format!("line {nth} is no {{id, prompt, article}}: {fault}"))
                    .hint("name a file of an earlier batch, or one that is not there yet")
            })?;
            answered.insert(row.id.to_string(), row.prompt);
        }
        let mut begun = BTreeMap::new();
        for (nth, text) in whole_lines(&mut runs, &beside, console)? {
            let row: Belongs = serde_json::from_str(&text).map_err(|fault| {
                unusable("reading", &beside)
                    .because(format!("line {nth} is no {{id, prompt, run}}: {fault}"))
                    .hint("remove the line; its row is then asked anew")
            })?;
            begun.insert((row.id.to_string(), row.prompt), row.run);
        }
        Ok(Sheet {
            path: path.to_owned(),
            out: Mutex::new(out),
            runs: Mutex::new(runs),
            answered,
            begun,
        })
    }

    /// Where the articles go.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a row is answered.
    ///
    /// # Errors
    /// `Usage` where its id is, for another prompt.
    pub(super) fn has(&self, id: &Value, prompt: &str) -> Result<bool> {
        match self.answered.get(&id.to_string()) {
            None => Ok(false),
            Some(it) if it == prompt => Ok(true),
            Some(_) => Err(unusable("writing", &self.path)
                .because(format!("it holds an answer to another prompt of id {id}"))
                .hint("name another file with -o, or give the row another id")),
        }
    }

    /// The run that was begun for a row, if any was.
    pub(super) fn run_of(&self, id: &Value, prompt: &str) -> Option<RunId> {
        let key = (id.to_string(), prompt.to_owned());
        self.begun.get(&key).cloned()
    }

    /// Writes down which run is about to be begun for a row.
    pub(super) fn note(&self, id: &Value, prompt: &str, run: &RunId) -> Result<()> {
        let row = Belongs {
            id: id.clone(),
            prompt: prompt.to_owned(),
            run: run.clone(),
        };
        add(&self.runs, &row, &beside(&self.path))
    }

    /// Writes the article of a row.
    pub(super) fn deliver(&self, id: &Value, prompt: &str, article: &str) -> Result<()> {
        let row = Line {
            id: id.clone(),
            prompt: prompt.to_owned(),
            article: article.to_owned(),
        };
        add(&self.out, &row, &self.path)
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".runs");
    PathBuf::from(name)
}

fn opened(path: &Path) -> Result<File> {
    File::options()
        .create(true)
        .read(true)
        .append(true)
        .open(path)
        .map_err(|fault| {
            unusable("writing", path)
                .because(fault)
                .hint("name a file in a directory that exists and that you may write")
        })
}

/// The lines of a file that have their end, with their numbers; a last one without it was torn and is taken off.
fn whole_lines(file: &mut File, path: &Path, console: Console) -> Result<Vec<(usize, String)>> {
    let broken = |fault: std::io::Error| unusable("reading", path).because(fault);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(broken)?;
    let whole = bytes
        .iter()
        .rposition(|it| *it == b'\n')
        .map_or(0, |it| it + 1);
    if whole < bytes.len() {
        console.tell(&format!(
            "{} the last line of {} was torn and is taken off; its row is not lost",
            console.err.yellow("note:"),
            path.display()
        ));
        file.set_len(whole as u64).map_err(broken)?;
        bytes.truncate(whole);
    }
    let text = String::from_utf8(bytes)
        .map_err(|fault| unusable("reading", path).because(fault.utf8_error()))?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|it| !it.1.trim().is_empty());
    Ok(lines.map(|(at, it)| (at + 1, it.to_owned())).collect())
}

/// Adds one line and makes it durable before anything goes on.
fn add(file: &Mutex<File>, row: &impl Serialize, path: &Path) -> Result<()> {
    let broken = |fault: std::io::Error| {
        Error::new(Kind::Setup, format!("writing -o {}", path.display()))
            .because(fault)
            .hint("make room, and give the same command again")
    };
    let mut text = serde_json::to_string(row)
        .map_err(|fault| Error::new(Kind::Internal, "writing a row").because(fault))?;
    text.push('\n');
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(text.as_bytes()).map_err(broken)?;
    file.sync_data().map_err(broken)
}
