//! Which of the sentences that a model wrote stay.
use std::collections::BTreeSet;

use crate::draft::{DraftLine, DraftSection};
use crate::heuristic::answer_shape::{denies_members, kind_fit};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::score::RelevanceScorer;
use crate::thresholds::{
    MIN_ASPECT_SHARE, MIN_PART_RELEVANCE_SHARE, MIN_RELEVANCE_SHARE, MIN_REPLACEMENT_SHARE,
    MIN_STEP_FIT, MIN_WRITTEN_SHARE_WITHOUT_VERB,
};
use ibid_core::Result;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{EvidenceId, EvidenceStore, ItemId, QuestionKind, SectionLayout};

/// Maximum number of sentences of a paragraph.
pub(super) const MAX_PARAGRAPH_SENTENCES: usize = 4;
/// Share of the best cited evidence's score from which a sentence of a list stays. In the sample library, sentences on other things
/// have up to 0.35, and members of the list from 0.5.
const MIN_LISTED_SCORE_SHARE: f32 = 0.45;

/// Removes the sentences that say little of what is asked, and returns how many: a small model writes down whatever evidence it is
/// shown. A sentence counts by the words of the question, or of the part of it that its section answers; the best of them, and of
/// what code `picked`, set the measure.
pub(super) fn cut_irrelevant(
    kind: QuestionKind,
    sections: &mut Vec<DraftSection>,
    picked: &[DraftLine],
    notes: &EvidenceStore,
    scorer: &mut RelevanceScorer,
) -> Result<u32> {
    // Of "what is cork" few sentences have more than the cork.
    if !scorer.is_specific() {
        return Ok(0);
    }
    let kinds: Vec<QuestionKind> = sections
        .iter()
        .map(|section| {
            let part = section.item.and_then(|item| scorer.part_question(item));
            part.map_or(kind, |part| part.0)
        })
        .collect();
    let lines = |section: &DraftSection| section.paragraphs.concat();
    let of_part = |scorer: &mut RelevanceScorer, section: &DraftSection, line: &DraftLine| {
        section.item.map_or(0.0, |item| scorer.part_relevance(item, &line.text))
    };
    let mut best: f32 = 0.0;
    for line in picked.iter().cloned().chain(sections.iter().flat_map(&lines)) {
        best = best.max(scorer.relevance(&line.text));
    }
    // What is added beside the lines of code has more of the question than its subject and a verb.
    let least = if picked.is_empty() { MIN_RELEVANCE_SHARE } else { MIN_REPLACEMENT_SHARE };
    let mut cut = 0;
    for at in 0..sections.len() {
        if kinds[at] == QuestionKind::List {
            cut += cut_list(&mut sections[at], notes, scorer)?;
            continue;
        }
        let section = &sections[at];
        let part = section.item.and_then(|item| scorer.part_question(item));
        let asked = part.map_or_else(String::new, |part| part.1);
        let all = lines(section);
        let mut best_of_part: f32 = 0.0;
        for line in &all {
            best_of_part = best_of_part.max(of_part(scorer, section, line));
        }
        let mut kept: Vec<(DraftLine, f32)> = Vec::new();
        for line in all {
            let relevance = scorer.relevance(&line.text);
            let says_verb = relevance >= best * MIN_WRITTEN_SHARE_WITHOUT_VERB
                || scorer.mentions_question_verb(&line.text);
            let of_part = of_part(scorer, section, &line);
            let near = relevance > 0.0 && relevance >= best * least && says_verb
                || of_part > 0.0 && of_part >= best_of_part * MIN_PART_RELEVANCE_SHARE;
            // What is added beside the lines of code names one of the things that are compared.
            let is_apart = kinds[at] == QuestionKind::Comparison
                && !picked.is_empty()
                && !scorer.names_side(&line.text);
            let asks_steps = kinds[at] == QuestionKind::HowTo;
            if asks_steps && !is_of_procedure(scorer, notes, section.item, &line) {
                // A section on how to build a thing does not say what it costs.
                cut += 1;
            } else if asks_steps
                && kind_fit(QuestionKind::HowTo, &asked, &line.text, &spaced(&line.text))?
                    >= MIN_STEP_FIT
            {
                // A step need not repeat the question.
                kept.push((line, 1.0));
            } else if near && !is_apart {
                let share = scorer.part_aspect_share(section.item, &line.text);
                kept.push((line, share));
            } else {
                cut += 1;
            }
        }
        cut += drop_other_kinds(kinds[at], section.item, &mut kept, (notes, scorer));
        // A sentence on the subject alone stands only where none says more.
        let least = kept.iter().map(|(_, share)| *share).fold(0.0, f32::max) * MIN_ASPECT_SHARE;
        let before = kept.len();
        kept.retain(|(_, share)| *share >= least);
        cut += (before - kept.len()) as u32;
        let kept: Vec<DraftLine> = kept.into_iter().map(|(line, _)| line).collect();
        sections[at].paragraphs =
            kept.chunks(MAX_PARAGRAPH_SENTENCES).map(<[DraftLine]>::to_vec).collect();
    }
    sections.retain(|section| !section.paragraphs.is_empty());
    Ok(cut)
}

/// Removes the lines of a list that cite weak evidence, and returns how many. A member need not repeat the question, so its words do not
/// tell. Sentences that deny come last in their paragraph: "no roof held hedgehogs".
fn cut_list(
    section: &mut DraftSection,
    notes: &EvidenceStore,
    scorer: &RelevanceScorer,
) -> Result<u32> {
    let score = |line: &DraftLine| {
        let cited = notes.evidence.iter().filter(|it| line.evidence.contains(&it.id));
        cited.map(|it| it.score).fold(0.0, f32::max)
    };
    let count = |section: &DraftSection| section.paragraphs.iter().flatten().count();
    let before = count(section);
    let best = section.paragraphs.iter().flatten().map(score).fold(0.0, f32::max);
    for paragraph in &mut section.paragraphs {
        paragraph.retain(|line| {
            line.evidence.is_empty() || score(line) >= best * MIN_LISTED_SCORE_SHARE
        });
        let mut denials = Vec::new();
        for line in std::mem::take(paragraph) {
            let denied = denies_members(scorer.question(), &line.text)?;
            if denied { denials.push(line) } else { paragraph.push(line) }
        }
        paragraph.extend(denials);
    }
    section.paragraphs.retain(|paragraph| !paragraph.is_empty());
    Ok((before - count(section)) as u32)
}

/// Removes from sections on an aspect ("How it works") the sentences that have too few of the words asked for, and the sections that are
/// then empty. A small model assigns any "because" to such an item.
pub(super) fn cut_off_topic_aspects(
    sections: &mut Vec<DraftSection>,
    scorer: &mut RelevanceScorer,
) {
    for section in sections.iter_mut() {
        if section.item.is_some_and(|item| scorer.is_aspect(item)) {
            for paragraph in &mut section.paragraphs {
                paragraph.retain(|line| scorer.aspect_words_share(&line.text) >= MIN_ASPECT_SHARE);
            }
            section.paragraphs.retain(|paragraph| !paragraph.is_empty());
        }
    }
    sections.retain(|section| !section.paragraphs.is_empty());
}

/// Drops the sentences on another side of a comparison than that of `item`, all on one side where both are to be compared, and, where a question asks about one thing, those on other
/// things of its kind, unless nothing else is left. Returns the number of dropped sentences.
fn drop_other_kinds(
    kind: QuestionKind,
    item: Option<ItemId>,
    kept: &mut Vec<(DraftLine, f32)>,
    (notes, scorer): (&EvidenceStore, &mut RelevanceScorer),
) -> u32 {
    // Sentences on one side alone compare nothing; that side has a section of its own.
    let sides = |line: &DraftLine| scorer.compared_sides(item, &line.text);
    let named: BTreeSet<usize> = kept.iter().flat_map(|it| sides(&it.0)).collect();
    let before = kept.len();
    if kind == QuestionKind::Comparison && named.len() == 1 {
        kept.retain(|it| sides(&it.0).is_empty());
    }
    let mut is_other = |line: &DraftLine| match kind {
        QuestionKind::Comparison => scorer.is_on_other_side(item, &line.text),
        // A step need not name the thing: "Check that the flat roof can carry it."
        QuestionKind::HowTo => false,
        _ => scorer.is_on_another_kind(&line.text, &cited_titles(notes, line)),
    };
    let (others, own): (Vec<_>, Vec<_>) =
        std::mem::take(kept).into_iter().partition(|it| is_other(&it.0));
    *kept = if own.is_empty() { others } else { own };
    (before - kept.len()) as u32
}

/// The titles of the pages that a line cites.
fn cited_titles(notes: &EvidenceStore, line: &DraftLine) -> String {
    let cited = notes.evidence.iter().filter(|it| line.evidence.contains(&it.id));
    let titles = cited.filter_map(|it| notes.source(it.source)).map(|it| it.title.as_str());
    titles.collect::<Vec<_>>().join(" ")
}

/// Whether a step is one of what is asked: it says so, or the title of a page that it is from does. A step of another procedure
/// on the same subject is none.
fn is_of_procedure(
    scorer: &mut RelevanceScorer,
    notes: &EvidenceStore,
    item: Option<ItemId>,
    line: &DraftLine,
) -> bool {
    let text = format!("{} {}", cited_titles(notes, line), line.text);
    line.evidence.is_empty() || scorer.part_aspect_share(item, &text) > 0.0
}

/// Adds `more` to `sections`: the paragraphs of one with the same title to that one.
pub(super) fn extend_sections(sections: &mut Vec<DraftSection>, more: Vec<DraftSection>) {
    for new in more {
        match sections.iter_mut().find(|it| it.title == new.title) {
            Some(known) => known.paragraphs.extend(new.paragraphs),
            None => sections.push(new),
        }
    }
}

/// Adds to the sections that code `picked` those of the sentences that a model wrote which cite what no section cites yet. Steps and
/// lists are left as they are.
pub(super) fn add_to_picked(
    picked: &mut Vec<DraftSection>,
    mut written: Vec<DraftSection>,
    kind: QuestionKind,
) {
    let mut cited: BTreeSet<EvidenceId> = BTreeSet::new();
    for line in picked.iter().flat_map(|section| section.paragraphs.iter().flatten()) {
        cited.extend(&line.evidence);
    }
    for section in &mut written {
        for paragraph in &mut section.paragraphs {
            paragraph.retain(|line| line.evidence.iter().all(|id| !cited.contains(id)));
        }
        section.paragraphs.retain(|paragraph| !paragraph.is_empty());
    }
    let laid_out = |title: &str| {
        picked.iter().any(|it| it.title == title && it.layout != SectionLayout::Prose)
    };
    written.retain(|section| !section.paragraphs.is_empty() && !laid_out(&section.title));
    if !matches!(kind, QuestionKind::HowTo | QuestionKind::List) {
        extend_sections(picked, written);
        *picked = dedup_sentences(std::mem::take(picked));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_from_brief;
    use crate::test_support::brief;
    use ibid_core::domain::ItemId;

    fn kept(asked: &str, lines: &[&str]) -> Vec<String> {
        kept_beside(asked, &[], lines)
    }

    fn kept_beside(asked: &str, picked: &[&str], lines: &[&str]) -> Vec<String> {
        let brief = brief(asked);
        let plan = plan_from_brief(&brief).unwrap();
        let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
        let notes = EvidenceStore::new(plan);
        let line = |text: &&str| DraftLine { text: (*text).to_owned(), evidence: Vec::new() };
        let mut sections = vec![DraftSection {
            title: "Whatever".to_owned(),
            item: Some(ItemId::new(1)),
            layout: SectionLayout::Prose,
            paragraphs: vec![lines.iter().map(line).collect()],
        }];
        let picked: Vec<DraftLine> = picked.iter().map(line).collect();
        let cut = cut_irrelevant(brief.kind, &mut sections, &picked, &notes, &mut scorer).unwrap();
        let left: Vec<DraftLine> =
            sections.iter().flat_map(|section| section.paragraphs.concat()).collect();
        assert_eq!(left.len() + cut as usize, lines.len());
        left.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn what_says_little_of_what_is_asked_is_cut_and_counted() {
        let left = kept(
            "How much annual rainfall does a green roof retain?",
            &[
                "The green roof of the library retained 63 % of annual rainfall between 2014 and 2023.",
                "Do not fertilise an extensive roof after its second year.",
                "They held back 82 % of the zinc and 76 % of the copper that fell on them.",
                "On a hot afternoon a cool roof lowers the surface temperature by 20 to 25 °C.",
            ],
        );
        assert_eq!(left.len(), 1, "{left:?}");
        let left = kept(
            "What does an extensive green roof cost per square metre?",
            &[
                "An extensive green roof costs 110 euros per square metre on average.",
                "An extensive green roof needs two visits a year, each of one hour per 100 square metres.",
                "Roll out a protection mat of at least 300 grams per square metre.",
                "What green roofs do is hide the leak.",
            ],
        );
        assert_eq!(left.len(), 1, "{left:?}");
        let left = kept(
            "What does an extensive green roof cost per square metre?",
            &[
                "An extensive green roof costs 110 euros per square metre on average.",
                "Maintenance of an extensive green roof costs 3.20 euros per square metre and year.",
                "Strengthening a timber roof costs 60 to 120 euros per square metre.",
                "A cool roof is a coating that costs 18 to 30 euros per square metre.",
            ],
        );
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn sentences_on_one_side_alone_compare_nothing() {
        let green = "Green roofs keep half of the rain that falls on a roof.";
        let cool = "Cool roofs keep nothing of the rain that falls on a roof.";
        let asked = "Compare green roofs with cool roofs";
        assert!(kept(asked, &[green, "Green roofs cost 110 euros."]).is_empty());
        assert_eq!(kept(asked, &[green, cool]).len(), 2);
    }

    #[test]
    fn of_a_short_question_nothing_is_cut_and_of_steps_what_is_none() {
        assert_eq!(
            kept("What is cork?", &["Cork floats.", "Trees are cut every nine years."]).len(),
            2
        );
        let steps = [
            "Sweep the deck.",
            "Lay the fleece with the dark side down.",
            "A fire crossed 4 metres of dry grass.",
        ];
        assert_eq!(kept("How do you install an extensive green roof?", &steps).len(), 2);
    }

    #[test]
    fn what_is_added_has_more_than_the_subject_and_the_verb() {
        let asked = "Do green roofs save heating energy?";
        let led = "In buildings with less than 5 cm of insulation, green roofs saved 8 % of the heating energy.";
        let beside = "A green roof saves overflow by retention in small storms.";
        assert_eq!(kept_beside(asked, &[led], &[led, beside]), [led]);
        assert_eq!(kept(asked, &[led, beside]).len(), 2);
    }

    #[test]
    fn what_is_added_to_a_comparison_names_one_of_its_sides() {
        let cool = "A cool roof is a coating that reflects sunlight, and a green roof is planted.";
        let blue = "A blue-green roof needs a flat roof without slope and a valve.";
        let asked = "Compare green roofs with cool roofs";
        assert_eq!(kept_beside(asked, &[cool], &[cool, blue]), [cool]);
        assert_eq!(kept(asked, &[cool, blue]).len(), 2);
    }
}
