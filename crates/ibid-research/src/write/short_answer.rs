//! What of a model's answer goes into the short answer, and which of its sentences open and close a report.
use std::collections::BTreeSet;

use ibid_core::domain::words::content_stems;

use crate::ask::shapes::ANSWER_CHARS;
use crate::draft::{DraftLine, ReportDraft};
use crate::heuristic::score::RelevanceScorer;
use crate::thresholds::MIN_DIRECTNESS_SHARE;

/// Minimum number of words of a sentence.
const MIN_SENTENCE_WORDS: usize = 4;
/// Maximum number of words of the short answer.
const SHORT_WORDS: usize = 60;

/// Begins the short answer with a model's `answer`, which is the one-line answer, too, where it is short enough.
pub(super) fn lead_with_answer(draft: &mut ReportDraft, answer: DraftLine) {
    draft.short = short_with_picked(&answer, &draft.short);
    draft.verdict = None;
    if answer.text.chars().count() <= ANSWER_CHARS {
        draft.answer = Some(answer);
        draft.answer_by_code = false;
    }
}

/// Opens and closes the report with those of a model's sentences that say something new.
pub(super) fn open_and_close(
    draft: &mut ReportDraft,
    mut opening: Vec<DraftLine>,
    mut closing: Vec<DraftLine>,
) {
    retain_new(&mut opening, draft);
    if !opening.is_empty() {
        draft.introduction = opening;
    }
    retain_new(&mut closing, draft);
    if !closing.is_empty() {
        draft.conclusion = closing;
        draft.conclusion_by_code = false;
    }
}

/// The answer, then the picked lines as far as the short answer has room. A bare figure or word is left to
/// the one-line answer, because it adds nothing to the picked lines.
fn short_with_picked(answer: &DraftLine, picked: &[DraftLine]) -> Vec<DraftLine> {
    let words = |draft_line: &DraftLine| draft_line.text.split_whitespace().count();
    if words(answer) < MIN_SENTENCE_WORDS && !picked.is_empty() {
        return picked.to_vec();
    }
    let mut room = SHORT_WORDS.saturating_sub(words(answer));
    let mut lines = vec![answer.clone()];
    for it in picked {
        if words(it) <= room && it.text != answer.text {
            room -= words(it);
            lines.push(it.clone());
        }
    }
    lines
}

/// Keeps the lines that say something the short answer, the sections and the lines before them do not.
fn retain_new(lines: &mut Vec<DraftLine>, draft: &ReportDraft) {
    let sections = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let stems = |line: &DraftLine| content_stems(&line.text).into_iter().collect::<BTreeSet<_>>();
    let mut said: Vec<BTreeSet<String>> = draft.short.iter().chain(sections).map(stems).collect();
    lines.retain(|line| {
        let own = stems(line);
        let new = !said.iter().any(|it| own.is_subset(it));
        said.push(own);
        new
    });
}

/// Whether a sentence says much less of what the question asks than the best of `picked`.
pub(super) fn is_less_direct(
    scorer: &mut RelevanceScorer,
    answer: &DraftLine,
    picked: &[DraftLine],
) -> bool {
    // A bare figure or name answers without the words of the question.
    if answer.text.split_whitespace().count() < MIN_SENTENCE_WORDS {
        return false;
    }
    let best = picked.iter().map(|line| scorer.relevance(&line.text)).fold(0.0, f32::max);
    scorer.relevance(&answer.text) < best * MIN_DIRECTNESS_SHARE
}
