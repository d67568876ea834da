//! Steps that a model wrote down in the order in which it was shown them.
use ibid_core::Result;
use ibid_core::domain::{EvidenceStore, PageHash, QuestionKind, SectionLayout};

use crate::draft::{DraftLine, DraftSection};
use crate::heuristic::answer_shape::kind_fit;
use crate::heuristic::lexicon::spaced;
use crate::heuristic::score::RelevanceScorer;
use crate::prompts;
use crate::thresholds::MIN_STEP_FIT;

/// Minimum number of steps of a page that make a procedure.
const MIN_STEPS: usize = 3;

/// Numbers the steps of sections that answer how something is done, those of a page in its order; a page is one procedure. What is no
/// step, or the only one of its page, goes to a section of its own.
pub(super) fn order_steps(
    kind: QuestionKind,
    sections: &mut Vec<DraftSection>,
    notes: &EvidenceStore,
    scorer: &RelevanceScorer,
) -> Result<()> {
    let mut rest = Vec::new();
    for section in sections.iter_mut() {
        let part = section.item.and_then(|item| scorer.part_question(item));
        if part.map_or(kind, |part| part.0) == QuestionKind::HowTo {
            let (procedures, others) = procedures(section.paragraphs.concat(), notes)?;
            if !procedures.is_empty() {
                section.layout = SectionLayout::Steps;
                section.paragraphs = procedures;
                rest.extend(others);
            }
        }
    }
    if !rest.is_empty() {
        sections.push(DraftSection {
            title: prompts::phrases()?.synthesis.further.clone(),
            item: None,
            layout: SectionLayout::List,
            paragraphs: vec![rest],
        });
    }
    Ok(())
}

/// The steps of each page that has several, in its order, and the other lines.
fn procedures(
    lines: Vec<DraftLine>,
    notes: &EvidenceStore,
) -> Result<(Vec<Vec<DraftLine>>, Vec<DraftLine>)> {
    let mut pages: Vec<(PageHash, Vec<(usize, DraftLine)>)> = Vec::new();
    let mut others = Vec::new();
    for line in lines {
        let fit = kind_fit(QuestionKind::HowTo, "", &line.text, &spaced(&line.text))?;
        let mut cited = notes.evidence.iter().filter(|it| line.evidence.contains(&it.id));
        match cited.next().filter(|_| fit >= MIN_STEP_FIT) {
            None => others.push(line),
            Some(evidence) => {
                let passage = &evidence.passage;
                match pages.iter_mut().find(|(page, _)| page == passage.page()) {
                    Some((_, own)) => own.push((passage.first(), line)),
                    None => pages.push((passage.page().clone(), vec![(passage.first(), line)])),
                }
            }
        }
    }
    let mut procedures = Vec::new();
    for (_, mut own) in pages {
        own.sort_by_key(|(first, _)| *first);
        let own = own.into_iter().map(|(_, line)| line);
        if own.len() < MIN_STEPS { others.extend(own) } else { procedures.push(own.collect()) }
    }
    Ok((procedures, others))
}

#[cfg(test)]
mod tests {
    use ibid_core::domain::{Block, BlockKind, EvidenceId, Page, PageDraft};

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
        let line = |nth: u32, text: &str| DraftLine {
            text: text.to_owned(),
            evidence: vec![EvidenceId::new(nth)],
        };
        let lines = vec![
            line(3, sentences[2]),
            line(4, "An oak grows for two hundred years."),
            line(1, sentences[0]),
            line(2, sentences[1]),
        ];
        let (steps, others) = procedures(lines.clone(), &notes).unwrap();
        let texts =
            |lines: &[DraftLine]| lines.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&steps.concat()), sentences[..3]);
        assert_eq!(texts(&others), ["An oak grows for two hundred years."]);
        // Two are no procedure.
        assert_eq!(
            procedures(lines[..2].to_vec(), &notes).unwrap().0,
            Vec::<Vec<DraftLine>>::new()
        );
    }
}
