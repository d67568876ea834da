//! Sentences with numbered links to their quotes.
use std::collections::BTreeMap;

use super::source_text::source;
use super::view_models::{
    CitationChip, ConfidenceBadge, ConflictSideView, ConflictView, EvidenceTableRow,
    ReportSentence, conflict_chart,
};
use crate::escape::single_line;
use crate::introduction::{conflict_reason, conflict_title};
use crate::phrases::is_from_seller;
use ibid_core::domain::{Citation, Claim, ConfidenceMark, Conflict, Passage, Report};

/// The number of each passage in the list of quotes.
pub(super) struct QuoteNumbers<'r> {
    report: &'r Report,
    places: BTreeMap<PassageKey<'r>, usize>,
}

/// A passage, by its page and byte range.
type PassageKey<'r> = (&'r str, usize, usize);

fn passage_key(passage: &Passage) -> PassageKey<'_> {
    let range = passage.byte_range();
    (passage.page().as_str(), range.start, range.end)
}

impl<'r> QuoteNumbers<'r> {
    /// Numbers the cited passages of `report`, from 1.
    pub(super) fn new(report: &'r Report, passages: &[(u32, &'r Passage)]) -> QuoteNumbers<'r> {
        let numbered = passages.iter().zip(1..);
        QuoteNumbers {
            report,
            places: numbered.map(|((_, passage), number)| (passage_key(passage), number)).collect(),
        }
    }

    /// The number of the quote of a citation.
    pub(super) fn number(&self, it: &Citation) -> Option<usize> {
        self.places.get(&passage_key(&it.passage)).copied()
    }

    pub(super) fn chips(&self, citations: &[Citation]) -> Vec<CitationChip> {
        let mut out: Vec<CitationChip> = Vec::new();
        let mut before: BTreeMap<u32, u8> = BTreeMap::new();
        for it in citations {
            let Some(quote) = self.places.get(&passage_key(&it.passage)) else {
                continue;
            };
            if out.iter().any(|known| known.quote == *quote) {
                continue;
            }
            let times = before.entry(it.n).or_default();
            let letter = match *times {
                0 => String::new(),
                nth => char::from(b'a' + nth.min(25)).to_string(),
            };
            *times = times.saturating_add(1);
            let source = source(self.report, it.n);
            out.push(CitationChip {
                shown: format!("{}{letter}", it.n),
                quote: *quote,
                whose: source.map_or_else(String::new, |it| single_line(&it.title)),
            });
        }
        out
    }

    pub(super) fn sentence(&self, it: &Claim) -> ReportSentence {
        ReportSentence {
            id: it.id.to_string(),
            text: single_line(&it.told()),
            chips: self.chips(it.citations()),
        }
    }

    pub(super) fn conflict(&self, it: &Conflict) -> ConflictView {
        ConflictView {
            title: single_line(&conflict_title(it)),
            sides: it
                .sides
                .iter()
                .map(|side| ConflictSideView {
                    says: single_line(&side.says),
                    said: self.sentence(&side.claim),
                    weight: (side.weight.clamp(0.0, 1.0) * 100.0).round() as u32,
                    from_seller: is_from_seller(self.report, side),
                })
                .collect(),
            chart: conflict_chart(&it.sides),
            reason: conflict_reason(it).map(|reason| single_line(&reason)),
        }
    }

    pub(super) fn row(&self, it: &Claim, mark: &ConfidenceMark) -> EvidenceTableRow {
        let mut works: Vec<(u32, String)> = Vec::new();
        for citation in it.citations() {
            if works.iter().any(|known| known.0 == citation.n) {
                continue;
            }
            let title = source(self.report, citation.n).map_or_else(String::new, |it| {
                let date = it.date.as_deref().map(|date| format!(", {}", single_line(date)));
                single_line(&it.title) + &date.unwrap_or_default()
            });
            works.push((citation.n, title));
        }
        let quotes = it.citations().iter();
        EvidenceTableRow {
            claim: single_line(it.text()),
            quotes: quotes.map(|quote| single_line(quote.passage.text().expose())).collect(),
            works,
            sure: confidence_badge(mark),
        }
    }
}

pub(super) fn confidence_badge(it: &ConfidenceMark) -> ConfidenceBadge {
    let why: Vec<String> = it.why.iter().map(|it| single_line(it)).collect();
    ConfidenceBadge { dots: it.level.dots(), word: it.level.as_str(), why: why.join("; ") }
}
