//! Writing the report and the one-line answer.
use serde::Deserialize;
use serde_json::Value;

use super::supervising::valid_search_tasks;
use super::{
    at_least, check_no_citations, check_no_unknown_codes, ensure_that, join_rows, list, object,
    one_of, render_prompt, text, whole_number,
};
use crate::ask::template::{one_line, untrusted};
use crate::prompts;
use crate::prompts::fill_template;
use ibid_core::Result;
use ibid_core::domain::{EvidenceId, SearchEndpoint, SearchTask, WritingPlan};
use ibid_core::ports::Prompt;

/// Longest answer in one line, in characters.
pub(crate) const ANSWER_CHARS: usize = 140;

/// The tag by which models trained for it ask for more in the middle of a draft. Readers never see it.
const MORE_INFO: &str = "<request_more_info";

/// Most sentences of an introduction and of a conclusion.
const MAX_OPENING_SENTENCES: usize = 2;
const MAX_CLOSING_SENTENCES: usize = 4;

/// Longest sentence of a report, in characters.
const SENTENCE_CHARS: usize = 700;

/// A piece of evidence as the writer sees it.
#[derive(Debug, Clone)]
pub struct EvidenceRow<'a> {
    /// Its id; the prompt calls it `E1`.
    pub id: EvidenceId,
    /// What it says.
    pub claim: &'a str,
    /// Its source in a few words: domain and year.
    pub from: &'a str,
}

/// The label of evidence in prompts.
fn evidence_label(id: EvidenceId) -> String {
    format!("E{}", id.number())
}

/// The evidence with the label `name`, if it was shown.
pub(super) fn evidence_by_label(name: &str, shown: &[EvidenceRow<'_>]) -> Option<EvidenceId> {
    let id = shown.iter().map(|evidence_row| evidence_row.id);
    id.into_iter().find(|id| evidence_label(*id) == name)
}

pub(super) fn fenced_evidence(evidence: &[EvidenceRow<'_>]) -> String {
    let lines: Vec<String> = evidence
        .iter()
        .map(|evidence_row| {
            let (claim, from) = (one_line(evidence_row.claim), one_line(evidence_row.from));
            format!("{}: {claim} ({from})", evidence_label(evidence_row.id))
        })
        .collect();
    untrusted("evidence", &lines.join("\n"))
}

pub(super) fn evidence_labels(evidence: &[EvidenceRow<'_>]) -> Vec<String> {
    evidence.iter().map(|evidence_row| evidence_label(evidence_row.id)).collect()
}

/// A sentence with the labels of its evidence.
fn cited_sentence(labels: &[String]) -> Value {
    object(&[("text", text()), ("evidence", at_least(1, list(&one_of(labels), 6)))])
}

/// The evidence of a sentence, or nothing if the sentence does not hold: one that has citations, unknown codes or a question in its
/// text, or that names no evidence.
fn sentence_evidence(
    question: &str,
    shown: &[EvidenceRow<'_>],
    sentence: &WrittenSentence,
) -> std::result::Result<Vec<EvidenceId>, String> {
    let length = sentence.text.trim().chars().count();
    ensure_that((3..=SENTENCE_CHARS).contains(&length), || {
        format!("a sentence has {length} characters; write single sentences")
    })?;
    check_no_citations(&sentence.text)?;
    check_no_unknown_codes(&sentence.text, question_and_claims(question, shown))?;
    ensure_that(!sentence.text.contains(MORE_INFO), || {
        "a sentence asks for more; put searches into `more`".to_owned()
    })?;
    ensure_that(!sentence.text.trim().ends_with(['?', '？']), || {
        "a sentence is a question".to_owned()
    })?;
    let evidence = evidence_by_labels(&sentence.evidence, shown);
    ensure_that(!evidence.is_empty(), || "a sentence names no evidence".to_owned())?;
    Ok(evidence)
}

/// The prompt that writes a report, or some of its sections.
#[derive(Debug, Clone)]
pub struct WritePrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The writing plan.
    pub plan: &'a WritingPlan,
    /// The evidence to write from.
    pub evidence: &'a [EvidenceRow<'a>],
    /// Most words, where there is a limit.
    pub words: Option<u32>,
    /// The language to write in, by [`language_name`](super::language_name).
    pub language: &'a str,
    /// Who asks and what for; guides tone and depth; it is not a subject.
    pub context: Option<&'a str>,
    /// The draft to revise; empty for a first draft.
    pub earlier: String,
    /// Whether the draft stays as it is, and sentences are added to it.
    pub adds: bool,
    /// How many searches the writer may ask for.
    pub most_more: usize,
    /// The usual number of results of a search.
    pub usual: u32,
}

/// The schema of a search that a writer asks for.
fn requested_schema() -> Value {
    object(&[("query", text()), ("endpoint", text()), ("num_results", whole_number())])
}

/// Sections of a report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WriteReply {
    /// In the order of the plan.
    pub sections: Vec<WrittenSection>,
    /// Searches for what the evidence lacks.
    #[serde(default)]
    pub more: Vec<RequestedSearch>,
}

/// A search that a writer asks for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RequestedSearch {
    /// With the endpoint and the number of results.
    Task {
        /// The query.
        query: String,
        /// Where to search: `/search`, `/scholar` or `/news`; the web if it is none of them.
        #[serde(default)]
        endpoint: Value,
        /// The number of hits to request; the usual one if it is no count.
        #[serde(default)]
        num_results: Value,
    },
    /// The query alone.
    Query(String),
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WrittenSection {
    /// Its heading.
    pub heading: String,
    /// Its sentences.
    pub sentences: Vec<WrittenSentence>,
}

/// A sentence and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WrittenSentence {
    /// Its words.
    pub text: String,
    /// The labels of the evidence: `E1`.
    pub evidence: Vec<String>,
}

impl WritePrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids = evidence_labels(self.evidence);
        let sentence = cited_sentence(&ids);
        let section = object(&[("heading", text()), ("sentences", list(&sentence, 30))]);
        // In brackets, because small models copy what stands there like a sentence of a source.
        let sections = join_rows(self.plan.sections.iter().map(|section| {
            format!("{} ({})", one_line(&section.title), one_line(&section.guidance))
        }));
        let most = self.plan.sections.len().clamp(1, 12);
        let lines = prompts::prompt_lines()?;
        let length = self.words.map_or(String::new(), |words| {
            fill_template(&lines.length, &[("words", &words.to_string())])
        });
        let more = match self.most_more {
            0 => "[]".to_owned(),
            most => fill_template(
                &lines.more,
                &[("most", &most.to_string()), ("usual", &self.usual.to_string())],
            ),
        };
        let context = prompts::context_line(self.context)?;
        let earlier = match self.earlier.as_str() {
            "" => String::new(),
            draft => {
                let line = if self.adds { &lines.patch } else { &lines.earlier };
                fill_template(line, &[("draft", &untrusted("draft", draft))])
            }
        };
        render_prompt(
            "write",
            object(&[
                ("sections", list(&section, most)),
                ("more", list(&requested_schema(), self.most_more)),
            ]),
            &[
                ("question", self.question),
                ("goal", &one_line(&self.plan.overall_goal)),
                ("tone", &one_line(&self.plan.desired_tone)),
                ("context", &context),
                ("directives", &join_rows(&self.plan.additional_directives)),
                ("sections", &sections),
                ("evidence", &fenced_evidence(self.evidence)),
                ("language", self.language),
                ("length", &length),
                ("more", &more),
                ("earlier", &earlier),
            ],
        )
    }

    /// The searches that the answer asks for and that can be sent: those in `more`, and those written into
    /// its text as `<request_more_info topic="…">`.
    pub(crate) fn requested_searches(&self, answer: &WriteReply) -> Vec<SearchTask> {
        let sentences = answer.sections.iter().flat_map(|section| &section.sentences);
        let tagged = sentences.filter_map(|sentence| {
            let (_, after) = sentence.text.split_once(MORE_INFO)?;
            let (_, topic) = after.split_once("topic=")?;
            let topic = topic.trim_start_matches(['"', '\'', '“']);
            let end = topic.find(['"', '\'', '”', '>']).unwrap_or(topic.len());
            Some(&topic[..end])
        });
        let asked = answer.more.iter().map(|it| match it {
            RequestedSearch::Task { query, endpoint, num_results } => {
                // One bad search must not cost the report that was written with it.
                let endpoint = serde_json::from_value(endpoint.clone()).ok();
                let results = num_results.as_u64().and_then(|it| u32::try_from(it).ok());
                (query.as_str(), endpoint, results)
            }
            RequestedSearch::Query(query) => (query.as_str(), None, None),
        });
        let asked = asked.chain(tagged.map(|topic| (topic, None, None)));
        let tasks = asked.map(|(query, endpoint, num_results)| SearchTask {
            query: query.to_owned(),
            endpoint: endpoint.unwrap_or(SearchEndpoint::Search),
            num_results: num_results.unwrap_or(self.usual),
            reasoning: "the draft lacks it".to_owned(),
        });
        let shown: Vec<&str> = self.shown_texts().collect();
        let mut found = valid_search_tasks(tasks.collect(), shown.into_iter());
        found.truncate(self.most_more);
        found
    }

    /// Checks the sentences. Single invalid sentences are not errors:
    /// [`cited_evidence`](WritePrompt::cited_evidence) is empty for them.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if none of the sentences holds.
    pub fn check(&self, answer: &WriteReply) -> std::result::Result<(), String> {
        let all = || answer.sections.iter().flat_map(|section| &section.sentences);
        if self.adds && all().next().is_none() {
            return Ok(());
        }
        ensure_that(all().next().is_some(), || "no sentence was written".to_owned())?;
        let checked = |it| sentence_evidence(self.question, self.evidence, it);
        if all().any(|it| checked(it).is_ok()) {
            return Ok(());
        }
        all().find_map(|it| checked(it).err()).map_or(Ok(()), Err)
    }

    /// The evidence of a sentence, or nothing if the sentence does not hold.
    pub fn cited_evidence(&self, sentence: &WrittenSentence) -> Vec<EvidenceId> {
        sentence_evidence(self.question, self.evidence, sentence).unwrap_or_default()
    }

    /// All text that the prompt shows.
    fn shown_texts(&self) -> impl Iterator<Item = &str> {
        question_and_claims(self.question, self.evidence)
    }
}

/// The question and the claims of the evidence.
fn question_and_claims<'a>(
    question: &'a str,
    evidence: &'a [EvidenceRow<'a>],
) -> impl Iterator<Item = &'a str> {
    let shown = evidence.iter().flat_map(|evidence_row| [evidence_row.claim, evidence_row.from]);
    shown.chain([question])
}

fn evidence_by_labels(names: &[String], shown: &[EvidenceRow<'_>]) -> Vec<EvidenceId> {
    let mut found = Vec::new();
    for id in names.iter().filter_map(|name| evidence_by_label(name, shown)) {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// The prompt for the one-line answer.
#[derive(Debug, Clone)]
pub struct AnswerPrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The evidence to answer from.
    pub evidence: &'a [EvidenceRow<'a>],
    /// The language to write in, by [`language_name`](super::language_name).
    pub language: &'a str,
    /// Whether a report is written, which also needs an introduction and a conclusion.
    pub whole: bool,
}

/// One line and the evidence for it; both empty where the evidence does not answer the question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AnswerReply {
    /// At most 140 characters.
    pub answer: String,
    /// The labels of the evidence: `E1`.
    pub evidence: Vec<String>,
    /// What opens a report.
    #[serde(default)]
    pub introduction: Vec<WrittenSentence>,
    /// What closes it.
    #[serde(default)]
    pub conclusion: Vec<WrittenSentence>,
}

impl AnswerPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids = evidence_labels(self.evidence);
        let mut fields = vec![("answer", text()), ("evidence", list(&one_of(&ids), 3))];
        if self.whole {
            let sentence = cited_sentence(&ids);
            fields.push(("introduction", list(&sentence, MAX_OPENING_SENTENCES)));
            fields.push(("conclusion", list(&sentence, MAX_CLOSING_SENTENCES)));
        }
        render_prompt(
            if self.whole { "answer_report" } else { "answer" },
            object(&fields),
            &[
                ("question", self.question),
                ("evidence", &fenced_evidence(self.evidence)),
                ("language", self.language),
            ],
        )
    }

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &AnswerReply) -> std::result::Result<(), String> {
        let length = answer.answer.trim().chars().count();
        // In a report it is one sentence of several, and the one line is cut from it.
        ensure_that(self.whole || length <= ANSWER_CHARS, || {
            format!("`answer` has {length} characters; {ANSWER_CHARS} are allowed")
        })?;
        check_no_citations(&answer.answer)?;
        check_no_unknown_codes(&answer.answer, question_and_claims(self.question, self.evidence))?;
        let carried = !evidence_by_labels(&answer.evidence, self.evidence).is_empty();
        ensure_that((length == 0) != carried, || {
            "an answer needs evidence, and evidence an answer".to_owned()
        })
    }

    /// The evidence of the answer.
    pub fn cited_evidence(&self, answer: &AnswerReply) -> Vec<EvidenceId> {
        evidence_by_labels(&answer.evidence, self.evidence)
    }

    /// The evidence of a sentence of the introduction or the conclusion, or nothing if the sentence does not hold.
    pub fn sentence_evidence(&self, sentence: &WrittenSentence) -> Vec<EvidenceId> {
        sentence_evidence(self.question, self.evidence, sentence).unwrap_or_default()
    }
}
