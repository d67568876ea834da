//! The four ways to gather, side by side on the same questions, without a model (or with `--model`).
//!
//! For each strategy: of the documents that people judged to bear on a question, how many were read and how many carry
//! evidence; whether the known answer stands in the report; calls, rounds and reasons to stop. On RAMDocs, where the documents
//! of a question answer it differently, whether the report shows a conflict; `agreements` are its questions whose documents
//! agree, where a conflict is a false one.
//!
//! `evals strategies [--set bioasq|multihop|conflicts|agreements] [--limit N] [--strategy NAME] [--effort EFFORT] [--ibid PATH]`
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::program::{Home, binary, flag, median, number};
use super::sets::{self, Known};
use super::{Fault, Measured, Outcome, generated};

const ALL: [&str; 4] = ["checklist", "planned", "supervisor", "coverage"];

#[derive(Default)]
struct StrategyCounts {
    asked: usize,
    reported: usize,
    relevant: usize,
    read: usize,
    carried: usize,
    known: usize,
    answered: usize,
    quotes: (u64, u64),
    calls: Vec<f64>,
    seconds: Vec<f64>,
    evidence: Vec<f64>,
    stops: BTreeMap<String, usize>,
    conflicts: usize,
}

/// Asks the questions by each strategy and prints a table.
pub(crate) fn run(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let limit = number(args, "--limit", 50)?;
    let effort = flag(args, "--effort").unwrap_or("standard");
    let strategies: Vec<&str> = flag(args, "--strategy").map_or(ALL.to_vec(), |flag| vec![flag]);
    let sets: Vec<&str> = flag(args, "--set")
        .map_or(vec!["bioasq", "multihop", "conflicts", "agreements"], |flag| vec![flag]);
    header();
    let mut asked = 0;
    for set in sets {
        for strategy in &strategies {
            let how = ["--strategy", strategy, "--effort", effort];
            let tally = match set {
                "conflicts" | "agreements" => {
                    let rows = sets::shared("conflicts").join("dev/ramdocs.jsonl.gz");
                    ramdocs(&binary, &how, limit, (&rows, set == "conflicts"))?
                }
                set => judged(&Home::new(&binary)?, set, &how, limit)?,
            };
            if tally.asked == 0 {
                return Err(format!("{set} has no question to ask").into());
            }
            asked += tally.asked;
            show(set, strategy, tally);
        }
    }
    Ok(Measured::new(asked, "runs"))
}

/// One question about the sample library by each strategy, and one whose documents disagree.
pub(crate) fn small(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let dir = tempfile::tempdir()?;
    generated::conflicts(dir.path())?;
    header();
    let mut asked = 0;
    let mut tell = |set: &str, strategy: &str, tally: StrategyCounts| -> Result<(), Fault> {
        let (held, all) = tally.quotes;
        let is_whole = tally.reported == tally.asked && held == all && all > 0;
        asked += tally.asked;
        show(set, strategy, tally);
        if is_whole {
            Ok(())
        } else {
            Err(format!("{strategy}: a run has no report, or a quote is not exact").into())
        }
    };
    let home = Home::new(&binary)?;
    for strategy in ALL {
        let how = ["--strategy", strategy, "--effort", "quick"];
        tell("library", strategy, judged(&home, "library", &how, 1)?)?;
    }
    let how = ["--strategy", ALL[0], "--effort", "quick"];
    let rows = dir.path().join("ramdocs.jsonl.gz");
    tell("conflicts", ALL[0], ramdocs(&binary, &how, 1, (&rows, true))?)?;
    Ok(Measured::new(asked, "runs"))
}

fn header() {
    println!(
        "set        strategy    asked reports  gold read      carrying      known answer   conflict  calls  s     evidence  quotes      stopped"
    );
}

/// One question: what happened, and the final object.
fn ask(home: &Home, text: &str, folder: &str, how: &[&str]) -> Result<(i32, Vec<Value>), Fault> {
    let mut args = vec!["run", text, "--folder", folder, "--jsonl", "-q"];
    args.extend(how);
    let output = home.call(&args)?;
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok((output.status.code().unwrap_or(-1), lines))
}

fn judged(home: &Home, set: &str, how: &[&str], limit: usize) -> Result<StrategyCounts, Fault> {
    let (folder, questions) = sets::judged(set)?;
    let folder = folder.to_str().ok_or("the folder's path is not UTF-8")?;
    let mut tally = StrategyCounts::default();
    let answerable = questions.iter().filter(|question| !matches!(question.known, Known::Nothing));
    for it in answerable.take(limit) {
        let begun = std::time::Instant::now();
        let (code, events) = ask(home, &it.text, folder, how)?;
        count(&mut tally, code, &events, begun.elapsed().as_secs_f64());
        let (read, carried) = documents(&events);
        tally.relevant += it.relevant.len();
        tally.read += it.relevant.intersection(&read).count();
        tally.carried += it.relevant.intersection(&carried).count();
        if let Known::Any(names) = &it.known {
            tally.known += 1;
            let report = report(&events);
            tally.answered +=
                usize::from(names.iter().any(|name| super::answers::says(&report, name)));
        }
    }
    Ok(tally)
}

/// Questions of RAMDocs of which the documents `differ` in the answer, or else do not, each over a folder of its own.
fn ramdocs(
    binary: &Path,
    how: &[&str],
    limit: usize,
    (rows, differ): (&Path, bool),
) -> Result<StrategyCounts, Fault> {
    let rows = super::conflicts::rows(rows)?;
    let mut tally = StrategyCounts::default();
    let mut done = 0;
    for row in rows {
        let documents = row["documents"].as_array().cloned().unwrap_or_default();
        let answers: BTreeSet<String> = documents
            .iter()
            .filter(|document| document["type"] != "noise")
            .filter_map(|document| document["answer"].as_str().map(str::to_lowercase))
            .collect();
        if (answers.len() > 1) != differ {
            continue;
        }
        if done == limit {
            break;
        }
        done += 1;
        let home = Home::new(binary)?;
        let folder = sets::fresh("ramdocs-one")?;
        for (nth, it) in documents.iter().enumerate() {
            let text = it["text"].as_str().unwrap_or_default();
            fs::write(folder.join(format!("{nth}.txt")), text)?;
        }
        let question = row["question"].as_str().unwrap_or_default();
        let begun = std::time::Instant::now();
        let place = folder.to_str().ok_or("the folder's path is not UTF-8")?;
        let (code, events) = ask(&home, question, place, how)?;
        count(&mut tally, code, &events, begun.elapsed().as_secs_f64());
        let shown = events
            .iter()
            .find(|event| event["type"] == "report.ready")
            .and_then(|event| event["data"]["report"]["conflicts"].as_array().map(Vec::len));
        tally.conflicts += usize::from(shown.unwrap_or(0) > 0);
    }
    Ok(tally)
}

fn count(tally: &mut StrategyCounts, code: i32, events: &[Value], seconds: f64) {
    tally.asked += 1;
    tally.seconds.push(seconds);
    let ready = events.iter().find(|event| event["type"] == "report.ready");
    let added = events.iter().filter(|event| event["type"] == "evidence.added").count();
    tally.evidence.push(added as f64);
    let Some(report) = ready.map(|it| &it["data"]["report"]) else {
        *tally.stops.entry(format!("exit {code}")).or_default() += 1;
        return;
    };
    tally.reported += 1;
    let usage = &report["usage"];
    let calls = usage["searches"].as_f64().unwrap_or(0.0) + usage["pages"].as_f64().unwrap_or(0.0);
    tally.calls.push(calls);
    let quotes = &report["checks"]["quotes"];
    tally.quotes.0 += quotes["held"].as_u64().unwrap_or(0);
    tally.quotes.1 += quotes["total"].as_u64().unwrap_or(0);
    let stop = report["method"]["stop"].as_str().unwrap_or("none");
    *tally.stops.entry(stop.to_owned()).or_default() += 1;
}

/// The ids of the documents that were read, and of those that carry evidence.
fn documents(events: &[Value]) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let mut carried = BTreeSet::new();
    for it in events {
        let data = &it["data"];
        match it["type"].as_str() {
            Some("read.completed") => {
                let source = &data["source"];
                let url = source["url"].as_str().unwrap_or_default();
                let tail = url.trim_end_matches('/').rsplit('/').next().unwrap_or(url);
                let id = source["doc_id"].as_str().unwrap_or(tail);
                ids.insert(source["id"].to_string(), id.to_owned());
            }
            Some("evidence.added") => {
                carried.insert(data["evidence"]["source"].to_string());
            }
            _ => {}
        }
    }
    let of = carried.iter().filter_map(|number| ids.get(number).cloned()).collect();
    (ids.into_values().collect(), of)
}

/// The words of the report that were said, as one text.
fn report(events: &[Value]) -> String {
    let last = events.iter().rev().find(|event| event["type"] == "result");
    last.and_then(|it| it["result"].as_str()).unwrap_or_default().to_owned()
}

fn show(set: &str, strategy: &str, mut it: StrategyCounts) {
    let percent = |a: usize, b: usize| match b {
        0 => "-".to_owned(),
        b => format!("{a}/{b} {:.0}%", 100.0 * a as f64 / b as f64),
    };
    let stops: Vec<String> = it.stops.iter().map(|(why, n)| format!("{why} {n}")).collect();
    let conflicts = match set {
        "conflicts" | "agreements" => percent(it.conflicts, it.asked),
        _ => "-".to_owned(),
    };
    println!(
        "{set:<10} {strategy:<11} {:>5} {:>7}  {:<13} {:<13} {:<14} {conflicts:<9} {:>5.0}  {:<5.2} {:>8.0}  {}/{}  {}",
        it.asked,
        it.reported,
        percent(it.read, it.relevant),
        percent(it.carried, it.relevant),
        percent(it.answered, it.known),
        median(&mut it.calls),
        median(&mut it.seconds),
        median(&mut it.evidence),
        it.quotes.0,
        it.quotes.1,
        stops.join(", ")
    );
}
