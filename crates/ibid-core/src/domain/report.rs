use serde::{Deserialize, Serialize};

use super::{
    Chart, Citation, Claim, Clarification, CoverageRow, GateVerdict, ItemId, OutputMode, Passage,
    RunId, Source, SourceId, StopReason, Strategy, Usage,
};

/// Certainty of a statement, with GRADE's levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One weak source.
    VeryLow,
    /// One source.
    Low,
    /// Two independent sources agree.
    Moderate,
    /// Three or more independent sources agree.
    High,
}

impl Confidence {
    /// The label shown to the user.
    pub fn as_str(self) -> &'static str {
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

/// A confidence level with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceMark {
    /// The level.
    pub level: Confidence,
    /// The reasons, in a few words each: `3 independent sources`, `sources disagree`, …
    pub why: Vec<String>,
}

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// What something is.
    Definition,
    /// How much, how many, how long.
    Figure,
    /// Cause and effect.
    Cause,
    /// What to do.
    Practice,
    /// Limits and uncertainty.
    Limit,
    /// Anything else.
    #[default]
    Fact,
}

impl FindingKind {
    /// The heading above findings of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            FindingKind::Definition => "What it is",
            FindingKind::Figure => "Figures",
            FindingKind::Cause => "Causes and effects",
            FindingKind::Practice => "What to do",
            FindingKind::Limit => "Limits and doubts",
            FindingKind::Fact => "Facts",
        }
    }
}

/// One key finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind; findings of one kind are grouped.
    #[serde(default)]
    pub learning: FindingKind,
    /// The statement.
    pub claim: Claim,
    /// Its confidence.
    pub confidence: ConfidenceMark,
}

/// How the sentences of a section are laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionLayout {
    /// As running text.
    #[default]
    Prose,
    /// Each sentence as an item of a list: the answer to "which".
    List,
    /// Each sentence as a numbered step; a paragraph is one procedure.
    Steps,
}

impl SectionLayout {
    /// What stands before sentence `nth`, from 1: nothing, a dash or its number, and a space.
    pub fn marker(self, nth: usize) -> String {
        match self {
            SectionLayout::Prose => String::new(),
            SectionLayout::List => "- ".to_owned(),
            SectionLayout::Steps => format!("{nth}. "),
        }
    }

    /// Whether it is running text.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_prose(&self) -> bool {
        *self == SectionLayout::Prose
    }
}

/// One section of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// The item it answers; `None` for one that the plan wants without an item, such as an outlook.
    pub item: Option<ItemId>,
    /// How its sentences are laid out.
    #[serde(default, skip_serializing_if = "SectionLayout::is_prose")]
    pub layout: SectionLayout,
    /// Its paragraphs.
    pub paragraphs: Vec<Vec<Claim>>,
}

/// The figures of several things side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonTable {
    /// The names of the columns; the first is of the labels and may be empty.
    pub columns: Vec<String>,
    /// Its rows; at least two.
    pub rows: Vec<ComparisonRow>,
    /// Whether its rows are dated events in the order of their dates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_time_line: bool,
}

impl ComparisonTable {
    /// What stands in a cell without figures.
    pub const UNKNOWN: &str = "–";

    /// The heading above it.
    pub fn heading(&self) -> &'static str {
        if self.is_time_line { "Time line" } else { "Comparison" }
    }

    /// The figures, row by row.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten())
    }
}

/// A row of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// What the row is of.
    pub label: String,
    /// The figures of each column after the first, each with its citations. A cell without any is unknown.
    pub cells: Vec<Vec<Claim>>,
    /// For each cell its figure in the unit of most of its neighbours, computed and not quoted, if any cell has another unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub converted: Vec<Option<String>>,
}

impl ComparisonRow {
    /// The cells with what was computed from them.
    pub fn converted_cells(&self) -> impl Iterator<Item = (&Vec<Claim>, Option<&str>)> {
        let converted = self.converted.iter().map(Option::as_deref);
        self.cells.iter().zip(converted.chain(std::iter::repeat(None)))
    }
}

/// One side of a disagreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConflictSide {
    /// Its position: `120 kg`, `no effect`, …
    pub says: String,
    /// The sentence that states it.
    pub claim: Claim,
    /// Its share of the trust of all sides, 0 to 1; newer sources weigh more.
    #[serde(default)]
    pub weight: f32,
}

/// Sources that disagree, or speak of different cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conflict {
    /// The subject.
    pub about: String,
    /// The item it belongs to.
    pub item: ItemId,
    /// The sides; at least two.
    pub sides: Vec<ConflictSide>,
    /// A likely reason, if one can be identified: one is older, another quantity, …
    pub likely: Option<String>,
    /// The kind of that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<ConflictCause>,
}

impl Conflict {
    /// The subject of a conflict between answers to the question itself.
    pub const ANSWER: &str = "the answer";

    /// Whether the sides deny each other: those that speak of different cases may all hold.
    pub fn is_disagreement(&self) -> bool {
        self.cause != Some(ConflictCause::Cases)
    }
}

/// The kind of a likely reason of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictCause {
    /// Each side speaks of another case, so that both may hold.
    Cases,
    /// One source is older than the other.
    Age,
    /// The sides are about different things, or compare with different things.
    Things,
}

/// Something that could not be established.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenItem {
    /// The item, if it is one.
    pub item: Option<ItemId>,
    /// The open point.
    pub what: String,
    /// The reason.
    pub why: String,
}

impl OpenItem {
    /// What is open where no source says yes or no to the question.
    pub const YES_OR_NO: &str = "Yes or no";
}

/// How the report was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodNote {
    /// The search engines used.
    pub engines: Vec<String>,
    /// Every query sent, in order.
    pub queries: Vec<String>,
    /// Rounds of research.
    #[serde(rename = "waves")]
    pub rounds: u32,
    /// Pages read.
    pub pages_read: u32,
    /// Pages that earlier runs of the thread, or a run with nearly the same question, had read.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub pages_known: u32,
    /// Pages that could not be read, with the reason.
    pub pages_failed: Vec<(String, String)>,
    /// Clarifying questions with the user's replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarified: Vec<Clarification>,
    /// The preceding run, if this is a follow-up on the same topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<FollowUpNote>,
    /// The models by role, as `role: provider:model`, or `provider:model` if one has all roles.
    #[serde(default)]
    pub models: Vec<String>,
    /// The steps that ran without a model.
    pub unaided: Vec<String>,
    /// Why a step that has a model ran without it, by step.
    #[serde(default)]
    pub unaided_because: Vec<(String, String)>,
    /// The strategy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Why the search stopped.
    pub stop: StopReason,
    /// The result of the evidence gate.
    pub gate: GateVerdict,
}

/// What a follow-up is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUpNote {
    /// The preceding run.
    pub run: RunId,
    /// The question that the follow-up was interpreted as.
    pub read_as: String,
    /// Pages known from earlier runs.
    pub known: u32,
}

/// A count and its total; ratios are never shown as a bare percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ratio {
    /// The count.
    #[serde(rename = "held")]
    pub passed: u32,
    /// The total.
    pub total: u32,
}

/// The results of the automatic checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportChecks {
    /// Quotes that occur at their position in the stored page.
    pub quotes: Ratio,
    /// Factual sentences that have a citation.
    pub claims: Ratio,
    /// Numbers in claims that occur in their quotes.
    pub numbers: Ratio,
    /// Sentences removed because they failed a check.
    pub removed: u32,
    /// Places that deny what a claim of the report says. Such places are corrected, so a count above 0 is a bug.
    #[serde(default)]
    pub contradictions: u32,
}

/// The answer to a yes-or-no question, where most of the passages that decide it agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}

/// The answer of mode `answer`: at most 140 characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One line, at most 140 Unicode characters, no Markdown.
    pub text: String,
    /// Its citations.
    pub citations: Vec<Citation>,
}

/// The relevant content of one source, for mode `evidence`. The text is untrusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The source.
    pub source: SourceId,
    /// Its URL.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The sentences with evidence and their neighbours, in page order.
    pub content: String,
    /// Relevance of the best sentence, 0 to 1.
    pub score: f32,
}

/// A report: claims, conflicts, open points, sources, checks, usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The run that made it.
    pub run: RunId,
    /// The question.
    pub question: String,
    /// The form of the result.
    pub mode: OutputMode,
    /// The date of the question, `YYYY-MM-DD`.
    pub date: String,
    /// The effort's name.
    pub depth: String,
    /// Its title.
    pub title: String,
    /// Two-letter language code.
    pub lang: String,
    /// Yes or no, if the question asks for that and the sources mostly agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<YesNo>,
    /// Whether no sentence that was read answers the question, so that the short answer is only what comes nearest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nearest_only: bool,
    /// Whether the short answer is a list of what the question asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_is_list: bool,
    /// Whether the short answer is all steps of a procedure, in their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_is_steps: bool,
    /// The short answer, at most 60 words; a list, or of a question of several parts, at most 100; a whole procedure, at most 220.
    pub short: Vec<Claim>,
    /// The figures of the short answer in the unit that the question asks for, computed and not quoted: `84 metres ≈ 276 feet`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_converted: Vec<String>,
    /// Confidence of the short answer.
    pub confidence: ConfidenceMark,
    /// The one-line answer, at most 140 characters.
    pub answer: Option<Answer>,
    /// What the subject is, where a source says so: the opening of the introduction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub introduction: Vec<Claim>,
    /// Three to seven findings.
    pub findings: Vec<Finding>,
    /// The figures of what is compared, if the sources have them in tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonTable>,
    /// A chart of the comparison, if three of its figures can be drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<Chart>,
    /// The sections, one per item.
    pub sections: Vec<Section>,
    /// What several sources say together: the opening of the conclusion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusion: Vec<Claim>,
    /// Disagreements between sources.
    pub conflicts: Vec<Conflict>,
    /// What could not be established.
    pub open: Vec<OpenItem>,
    /// How it was made.
    pub method: MethodNote,
    /// The content by source; only in mode `evidence`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Excerpt>,
    /// The sources cited; index + 1 is the citation number.
    pub sources: Vec<Source>,
    /// Whether the plan omits the list of sources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
    /// Coverage at the end of research.
    pub coverage: Vec<CoverageRow>,
    /// The results of the automatic checks.
    pub checks: ReportChecks,
    /// Resources used.
    pub usage: Usage,
}

/// Characters of a source's excerpt that replace the cited sentence if there is none.
const SNIPPET_CHARS: usize = 300;

impl Report {
    /// The answer as Markdown: the short answer, the key findings and the sections, each sentence with its citation numbers, `[1]`. In mode
    /// `answer` the one line with the numbers of its sources.
    pub fn cited_text(&self) -> String {
        fn cited(text: &str, citations: &[Citation]) -> String {
            let mut numbers: Vec<u32> = citations.iter().map(|citation| citation.n).collect();
            numbers.dedup();
            let marks: Vec<String> = numbers.iter().map(|n| format!("[{n}]")).collect();
            format!("{text} {}", marks.concat()).trim_end().to_owned()
        }
        if let (OutputMode::Answer, Some(line)) = (self.mode, &self.answer) {
            return cited(&line.text, &line.citations);
        }
        let joined = |claims: &[Claim]| {
            let sentences: Vec<String> =
                claims.iter().map(|claim| cited(&claim.told(), claim.citations())).collect();
            sentences.join(" ")
        };
        let short = match self.short_layout() {
            SectionLayout::Prose => joined(&self.short),
            layout => {
                let item = |(nth, claim): (usize, &Claim)| {
                    format!("{}{}", layout.marker(nth), cited(&claim.told(), claim.citations()))
                };
                (1..).zip(&self.short).map(item).collect::<Vec<_>>().join("\n")
            }
        };
        let mut parts = vec![short];
        parts.extend(self.computed_line());
        let findings = self.findings.iter().map(|finding| &finding.claim);
        let findings = findings.map(|it| format!("- {}", cited(&it.told(), it.citations())));
        parts.push(findings.collect::<Vec<_>>().join("\n"));
        if let Some(table) = &self.comparison {
            let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
            let plain = |text: &str| text.replace('|', "\\|");
            let mut lines = vec![line(table.columns.iter().map(|it| plain(it)).collect())];
            lines.push(line(vec!["---".to_owned(); table.columns.len()]));
            for row in &table.rows {
                let cell =
                    |(claims, converted): (&Vec<Claim>, Option<&str>)| match claims.as_slice() {
                        [] => ComparisonTable::UNKNOWN.to_owned(),
                        claims => match converted {
                            Some(converted) => {
                                plain(&format!("{} ({converted}, computed)", joined(claims)))
                            }
                            None => plain(&joined(claims)),
                        },
                    };
                let cells =
                    std::iter::once(plain(&row.label)).chain(row.converted_cells().map(cell));
                lines.push(line(cells.collect()));
            }
            parts.push(lines.join("\n"));
        }
        for section in &self.sections {
            parts.push(format!("## {}", section.title));
            parts.extend(section.paragraphs.iter().map(|paragraph| joined(paragraph)));
        }
        if !self.conclusion.is_empty() {
            parts.extend(["## Conclusion".to_owned(), joined(&self.conclusion)]);
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }

    /// The answer in one line of at most 140 characters, if there is one and not only a sentence near it.
    pub fn one_line_answer(&self) -> Option<&str> {
        self.answer.as_ref().filter(|_| !self.nearest_only).map(|answer| answer.text.as_str())
    }

    /// The first cited sentence of the source at index `at`, or else the first 300 characters of its excerpt.
    pub fn snippet(&self, at: usize) -> Option<String> {
        let source = self.sources.get(at)?;
        let mut cited = self.cited_passages().into_iter();
        match cited.find(|cited| cited.0 as usize == at + 1) {
            Some((_, passage)) => Some(passage.text().expose().to_owned()),
            None => {
                let excerpt = self.results.iter().find(|result| result.source == source.id)?;
                Some(excerpt.content.chars().take(SNIPPET_CHARS).collect())
            }
        }
    }

    /// The distinct passages that the report cites, in order of first use, each with the number of its source. Their
    /// position in this list, from 1, numbers the quote footnotes.
    pub fn cited_passages(&self) -> Vec<(u32, &Passage)> {
        let mut found: Vec<(u32, &Passage)> = Vec::new();
        let answer = self.answer.iter().flat_map(|it| it.citations.iter());
        for it in self.claims().flat_map(|claim| claim.citations()).chain(answer) {
            if !found.iter().any(|known| known.1 == &it.passage) {
                found.push((it.n, &it.passage));
            }
        }
        found
    }

    /// Key findings grouped by kind; without headings if all are of one kind.
    pub fn findings_by_kind(&self) -> Vec<(Option<&'static str>, &[Finding])> {
        let groups: Vec<&[Finding]> =
            self.findings.chunk_by(|a, b| a.learning == b.learning).collect();
        let several = groups.len() > 1;
        let named = |finding: &[Finding]| {
            finding.first().filter(|_| several).map(|it| it.learning.heading())
        };
        groups.into_iter().map(|group| (named(group), group)).collect()
    }

    /// Why the report says neither yes nor no to a question that asks for it; `None` where it says one, or asks nothing such.
    pub fn undecided(&self) -> Option<&str> {
        let mut open = self.open.iter();
        open.find(|it| it.what == OpenItem::YES_OR_NO).map(|it| it.why.as_str())
    }

    /// All claims in reading order: short answer, introduction, findings, comparison, sections, conflicts, conclusion.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.short
            .iter()
            .chain(&self.introduction)
            .chain(self.findings.iter().map(|finding| &finding.claim))
            .chain(self.comparison.iter().flat_map(ComparisonTable::claims))
            .chain(self.sections.iter().flat_map(|section| section.paragraphs.iter().flatten()))
            .chain(
                self.conflicts
                    .iter()
                    .flat_map(|conflict| conflict.sides.iter().map(|side| &side.claim)),
            )
            .chain(&self.conclusion)
    }
}
