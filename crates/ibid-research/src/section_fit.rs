//! Removes from a checked draft the sentences that do not answer what their section asks.
//!
//! A sentence is chosen, or written by a model, for the question; a section asks for less than that. A quote that took the place of a
//! sentence was not chosen for its section at all.
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::{content_stems, stem_overlap, tokens};
use ibid_core::domain::{
    Brief, Confidence, Coverage, CoverageRow, Evidence, EvidenceId, EvidenceStore, ItemId,
    OpenItem, QuestionKind, SectionLayout, SectionPlan,
};

use super::draft::{DraftConflict, DraftLine, DraftSection, ReportDraft};
use super::heuristic::lexicon::sentence_case;
use super::heuristic::plan::compared_things;
use super::heuristic::score::RelevanceScorer;
use super::heuristic::side_name::SideName;
use super::prompts;
use crate::thresholds::MIN_ASPECT_SHARE;

/// Removes the sentences that do not fit their section in the plan, and the sections that are then empty. Steps and lists are left as they
/// are, but for what stands under "Further points". Introduction and conclusion lose what is on something else than its quotes.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
pub(crate) fn remove_unfit_lines(
    brief: &Brief,
    notes: &EvidenceStore,
    draft: &mut ReportDraft,
    scorer: &mut RelevanceScorer,
) -> Result<()> {
    let plan = &notes.plan.writing;
    let further = &prompts::phrases()?.synthesis.further;
    for section in &mut draft.sections {
        let planned = plan.sections.iter().find(|it| it.title == section.title);
        let items: Vec<ItemId> = match planned {
            Some(planned) => planned.items.clone(),
            None => section.item.into_iter().collect(),
        };
        if section.title == *further {
            retain_lines(section, |line| {
                // What a roof costs is no further point on how it is built.
                let is_asked = brief.kind != QuestionKind::HowTo
                    || scorer.aspect_words_share(&line.text) >= MIN_ASPECT_SHARE;
                is_asked && scorer.fits_section(None, &line.text)
            });
        } else if section.layout == SectionLayout::Prose && !items.is_empty() {
            retain_lines(section, |line| {
                items.iter().any(|item| scorer.fits_section(Some(*item), &line.text))
            });
        }
        if let Some(planned) = planned.filter(|it| it.items.is_empty()) {
            retain_lines(section, |line| is_on_title(brief, planned, &line.text));
        }
        drop_contained_lines(section);
    }
    draft.introduction.retain(|line| keeps_subject(brief, notes, line));
    // Code tells of other editions without naming the subject again.
    if !draft.conclusion_by_code {
        let conflicts = &draft.conflicts;
        draft.conclusion.retain(|line| {
            keeps_subject(brief, notes, line)
                && !conflicts.iter().any(|it| takes_one_side(it, line))
        });
    }
    keep_comparable_lines(brief, notes, draft, scorer);
    fold_single_figure(notes, draft, scorer);
    drop_told_lines(brief, draft, scorer, further);
    keep_concluding_lines(draft);
    order_as_planned(draft, &plan.sections, further);
    Ok(())
}

/// Words of titles that any sentence on the question may stand under.
const GENERAL_TITLES: [&str; 9] = [
    "introduction",
    "background",
    "overview",
    "outlook",
    "summary",
    "conclusion",
    "discussion",
    "context",
    "future",
];

/// Whether a sentence has a word of the title of its section, or of what a planner wants in it, that the question has not; any
/// sentence where these have none. Under "Insurance premiums" a sentence is on insurance or premiums.
fn is_on_title(brief: &Brief, planned: &SectionPlan, text: &str) -> bool {
    let asked = content_stems(&brief.question);
    let mut own = content_stems(&format!("{} {}", planned.title, planned.guidance));
    own.retain(|stem| !asked.contains(stem));
    let said = content_stems(text);
    let title = planned.title.to_lowercase();
    let is_general = GENERAL_TITLES.iter().any(|word| title.contains(word));
    is_general || own.is_empty() || own.iter().any(|stem| said.contains(stem))
}

/// Puts a figure that stands alone under a heading for figures behind what is said on the question itself.
fn fold_single_figure(notes: &EvidenceStore, draft: &mut ReportDraft, scorer: &RelevanceScorer) {
    let core = notes.plan.items().first().map(|item| item.id);
    let is_single = |it: &DraftSection| {
        it.item.is_some_and(|item| scorer.is_of_figures(item))
            && it.paragraphs.iter().map(Vec::len).sum::<usize>() == 1
    };
    let on_question = |it: &DraftSection| it.item == core && it.layout == SectionLayout::Prose;
    let Some(at) = draft.sections.iter().position(is_single) else { return };
    let Some(into) = draft.sections.iter().position(on_question) else { return };
    let single = std::mem::take(&mut draft.sections[at].paragraphs);
    match draft.sections[into].paragraphs.last_mut() {
        Some(last) => last.extend(single.concat()),
        None => draft.sections[into].paragraphs = single,
    }
    draft.sections.remove(at);
}

/// Puts the sections in the order of the plan; one that is not in it follows the section before it, and the `further` points are last.
fn order_as_planned(draft: &mut ReportDraft, planned: &[SectionPlan], further: &str) {
    let mut last = 0;
    let mut placed: Vec<(usize, DraftSection)> = Vec::new();
    for section in std::mem::take(&mut draft.sections) {
        if section.title == further {
            placed.push((usize::MAX, section));
            continue;
        }
        last = planned.iter().position(|it| it.title == section.title).unwrap_or(last);
        placed.push((last, section));
    }
    placed.sort_by_key(|it| it.0);
    draft.sections = placed.into_iter().map(|it| it.1).collect();
}

/// Drops the sections that are disputed, and says of each part of the question that counts as answered that it is open if no sentence of
/// the draft is on it, in `coverage`, too. To be called when nothing else is removed.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
pub(crate) fn report_open_parts(
    draft: &mut ReportDraft,
    coverage: &mut [CoverageRow],
    scorer: &mut RelevanceScorer,
) -> Result<()> {
    drop_disputed_sections(draft);
    let words = prompts::phrases()?;
    let why = &words.gap.untold;
    let core = coverage.first().map(|row| row.id);
    let answered =
        |row: &&mut CoverageRow| matches!(row.state, Coverage::Covered | Coverage::Partial);
    for row in coverage.iter_mut().filter(answered) {
        let is_told = all_lines(draft).any(|line| scorer.fits_section(Some(row.id), &line.text));
        if !scorer.asks_part(row.id) || is_told {
            continue;
        }
        row.state = Coverage::Open;
        row.gap = Some(why.clone());
        draft.open.retain(|open| open.item != Some(row.id));
        let what = sentence_case(&row.text);
        draft.open.push(OpenItem { item: Some(row.id), what, why: why.clone() });
        let (level, reasons) = (&mut draft.confidence.level, &mut draft.confidence.why);
        *level = (*level).min(Confidence::Low);
        if core == Some(row.id) {
            reasons.retain(|it| *it != words.confidence.direct);
            reasons.push(words.confidence.indirect.clone());
        } else if !reasons.contains(&words.confidence.open_part) {
            reasons.push(words.confidence.open_part.clone());
        }
    }
    Ok(())
}

/// Drops from a model's conclusion what rests on nothing that the report tells before it: it concludes nothing.
fn keep_concluding_lines(draft: &mut ReportDraft) {
    if draft.conclusion_by_code {
        return;
    }
    let told: BTreeSet<EvidenceId> =
        body_lines(draft).flat_map(|line| &line.evidence).copied().collect();
    draft.conclusion.retain(|line| line.evidence.iter().any(|id| told.contains(id)));
}

/// All lines of a draft that a report shows.
fn all_lines(draft: &ReportDraft) -> impl Iterator<Item = &DraftLine> {
    body_lines(draft).chain(&draft.introduction).chain(&draft.conclusion)
}

/// The lines of a draft other than introduction and conclusion.
fn body_lines(draft: &ReportDraft) -> impl Iterator<Item = &DraftLine> {
    let cells = draft.comparison.iter().flat_map(|it| &it.rows).flat_map(|row| &row.1).flatten();
    let sides = draft.conflicts.iter().flat_map(|conflict| &conflict.sides);
    let lines = draft.short.iter();
    lines
        .chain(draft.findings.iter().map(|finding| &finding.0))
        .chain(draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten()))
        .chain(sides.map(|side| &side.1))
        .chain(cells)
}

fn retain_lines(section: &mut DraftSection, mut keep: impl FnMut(&DraftLine) -> bool) {
    section.paragraphs.iter_mut().for_each(|paragraph| paragraph.retain(&mut keep));
    section.paragraphs.retain(|paragraph| !paragraph.is_empty());
}

/// Whether a line repeats one side of a conflict and cites nothing else: it would conclude what the sources dispute.
fn takes_one_side(conflict: &DraftConflict, line: &DraftLine) -> bool {
    let is_of = |side: &DraftLine| line.evidence.iter().all(|id| side.evidence.contains(id));
    !line.evidence.is_empty() && conflict.sides.iter().any(|side| is_of(&side.1))
}

/// Whether a line names each subject of the question that all its quotes name: "a drain design retained 70 %" is told of a green roof.
fn keeps_subject(brief: &Brief, notes: &EvidenceStore, line: &DraftLine) -> bool {
    const PRONOUNS: [&str; 6] = ["It ", "They ", "This ", "These ", "Both ", "Its "];
    let cited: Vec<&Evidence> =
        notes.evidence.iter().filter(|it| line.evidence.contains(&it.id)).collect();
    if cited.is_empty() || PRONOUNS.iter().any(|it| line.text.starts_with(it)) {
        return true;
    }
    let names = |subject: &String, text: &str| stem_overlap(subject, text) >= 1.0;
    brief.subjects.iter().all(|subject| {
        names(subject, &line.text)
            || !cited.iter().all(|it| names(subject, it.passage.text().expose()))
    })
}

/// Drops the lines of prose that another line of the section contains.
fn drop_contained_lines(section: &mut DraftSection) {
    if section.layout != SectionLayout::Prose {
        return;
    }
    let texts: Vec<String> =
        section.paragraphs.iter().flatten().map(|line| line.text.clone()).collect();
    retain_lines(section, |line| {
        !texts.iter().any(|text| text.len() > line.text.len() && text.contains(&line.text))
    });
}

/// Drops lines that the short answer already has: those of prose, and those of a list if the short answer is a list. Then drops empty
/// sections. A section planned by a model or a person stays if all its lines are told. The rest of a shortened list moves to the `further`
/// points: a single step is no procedure.
fn drop_told_lines(
    brief: &Brief,
    draft: &mut ReportDraft,
    scorer: &RelevanceScorer,
    further: &str,
) {
    let asked = brief.question.to_lowercase();
    let short: BTreeSet<String> = draft.short.iter().map(|line| line.text.clone()).collect();
    let list_told = !short.is_empty() && draft.short == draft.short_list;
    let mut left = Vec::new();
    for section in &mut draft.sections {
        // A part of the question is a section in its words.
        let is_part = asked.contains(&section.title.to_lowercase());
        let by_code = section.item.is_some_and(|item| scorer.has_facet(item) || is_part);
        let mut lines = section.paragraphs.iter().flatten();
        if !by_code && section.title != further && lines.all(|line| short.contains(&line.text)) {
            continue;
        }
        if section.layout == SectionLayout::Prose || list_told {
            let count = |it: &DraftSection| it.paragraphs.iter().flatten().count();
            let before = count(section);
            retain_lines(section, |line| !short.contains(&line.text));
            if section.layout != SectionLayout::Prose && count(section) < before {
                left.extend(section.paragraphs.drain(..).flatten());
            }
        }
    }
    draft.sections.retain(|section| !section.paragraphs.is_empty());
    if left.is_empty() {
        return;
    }
    match draft.sections.iter_mut().find(|it| it.title == further) {
        Some(known) => known.paragraphs.push(left),
        None => draft.sections.push(DraftSection {
            title: further.to_owned(),
            item: None,
            layout: SectionLayout::List,
            paragraphs: vec![left],
        }),
    }
}

/// Drops the sections of prose that tell nothing but sides of conflicts which the short answer does not tell: a figure that others dispute
/// stands beside theirs.
fn drop_disputed_sections(draft: &mut ReportDraft) {
    let told: BTreeSet<EvidenceId> =
        draft.short.iter().flat_map(|line| &line.evidence).copied().collect();
    let sides = draft.conflicts.iter().flat_map(|conflict| &conflict.sides);
    let disputed: BTreeSet<EvidenceId> =
        sides.flat_map(|side| &side.1.evidence).filter(|id| !told.contains(id)).copied().collect();
    draft.sections.retain(|section| {
        let mut lines = section.paragraphs.iter().flatten();
        section.layout != SectionLayout::Prose
            || !lines.all(|line| line.evidence.iter().all(|id| disputed.contains(id)))
    });
}

/// Of a comparison, drops the lines on one thing alone that share no word with any line on the other thing: how many green roofs carry
/// panels compares nothing. Drops from the section on one thing the lines that neither name it nor come from a page on it. A thing on
/// which no other line would be left keeps its own.
fn keep_comparable_lines(
    brief: &Brief,
    notes: &EvidenceStore,
    draft: &mut ReportDraft,
    scorer: &RelevanceScorer,
) {
    let names = SideName::of_brief(brief);
    if names.is_empty() {
        return;
    }
    let of_names: Vec<BTreeSet<String>> =
        compared_things(brief).iter().map(|side| words(side)).collect();
    let named = |text: &str| -> Vec<usize> {
        (0..names.len()).filter(|nth| names[*nth].is_in(text)).collect()
    };
    let is_of_all = |word: &&String| of_names.iter().all(|own| own.contains(*word));
    let of_both: BTreeSet<&String> = of_names[0].iter().filter(is_of_all).collect();
    // "A blue-green roof stores 80 mm, while a green roof stores 30 mm" is on another roof first.
    let names_first = |text: &str| {
        let contrasts = [" while ", " whereas ", " unlike "];
        let Some(at) = contrasts.iter().filter_map(|it| text.find(it)).min() else { return true };
        let is_of_kind = words(&text[..at]).iter().any(|word| of_both.contains(word));
        !is_of_kind || !named(&text[..at]).is_empty()
    };
    let lines = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let findings = draft.findings.iter().map(|finding| &finding.0);
    let all: Vec<&DraftLine> = draft.short.iter().chain(findings).chain(lines).collect();
    let words_on: Vec<BTreeSet<String>> = (0..names.len())
        .map(|nth| {
            let on_it = all.iter().filter(|line| named(&line.text).contains(&nth));
            on_it.flat_map(|line| words(&line.text)).collect()
        })
        .collect();
    let compares = |line: &DraftLine| match named(&line.text)[..] {
        [_] if !names_first(&line.text) => false,
        [own] => {
            let others = words_on.iter().enumerate().filter(|(nth, _)| *nth != own);
            let others: BTreeSet<&String> = others.flat_map(|(_, words)| words).collect();
            words(&line.text).iter().any(|it| !of_names[own].contains(it) && others.contains(it))
        }
        _ => true,
    };
    draft.findings.retain(|finding| compares(&finding.0));
    let is_of = |nth: usize, line: &DraftLine| {
        let mut cited = notes.evidence.iter().filter(|it| line.evidence.contains(&it.id));
        let of_page = |it: &Evidence| {
            let title = notes.source(it.source).map(|source| named(&source.title));
            let quoted = it.quotes().any(|quote| named(quote.text().expose()).contains(&nth));
            quoted || title.is_some_and(|title| title.contains(&nth))
        };
        named(&line.text).contains(&nth) || cited.any(of_page)
    };
    for section in &mut draft.sections {
        let is_on_one = section.item.is_some_and(|item| scorer.is_side(item));
        let side = match named(&section.title)[..] {
            [side] if is_on_one => Some(side),
            _ => None,
        };
        let fits = |line: &DraftLine| compares(line) && side.is_none_or(|nth| is_of(nth, line));
        if !is_on_one || section.paragraphs.iter().flatten().any(fits) {
            retain_lines(section, fits);
        }
    }
}

/// The content words of a text, without numbers.
fn words(text: &str) -> BTreeSet<String> {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let plain: Vec<String> =
        tokens(text).into_iter().map(|token| token.text).filter(|it| !is_number(it)).collect();
    content_stems(&plain.join(" ")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_from_brief;
    use crate::test_support;

    fn line(nth: u32, text: &str) -> DraftLine {
        DraftLine { text: text.to_owned(), evidence: vec![EvidenceId::new(nth)] }
    }

    fn section(item: u32, lines: &[DraftLine]) -> DraftSection {
        DraftSection {
            title: format!("Item {item}"),
            item: Some(ItemId::new(item)),
            layout: SectionLayout::Prose,
            paragraphs: vec![lines.to_vec()],
        }
    }

    fn texts(draft: &ReportDraft) -> Vec<&str> {
        let lines = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
        lines.map(|line| &*line.text).collect()
    }

    fn settle(asked: &str, draft: &mut ReportDraft, coverage: &mut [CoverageRow]) {
        let brief = test_support::brief(asked);
        let plan = plan_from_brief(&brief).unwrap();
        let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
        let notes = EvidenceStore::new(plan);
        remove_unfit_lines(&brief, &notes, draft, &mut scorer).unwrap();
        report_open_parts(draft, coverage, &mut scorer).unwrap();
    }

    #[test]
    fn steps_that_the_short_answer_tells_are_told_once_and_what_is_left_is_a_further_point() {
        let steps = [line(1, "Sweep the roof."), line(2, "Lay the mat."), line(3, "Water it.")];
        let more = line(4, "Check that the roof falls towards its outlets.");
        let lines = [std::slice::from_ref(&more), &steps[..2]].concat();
        let list = DraftSection { layout: SectionLayout::Steps, ..section(1, &lines) };
        let mut draft = test_support::draft(&steps, vec![list]);
        draft.short_list = steps.to_vec();
        settle("How do you install a green roof?", &mut draft, &mut []);
        assert_eq!(texts(&draft), [more.text.as_str()]);
        assert_eq!(draft.sections[0].title, prompts::phrases().unwrap().synthesis.further);
    }

    #[test]
    fn a_part_of_the_question_that_no_sentence_is_on_is_open() {
        let short = [line(1, "Of 37 leaks, 33 were at flashings and pipes.")];
        let marks = line(2, "Compare the level with the marks: anything more is a leak.");
        let flashings = line(3, "Roofs leak at flashings, because they move.");
        let sections = vec![section(1, std::slice::from_ref(&flashings)), section(2, &[marks])];
        let mut draft = test_support::draft(&short, sections);
        let mut coverage = [1, 2].map(|nth| CoverageRow {
            state: Coverage::Covered,
            ..CoverageRow::empty(ItemId::new(nth), "how can leaks be prevented?")
        });
        settle("Why do roofs leak and how can leaks be prevented?", &mut draft, &mut coverage);
        assert_eq!(texts(&draft), [flashings.text.as_str()]);
        assert_eq!(coverage.each_ref().map(|row| row.state), [Coverage::Covered, Coverage::Open]);
        let open: Vec<&str> = draft.open.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(open, ["How can leaks be prevented?"]);
    }

    /// Whether each text fits the section of this heading in the plan for a question.
    fn fit((asked, heading): (&str, &str), texts: [&str; 2]) -> [bool; 2] {
        let brief = test_support::brief(asked);
        let plan = plan_from_brief(&brief).unwrap();
        let item = plan.items().iter().find(|item| item.heading == heading).unwrap().id;
        let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
        texts.map(|text| scorer.fits_section(Some(item), text))
    }

    #[test]
    fn figures_have_numbers_and_reasons_have_the_words_asked_for() {
        let kept = "An extensive green roof costs 110 euros per square metre.";
        let sections = vec![section(
            1,
            &[line(1, "An extensive green roof rarely pays for its owner."), line(2, kept)],
        )];
        let mut draft = test_support::draft(&[], sections);
        settle("What does an extensive green roof cost per square metre?", &mut draft, &mut []);
        assert_eq!(texts(&draft), [kept]);

        let [off, on] = fit(
            ("Do green roofs save heating energy?", "How it works"),
            [
                "The air above a green roof is cooler because plants turn heat into vapour.",
                "Roofs save heating energy because the substrate slows the loss.",
            ],
        );
        assert!(on && !off);
        let [off, on] = fit(
            ("Why do roofs leak?", "Figures"),
            [
                "Leaks of a roof are found by a current. It finds a hole to within 10 cm.",
                "Of 37 leaks of roofs, 33 were at pipes.",
            ],
        );
        assert!(on && !off);
    }

    #[test]
    fn a_sentence_on_one_thing_alone_compares_nothing() {
        let cool = line(1, "Cool roofs reflect sunlight and do nothing for rain.");
        let rain = line(2, "A green roof holds back half of the rain.");
        let blue = line(4, "A blue-green roof holds rain, while a green roof holds less rain.");
        let panels = line(3, "Eleven of the green roofs carried panels.");
        let sections = vec![section(2, &[rain.clone(), panels, blue])];
        let mut draft = test_support::draft(&[cool], sections);
        settle("Compare green roofs with cool roofs", &mut draft, &mut []);
        assert_eq!(texts(&draft), [rain.text.as_str()]);

        // Under the name of one thing stands what is said of it.
        let cool = line(1, "Cool roofs reflect the sun and hold back no rain.");
        let city = line(2, "The heat fell in six offices whose roofs the city planted.");
        let of_cool = DraftSection { title: "Cool roofs".to_owned(), ..section(3, &[cool, city]) };
        let mut draft = test_support::draft(std::slice::from_ref(&rain), vec![of_cool]);
        settle("Compare green roofs with cool roofs", &mut draft, &mut []);
        assert_eq!(texts(&draft), ["Cool roofs reflect the sun and hold back no rain."]);
    }

    #[test]
    fn a_conclusion_takes_no_side_of_what_is_disputed() {
        let sides = [line(1, "It retained 63 % of rain."), line(2, "It retained 56 % of rain.")];
        let both = DraftLine {
            text: "It retained 56 to 63 % of rain.".to_owned(),
            evidence: vec![EvidenceId::new(1), EvidenceId::new(2)],
        };
        let told = sides.clone().map(|side| ("it".to_owned(), side));
        let conflict = DraftConflict {
            about: "rain".to_owned(),
            item: ItemId::new(1),
            sides: told.to_vec(),
            likely: None,
        };
        assert!(takes_one_side(&conflict, &sides[0]) && !takes_one_side(&conflict, &both));
    }

    #[test]
    fn a_conclusion_brings_nothing_that_was_not_told() {
        let told = line(1, "Panels above a roof yield 2 % more.");
        let new = line(2, "Eleven of the roofs carried panels.");
        let mut draft = test_support::draft(std::slice::from_ref(&told), Vec::new());
        (draft.conclusion, draft.conclusion_by_code) = (vec![told.clone(), new], false);
        keep_concluding_lines(&mut draft);
        let left: Vec<&str> = draft.conclusion.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(left, [told.text.as_str()]);
    }

    #[test]
    fn a_disputed_figure_or_the_short_answer_is_no_section_by_itself() {
        let (told, disputed) =
            (line(1, "A roof retains 56 % of rain."), line(2, "It retains 78 %."));
        let sides = [&told, &disputed].map(|side| ("56%".to_owned(), side.clone())).to_vec();
        let asked = "How much rain does a roof retain?";
        for (lines, left) in [(vec![&disputed], 0), (vec![&told], 0), (vec![&told, &disputed], 0)] {
            let lines: Vec<DraftLine> = lines.into_iter().cloned().collect();
            let mut draft =
                test_support::draft(std::slice::from_ref(&told), vec![section(1, &lines)]);
            let (about, item) = (String::new(), ItemId::new(1));
            draft.conflicts.push(DraftConflict { about, item, sides: sides.clone(), likely: None });
            settle(asked, &mut draft, &mut []);
            assert_eq!(texts(&draft).len(), left);
        }
    }

    #[test]
    fn a_conclusion_does_not_tell_of_something_else_than_its_quotes() {
        let brief = test_support::brief("What is cork?");
        let mut notes = EvidenceStore::new(plan_from_brief(&brief).unwrap());
        notes.evidence = vec![test_support::evidence(1, &[1])];
        for (said, kept) in [("A tree floats.", false), ("Cork floats well.", true)] {
            assert_eq!(keeps_subject(&brief, &notes, &line(1, said)), kept, "{said}");
        }
    }

    #[test]
    fn a_sentence_that_another_contains_is_told_once() {
        let mut section = section(
            1,
            &[line(1, "It saved 27 %."), line(2, "It saved 27 %. In June it saved 41 %.")],
        );
        drop_contained_lines(&mut section);
        assert_eq!(section.paragraphs.concat().len(), 1);
    }
}
