//! Questions about small folders of everyday documents, answered without a model: is the first thing said the sentence that answers?
//!
//! A set is a directory of folders, each with a file `FOLDER.jsonl` beside it: `{"question": …, "answers": [sentence, …]}`, with no
//! answers where the documents have none. An answer counts where the short answer has one of the sentences; of a row of a table, it
//! has four fifths of its words. The sentences were written down before any program had seen the documents.
//!
//! `evals questions [--set NAME] [--limit N] [--ibid PATH] [--misses]`
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::answers::says;
use super::program::{Home, binary, flag, number, with};
use super::{Fault, Measured, Outcome};

/// The sets, and whether rules were made in view of them.
const SETS: [(&str, &str); 4] = [
    ("plain-1", "in the words of the documents, seen while rules were made"),
    ("plain-2", "in the words of the documents, held out"),
    ("everyday-1", "in other words, seen while rules were made"),
    ("everyday-2", "in other words, held out"),
];
/// Share of the words of a row that an answer must have.
const ROW_SHARE: f64 = 0.8;

struct Row {
    question: String,
    answers: Vec<String>,
}

#[derive(Default)]
struct Counts {
    answerable: usize,
    /// The short answer has the sentence.
    right: usize,
    /// What is shown as the nearest passage has it.
    near: usize,
    /// A short answer without it.
    wrong: usize,
    unanswerable: usize,
    /// No answer, or no more than a nearest passage.
    refused: usize,
}

/// Asks the questions of the sets and counts the answers.
pub(crate) fn run(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let limit = number(args, "--limit", usize::MAX)?;
    let misses = args.iter().any(|arg| arg == "--misses");
    let named = flag(args, "--set");
    let mut asked = 0;
    println!("set         right  nearest  wrong  none   of | refused  of");
    for (name, words) in SETS.into_iter().filter(|set| named.is_none_or(|it| it == set.0)) {
        let it = ask(&binary, &sets().join(name), limit, misses)?;
        let none = it.answerable - it.right - it.near - it.wrong;
        println!(
            "{name:10} {:6} {:8} {:6} {none:5} {:4} | {:7} {:3}  {words}",
            it.right, it.near, it.wrong, it.answerable, it.refused, it.unanswerable
        );
        asked += it.answerable + it.unanswerable;
    }
    Ok(Measured::new(asked, "questions"))
}

/// A few questions about the first folder.
pub(crate) fn small(args: &[String]) -> Outcome {
    run(&with(args, &["--set", "plain-1", "--limit", "4"]))
}

fn sets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("questions")
}

/// Asks the first `limit` questions of a set.
fn ask(binary: &Path, set: &Path, limit: usize, misses: bool) -> Result<Counts, Fault> {
    let home = Home::new(binary)?;
    let mut counts = Counts::default();
    let entries = fs::read_dir(set)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let mut left = limit;
    for file in files {
        for row in rows(&file)?.into_iter().take(left) {
            left -= 1;
            count(&mut counts, &home, &row, &file.with_extension(""), misses)?;
        }
    }
    Ok(counts)
}

fn rows(file: &Path) -> Result<Vec<Row>, Fault> {
    let row = |line: &str| -> Result<Row, Fault> {
        let row: Value = serde_json::from_str(line)?;
        let answers = row["answers"].as_array().into_iter().flatten();
        Ok(Row {
            question: row["question"].as_str().ok_or("a row without a question")?.to_owned(),
            answers: answers.filter_map(|it| it.as_str().map(str::to_owned)).collect(),
        })
    };
    fs::read_to_string(file)?.lines().map(row).collect()
}

fn count(
    counts: &mut Counts,
    home: &Home,
    row: &Row,
    folder: &Path,
    misses: bool,
) -> Result<(), Fault> {
    let folder = folder.to_str().ok_or("the folder's path is not UTF-8")?;
    let (code, object) = home.ask(&row.question, folder)?;
    let near = object["nearest_only"] == true;
    let said = object["answer"].as_str().unwrap_or_default();
    let answered = code == 0 && !said.is_empty();
    if row.answers.is_empty() {
        counts.unanswerable += 1;
        counts.refused += usize::from(!answered || near);
        return Ok(());
    }
    counts.answerable += 1;
    let holds = answered && row.answers.iter().any(|answer| has(said, answer));
    match (answered, holds, near) {
        (true, true, false) => counts.right += 1,
        (true, true, true) => counts.near += 1,
        (true, false, false) => counts.wrong += 1,
        _ => {}
    }
    if misses && (near || !holds) {
        println!("miss: {} | {:?} | {}", row.question, row.answers, said.replace('\n', " "));
    }
    Ok(())
}

/// Whether `text` has a sentence, or most words of a row.
fn has(text: &str, answer: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let is_row = answer.contains(['|', ';', ',']) || answer.contains("<td");
    says(text, answer)
        || is_row && {
            let own = words(answer);
            let met = own.intersection(&words(text)).count();
            !own.is_empty() && met as f64 >= ROW_SHARE * own.len() as f64
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_sentence_or_most_of_a_row() {
        assert!(has("It is 9 m tall. [1]", "It is 9 m tall."));
        assert!(has("Lid – price: 4.90 EUR. [1]", "| Lid | 4.90 EUR |"));
        assert!(!has("Cup – price: 2.90 EUR. [1]", "| Lid | 4.90 EUR |"));
    }

    #[test]
    fn every_set_has_questions_with_and_without_answers() {
        for (name, _) in SETS {
            let files = fs::read_dir(sets().join(name)).unwrap();
            let paths = files.map(|it| it.unwrap().path());
            let jsonl = paths.filter(|it| it.extension().is_some_and(|end| end == "jsonl"));
            let all: Vec<Row> = jsonl.flat_map(|file| rows(&file).unwrap()).collect();
            assert!(all.iter().any(|row| row.answers.is_empty()), "{name}");
            assert!(all.iter().any(|row| !row.answers.is_empty()), "{name}");
        }
    }
}
