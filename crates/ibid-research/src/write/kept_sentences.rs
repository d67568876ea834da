//! Which of the sentences that a model wrote stay.
use std::collections::BTreeSet;

use crate::draft::{DraftLine, DraftSection};
use crate::heuristic::score::RelevanceScorer;
use crate::thresholds::MIN_WRITTEN_RELEVANCE_SHARE;
use ibid_core::domain::QuestionKind;
use ibid_core::domain::words::content_stems;

/// Maximum number of sentences of a paragraph.
pub(super) const PARAGRAPH: usize = 4;

/// Removes the sentences that say little of what is asked, and returns how many: a small model writes down whatever evidence it is
/// shown. A sentence counts by the words of the question, or of the part of it that its section answers.
pub(super) fn cut_irrelevant(
    kind: QuestionKind,
    sections: &mut Vec<DraftSection>,
    scorer: &mut RelevanceScorer,
) -> u32 {
    // Of "what is cork" few sentences have more than the cork.
    if !scorer.is_specific() {
        return 0;
    }
    // Steps and members of a list need not repeat the question.
    let by_shape = |kind: QuestionKind| matches!(kind, QuestionKind::HowTo | QuestionKind::List);
    let exempt: Vec<bool> = sections
        .iter()
        .map(|section| {
            let part = section.item.and_then(|item| scorer.part_question(item));
            by_shape(part.map_or(kind, |part| part.0))
        })
        .collect();
    let mut relevance = |section: &DraftSection, line: &DraftLine| {
        let of_part = section.item.map_or(0.0, |item| scorer.part_relevance(item, &line.text));
        scorer.relevance(&line.text).max(of_part)
    };
    let lines = |section: &DraftSection| section.paragraphs.concat();
    let mut best: f32 = 0.0;
    for section in &*sections {
        for line in lines(section) {
            best = best.max(relevance(section, &line));
        }
    }
    let mut cut = 0;
    for at in (0..sections.len()).filter(|at| !exempt[*at]) {
        let kept: Vec<DraftLine> = lines(&sections[at])
            .into_iter()
            .filter(|line| relevance(&sections[at], line) >= best * MIN_WRITTEN_RELEVANCE_SHARE)
            .collect();
        cut += lines(&sections[at]).len() - kept.len();
        sections[at].paragraphs = kept.chunks(PARAGRAPH).map(<[DraftLine]>::to_vec).collect();
    }
    sections.retain(|section| !section.paragraphs.is_empty());
    cut as u32
}

/// Removes sentences said before: small models repeat theirs, or parts of them, in each section. A section without an item,
/// such as an introduction, gives way to those that answer one.
pub(crate) fn dedup_sentences(mut sections: Vec<DraftSection>) -> Vec<DraftSection> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|at| sections[*at].item.is_none());
    let mut seen: Vec<BTreeSet<String>> = Vec::new();
    for at in order {
        let paragraphs = &mut sections[at].paragraphs;
        for paragraph in paragraphs.iter_mut() {
            paragraph.retain(|it| {
                let own: BTreeSet<String> = content_stems(&it.text).into_iter().collect();
                let new = !seen.iter().any(|text| own.is_subset(text));
                seen.push(own);
                new
            });
        }
        paragraphs.retain(|paragraph| !paragraph.is_empty());
    }
    sections.retain(|section| !section.paragraphs.is_empty());
    sections
}
