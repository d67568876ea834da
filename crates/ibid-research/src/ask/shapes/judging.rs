//! Judging a finished run, by a model that sees its report or its searches.
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    check_no_citations, check_no_unknown_codes, join_rows, list, object, one_of, or_none,
    render_prompt, text,
};
use crate::ask::template::{one_line, untrusted};
use ibid_core::Result;
use ibid_core::ports::Prompt;

/// The prompt that judges a report.
#[derive(Debug, Clone)]
pub struct JudgeAnswerPrompt<'a> {
    /// The question.
    pub question: &'a str,
    /// What a complete answer covers, each item with how far code found it answered.
    pub items: &'a [String],
    /// The report's sentences with their quotes.
    pub claims: &'a [String],
    /// How many conflicts the report shows.
    pub conflicts: usize,
    /// What the report says it could not establish.
    pub open: &'a [String],
}

/// The prompt that judges how a question was researched.
#[derive(Debug, Clone)]
pub struct JudgeProcessPrompt<'a> {
    /// The question.
    pub question: &'a str,
    /// Every search with its result.
    pub searches: &'a [String],
    /// The sites read.
    pub domains: &'a [String],
    /// Other counts made by code.
    pub facts: &'a [String],
}

/// A model's judgement.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct JudgeReply {
    /// One entry for each part.
    pub parts: Vec<JudgeReplyPart>,
}

/// A model's judgement of one part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct JudgeReplyPart {
    /// The name of the part.
    pub part: String,
    /// The reason.
    pub why: String,
    /// 0 to 1.
    pub score: f32,
}

/// The parts of an answer that a model judges. Only a model judges the first.
const ANSWER: [&str; 4] = ["relevance", "coverage", "support", "candour"];
/// The parts of a process that a model judges.
const PROCESS: [&str; 3] = ["strategy", "variety", "diversity"];
/// Longest reason kept, in characters.
const WHY_CHARS: usize = 400;

impl JudgeAnswerPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        render_prompt(
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

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &JudgeReply) -> std::result::Result<(), String> {
        let shown = [self.items, self.claims, self.open].concat();
        check_parts(answer, &ANSWER, self.question, &shown)
    }
}

impl JudgeProcessPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        render_prompt(
            "judge_process",
            schema(&PROCESS),
            &[
                ("question", &one_line(self.question)),
                ("searches", &fenced("searches", self.searches)),
                ("domains", &fenced("voices", self.domains)),
                ("facts", &join_rows(self.facts)),
            ],
        )
    }

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &JudgeReply) -> std::result::Result<(), String> {
        let shown = [self.searches, self.domains, self.facts].concat();
        check_parts(answer, &PROCESS, self.question, &shown)
    }
}

fn schema(parts: &[&str]) -> Value {
    let part = object(&[
        ("part", one_of(parts)),
        ("why", text()),
        ("score", json!({"type": "number", "minimum": 0, "maximum": 1})),
    ]);
    object(&[("parts", list(&part, parts.len()))])
}

/// Rows that may hold untrusted text, each on its line.
fn fenced(label: &str, all: &[String]) -> String {
    let lines: Vec<String> = all.iter().map(|text| one_line(text)).collect();
    untrusted(label, &or_none(lines.join("\n")))
}

/// Checks that every part occurs once, with a score from 0 to 1 and a reason that quotes nothing unknown.
fn check_parts(
    answer: &JudgeReply,
    parts: &[&str],
    question: &str,
    shown: &[String],
) -> std::result::Result<(), String> {
    for name in parts {
        let all: Vec<&JudgeReplyPart> = answer.parts.iter().filter(|it| it.part == *name).collect();
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
        check_no_citations(&it.why)?;
        check_no_unknown_codes(&it.why, shown.iter().map(String::as_str).chain([question]))?;
    }
    match answer.parts.iter().find(|it| !parts.contains(&it.part.as_str())) {
        Some(it) => Err(format!("there is no part `{}`", one_line(&it.part))),
        None => Ok(()),
    }
}
