//! Criticising a draft: what it lacks, contradicts, repeats and puts in the wrong place.
use serde::Deserialize;

use super::writing::{EvidenceRow, evidence_by_label, evidence_labels, fenced_evidence};
use super::{
    check_no_citations, check_no_unknown_codes, ensure_that, join_rows, list, object, one_of,
    or_none, render_prompt, text,
};
use crate::ask::template::{one_line, untrusted};
use crate::prompts;
use ibid_core::Result;
use ibid_core::domain::{Critic, EvidenceId};
use ibid_core::ports::Prompt;

/// Most objections of a critic.
const MAX_OBJECTIONS: usize = 5;
/// Longest reason, in characters.
const WHY_CHARS: usize = 300;

/// What a critic can object to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlawKind {
    /// Evidence that the answer needs is not told.
    Missing,
    /// Evidence denies or limits a sentence.
    OneSided,
    /// A sentence does not help to answer.
    OffTopic,
    /// A sentence says what another says.
    Repeats,
    /// A sentence belongs to another section.
    Misplaced,
    /// A sentence answers better than the short answer.
    AnswersBetter,
}

impl FlawKind {
    /// The kinds that `critic` looks for.
    fn of_critic(critic: Critic) -> &'static [FlawKind] {
        match critic {
            Critic::Coverage => &[FlawKind::Missing],
            Critic::Contradiction => &[FlawKind::OneSided],
            Critic::Reader => &[
                FlawKind::OffTopic,
                FlawKind::Repeats,
                FlawKind::Misplaced,
                FlawKind::AnswersBetter,
            ],
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            FlawKind::Missing => "missing",
            FlawKind::OneSided => "one_sided",
            FlawKind::OffTopic => "off_topic",
            FlawKind::Repeats => "repeats",
            FlawKind::Misplaced => "misplaced",
            FlawKind::AnswersBetter => "answers_better",
        }
    }

    fn needs_sentence(self) -> bool {
        self != FlawKind::Missing
    }

    fn needs_evidence(self) -> bool {
        matches!(self, FlawKind::Missing | FlawKind::OneSided)
    }

    fn needs_section(self) -> bool {
        matches!(self, FlawKind::Missing | FlawKind::Misplaced)
    }
}

/// A sentence of the draft as a critic sees it.
#[derive(Debug, Clone)]
pub struct SentenceRow<'a> {
    /// The title of its section.
    pub section: &'a str,
    /// Its words.
    pub text: &'a str,
}

/// The prompt that criticises a draft.
#[derive(Debug, Clone)]
pub struct CritiquePrompt<'a> {
    /// The refined question.
    pub question: &'a str,
    /// Who criticises.
    pub critic: Critic,
    /// The sentences of the draft, in order; the prompt calls them `S1`, `S2` and so on.
    pub sentences: &'a [SentenceRow<'a>],
    /// The titles of the sections.
    pub sections: &'a [&'a str],
    /// The evidence that no sentence cites.
    pub evidence: &'a [EvidenceRow<'a>],
}

/// The objections of a critic.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CritiqueReply {
    /// The gravest first.
    pub objections: Vec<CritiqueReplyRow>,
}

/// One objection. What it does not name is empty.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CritiqueReplyRow {
    /// What is wrong.
    pub kind: FlawKind,
    /// The label of the sentence: `S1`.
    pub sentence: String,
    /// The label of the evidence: `E1`.
    pub evidence: String,
    /// The title of a section.
    pub section: String,
    /// The reason.
    pub why: String,
}

impl CritiquePrompt<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// `Internal` when the template cannot be filled.
    pub fn prompt(&self) -> Result<Prompt> {
        let kinds = FlawKind::of_critic(self.critic);
        let or_empty = |mut all: Vec<String>| {
            all.push(String::new());
            one_of(&all)
        };
        let labels = (1..=self.sentences.len()).map(|nth| format!("S{nth}")).collect();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let row = object(&[
            ("kind", one_of(&names)),
            ("sentence", or_empty(labels)),
            ("evidence", or_empty(evidence_labels(self.evidence))),
            ("section", or_empty(self.sections.iter().map(|it| (*it).to_owned()).collect())),
            ("why", text()),
        ]);
        let lines = prompts::prompt_lines()?;
        let described = kinds.iter().filter_map(|kind| lines.critique.get(kind.as_str()));
        render_prompt(
            "critique",
            object(&[("objections", list(&row, MAX_OBJECTIONS))]),
            &[
                ("question", &one_line(self.question)),
                ("sentences", &self.fenced_sentences()),
                ("evidence", &or_none(fenced_evidence(self.evidence))),
                ("kinds", &join_rows(described)),
                ("most", &MAX_OBJECTIONS.to_string()),
                ("example", names.first().copied().unwrap_or_default()),
            ],
        )
    }

    fn fenced_sentences(&self) -> String {
        let lines: Vec<String> = (1..)
            .zip(self.sentences)
            .map(|(nth, it)| format!("S{nth} ({}): {}", one_line(it.section), one_line(it.text)))
            .collect();
        untrusted("draft", &lines.join("\n"))
    }

    /// Checks the objections. Single invalid ones are not errors: [`valid_rows`](CritiquePrompt::valid_rows) leaves them out.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if there are objections and none holds.
    pub fn check(&self, answer: &CritiqueReply) -> std::result::Result<(), String> {
        let mut faults = answer.objections.iter().map(|it| self.check_row(it));
        match faults.next() {
            Some(Err(first)) if faults.all(|fault| fault.is_err()) => Err(first),
            _ => Ok(()),
        }
    }

    /// The objections that hold.
    pub fn valid_rows<'r>(&self, answer: &'r CritiqueReply) -> Vec<&'r CritiqueReplyRow> {
        answer.objections.iter().filter(|it| self.check_row(it).is_ok()).collect()
    }

    /// The place in the draft of the sentence that `label` names, from 0.
    pub fn sentence_by_label(&self, label: &str) -> Option<usize> {
        let nth: usize = label.strip_prefix('S')?.parse().ok()?;
        (1..=self.sentences.len()).contains(&nth).then(|| nth - 1)
    }

    /// The evidence that `label` names.
    pub fn evidence_by_label(&self, label: &str) -> Option<EvidenceId> {
        evidence_by_label(label, self.evidence)
    }

    fn check_row(&self, row: &CritiqueReplyRow) -> std::result::Result<(), String> {
        let kind = row.kind.as_str();
        ensure_that(FlawKind::of_critic(self.critic).contains(&row.kind), || {
            format!("`{kind}` is not what is looked for")
        })?;
        ensure_that(
            !row.kind.needs_sentence() || self.sentence_by_label(&row.sentence).is_some(),
            || format!("an objection `{kind}` names no sentence of the draft"),
        )?;
        ensure_that(
            !row.kind.needs_evidence() || self.evidence_by_label(&row.evidence).is_some(),
            || format!("an objection `{kind}` names no evidence"),
        )?;
        ensure_that(
            !row.kind.needs_section() || self.sections.contains(&row.section.as_str()),
            || format!("an objection `{kind}` names no section of the draft"),
        )?;
        let length = row.why.trim().chars().count();
        ensure_that((1..=WHY_CHARS).contains(&length), || {
            format!("a reason has {length} characters; 1 to {WHY_CHARS} are allowed")
        })?;
        check_no_citations(&row.why)?;
        let shown = self.sentences.iter().map(|it| it.text);
        let known = shown.chain(self.evidence.iter().map(|it| it.claim)).chain([self.question]);
        check_no_unknown_codes(&row.why, known)
    }
}
