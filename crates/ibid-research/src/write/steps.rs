//! Puts the steps that a model wrote into the order of their page.
use ibid_core::Result;
use ibid_core::domain::{Evidence, EvidenceId, EvidenceStore, ItemId, QuestionKind, SectionLayout};
use std::collections::BTreeSet;

use crate::draft::{DraftLine, DraftSection, ReportDraft};
use crate::heuristic::answer_shape::kind_fit;
use crate::heuristic::lexicon::spaced;
use crate::heuristic::score::RelevanceScorer;
use crate::prompts;
use crate::thresholds::{MIN_ASPECT_SHARE, MIN_STEP_FIT};

/// Minimum number of steps of a section that are put in order.
const MIN_STEPS: usize = 3;

/// Numbers the steps of each section that answers how something is done, and cites one page for all of them, in the order of that page.
/// The lines that are no steps go into a section of their own, behind the others.
pub(super) fn order_steps(
    kind: QuestionKind,
    sections: &mut Vec<DraftSection>,
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
) -> Result<()> {
    let mut beside: Vec<DraftLine> = Vec::new();
    let lines = sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let cited: BTreeSet<EvidenceId> = lines.flat_map(|line| line.evidence.clone()).collect();
    for section in sections.iter_mut() {
        let Some(item) = section.item else { continue };
        let kind = scorer.part_question(item).map_or(kind, |part| part.0);
        if kind == QuestionKind::HowTo
            && let Some((steps, others)) =
                in_page_order(&section.paragraphs.concat(), notes, (item, &cited))?
        {
            section.paragraphs = vec![steps];
            section.layout = SectionLayout::Steps;
            beside.extend(others);
        }
    }
    // What such a roof costs is no further point on how it is built.
    beside.retain(|line| scorer.aspect_words_share(&line.text) >= MIN_ASPECT_SHARE);
    if !beside.is_empty() {
        sections.push(DraftSection {
            title: prompts::phrases()?.synthesis.further.clone(),
            item: None,
            layout: SectionLayout::List,
            paragraphs: vec![beside],
        });
    }
    Ok(())
}

/// Has a short answer of steps begin with the first of the section that has them all: a model may have found one before those that code
/// picked.
pub(crate) fn begin_with_first_step(draft: &mut ReportDraft) {
    let told: Vec<&str> = draft.short.iter().map(|line| line.text.as_str()).collect();
    let has_all = |steps: &Vec<DraftLine>| {
        told.len() > 1 && told.iter().all(|text| steps.iter().any(|step| step.text == *text))
    };
    let of_steps = draft.sections.iter().filter(|it| it.layout == SectionLayout::Steps);
    let steps = of_steps.map(|it| it.paragraphs.concat()).find(has_all);
    if let Some(steps) = steps {
        draft.short = steps.into_iter().take(draft.short.len()).collect();
    }
}

/// The steps in the order of the one page that all of them cite, with the steps that the lines leave out between or beside them, and the
/// other lines. `None` for few steps, and for steps of several pages.
fn in_page_order(
    lines: &[DraftLine],
    notes: &EvidenceStore,
    (item, cited): (ItemId, &BTreeSet<EvidenceId>),
) -> Result<Option<(Vec<DraftLine>, Vec<DraftLine>)>> {
    let mut others: Vec<DraftLine> = Vec::new();
    let mut steps: Vec<(&Evidence, DraftLine)> = Vec::new();
    for line in lines {
        let fit = kind_fit(QuestionKind::HowTo, "", &line.text, &spaced(&line.text))?;
        let first = line.evidence.first().copied();
        let cited = notes.evidence.iter().find(|it| Some(it.id) == first);
        match cited.filter(|_| fit >= MIN_STEP_FIT) {
            Some(evidence) => steps.push((evidence, line.clone())),
            None => others.push(line.clone()),
        }
    }
    let one_page = |it: &(&Evidence, _)| it.0.passage.page() == steps[0].0.passage.page();
    if steps.len() < MIN_STEPS || !steps.iter().all(one_page) {
        return Ok(None);
    }
    let left_out = steps_left_out(&steps, notes, (item, cited))?;
    steps.extend(left_out);
    steps.sort_by_key(|step| step.0.passage.first());
    Ok(Some((steps.into_iter().map(|step| step.1).collect(), others)))
}

/// The steps of the page of `steps` that are on `item` and not `cited`, between them or next to them: a list without one of its steps is
/// wrong.
fn steps_left_out<'n>(
    steps: &[(&Evidence, DraftLine)],
    notes: &'n EvidenceStore,
    (item, cited): (ItemId, &BTreeSet<EvidenceId>),
) -> Result<Vec<(&'n Evidence, DraftLine)>> {
    let first = |it: &Evidence| it.passage.first();
    let last = |it: &Evidence| it.passage.last();
    let mut found: Vec<&Evidence> = Vec::new();
    for it in notes.evidence.iter().filter(|it| it.passage.page() == steps[0].0.passage.page()) {
        let is_free = it.items.contains(&item) && !cited.contains(&it.id);
        let overlaps = |other: &Evidence| first(it) <= last(other) && first(other) <= last(it);
        let is_told =
            steps.iter().any(|step| overlaps(step.0)) || found.iter().any(|it| overlaps(it));
        let fit = kind_fit(QuestionKind::HowTo, "", &it.claim, &spaced(&it.claim))?;
        if is_free && !is_told && fit >= MIN_STEP_FIT {
            found.push(it);
        }
    }
    found.sort_by_key(|it| first(it));
    let mut from = steps.iter().map(|step| first(step.0)).min().unwrap_or_default();
    let mut to = steps.iter().map(|step| last(step.0)).max().unwrap_or_default();
    let mut taken: Vec<&Evidence> = Vec::new();
    for it in &found {
        if first(it) >= from && first(it) <= to + 1 {
            to = to.max(last(it));
            taken.push(it);
        }
    }
    for it in found.iter().rev() {
        if first(it) < from && last(it) + 1 >= from {
            from = first(it);
            taken.push(it);
        }
    }
    let as_line = |it: &'n Evidence| {
        let line = DraftLine { text: it.claim.clone(), evidence: vec![it.id] };
        (it, line)
    };
    Ok(taken.into_iter().map(as_line).collect())
}

#[cfg(test)]
mod tests {
    use ibid_core::domain::{Block, BlockKind, Page, PageDraft};

    use super::*;
    use crate::test_support;

    #[test]
    fn steps_stand_in_the_order_of_their_page() {
        let sentences =
            ["Dig the hole.", "Mix the earth with sand.", "Plant the tree.", "Water it."];
        let page = Page::new(PageDraft {
            url: "https://oak.example/".to_owned(),
            blocks: sentences.map(|text| Block::new(BlockKind::Prose, text)).to_vec(),
            ..PageDraft::default()
        });
        let asked = "How do you plant an oak?";
        let plan = crate::plan::build_heuristic_plan(&test_support::brief(asked)).unwrap();
        let mut notes = EvidenceStore::new(plan);
        for nth in 0..sentences.len() {
            let mut it = test_support::evidence(nth as u32 + 1, &[1]);
            it.passage = page.passage(nth, nth).unwrap();
            notes.evidence.push(it);
        }
        notes.evidence.push(test_support::evidence(9, &[1]));
        let line = |nth: u32, text: &str| DraftLine {
            text: text.to_owned(),
            evidence: vec![EvidenceId::new(nth)],
        };
        let mut lines = vec![
            line(3, sentences[2]),
            line(4, "An oak grows for two hundred years."),
            line(1, sentences[0]),
            line(2, sentences[1]),
        ];
        let texts = |lines: Vec<DraftLine>| lines.into_iter().map(|it| it.text).collect::<Vec<_>>();
        let cited = |lines: &[DraftLine]| lines.iter().flat_map(|it| it.evidence.clone()).collect();
        let order = |lines: &[DraftLine], notes: &EvidenceStore| {
            in_page_order(lines, notes, (ItemId::new(1), &cited(lines))).unwrap()
        };
        let (ordered, others) = order(&lines, &notes).unwrap();
        assert_eq!(texts(ordered), [sentences[0], sentences[1], sentences[2]]);
        assert_eq!(texts(others), ["An oak grows for two hundred years."]);
        // A step that the lines left out is told.
        notes.evidence[1].claim = sentences[1].to_owned();
        let ends = [line(1, sentences[0]), line(3, sentences[2]), line(4, sentences[3])];
        let (ordered, _) = order(&ends, &notes).unwrap();
        assert_eq!(texts(ordered), sentences);
        // Two are no procedure, and steps of two pages have no order that a page gives.
        assert_eq!(order(&lines[..2], &notes), None);
        lines.push(line(9, "Water the tree."));
        assert_eq!(order(&lines, &notes), None);
    }

    #[test]
    fn a_short_answer_of_steps_begins_with_the_first() {
        let line = |text: &str| DraftLine { text: text.to_owned(), evidence: Vec::new() };
        let steps = ["Check the fall.", "Sweep the roof.", "Lay the mat."].map(line);
        let section = DraftSection {
            title: "Steps".to_owned(),
            item: None,
            layout: SectionLayout::Steps,
            paragraphs: vec![steps.to_vec()],
        };
        let mut draft = crate::test_support::draft(&steps[1..], vec![section]);
        begin_with_first_step(&mut draft);
        assert_eq!(draft.short, steps[..2]);
        draft.short = vec![line("Roofs are flat."), steps[2].clone()];
        begin_with_first_step(&mut draft);
        assert_eq!(draft.short[0].text, "Roofs are flat.", "not all are steps");
    }
}
