//! The parts of a report for the templates.
use super::chart_drawing::ChartDrawing;
use crate::escape::single_line;
use ibid_core::domain::{ConflictSide, words};

/// An entry of the table of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TocEntry {
    /// The anchor.
    pub id: String,
    /// The title.
    pub title: String,
}

/// A number in the text that links to its quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitationChip {
    /// The number of the work, with a letter when the same sentence cites it again: `3`, `3b`.
    pub shown: String,
    /// The number of the quote, from 1.
    pub quote: usize,
    /// The title of the work, for screen readers.
    pub whose: String,
}

/// A sentence of the report with its citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSentence {
    /// The id: `c1`, `c2`, …
    pub id: String,
    /// The text.
    pub text: String,
    /// The citations.
    pub chips: Vec<CitationChip>,
}

/// Bytes of the longest last word that is kept on one line with the number after it.
const LAST_WORD: usize = 40;

impl ReportSentence {
    /// The text without the last word.
    pub fn lead(&self) -> &str {
        &self.text[..self.last_word_start()]
    }

    /// The last word, which is not separated from the number by a line break.
    pub fn tail(&self) -> &str {
        &self.text[self.last_word_start()..]
    }

    fn last_word_start(&self) -> usize {
        let at = self.text.rfind(' ').map_or(0, |it| it + 1);
        if self.text.len() - at <= LAST_WORD { at } else { self.text.len() }
    }
}

/// A confidence level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfidenceBadge {
    /// Four dots, filled from the left.
    pub dots: &'static str,
    /// The level in words.
    pub word: &'static str,
    /// The reasons.
    pub why: String,
}

/// A key finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingView {
    /// The claim.
    pub said: ReportSentence,
    /// The confidence.
    pub sure: ConfidenceBadge,
}

/// Key findings of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingGroup {
    /// The heading, if there are several kinds.
    pub heading: Option<&'static str>,
    /// The findings.
    pub findings: Vec<FindingView>,
}

/// The comparison table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonView {
    /// The heading above it.
    pub heading: &'static str,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The label and the cells of each row.
    pub rows: Vec<(String, Vec<ComparisonCell>)>,
    /// The chart of one of its columns.
    pub chart: Option<ChartDrawing>,
}

/// A cell of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonCell {
    /// The figures.
    pub figures: Vec<ReportSentence>,
    /// The figure in the unit of its column, if it was computed.
    pub converted: Option<String>,
}

impl ComparisonCell {
    /// Whether it stays on one line.
    pub fn is_short(&self) -> bool {
        const SHORT: usize = 24;
        self.figures.iter().all(|it| it.text.chars().count() <= SHORT)
    }
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionView {
    /// The anchor.
    pub id: String,
    /// The heading, with its number.
    pub title: String,
    /// The tag of the list that each paragraph is, if its sentences are items.
    pub list_tag: Option<&'static str>,
    /// The paragraphs.
    pub paragraphs: Vec<Vec<ReportSentence>>,
}

/// One side of a disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictSideView {
    /// What it says.
    pub says: String,
    /// The claim.
    pub said: ReportSentence,
    /// The weight, in percent.
    pub weight: u32,
    /// Whether all its sources offer for sale what they describe.
    pub from_seller: bool,
}

/// A disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictView {
    /// What it is on.
    pub title: String,
    /// The sides.
    pub sides: Vec<ConflictSideView>,
    /// The figures as bars, if each side gives one of the same unit.
    pub chart: Vec<ChartBar>,
    /// A likely reason, with its label.
    pub reason: Option<String>,
}

/// A row of the evidence table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceTableRow {
    /// The claim.
    pub claim: String,
    /// The quotes, unless the claim is one verbatim.
    pub quotes: Vec<String>,
    /// The works: number and title.
    pub works: Vec<(u32, String)>,
    /// The confidence.
    pub sure: ConfidenceBadge,
}

/// A quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteView {
    /// The number of the quote, from 1.
    pub k: usize,
    /// The number of the work.
    pub n: u32,
    /// The text.
    pub words: String,
    /// The title of the work.
    pub title: String,
    /// Its venue and date.
    pub about: String,
    /// The kind of source.
    pub kind: &'static str,
    /// The place in the work: `p. 4`, a heading.
    pub place: String,
    /// The URL of the web page at the quote.
    pub live: Option<String>,
    /// The URL of the stored page at the quote, if it is served.
    pub stored: Option<String>,
    /// Whether the quote is in the page; `None` when the page is gone.
    pub holds: Option<bool>,
}

/// An excerpt of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcerptView {
    /// The title.
    pub title: String,
    /// The URL of a web page.
    pub link: Option<String>,
    /// The address or path, for people.
    pub place: String,
    /// The text.
    pub pieces: Vec<String>,
    /// The relevance to the question, in percent.
    pub score: u32,
}

/// A topic and its coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicView {
    /// The question of the topic.
    pub text: String,
    /// `satisfied`, `partial`, `unsatisfied`.
    pub word: &'static str,
    /// What is missing.
    pub gap: Option<String>,
}

/// One figure as a bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartBar {
    /// The figure: `56%`.
    pub says: String,
    /// The length of the bar, in percent of the longest.
    pub long: u32,
}

/// The figures of a disagreement as bars from zero; none unless each side gives one figure of the same unit.
pub(super) fn conflict_chart(sides: &[ConflictSide]) -> Vec<ChartBar> {
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut unit: Option<String> = None;
    for side in sides {
        let numbers = words::numbers(&side.says);
        let [one] = numbers.as_slice() else {
            return Vec::new();
        };
        if one.unit.is_none() || one.value < 0.0 || !one.value.is_finite() {
            return Vec::new();
        }
        if *unit.get_or_insert_with(|| one.unit.clone().unwrap_or_default())
            != one.unit.clone().unwrap_or_default()
        {
            return Vec::new();
        }
        found.push((single_line(&side.says), one.value));
    }
    let most = found.iter().map(|pair| pair.1).fold(0.0, f64::max);
    if most == 0.0 || found.len() < 2 {
        return Vec::new();
    }
    let each = found
        .into_iter()
        .map(|(says, value)| ChartBar { says, long: (value / most * 100.0).round() as u32 });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::{
        Block, BlockKind, Citation, Claim, ClaimId, EvidenceId, Page, PageDraft,
    };

    fn sides(all: &[&str]) -> Vec<ConflictSide> {
        let page = Page::new(PageDraft {
            blocks: vec![Block::new(BlockKind::Prose, "It is so.")],
            ..PageDraft::default()
        });
        let citation =
            Citation { n: 1, evidence: EvidenceId::new(1), passage: page.passage(0, 0).unwrap() };
        let side = |says: &&str| ConflictSide {
            says: (*says).to_owned(),
            claim: Claim::new(ClaimId::new(1), "It is so.".to_owned(), vec![citation.clone()])
                .unwrap(),
            weight: 0.5,
        };
        all.iter().map(side).collect()
    }

    #[test]
    fn figures_of_one_unit_are_drawn_from_nothing_and_others_are_not() {
        let long = |all: &[&str]| -> Vec<u32> {
            conflict_chart(&sides(all)).iter().map(|bar| bar.long).collect()
        };
        assert_eq!(long(&["40%", "80%", "20%"]), [50, 100, 25]);
        assert_eq!(long(&["110 euros", "220 euros"]), [50, 100]);
        assert!(long(&["6 cm", "8 kg"]).is_empty());
        assert!(long(&["no", "yes"]).is_empty());
        assert!(long(&["10 to 20 cm", "8 cm"]).is_empty());
        assert!(long(&["12", "13"]).is_empty(), "numbers of nothing are not compared");
        assert!(long(&["5 %"]).is_empty());
    }
}
