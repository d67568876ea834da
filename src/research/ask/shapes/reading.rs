//! Weighing a page, judging coverage, checking a claim.
use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    at_least, list, must, object, one_of, prompt, rows, searchable, text, whole_number,
    without_citations, without_marks,
};
use crate::domain::{Coverage, Item, ItemId, Stance};
use crate::error::Result;
use crate::research::ask::template::{numbered, one_line, untrusted};
use crate::seams::Prompt;

/// Longest claim, characters.
const CLAIM_CHARS: usize = 600;

/// Weighing sentences of one page against the checklist (row B5).
#[derive(Debug, Clone)]
pub struct WeighAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The checklist.
    pub items: &'a [Item],
    /// What the page is called.
    pub title: &'a str,
    /// Its sentences by the numbers they are called by, one batch of [`batches`](crate::research::ask::fit::batches).
    pub sentences: &'a [(usize, &'a str)],
    /// How many findings are wanted at most.
    pub most: usize,
    /// What claims are written in, by [`language`](super::language).
    pub language: &'a str,
}

/// What of a page speaks to the checklist; often nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Weighed {
    /// Most important first.
    pub evidence: Vec<WeighedRow>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WeighedRow {
    /// The item it speaks to.
    pub item: ItemId,
    /// The numbers of the sentences that say it.
    pub sentences: Vec<i64>,
    /// What they say, as one sentence.
    pub claim: String,
    /// Which way it points.
    pub stance: Stance,
}

impl WeighAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let ids: Vec<String> = self.items.iter().map(|it| it.id.to_string()).collect();
        let row = object(&[
            ("item", one_of(&ids)),
            ("sentences", at_least(1, list(&whole_number(), 3))),
            ("claim", text()),
            ("stance", one_of(&["for", "against", "neutral"])),
        ]);
        let items = rows(
            self.items
                .iter()
                .map(|it| format!("{}: {}", it.id, one_line(&it.asks))),
        );
        prompt(
            "weigh",
            object(&[("evidence", list(&row, self.most))]),
            &[
                ("question", self.question),
                ("items", &items),
                ("page", &self.page()),
                ("language", self.language),
                ("most", &self.most.to_string()),
            ],
        )
    }

    fn page(&self) -> String {
        let label = format!("page \"{}\"", one_line(self.title));
        numbered(&label, self.sentences.iter().copied())
    }

    /// What the answer must keep to. Single rows that do not hold are no fault: [`sound`](WeighAsk::sound) leaves them out.
    ///
    /// # Errors
    /// One sentence that says what does not hold, if no row holds.
    pub fn check(&self, answer: &Weighed) -> std::result::Result<(), String> {
        let mut faults = answer.evidence.iter().map(|it| self.hold(it));
        match faults.next() {
            Some(Err(first)) if faults.all(|it| it.is_err()) => Err(first),
            _ => Ok(()),
        }
    }

    /// The rows that hold, in order, each once.
    pub fn sound<'b>(&self, answer: &'b Weighed) -> Vec<&'b WeighedRow> {
        let mut seen = BTreeSet::new();
        answer
            .evidence
            .iter()
            .filter(|it| self.hold(it).is_ok())
            .filter(|it| seen.insert((it.item, it.sentences.clone())))
            .collect()
    }

    fn hold(&self, row: &WeighedRow) -> std::result::Result<(), String> {
        let there =
            |n: &i64| usize::try_from(*n).is_ok_and(|n| self.sentences.iter().any(|it| it.0 == n));
        must(!row.sentences.is_empty(), || {
            "a finding names no sentences".to_owned()
        })?;
        // Small models run numbers on: those that are there still say where to look.
        must(row.sentences.iter().any(there), || {
            format!(
                "there is no sentence {} on the page",
                row.sentences.first().copied().unwrap_or_default()
            )
        })?;
        must(self.items.iter().any(|it| it.id == row.item), || {
            format!("there is no item {}", row.item)
        })?;
        let length = row.claim.trim().chars().count();
        must((3..=CLAIM_CHARS).contains(&length), || {
            format!("a claim has {length} characters; it must be one sentence")
        })
    }
}

/// Judging how far an item is answered (rows B6, D5).
#[derive(Debug, Clone)]
pub struct CoverAsk<'a> {
    /// The refined question.
    pub question: &'a str,
    /// The item.
    pub item: &'a Item,
    /// The claims for it, each with the voice it comes from (its domain).
    pub evidence: &'a [(String, String)],
    /// What the gap is written in, by [`language`](super::language).
    pub language: &'a str,
}

/// How far an item is answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Covered {
    /// How far.
    pub state: Coverage,
    /// What is missing; empty if nothing is.
    pub gap: String,
    /// What to search for it; empty if nothing is missing.
    pub gap_query: String,
}

impl CoverAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let claims = rows(
            self.evidence
                .iter()
                .map(|(claim, voice)| format!("{}: {}", one_line(voice), one_line(claim))),
        );
        let schema = object(&[
            ("state", one_of(&["open", "partial", "covered", "conflict"])),
            ("gap", text()),
            ("gap_query", text()),
        ]);
        prompt(
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

    /// What the answer must keep to.
    ///
    /// # Errors
    /// One sentence that says what does not hold.
    pub fn check(&self, answer: &Covered) -> std::result::Result<(), String> {
        let open = matches!(answer.state, Coverage::Open | Coverage::Partial);
        if open {
            must(!answer.gap.trim().is_empty(), || {
                "`gap` is empty although something is missing".to_owned()
            })?;
            without_citations(&answer.gap)?;
            let shown = self.evidence.iter().flat_map(|it| [it.0.as_str(), &it.1]);
            let known = || shown.clone().chain([self.question, &self.item.asks]);
            without_marks(&answer.gap, known())?;
            without_marks(&answer.gap_query, known())?;
            if !answer.gap_query.trim().is_empty() {
                searchable(&answer.gap_query)?;
            }
        }
        must(
            answer.state == Coverage::Open || !self.evidence.is_empty(),
            || "without evidence `state` can only be open".to_owned(),
        )
    }
}

/// Checking one claim against its quotes.
#[derive(Debug, Clone)]
pub struct VerifyAsk<'a> {
    /// The claim.
    pub claim: &'a str,
    /// The exact words it rests on.
    pub quotes: &'a [&'a str],
}

/// Whether quotes carry a claim.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Verified {
    /// What decides.
    pub reason: String,
    /// Whether they do.
    pub verdict: Verdict,
}

/// What quotes say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of it.
    Entails,
    /// The opposite, or another number, name or time.
    Contradicts,
    /// Less than it, or something else.
    Unclear,
}

impl VerifyAsk<'_> {
    /// The prompt.
    ///
    /// # Errors
    /// `Internal` if its file cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let quotes = rows(self.quotes.iter().map(|it| one_line(it)));
        let schema = object(&[
            ("reason", text()),
            ("verdict", one_of(&["entails", "contradicts", "unclear"])),
        ]);
        prompt(
            "verify",
            schema,
            &[
                ("claim", &one_line(self.claim)),
                ("quotes", &untrusted("quotes", &quotes)),
            ],
        )
    }
}
