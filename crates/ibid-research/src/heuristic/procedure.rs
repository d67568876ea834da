//! Steps of a procedure, members of a list and what stands under a heading that asks the question: they belong together and keep
//! the order of their page.
use crate::thresholds::{
    MIN_ANSWER_WORTH, MIN_STEP_FIT, MIN_STEPS_LIKELIHOOD, MIN_SUMMARY_WORTH_SHARE,
};
use ibid_core::domain::{EvidenceStore, QuestionKind};

use super::answer_shape::is_free_form;
use super::claim_clusters::{ClaimCluster, share_sentences};
use super::ranked_points::RankedPoint;

/// Number of steps of one page from which they are a procedure.
const MIN_STEPS: usize = 2;
/// Number of items of a page from which they are a list that answers.
pub(crate) const MIN_LISTED: usize = 3;
/// Number of the best steps by which pages are compared: a longer procedure is not the better one.
const COMPARED_STEPS: usize = 4;
/// Maximum number of items of a short answer that is a list, and of their words.
const MAX_LISTED: usize = 8;
const LIST_WORDS: usize = 100;
/// The same for a procedure that is told whole: a section that began it again would say every step twice.
const MAX_STEPS: usize = 12;
const STEPS_WORDS: usize = 220;
/// Maximum number of words of the sentence that sums up a procedure.
const SUMMARY_WORDS: usize = 40;

/// Whether a point is a step of a procedure or a member of a list.
pub(crate) fn is_step(kind: QuestionKind, it: &RankedPoint<'_>) -> bool {
    it.listed || kind == QuestionKind::HowTo && it.fit >= MIN_STEP_FIT
}

/// The place of a point: its source and its first sentence.
fn place(notes: &EvidenceStore, point: &ClaimCluster) -> (u32, usize) {
    let first = point.evidence.first().map(|nth| &notes.evidence[*nth]);
    first.map_or((0, 0), |it| (it.source.number(), it.passage.first()))
}

/// The steps of the page with the best procedure, in their order; empty where no page has one.
pub(crate) fn leading_steps<'a>(
    kind: QuestionKind,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
) -> Vec<RankedPoint<'a>> {
    let least = if kind == QuestionKind::HowTo { MIN_STEPS } else { MIN_LISTED };
    let mut pages: Vec<(u32, Vec<RankedPoint<'a>>)> = Vec::new();
    for it in ranked.iter().filter(|it| is_step(kind, it)) {
        let page = place(notes, it.point).0;
        match pages.iter_mut().find(|row| row.0 == page) {
            Some(row) => row.1.push(*it),
            None => pages.push((page, vec![*it])),
        }
    }
    // Where a section asks the question, steps of other sections are those of something else.
    if ranked.iter().any(|it| it.headed) {
        for (_, steps) in &mut pages {
            steps.retain(|it| it.headed || it.listed);
        }
    }
    let weight = |steps: &[RankedPoint<'_>]| -> f32 {
        steps.iter().take(COMPARED_STEPS).map(|it| it.worth).sum()
    };
    let whole = pages.into_iter().map(|row| row.1).filter(|steps| steps.len() >= least);
    let mut best: Vec<RankedPoint<'a>> = Vec::new();
    for steps in whole {
        if best.is_empty() || weight(&steps) > weight(&best) {
            best = steps;
        }
    }
    // Beside a list of steps, a sentence elsewhere that tells what to do is none of them.
    if best.iter().filter(|it| it.listed).count() >= MIN_LISTED {
        best.retain(|it| it.listed);
    }
    best.sort_by_key(|it| place(notes, it.point));
    // Where headings are the steps, a list before the first of them is one of something else.
    let has_heading = |it: &RankedPoint<'_>| {
        it.point.evidence.first().is_some_and(|nth| notes.evidence[*nth].heading.is_some())
    };
    if best.iter().filter(|it| has_heading(it)).count() >= MIN_LISTED {
        let first = best.iter().position(has_heading).unwrap_or_default();
        best.drain(..first);
    }
    // A step alone, and again with the sentence after it.
    let all = best.clone();
    best.retain(|own| {
        let mut longer = all.iter().filter(|it| it.point.words > own.point.words);
        !longer.any(|it| share_sentences(notes, it.point.evidence[0], own.point.evidence[0]))
    });
    best
}

/// Whether `short` tells the whole of the best procedure.
pub(crate) fn tells_all_steps(
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'_>],
    short: &[&ClaimCluster],
) -> bool {
    let steps = leading_steps(QuestionKind::HowTo, notes, ranked);
    !steps.is_empty()
        && steps.len() == short.len()
        && steps.iter().zip(short).all(|(step, own)| std::ptr::eq(step.point, *own))
}

/// The short answer of a procedure or a list: all steps, at most twelve of 220 words together; its first steps or members, at most eight
/// of 100 words; or else what sums it up, then how it begins, at most `words` words. Empty where no page has one, or where another
/// sentence answers better.
pub(crate) fn short_answer<'a>(
    kind: QuestionKind,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
    words: usize,
) -> Vec<&'a ClaimCluster> {
    let Some(top) = ranked.first() else {
        return Vec::new();
    };
    let mut steps = leading_steps(kind, notes, ranked);
    let listed = !steps.is_empty();
    let headed = if kind == QuestionKind::HowTo {
        ranked.iter().find(|it| it.headed)
    } else {
        Some(top).filter(|it| it.headed && is_free_form(kind))
    };
    if let Some(headed) = headed.filter(|_| !listed) {
        // What stands under a heading that asks the question answers it from its beginning.
        let page = place(notes, headed.point).0;
        steps = ranked.iter().filter(|it| it.headed).copied().collect();
        steps.retain(|it| place(notes, it.point).0 == page);
        if kind != QuestionKind::HowTo {
            let best = steps.iter().map(|it| it.worth).fold(0.0, f32::max);
            steps.retain(|it| it.worth >= best * MIN_SUMMARY_WORTH_SHARE);
        }
        steps.sort_by_key(|it| place(notes, it.point));
    }
    let Some(first) = steps.first() else {
        return Vec::new();
    };
    let (page, begins) = place(notes, first.point);
    let best = steps.iter().map(|it| it.worth).fold(0.0, f32::max);
    // A list under a heading or a title that asks the question is the answer, however its members read.
    let asked = listed && steps.iter().all(|it| it.headed);
    if kind != QuestionKind::HowTo && !asked && best < top.worth * MIN_SUMMARY_WORTH_SHARE {
        return Vec::new();
    }
    // Steps of something else do not stand before a sentence that means what is asked.
    let likeliest = |points: &[RankedPoint<'_>]| {
        points.iter().filter_map(|it| it.probability).fold(0.0, f32::max)
    };
    if !steps.iter().any(|it| it.headed)
        && likeliest(&steps) < likeliest(ranked) * MIN_STEPS_LIKELIHOOD
    {
        return Vec::new();
    }
    let sums_up = |it: &&RankedPoint<'_>| {
        let (own, at) = place(notes, it.point);
        own == page
            && at < begins
            && (it.headed || !first.headed)
            && !is_step(kind, it)
            && it.point.words <= SUMMARY_WORDS
            && it.worth >= (top.worth * MIN_SUMMARY_WORTH_SHARE).max(MIN_ANSWER_WORTH)
    };
    if kind == QuestionKind::HowTo && listed && is_short_procedure(&steps) {
        return steps.iter().map(|it| it.point).collect();
    }
    let summary = ranked.iter().find(sums_up);
    // Steps are all told, and so is a list without the line that leads to it; of what is summed up, the beginning is enough.
    let leads_on = |it: &RankedPoint<'_>| place(notes, it.point).1 + 1 == begins;
    let whole = listed && (kind == QuestionKind::HowTo || summary.is_none_or(leads_on));
    let (mut room, most, summary) = match whole {
        true => (LIST_WORDS, MAX_LISTED, None),
        false => (words, MIN_LISTED, summary),
    };
    let mut taken = Vec::new();
    for it in summary.into_iter().chain(&steps).take(most) {
        if it.point.words > room {
            break;
        }
        room -= it.point.words;
        taken.push(it.point);
    }
    taken
}

/// All steps of the best procedure, if they fit in a short answer and `taken` are among them: three of ten steps are no answer.
pub(crate) fn procedure_of<'a>(
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
    taken: &[&ClaimCluster],
) -> Option<Vec<&'a ClaimCluster>> {
    let steps = leading_steps(QuestionKind::HowTo, notes, ranked);
    let is_among = |own: &&ClaimCluster| steps.iter().any(|it| std::ptr::eq(it.point, *own));
    let whole = !taken.is_empty() && taken.iter().all(is_among) && is_short_procedure(&steps);
    whole.then(|| steps.iter().map(|it| it.point).collect())
}

/// Whether all steps fit in a short answer.
fn is_short_procedure(steps: &[RankedPoint<'_>]) -> bool {
    let words: usize = steps.iter().map(|it| it.point.words).sum();
    steps.len() <= MAX_STEPS && words <= STEPS_WORDS
}

/// Leaves out of the pages of a procedure what is no step and pages with a single step, where a page has several.
pub(crate) fn whole_procedures(
    pages: Vec<Vec<&ClaimCluster>>,
    is_step: impl Fn(&ClaimCluster) -> bool,
) -> Vec<Vec<&ClaimCluster>> {
    let count = |page: &[&ClaimCluster]| page.iter().filter(|it| is_step(it)).count();
    if !pages.iter().any(|page| count(page) > MIN_STEPS) {
        return pages;
    }
    let whole = pages.into_iter().filter(|page| count(page) >= MIN_STEPS);
    whole.map(|page| page.into_iter().filter(|it| is_step(it)).collect()).collect()
}
