//! Writing the report and the one-line answer.
use serde::Deserialize;

use super::{
    at_least, list, must, object, one_of, prompt, rows, searchable, text, without_citations,
    without_marks,
};
use crate::domain::{EvidenceId, WritingPlan};
use crate::error::Result;
use crate::research::ask::template::{one_line, untrusted};
use crate::research::prompts::{self, fill};
use crate::seams::Prompt;

/// Longest answer, characters (row E2).
const ANSWER_CHARS: usize = 140;

/// How models that were trained for it ask for more in the middle of a draft; never for a reader.
const MORE_INFO: &str = "<request_more_info";

/// Longest sentence of a report, characters.
const SENTENCE_CHARS: usize = 700;

/// One piece of evidence as a writer sees it.
#[derive(Debug, Clone)]
pub struct EvidenceRow<'a> {
    /// Its id; the prompt calls it `E1`.
    pub id: EvidenceId,
    /// What it says.
    pub claim: &'a str,
    /// Where it comes from, in a few words: domain and year.
    pub from: &'a str,
}

/// How evidence is called in prompts.
fn called(id: EvidenceId) -> String {
    format!("E{}", id.number())
}

/// The evidence that a model called `name`, if it was shown.
fn meant(name: &str, shown: &[EvidenceRow<'_>]) -> Option<EvidenceId> {
    let id = shown.iter().map(|it| it.id);
    id.into_iter().find(|it| called(*it) == name)
}

fn fenced(evidence: &[EvidenceRow<'_>]) -> String {
    let lines: Vec<String> = evidence
        .iter()
        .map(|it| {
            let (claim, from) = (one_line(it.claim), one_line(it.from));
            format!("{}: {claim} ({from})", called(it.id))
        })
        .collect();
    untrusted("evidence", &lines.join("\n"))
}

fn ids(evidence: &[EvidenceRow<'_>]) -> Vec<String> {
    evidence.iter().map(|it| called(it.id)).collect()
}

/// Writing a report, or some of its sections (rows A8, B7, E2).
#[derive(Debug, Clone)]
pub struct WriteAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// How it is to be written.
    pub plan: &'a WritingPlan,
    /// What it is written from.
    pub evidence: &'a [EvidenceRow<'a>],
    /// Longest text, words; no bound without one (row A10).
    pub words: Option<u32>,
    /// What it is written in, by [`language`](super::language).
    pub language: &'a str,
    /// The draft to revise; empty for a first one.
    pub earlier: &'a str,
    /// How many searches may be asked for.
    pub most_more: usize,
}

/// Sections of a report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Written {
    /// In the order of the plan.
    pub sections: Vec<WrittenSection>,
    /// Searches for what the evidence lacks.
    #[serde(default)]
    pub more: Vec<String>,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WrittenSection {
    /// Its heading.
    pub heading: String,
    /// Its sentences.
    pub sentences: Vec<WrittenSentence>,
}

/// One sentence and what carries it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WrittenSentence {
    /// Its words.
    pub text: String,
    /// The evidence as the prompt calls it: `E1`.
    pub evidence: Vec<String>,
}

impl WriteAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids = ids(self.evidence);
        let sentence = object(&[
            ("text", text()),
            ("evidence", at_least(1, list(&one_of(&ids), 6))),
        ]);
        let section = object(&[("heading", text()), ("sentences", list(&sentence, 30))]);
        let sections = rows(
            self.plan
                .sections
                .iter()
                .map(|it| format!("{}: {}", one_line(&it.title), one_line(&it.guidance))),
        );
        let most = self.plan.sections.len().clamp(1, 12);
        let lines = prompts::lines()?;
        let length = self.words.map_or(String::new(), |it| {
            fill(&lines.length, &[("words", &it.to_string())])
        });
        let more = match self.most_more {
            0 => "[]".to_owned(),
            most => fill(&lines.more, &[("most", &most.to_string())]),
        };
        let earlier = match self.earlier {
            "" => String::new(),
            draft => fill(&lines.earlier, &[("draft", &untrusted("draft", draft))]),
        };
        prompt(
            "write",
            object(&[
                ("sections", list(&section, most)),
                ("more", list(&text(), self.most_more)),
            ]),
            &[
                ("question", self.question),
                ("goal", &one_line(&self.plan.overall_goal)),
                ("tone", &one_line(&self.plan.desired_tone)),
                ("directives", &rows(&self.plan.additional_directives)),
                ("sections", &sections),
                ("evidence", &fenced(self.evidence)),
                ("language", self.language),
                ("length", &length),
                ("more", &more),
                ("earlier", &earlier),
            ],
        )
    }

    /// The searches that the answer asks for, as far as they can be sent: those in `more`, and those that it put into
    /// its text as `<request_more_info topic="…">`.
    pub fn more(&self, answer: &Written) -> Vec<String> {
        let sentences = answer.sections.iter().flat_map(|it| &it.sentences);
        let tagged = sentences.filter_map(|it| {
            let (_, after) = it.text.split_once(MORE_INFO)?;
            let (_, topic) = after.split_once("topic=")?;
            let topic = topic.trim_start_matches(['"', '\'', '“']);
            let end = topic.find(['"', '\'', '”', '>']).unwrap_or(topic.len());
            Some(&topic[..end])
        });
        let asked = answer.more.iter().map(String::as_str).chain(tagged);
        let mut found: Vec<String> = Vec::new();
        for it in asked.map(str::trim) {
            let plain = without_marks(it, self.known()).is_ok();
            if plain && searchable(it).is_ok() && !found.iter().any(|known| known == it) {
                found.push(it.to_owned());
            }
        }
        found.truncate(self.most_more);
        found
    }

    /// What the answer must keep to. Single sentences that do not hold are no fault: [`carried`](WriteAsk::carried)
    /// gives nothing for them.
    ///
    /// # Errors
    /// One sentence that says what does not hold, if fewer than half of the sentences do.
    pub fn check(&self, answer: &Written) -> std::result::Result<(), String> {
        let all = || answer.sections.iter().flat_map(|it| &it.sentences);
        must(all().next().is_some(), || {
            "no sentence was written".to_owned()
        })?;
        let sound = all().filter(|it| self.hold(it).is_ok()).count();
        match all().find_map(|it| self.hold(it).err()) {
            Some(fault) if sound * 2 < all().count() => Err(fault),
            _ => Ok(()),
        }
    }

    /// The evidence of a sentence that holds; empty for one that does not.
    pub fn carried(&self, sentence: &WrittenSentence) -> Vec<EvidenceId> {
        if self.hold(sentence).is_err() {
            return Vec::new();
        }
        named(&sentence.evidence, self.evidence)
    }

    /// All that is shown for a report.
    fn known(&self) -> impl Iterator<Item = &str> {
        told(self.question, self.evidence)
    }

    fn hold(&self, sentence: &WrittenSentence) -> std::result::Result<(), String> {
        let length = sentence.text.trim().chars().count();
        must((3..=SENTENCE_CHARS).contains(&length), || {
            format!("a sentence has {length} characters; write single sentences")
        })?;
        without_citations(&sentence.text)?;
        without_marks(&sentence.text, self.known())?;
        must(!sentence.text.contains(MORE_INFO), || {
            "a sentence asks for more; put searches into `more`".to_owned()
        })?;
        must(!sentence.text.trim().ends_with(['?', '？']), || {
            "a sentence asks instead of telling".to_owned()
        })?;
        must(!named(&sentence.evidence, self.evidence).is_empty(), || {
            "a sentence names no evidence".to_owned()
        })
    }
}

/// The question and what the evidence says.
fn told<'a>(question: &'a str, evidence: &'a [EvidenceRow<'a>]) -> impl Iterator<Item = &'a str> {
    let shown = evidence.iter().flat_map(|it| [it.claim, it.from]);
    shown.chain([question])
}

fn named(names: &[String], shown: &[EvidenceRow<'_>]) -> Vec<EvidenceId> {
    let mut found = Vec::new();
    for id in names.iter().filter_map(|it| meant(it, shown)) {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// Answering in one line (row E2).
#[derive(Debug, Clone)]
pub struct AnswerAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// What it is answered from.
    pub evidence: &'a [EvidenceRow<'a>],
    /// What it is written in, by [`language`](super::language).
    pub language: &'a str,
}

/// One line and what carries it; both empty where the evidence does not answer the question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answered {
    /// At most 140 characters.
    pub answer: String,
    /// The evidence as the prompt calls it: `E1`.
    pub evidence: Vec<String>,
}

impl AnswerAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids = ids(self.evidence);
        let schema = object(&[("answer", text()), ("evidence", list(&one_of(&ids), 3))]);
        prompt(
            "answer",
            schema,
            &[
                ("question", self.question),
                ("evidence", &fenced(self.evidence)),
                ("language", self.language),
            ],
        )
    }

    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Answered) -> std::result::Result<(), String> {
        let length = answer.answer.trim().chars().count();
        must(length <= ANSWER_CHARS, || {
            format!("`answer` has {length} characters; {ANSWER_CHARS} are allowed")
        })?;
        without_citations(&answer.answer)?;
        without_marks(&answer.answer, told(self.question, self.evidence))?;
        let carried = !named(&answer.evidence, self.evidence).is_empty();
        must((length == 0) != carried, || {
            "an answer needs evidence, and evidence an answer".to_owned()
        })
    }

    /// The evidence of the answer.
    pub fn carried(&self, answer: &Answered) -> Vec<EvidenceId> {
        named(&answer.evidence, self.evidence)
    }
}
