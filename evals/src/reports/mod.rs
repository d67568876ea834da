//! What reports look like from outside: length, citations, lists of sources, repetition.
//!
//! The measures are those of `drb/report_stats.py` in the shared data, so that figures stand beside those
//! of other systems. They say nothing about whether a report is right.
//!
//! `evals reports [FILE…] [--set NAME]… [--limit N] [--ibid PATH]`: the Markdown or JSON lines
//! (`{article}`) of the files; without files, what the program reports of N (20) questions of each set.
mod surface;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Home, binary, flag, median, number, with};
use crate::{Fault, Measured, Outcome, sets};
use surface::{Surface, surface};

/// The sets that are asked without files and `--set`: short documents, a long one, and web pages.
const SETS: [&str; 3] = ["library", "bioasq", "medical"];

/// Prints the medians of each set or file, then those of other systems' reports.
pub(crate) fn run(args: &[String]) -> Outcome {
    let measured = ours_or_files(args)?;
    let known = sets::shared("drb").join("dev/reports");
    if !known.is_dir() {
        eprintln!("skipped the reports of other systems: no {}", known.display());
        return Ok(Measured::new(measured, "reports"));
    }
    for folder in [known, sets::shared("reports-other")] {
        for file in archives(&folder)? {
            let name =
                file.file_name().unwrap_or_default().to_string_lossy().replace(".jsonl.gz", "");
            show(&name, &read(&file)?)?;
        }
    }
    Ok(Measured::new(measured, "reports"))
}

/// Reports about the sample library.
pub(crate) fn small(args: &[String]) -> Outcome {
    let args = with(args, &["--set", "text", "--limit", "2"]);
    Ok(Measured::new(ours_or_files(&args)?, "reports"))
}

/// Prints the medians of the program's reports or of the files; how many reports there are.
fn ours_or_files(args: &[String]) -> Result<usize, Fault> {
    header();
    let mut measured = 0;
    let limit = number(args, "--limit", 20)?;
    let files = files(args);
    if files.is_empty() {
        let binary = binary(args)?;
        let names = flag(args, "--set").map_or_else(|| SETS.to_vec(), |it| vec![it]);
        for name in names {
            match sets::one(name).and_then(|one| ours(&binary, &one, limit)) {
                Ok(reports) => measured += show(&format!("ibid, {name}"), &reports)?,
                Err(fault) => eprintln!("skipped {name}: {fault}"),
            }
        }
    }
    for file in &files {
        measured += show(&file.display().to_string(), &read(file)?)?;
    }
    Ok(measured)
}

/// Arguments that are no flags and no flag's value.
fn files(args: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut args = args.iter();
    while let Some(it) = args.next() {
        if it.starts_with("--") {
            args.next();
        } else {
            found.push(PathBuf::from(it));
        }
    }
    found
}

fn archives(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What the program answers to the first questions of a set.
fn ours(binary: &Path, set: &sets::Set, limit: usize) -> Result<Vec<String>, Fault> {
    let home = Home::new(binary)?;
    let folder = set.folder.to_str().ok_or("the folder's path is not UTF-8")?;
    let mut reports = Vec::new();
    for question in set.questions.iter().take(limit) {
        let output = home.call(&["run", question, "--folder", folder, "-q"])?;
        let report = String::from_utf8(output.stdout)?;
        if output.status.success() && !report.trim().is_empty() {
            reports.push(report);
        }
    }
    Ok(reports)
}

fn read(path: &Path) -> Result<Vec<String>, Fault> {
    let bytes = fs::read(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    let mut text = String::new();
    let name = path.to_string_lossy();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text)?;
    } else {
        text = String::from_utf8(bytes)?;
    }
    if !name.contains(".jsonl") {
        return Ok(vec![text]);
    }
    let mut reports = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        // Words of Chinese are counted by sign, which no figure of ours can stand beside.
        if row["language"].as_str().is_none_or(|text| text == "en") {
            reports.extend(row["article"].as_str().map(str::to_owned));
        }
    }
    Ok(reports)
}

fn header() {
    println!(
        "{:<34}{:>4} | words headings citations distinct | cited/1,000 words  paragraphs cited  repeated | sentences twice  listed, not cited  cited, not listed",
        "medians of reports in English", "n"
    );
}

/// Prints one line of the table; how many reports it is about.
fn show(name: &str, reports: &[String]) -> Result<usize, Fault> {
    if reports.is_empty() {
        return Err(format!("{name}: there are no reports").into());
    }
    let all: Vec<Surface> = reports.iter().map(|report| surface(report)).collect();
    let of = |value: fn(&Surface) -> f64| median(&mut all.iter().map(value).collect::<Vec<f64>>());
    println!(
        "{name:<34}{:>4} | {:>5.0} {:>8.1} {:>9.1} {:>8.1} | {:>17.1}  {:>16.3}  {:>8.3} | {:>15.4}  {:>17.1}  {:>17.1}",
        all.len(),
        of(|it| it.words),
        of(|it| it.headings),
        of(|it| it.citations),
        of(|it| it.distinct),
        of(|it| it.per_thousand),
        of(|it| it.paragraphs_cited),
        of(|it| it.repeated),
        of(|it| it.sentences_twice),
        of(|it| it.never_cited),
        of(|it| it.not_listed),
    );
    Ok(all.len())
}
