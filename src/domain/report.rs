use serde::{Deserialize, Serialize};

use super::{
    ClaimId, Clarified, CoverageRow, EvidenceId, GateVerdict, ItemId, Mode, Passage, RunId, Source,
    SourceId, StopReason, Strategy, Usage,
};

/// How sure the report is, in GRADE's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One weak voice.
    VeryLow,
    /// One voice.
    Low,
    /// Two independent voices agree.
    Moderate,
    /// Three or more independent voices agree.
    High,
}

impl Confidence {
    /// The word a person reads.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::VeryLow => "very low",
            Confidence::Low => "low",
            Confidence::Moderate => "moderate",
            Confidence::High => "high",
        }
    }

    /// Four dots, filled from the left.
    pub fn dots(self) -> &'static str {
        match self {
            Confidence::VeryLow => "●○○○",
            Confidence::Low => "●●○○",
            Confidence::Moderate => "●●●○",
            Confidence::High => "●●●●",
        }
    }
}

/// A confidence and the rules that gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceMark {
    /// The label.
    pub level: Confidence,
    /// Why, in a few words each: `3 independent sources`, `sources disagree`, …
    pub why: Vec<String>,
}

/// A number in the text: these exact words, in that work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// The number shown: the same for the same work, in order of first use, from 1.
    pub n: u32,
    /// The evidence behind it.
    pub evidence: EvidenceId,
    /// The exact words.
    pub passage: Passage,
}

/// One sentence of the report and what carries it: never without a citation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// `c1`, `c2`, … in reading order.
    pub id: ClaimId,
    text: String,
    citations: Vec<Citation>,
}

impl Claim {
    /// A claim, or `None` if nothing carries it.
    pub fn new(id: ClaimId, text: String, citations: Vec<Citation>) -> Option<Claim> {
        (!citations.is_empty()).then_some(Claim {
            id,
            text,
            citations,
        })
    }

    /// The sentence, without its numbers.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What carries it, in the order shown.
    pub fn citations(&self) -> &[Citation] {
        &self.citations
    }
}

/// What kind of thing was learned (row E2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learning {
    /// What something is.
    Definition,
    /// How much, how many, how long.
    Figure,
    /// What comes of what.
    Cause,
    /// What is to be done.
    Practice,
    /// Where it ends, and what is in doubt.
    Limit,
    /// Anything else.
    #[default]
    Fact,
}

impl Learning {
    /// What stands above those of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Learning::Definition => "What it is",
            Learning::Figure => "Figures",
            Learning::Cause => "Causes and effects",
            Learning::Practice => "What to do",
            Learning::Limit => "Limits and doubts",
            Learning::Fact => "Facts",
        }
    }
}

/// One key finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of thing it is; those of one kind stand together.
    #[serde(default)]
    pub learning: Learning,
    /// What was found.
    pub claim: Claim,
    /// How sure.
    pub confidence: ConfidenceMark,
}

/// One section of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// The item it answers.
    pub item: ItemId,
    /// Its paragraphs.
    pub paragraphs: Vec<Vec<Claim>>,
}

/// One side of a disagreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// What this side says: `120 kg`, `no effect`, …
    pub says: String,
    /// The sentences that say so.
    pub claim: Claim,
    /// Its share of the trust of all sides, newer sources counting more, 0 to 1.
    #[serde(default)]
    pub weight: f32,
}

/// Sources that disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conflict {
    /// On what.
    pub about: String,
    /// The item it belongs to.
    pub item: ItemId,
    /// Who says what; at least two.
    pub sides: Vec<Side>,
    /// A likely reason where one can be seen: one is older, another quantity, …
    pub likely: Option<String>,
}

/// Something that could not be established.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenPoint {
    /// The item, where it is one.
    pub item: Option<ItemId>,
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// How the report came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodNote {
    /// Where was searched.
    pub engines: Vec<String>,
    /// Every query sent, in order.
    pub queries: Vec<String>,
    /// Rounds made.
    pub waves: u32,
    /// Pages read.
    pub pages_read: u32,
    /// Pages that could not be read, with the reason.
    pub pages_failed: Vec<(String, String)>,
    /// What the person was asked back and said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarified: Vec<Clarified>,
    /// What it goes on with, if it is a follow-up on the same topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// Which models were to play which roles, as `role: provider:model`, or `provider:model` where one plays all.
    #[serde(default)]
    pub models: Vec<String>,
    /// Which steps ran without a model.
    pub unaided: Vec<String>,
    /// Why a step that has a model did without, by step.
    #[serde(default)]
    pub unaided_because: Vec<(String, String)>,
    /// How evidence was gathered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Why looking stopped.
    pub stop: StopReason,
    /// What the gate said.
    pub gate: GateVerdict,
}

/// What a report on a follow-up goes on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// The run before it.
    pub run: RunId,
    /// What the follow-up was read as.
    pub read_as: String,
    /// Pages known from the runs before it.
    pub known: u32,
}

/// A count and its denominator: never a bare percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// How many hold.
    pub held: u32,
    /// Of how many.
    pub total: u32,
}

/// What code checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checks {
    /// Quotes found at their place in the stored page.
    pub quotes: Counted,
    /// Sentences that state a fact and carry a citation.
    pub claims: Counted,
    /// Numbers in claims that stand in their quotes.
    pub numbers: Counted,
    /// Sentences struck because they did not hold.
    pub removed: u32,
}

/// The answer of mode `answer`: at most 140 characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One line, at most 140 Unicode characters, no Markdown.
    pub text: String,
    /// What carries it.
    pub citations: Vec<Citation>,
}

/// What was found in one source, without prose (row D1). The words are a stranger's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The source.
    pub source: SourceId,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The sentences that carry evidence and those around them, in the order of the page.
    pub content: String,
    /// How well the best of them speaks to what was asked, 0 to 1.
    pub score: f32,
}

/// The answer: claims, conflicts, what stayed open, sources, checks, usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The run that made it.
    pub run: RunId,
    /// What was asked.
    pub question: String,
    /// Report or answer.
    pub mode: Mode,
    /// The day it was asked, `YYYY-MM-DD`.
    pub date: String,
    /// Effort as a word.
    pub depth: String,
    /// Its title.
    pub title: String,
    /// Two-letter language code.
    pub lang: String,
    /// The short answer, at most 60 words.
    pub short: Vec<Claim>,
    /// How sure the short answer is.
    pub confidence: ConfidenceMark,
    /// At most 140 characters.
    pub answer: Option<Answer>,
    /// Three to seven findings.
    pub findings: Vec<Finding>,
    /// One section an item.
    pub sections: Vec<Section>,
    /// Where sources disagree.
    pub conflicts: Vec<Conflict>,
    /// What could not be established.
    pub open: Vec<OpenPoint>,
    /// How it came about.
    pub method: MethodNote,
    /// What was found, source by source; of mode `evidence` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Excerpt>,
    /// The works cited; index + 1 is the number in the text.
    pub sources: Vec<Source>,
    /// Whether its list of sources is left out, as the plan wanted (row A10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
    /// Coverage at the end.
    pub coverage: Vec<CoverageRow>,
    /// What code checked.
    pub checks: Checks,
    /// What was spent.
    pub usage: Usage,
}

impl Report {
    /// Key findings by what kind of thing they are, each kind in its place; without a heading where all are of one kind.
    pub fn learnings(&self) -> Vec<(Option<&'static str>, &[Finding])> {
        let groups: Vec<&[Finding]> = self
            .findings
            .chunk_by(|a, b| a.learning == b.learning)
            .collect();
        let several = groups.len() > 1;
        let named = |it: &[Finding]| {
            it.first()
                .filter(|_| several)
                .map(|it| it.learning.heading())
        };
        groups.into_iter().map(|it| (named(it), it)).collect()
    }

    /// Every claim in reading order: short answer, findings, sections, conflicts.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.short
            .iter()
            .chain(self.findings.iter().map(|it| &it.claim))
            .chain(
                self.sections
                    .iter()
                    .flat_map(|it| it.paragraphs.iter().flatten()),
            )
            .chain(
                self.conflicts
                    .iter()
                    .flat_map(|it| it.sides.iter().map(|side| &side.claim)),
            )
    }
}
