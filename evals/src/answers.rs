//! Do reports answer, and are they made of what bears on the question?
//!
//! Asks judged questions through the program and reads its reports as a person would: whether the short
//! answer holds the known answer, whether a yes or no is right, whether a question without an answer is
//! left without one, and which share of the works cited in each part of the report the people who made
//! the set judged to bear on the question. The last is a floor: they did not judge every document.
//!
//! `evals answers [--set bioasq|multihop] [--limit N] [--ibid PATH] [--misses]`
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::program::{Home, binary, flag, number, with};
use super::sets::{self, JudgedQuestion, Known};
use super::{Fault, Measured, Outcome};

/// A count of how many of how many.
#[derive(Default, Clone, Copy)]
struct Fraction {
    met: usize,
    of: usize,
}

impl Fraction {
    fn count(&mut self, met: bool) {
        self.of += 1;
        self.met += usize::from(met);
    }

    fn show(self) -> String {
        let percent = 100.0 * self.met as f64 / self.of.max(1) as f64;
        format!("{}/{} ({percent:.0} %)", self.met, self.of)
    }
}

#[derive(Default)]
struct AnswerCounts {
    answered: Fraction,
    short: Fraction,
    whole: Fraction,
    decided: Fraction,
    right: Fraction,
    abstained: Fraction,
    cited: BTreeMap<&'static str, Fraction>,
    words: usize,
    open: usize,
}

/// The parts of a report that cite.
const PARTS: [&str; 3] = ["short answer", "findings", "sections"];

/// Asks the judged questions and prints what the reports hold.
pub(crate) fn run(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let limit = number(args, "--limit", usize::MAX)?;
    let misses = args.iter().any(|arg| arg == "--misses");
    let names: Vec<&str> = match flag(args, "--set") {
        Some(name) => vec![name],
        None => vec!["bioasq", "multihop"],
    };
    let mut asked = 0;
    for name in names {
        let (folder, questions) = sets::judged(name)?;
        let tally = ask(&binary, &folder, questions.iter().take(limit), misses)?;
        show(name, &tally);
        if tally.answered.met == 0 {
            return Err(format!("{name}: no question that has an answer was answered").into());
        }
        asked += tally.answered.of + tally.abstained.of;
    }
    Ok(Measured::new(asked, "questions"))
}

/// Judged questions about the sample library.
pub(crate) fn small(args: &[String]) -> Outcome {
    run(&with(args, &["--set", "library", "--limit", "3"]))
}

fn ask<'a>(
    binary: &Path,
    folder: &Path,
    questions: impl Iterator<Item = &'a JudgedQuestion>,
    misses: bool,
) -> Result<AnswerCounts, Fault> {
    let home = Home::new(binary)?;
    let folder = folder.to_str().ok_or("the folder's path is not UTF-8")?;
    let mut tally = AnswerCounts::default();
    for it in questions {
        let (code, object) = home.ask(&it.text, folder)?;
        let report = object["result"].as_str().unwrap_or_default();
        let answered = code == 0 && !report.is_empty();
        if matches!(it.known, Known::Nothing) {
            tally.abstained.count(!answered);
            continue;
        }
        tally.answered.count(answered);
        let parts = Parts::of(report);
        let line = object["one_line_answer"].as_str().unwrap_or_default();
        judge(&mut tally, it, line, &parts, misses);
        let works = works(&object);
        for (name, text) in PARTS.iter().zip([&parts.short, &parts.findings, &parts.sections]) {
            let share = tally.cited.entry(name).or_default();
            for n in cited(text) {
                if let Some(work) = works.get(&n) {
                    share.count(it.relevant.contains(work));
                }
            }
        }
        tally.words += [&parts.short, &parts.findings, &parts.sections]
            .iter()
            .map(|it| it.split_whitespace().count())
            .sum::<usize>();
        tally.open += parts.open.matches("\n- ").count();
    }
    Ok(tally)
}

fn judge(
    tally: &mut AnswerCounts,
    asked: &JudgedQuestion,
    answer: &str,
    parts: &Parts,
    misses: bool,
) {
    match &asked.known {
        Known::Any(names) => {
            let holds = |text: &str| names.iter().any(|name| says(text, name));
            tally.short.count(holds(&parts.short));
            tally
                .whole
                .count([&parts.short, &parts.findings, &parts.sections].iter().any(|it| holds(it)));
            if misses && !holds(&parts.short) {
                println!("miss: {} | {names:?} | {}", asked.text, parts.short.trim());
            }
        }
        Known::YesNo(yes) => {
            let first = answer.split([',', '.', ':', ' ']).next().unwrap_or_default();
            let said = match first {
                "Yes" => Some(true),
                "No" => Some(false),
                _ => None,
            };
            tally.decided.count(said.is_some());
            if let Some(said) = said {
                tally.right.count(said == *yes);
            }
        }
        Known::Nothing | Known::Text => {}
    }
}

fn show(name: &str, it: &AnswerCounts) {
    println!("{name}");
    for (what, share) in [
        ("questions answered", it.answered),
        ("without an answer, and said so", it.abstained),
        ("known answer in the short answer", it.short),
        ("known answer in the report", it.whole),
        ("yes or no: decided", it.decided),
        ("yes or no: right where decided", it.right),
    ] {
        if share.of > 0 {
            println!("  {what:36} {}", share.show());
        }
    }
    for (part, share) in &it.cited {
        println!("  judged to bear on it, cited in {part:5} {}", share.show());
    }
    let reports = it.answered.met.max(1);
    println!(
        "  words of a report {} · open points of a report {:.1}",
        it.words / reports,
        it.open as f64 / reports as f64
    );
}

/// A report cut at its headings.
#[derive(Default)]
struct Parts {
    short: String,
    findings: String,
    sections: String,
    open: String,
}

impl Parts {
    fn of(report: &str) -> Parts {
        let mut parts = Parts::default();
        let mut heading = String::new();
        for line in report.lines() {
            if line.starts_with("## ") {
                heading = line.trim_start_matches("## ").to_owned();
                continue;
            }
            let numbered = heading.starts_with(|c: char| c.is_ascii_digit());
            let part = match heading.as_str() {
                "" if line.starts_with('>') => &mut parts.short,
                "Key findings" => &mut parts.findings,
                "What could not be established" => &mut parts.open,
                _ if numbered => &mut parts.sections,
                _ => continue,
            };
            part.push('\n');
            part.push_str(line);
        }
        parts
    }
}

/// The source numbers that a part cites, each once a mention.
fn cited(text: &str) -> Vec<u64> {
    text.split("](#src-").skip(1).filter_map(|part| part.split(')').next()?.parse().ok()).collect()
}

/// The document ids behind source numbers: the last part of the citation's address.
fn works(object: &Value) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    for it in object["citations"].as_array().into_iter().flatten() {
        let (Some(n), Some(url)) = (it["n"].as_u64(), it["url"].as_str()) else {
            continue;
        };
        let id = it["doc_id"].as_str().map(str::to_owned);
        let tail = || url.trim_end_matches('/').rsplit('/').next().unwrap_or(url).to_owned();
        found.insert(n, id.unwrap_or_else(tail));
    }
    found
}

/// Whether `text` says `name`: its letters and digits in a row, case and marks aside.
pub(crate) fn says(text: &str, name: &str) -> bool {
    let plain = |text: &str| -> String {
        let lower = text.to_lowercase();
        let kept: String =
            lower.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        format!(" {} ", kept.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let name = plain(name);
    !name.trim().is_empty() && plain(text).contains(name.trim_end())
}
