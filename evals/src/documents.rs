//! Every file of a folder through the document readers: what came out, and how long the slowest took.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibid_extract::{ExtractLimits, Parser, ReadItem, read_file};

use crate::program::{binary, with};
use crate::{Fault, Measured, Outcome, sets};

/// Runs `evals documents [--child IBID] [--list] DIR…`.
pub(crate) fn run(args: &[String]) -> Outcome {
    let (read, _) = read_all(args)?;
    Ok(Measured::new(read, "documents that could be read"))
}

/// The sample library, in which every file can be read.
pub(crate) fn small(args: &[String]) -> Outcome {
    let folder = sets::one("library")?.folder;
    match read_all(&with(args, &[&folder.to_string_lossy()]))? {
        (read, 0) => Ok(Measured::new(read, "documents that could be read")),
        (_, faults) => Err(format!("{faults} documents could not be read").into()),
    }
}

/// How many documents could be read, and how many could not.
fn read_all(args: &[String]) -> Result<(usize, usize), Fault> {
    let parser = binary(&[]).ok().map(Parser::from_program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut limits = ExtractLimits { parser, path, ..ExtractLimits::default() };
    let mut list = false;
    let mut dirs = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--child" => {
                let program = args.next().ok_or("--child wants the program that reads PDFs")?;
                limits.parser = Some(Parser::from_program(program));
            }
            "--list" => list = true,
            dir => dirs.push(PathBuf::from(dir)),
        }
    }
    let mut files = Vec::new();
    for dir in &dirs {
        collect(dir, &mut files)?;
    }
    if files.is_empty() {
        return Err(if dirs.is_empty() {
            "documents wants the folders to read: evals documents DIR…".to_owned()
        } else {
            "nothing was measured: there are no files in the folders named".to_owned()
        }
        .into());
    }
    files.sort();
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let mut slowest = (Duration::ZERO, PathBuf::new());
    let mut out = String::new();
    for path in &files {
        let begun = Instant::now();
        read_file(path, &limits, &mut |taken| {
            let (label, line) = match taken {
                ReadItem::Draft(it) => {
                    let words: usize =
                        it.blocks.iter().map(|block| block.text.split(' ').count()).sum();
                    ("read".to_owned(), format!("{words} words: {}", it.title))
                }
                ReadItem::Fault(it) => (format!("{:?}", it.reason), it.message),
            };
            *tally.entry(label.clone()).or_default() += 1;
            if list {
                let _ = writeln!(out, "{label}: {} {line}", path.display());
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| error.to_string())?;
        slowest = slowest.max((begun.elapsed(), path.clone()));
    }
    let _ = writeln!(out, "{} files: {tally:?}", files.len());
    let _ = writeln!(out, "slowest: {:.2} s {}", slowest.0.as_secs_f64(), slowest.1.display());
    std::io::stdout().write_all(out.as_bytes())?;
    let read = tally.remove("read").unwrap_or(0);
    Ok((read, tally.values().sum()))
}

fn collect(dir: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}
