//! Weighing a page, judging coverage, verifying a claim.
use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    at_least, check_no_citations, check_no_unknown_codes, check_searchable, ensure_that, join_rows,
    list, object, one_of, render_prompt, text, whole_number,
};
use crate::ask::STEP_WITH_HINTS;
use crate::ask::template::{numbered, one_line, untrusted};
use crate::prompts;
use ibid_core::Result;
use ibid_core::domain::{ChecklistItem, Coverage, ItemId, Stance};
use ibid_core::ports::Prompt;

/// Longest claim, in characters.
const CLAIM_CHARS: usize = 600;

/// The prompt that weighs the sentences of one page against the checklist.
#[derive(Debug, Clone)]
pub struct WeighPrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The checklist.
    pub items: &'a [ChecklistItem],
    /// The page's title.
    pub title: &'a str,
    /// One batch of its sentences with their numbers, from
    /// [`sentence_batches`](crate::ask::fit::sentence_batches).
    pub sentences: &'a [(usize, &'a str)],
    /// Most findings wanted.
    pub most: usize,
    /// The language of the claims, by [`language_name`](super::language_name).
    pub language: &'a str,
}

/// What on a page answers the checklist; often nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WeighReply {
    /// Most important first.
    pub evidence: Vec<WeighReplyRow>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WeighReplyRow {
    /// The item it answers.
    pub item: ItemId,
    /// The numbers of the sentences that say it.
    pub sentences: Vec<i64>,
    /// What they say, in one sentence.
    pub claim: String,
    /// Which way it points on a yes-or-no question.
    pub stance: Stance,
}

impl WeighPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids: Vec<String> = self.items.iter().map(|item| item.id.to_string()).collect();
        let row = object(&[
            ("item", one_of(&ids)),
            ("sentences", at_least(1, list(&whole_number(), 3))),
            ("claim", text()),
            ("stance", one_of(&["for", "against", "neutral"])),
        ]);
        let items = join_rows(
            self.items.iter().map(|item| format!("{}: {}", item.id, one_line(&item.asks))),
        );
        render_prompt(
            "weigh",
            object(&[("evidence", list(&row, self.most))]),
            &[
                ("question", self.question),
                ("items", &items),
                ("page", &self.fenced_sentences()),
                ("language", self.language),
                ("most", &self.most.to_string()),
            ],
        )
    }

    fn fenced_sentences(&self) -> String {
        let label = format!("page \"{}\"", one_line(self.title));
        numbered(&label, self.sentences.iter().copied())
    }

    /// Checks the rows. Single invalid rows are not errors: [`valid_rows`](WeighPrompt::valid_rows)
    /// leaves them out.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if no row holds.
    pub fn check(&self, answer: &WeighReply) -> std::result::Result<(), String> {
        let mut faults = answer.evidence.iter().map(|it| self.check_row(it));
        match faults.next() {
            Some(Err(first)) if faults.all(|error| error.is_err()) => Err(first),
            _ => Ok(()),
        }
    }

    /// The rows that hold, in order, each once.
    pub fn valid_rows<'b>(&self, answer: &'b WeighReply) -> Vec<&'b WeighReplyRow> {
        let mut seen = BTreeSet::new();
        answer
            .evidence
            .iter()
            .filter(|it| self.check_row(it).is_ok())
            .filter(|it| seen.insert((it.item, it.sentences.clone())))
            .collect()
    }

    fn check_row(&self, row: &WeighReplyRow) -> std::result::Result<(), String> {
        let there = |n: &i64| {
            usize::try_from(*n).is_ok_and(|n| self.sentences.iter().any(|sentence| sentence.0 == n))
        };
        ensure_that(!row.sentences.is_empty(), || "a finding names no sentences".to_owned())?;
        // Small models continue number sequences; the numbers that exist still say where to look.
        ensure_that(row.sentences.iter().any(there), || {
            format!(
                "there is no sentence {} on the page",
                row.sentences.first().copied().unwrap_or_default()
            )
        })?;
        ensure_that(self.items.iter().any(|item| item.id == row.item), || {
            format!("there is no item {}", row.item)
        })?;
        let length = row.claim.trim().chars().count();
        ensure_that((3..=CLAIM_CHARS).contains(&length), || {
            format!("a claim has {length} characters; it must be one sentence")
        })
    }
}

/// The prompt that judges how far an item is answered.
#[derive(Debug, Clone)]
pub struct CoverPrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The item.
    pub item: &'a ChecklistItem,
    /// The claims for it, each with the domain it comes from.
    pub evidence: &'a [(String, String)],
    /// The language of the gap, by [`language_name`](super::language_name).
    pub language: &'a str,
}

/// How far an item is answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CoverReply {
    /// The level of coverage.
    pub state: Coverage,
    /// What is missing, or empty.
    pub gap: String,
    /// A query for it, or empty.
    pub gap_query: String,
}

impl CoverPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let claims = join_rows(
            self.evidence
                .iter()
                .map(|(claim, voice)| format!("{}: {}", one_line(voice), one_line(claim))),
        );
        let schema = object(&[
            ("state", one_of(&["open", "partial", "covered", "conflict"])),
            ("gap", text()),
            ("gap_query", text()),
        ]);
        render_prompt(
            "cover",
            schema,
            &[
                ("question", self.question),
                ("item", &one_line(&self.item.asks)),
                ("evidence", &untrusted("evidence", &claims)),
                ("language", self.language),
            ],
        )
    }

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self, answer: &CoverReply) -> std::result::Result<(), String> {
        ensure_that(answer.state == Coverage::Open || !self.evidence.is_empty(), || {
            "without evidence `state` can only be open".to_owned()
        })
    }

    /// `answer` without the hints that are of no use: one that repeats the example or cites something, or a query that cannot
    /// be searched for. The state does not rest on them.
    pub fn with_usable_hints(&self, mut answer: CoverReply) -> CoverReply {
        let shown = self.evidence.iter().flat_map(|pair| [pair.0.as_str(), &pair.1]);
        let known = || shown.clone().chain([self.question, &self.item.asks]);
        let examples = prompts::example_phrases(STEP_WITH_HINTS);
        let usable = |text: &str| {
            !examples.iter().any(|example| text.contains(example))
                && check_no_citations(text).is_ok()
                && check_no_unknown_codes(text, known()).is_ok()
        };
        if !usable(&answer.gap) {
            answer.gap.clear();
        }
        if !usable(&answer.gap_query) || check_searchable(&answer.gap_query).is_err() {
            answer.gap_query.clear();
        }
        answer
    }
}

/// The prompt that verifies one claim against its quotes.
#[derive(Debug, Clone)]
pub struct VerifyPrompt<'a> {
    /// The claim.
    pub claim: &'a str,
    /// The quotes it rests on.
    pub quotes: &'a [&'a str],
}

/// Whether quotes entail a claim.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct VerifyReply {
    /// The reason.
    pub reason: String,
    /// The verdict.
    pub verdict: Entailment,
}

/// What quotes say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entailment {
    /// They say all of it.
    Entails,
    /// They say the opposite, or another number, name or time.
    Contradicts,
    /// They say less, or something else.
    Unclear,
}

impl VerifyPrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let quotes = join_rows(self.quotes.iter().map(|quote| one_line(quote)));
        let schema = object(&[
            ("reason", text()),
            ("verdict", one_of(&["entails", "contradicts", "unclear"])),
        ]);
        render_prompt(
            "verify",
            schema,
            &[("claim", &one_line(self.claim)), ("quotes", &untrusted("quotes", &quotes))],
        )
    }
}
