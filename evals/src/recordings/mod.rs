//! Recorded calls of real interfaces, replayed through the program's own wires: every row must become a completion or the
//! right kind of error, however its bytes are cut, and agree with what a second, simpler reader finds in it.
mod bytes;
mod check;
mod damage;
mod facts;
mod replay;
mod route;
mod small;
mod sources;
mod walk;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Fault, Measured, Outcome};
use replay::Verdict;
pub(crate) use small::small;

/// Figures of one interface.
#[derive(Default)]
struct RowCounts {
    rows: u32,
    parsed: u32,
    mismatches: u32,
    panics: u32,
    /// Rows of searches and catalogues that are faults, by the second reader's word.
    faults: u32,
    /// Damaged copies of its rows that were read as well.
    damaged: u32,
}

/// Runs `evals recordings DIR…`.
pub(crate) fn run(args: &[String]) -> Outcome {
    if args.is_empty() {
        return Err("usage: evals recordings DIR…".into());
    }
    let mut files = Vec::new();
    for dir in args {
        collect(Path::new(dir), &mut files)?;
    }
    files.sort();
    measure(&files)
}

/// Replays the rows of `files` and prints the figures of each interface.
fn measure(files: &[PathBuf]) -> Outcome {
    // A panic is caught and counted; its own words would only bury the figures.
    std::panic::set_hook(Box::new(|_| {}));
    let mut tallies: BTreeMap<String, RowCounts> = BTreeMap::new();
    let mut routes: BTreeMap<&'static str, u32> = BTreeMap::new();
    for path in files {
        let text = bytes::read(path)?;
        if text.trim().is_empty() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            eprintln!("{name}: no rows");
        }
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let row: Value = serde_json::from_str(line)
                .map_err(|error| format!("{}: a row is not JSON: {error}", path.display()))?;
            one(&row, &mut tallies, &mut routes);
        }
    }
    if tallies.is_empty() {
        return Err("nothing was measured: no file has rows".into());
    }
    let mut good = true;
    for (api, it) in &tallies {
        good &= it.parsed == it.rows && it.mismatches == 0 && it.panics == 0;
        println!(
            "{}",
            json!({"api": api, "rows": it.rows, "parsed": it.parsed, "mismatches": it.mismatches, "panics": it.panics, "faults": it.faults, "damaged": it.damaged})
        );
    }
    for (route, rows) in &routes {
        eprintln!("{rows} rows: {route}");
    }
    if good {
        Ok(Measured::new(tallies.values().map(|value| value.rows as usize).sum(), "rows"))
    } else {
        Err("not every recorded row came through".into())
    }
}

fn one(
    row: &Value,
    tallies: &mut BTreeMap<String, RowCounts>,
    routes: &mut BTreeMap<&'static str, u32>,
) {
    let word = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api, id) = (word("api"), word("id"));
    let tally = tallies.entry(api.to_owned()).or_default();
    tally.rows += 1;
    let verdict = std::panic::catch_unwind(|| match sources::row(row) {
        Some(told) => {
            (told.verdict, "searches and catalogues", told.damaged, u32::from(told.is_fault))
        }
        None => {
            let (verdict, route) = replay::row(row);
            (verdict, route, 0, 0)
        }
    });
    let (verdict, route, damaged, faults) =
        verdict.unwrap_or((Verdict::Panicked, "panicked", 0, 0));
    tally.faults += faults;
    tally.damaged += damaged;
    *routes.entry(route).or_default() += 1;
    match verdict {
        Verdict::Right => tally.parsed += 1,
        Verdict::Unread(why) => eprintln!("{api} {id}: {why}"),
        Verdict::Differs(why) => {
            tally.parsed += 1;
            tally.mismatches += 1;
            eprintln!("{api} {id}: {why}");
        }
        Verdict::Panicked => {
            tally.panics += 1;
            eprintln!("{api} {id}: panicked");
        }
    }
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), Fault> {
    let about = |it| format!("{}: {it}", dir.display());
    if dir.is_file() {
        found.push(dir.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(dir).map_err(about)? {
        let path = entry.map_err(about)?.path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, found)?;
        } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            found.push(path);
        }
    }
    Ok(())
}
