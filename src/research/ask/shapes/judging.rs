//! Judging: what a finished run is worth, by a model that sees its report or its searches.
use serde::Deserialize;
use serde_json::{Value, json};

use super::{list, object, one_of, or_none, prompt, rows, text, without_citations, without_marks};
use crate::error::Result;
use crate::research::ask::template::{one_line, untrusted};
use crate::seams::Prompt;

/// Judging a report.
#[derive(Debug, Clone)]
pub struct JudgeAnswerAsk<'a> {
    /// What was asked.
    pub question: &'a str,
    /// What a complete answer covers, each with how far code found it answered.
    pub items: &'a [String],
    /// The report's sentences with their quotes.
    pub claims: &'a [String],
    /// How many conflicts it shows.
    pub conflicts: usize,
    /// What it says it could not establish.
    pub open: &'a [String],
}

/// Judging how a question was researched.
#[derive(Debug, Clone)]
pub struct JudgeProcessAsk<'a> {
    /// What was asked.
    pub question: &'a str,
    /// Every search with what came of it.
    pub searches: &'a [String],
    /// The voices read.
    pub domains: &'a [String],
    /// What code counted besides.
    pub facts: &'a [String],
}

/// What a model thinks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Judged {
    /// Part by part.
    pub parts: Vec<JudgedPart>,
}

/// What a model thinks of one part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct JudgedPart {
    /// Which.
    pub part: String,
    /// Why.
    pub why: String,
    /// 0 to 1.
    pub score: f32,
}

/// The parts of an answer that a model judges; the first is seen by nobody else.
const ANSWER: [&str; 4] = ["relevance", "coverage", "support", "candour"];
/// Those of a process.
const PROCESS: [&str; 3] = ["strategy", "variety", "diversity"];
/// Longest reason kept, characters.
const WHY_CHARS: usize = 400;

impl JudgeAnswerAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        prompt(
            "judge_answer",
            schema(&ANSWER),
            &[
                ("question", &one_line(self.question)),
                ("items", &fenced("items", self.items)),
                ("claims", &fenced("report", self.claims)),
                ("open", &fenced("open", self.open)),
                ("conflicts", &self.conflicts.to_string()),
            ],
        )
    }

    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Judged) -> std::result::Result<(), String> {
        let shown = [self.items, self.claims, self.open].concat();
        check(answer, &ANSWER, self.question, &shown)
    }
}

impl JudgeProcessAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        prompt(
            "judge_process",
            schema(&PROCESS),
            &[
                ("question", &one_line(self.question)),
                ("searches", &fenced("searches", self.searches)),
                ("domains", &fenced("voices", self.domains)),
                ("facts", &rows(self.facts)),
            ],
        )
    }

    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Judged) -> std::result::Result<(), String> {
        let shown = [self.searches, self.domains, self.facts].concat();
        check(answer, &PROCESS, self.question, &shown)
    }
}

fn schema(parts: &[&str]) -> Value {
    let part = object(&[
        ("part", one_of(parts)),
        ("why", text()),
        (
            "score",
            json!({"type": "number", "minimum": 0, "maximum": 1}),
        ),
    ]);
    object(&[("parts", list(&part, parts.len()))])
}

/// Rows that may hold strangers' words, each on its line.
fn fenced(label: &str, all: &[String]) -> String {
    let lines: Vec<String> = all.iter().map(|it| one_line(it)).collect();
    untrusted(label, &or_none(lines.join("\n")))
}

/// Every part once, with a score that is one and a reason that holds nothing foreign.
fn check(
    answer: &Judged,
    parts: &[&str],
    question: &str,
    shown: &[String],
) -> std::result::Result<(), String> {
    for name in parts {
        let all: Vec<&JudgedPart> = answer.parts.iter().filter(|it| it.part == *name).collect();
        let [it] = all.as_slice() else {
            return Err(format!("`{name}` is scored {} times, not once", all.len()));
        };
        if !(0.0..=1.0).contains(&it.score) {
            return Err(format!("the score of `{name}` is not between 0 and 1"));
        }
        let length = it.why.trim().chars().count();
        if !(1..=WHY_CHARS).contains(&length) {
            return Err(format!(
                "the reason of `{name}` has {length} characters; 1 to {WHY_CHARS} are allowed"
            ));
        }
        without_citations(&it.why)?;
        without_marks(&it.why, shown.iter().map(String::as_str).chain([question]))?;
    }
    match answer
        .parts
        .iter()
        .find(|it| !parts.contains(&it.part.as_str()))
    {
        Some(it) => Err(format!("there is no part `{}`", one_line(&it.part))),
        None => Ok(()),
    }
}
