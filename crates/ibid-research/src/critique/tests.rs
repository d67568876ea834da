use ibid_core::domain::{
    Block, BlockKind, Critic, Evidence, EvidenceId, EvidenceStore, ItemId, Page, PageDraft, Plan,
    SectionLayout, SourceId,
};

use super::proposal::{ProposedPatch, section_lines};
use super::*;
use crate::draft::DraftLine;
use crate::draft::DraftSection;
use crate::heuristic::score::RelevanceScorer;
use crate::outline::{EvidenceAssignment, Outline};
use crate::plan_from_brief;
use crate::test_support::{brief, draft, evidence};

const ASKED: &str = "What does the harvest of cork cost per tree?";

fn line(text: &str, id: u32) -> DraftLine {
    DraftLine { text: text.to_owned(), evidence: vec![EvidenceId::new(id)] }
}

fn section(title: &str, lines: &[DraftLine]) -> DraftSection {
    DraftSection {
        title: title.to_owned(),
        item: Some(ItemId::new(1)),
        layout: SectionLayout::Prose,
        paragraphs: vec![lines.to_vec()],
    }
}

/// Runs the critics of code over `draft`, with evidence that says each of `claims`.
fn criticized(draft: ReportDraft, claims: &[&str]) -> (ReportDraft, Vec<Objection>) {
    criticized_within(draft, claims, None)
}

/// The same with at most so many words.
fn criticized_within(
    draft: ReportDraft,
    claims: &[&str],
    most: Option<usize>,
) -> (ReportDraft, Vec<Objection>) {
    let brief = brief(ASKED);
    let plan: Plan = plan_from_brief(&brief).unwrap();
    let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
    let mut notes = EvidenceStore::new(plan.clone());
    for (id, claim) in (1..).zip(claims) {
        let page = Page::new(PageDraft {
            url: format!("https://s{id}.example/"),
            blocks: vec![Block::new(BlockKind::Prose, *claim)],
            ..Default::default()
        });
        notes.evidence.push(Evidence {
            claim: (*claim).to_owned(),
            passage: page.passage(0, 0).unwrap(),
            source: SourceId::new(id),
            ..evidence(id, &[1])
        });
    }
    let mut outline = Outline::from_plan(&plan, EvidenceAssignment::FirstItem);
    let best: Vec<&Evidence> = notes.evidence.iter().collect();
    outline.update(&plan, &best, &[]);
    let found = DraftResearch { notes: &notes, outline: &outline };
    let proposed = by_code::object(&draft, ASKED, found, &mut scorer);
    let mut patcher = DraftPatcher::new(found, &mut scorer, draft).within(most);
    let objections = patcher.apply_all(proposed).unwrap();
    (patcher.into_draft(), objections)
}

fn texts(draft: &ReportDraft) -> Vec<&str> {
    section_lines(draft).map(|pair| pair.1.text.as_str()).collect()
}

#[test]
fn what_answers_best_is_added_and_leads() {
    let old = line("Cork forests are old.", 1);
    let title = {
        let plan = plan_from_brief(&brief(ASKED)).unwrap();
        plan.writing.sections[0].title.clone()
    };
    let before =
        draft(std::slice::from_ref(&old), vec![section(&title, std::slice::from_ref(&old))]);
    let costs = "The harvest of cork costs 3 euros per tree.";
    let (after, objections) = criticized(before, &["Cork forests are old.", costs]);
    assert!(texts(&after).contains(&costs), "{objections:?}");
    assert_eq!(objections[0].critic, Critic::Coverage);
    assert_eq!(objections[0].outcome, PatchOutcome::Added);
    // In the next round the short answer gives way to it.
    let (last, objections) = criticized(after, &["Cork forests are old.", costs]);
    assert_eq!(last.short[0].text, costs, "{objections:?}");
    assert_eq!(objections[0].outcome, PatchOutcome::Moved { to: None });
    // Then nothing is left to object to.
    assert!(criticized(last, &["Cork forests are old.", costs]).1.is_empty());
}

#[test]
fn nothing_is_added_to_a_report_that_is_as_long_as_it_may_be() {
    let old = line("Cork forests are old.", 1);
    let title = plan_from_brief(&brief(ASKED)).unwrap().writing.sections[0].title.clone();
    let costs = "The harvest of cork costs 3 euros per tree.";
    let within = |most: usize| {
        let before =
            draft(std::slice::from_ref(&old), vec![section(&title, std::slice::from_ref(&old))]);
        criticized_within(before, &["Cork forests are old.", costs], Some(most))
    };
    // The short answer and the section have eight words.
    let (after, objections) = within(8);
    assert_eq!(texts(&after), [old.text.as_str()]);
    assert!(matches!(objections[0].outcome, PatchOutcome::Rejected { .. }), "{objections:?}");
    assert!(texts(&within(17).0).contains(&costs));
}

#[test]
fn a_sentence_that_says_the_same_is_removed_unless_it_is_all_that_a_section_has() {
    let first = line("The harvest of cork costs 3 euros per tree.", 1);
    let again = line("For each tree the harvest of cork costs 3 euros.", 2);
    let other = line("The harvest of cork takes two people a day.", 3);
    let claims = [first.text.clone(), again.text.clone(), other.text.clone()];
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let both = vec![
        section("Costs", std::slice::from_ref(&first)),
        section("Work", &[again.clone(), other]),
    ];
    let (after, objections) = criticized(draft(std::slice::from_ref(&first), both), &claims);
    assert_eq!(texts(&after).len(), 2, "{objections:?}");
    assert_eq!(objections[0].outcome, PatchOutcome::Removed);
    let alone = vec![section("Costs", std::slice::from_ref(&first)), section("Work", &[again])];
    let (after, objections) = criticized(draft(&[first], alone), &claims[..2]);
    assert_eq!(texts(&after).len(), 2);
    assert!(matches!(objections[0].outcome, PatchOutcome::Rejected { .. }), "{objections:?}");
}

#[test]
fn a_model_does_not_remove_what_limits_the_rest() {
    let (first, caveat) =
        (line("Cork insulates houses.", 1), line("But no study has shown how long it lasts.", 2));
    let lines = [first.clone(), caveat.clone(), line("Cork floats on water.", 3)];
    let brief = brief(ASKED);
    let plan = plan_from_brief(&brief).unwrap();
    let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
    let outline = Outline::from_plan(&plan, EvidenceAssignment::FirstItem);
    let notes = EvidenceStore::new(plan);
    let found = DraftResearch { notes: &notes, outline: &outline };
    let mut outcome = |line: &DraftLine| {
        let draft = draft(std::slice::from_ref(&first), vec![section("Uses", &lines)]);
        let proposed = vec![ProposedPatch {
            critic: Critic::Reader,
            by: Some("a/b".to_owned()),
            section: Some("Uses".to_owned()),
            why: "it does not help to answer".to_owned(),
            change: DraftChange::Remove(line.clone()),
        }];
        DraftPatcher::new(found, &mut scorer, draft).apply_all(proposed).unwrap().remove(0).outcome
    };
    assert!(matches!(outcome(&caveat), PatchOutcome::Rejected { .. }));
    assert_eq!(outcome(&lines[2]), PatchOutcome::Removed);
}
