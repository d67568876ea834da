//! Which sections a model writes together, and from which evidence.
use crate::outline::{EvidenceAssignment, assign_evidence};
use ibid_core::domain::{ChecklistItem, Evidence, WritingPlan};

/// Least evidence of a group of sections: a call for less costs more in instructions than it saves in time.
pub(super) const MIN_GROUP_EVIDENCE: usize = 3;
/// Most evidence of a call that writes one section: from more, it is written in several calls side by side, because the time of a
/// call grows with the sentences it writes.
const MAX_GROUP_EVIDENCE: usize = 8;
/// Evidence for a section about the whole.
const WHOLE_EVIDENCE: usize = 6;

/// Sections that are written in one call.
pub(super) struct SectionGroup<'e> {
    /// The writing plan with these sections alone.
    pub(super) plan: WritingPlan,
    /// Their evidence, best first.
    pub(super) evidence: Vec<&'e Evidence>,
}

/// Divides the sections of `plan`, in order, into groups: one for each section that has at least `least` pieces of
/// evidence, with the poorer ones beside it. `all` is the evidence, best first; `items` are those of the plan.
pub(super) fn section_groups<'e>(
    plan: &WritingPlan,
    items: &[ChecklistItem],
    all: &[&'e Evidence],
    least: usize,
) -> Vec<SectionGroup<'e>> {
    let mut groups: Vec<SectionGroup<'e>> = Vec::new();
    for (section, evidence) in plan.sections.iter().zip(evidence_of_sections(plan, items, all)) {
        match groups.last_mut() {
            Some(last) if last.evidence.len() < least => {
                last.plan.sections.push(section.clone());
                last.evidence.extend(evidence);
            }
            _ => groups.push(SectionGroup {
                plan: WritingPlan { sections: vec![section.clone()], ..plan.clone() },
                evidence,
            }),
        }
    }
    // A rest too small for a call of its own is written with the group before it.
    if groups.len() > 1
        && groups.last().is_some_and(|last| last.evidence.len() < least)
        && let (Some(rest), Some(last)) = (groups.pop(), groups.last_mut())
    {
        last.plan.sections.extend(rest.plan.sections);
        last.evidence.extend(rest.evidence);
    }
    for group in &mut groups {
        let rank = |it: &&Evidence| all.iter().position(|other| other.id == it.id);
        group.evidence.sort_by_key(rank);
        group.evidence.dedup_by_key(|it| it.id);
    }
    groups
}

/// `groups` with those of one section that have much evidence divided into equal parts, best first.
pub(super) fn split_large(groups: Vec<SectionGroup<'_>>) -> Vec<SectionGroup<'_>> {
    let mut out = Vec::new();
    for group in groups {
        let parts = group.evidence.len().div_ceil(MAX_GROUP_EVIDENCE);
        if group.plan.sections.len() > 1 || parts < 2 {
            out.push(group);
            continue;
        }
        let size = group.evidence.len().div_ceil(parts);
        out.extend(
            group
                .evidence
                .chunks(size)
                .map(|part| SectionGroup { plan: group.plan.clone(), evidence: part.to_vec() }),
        );
    }
    out
}

/// The evidence of each section, best first. A section without items is about the whole and gets the best of all.
fn evidence_of_sections<'e>(
    plan: &WritingPlan,
    items: &[ChecklistItem],
    all: &[&'e Evidence],
) -> Vec<Vec<&'e Evidence>> {
    let mut of_sections =
        assign_evidence(&plan.sections, items, all, EvidenceAssignment::NearestWords);
    for (section, own) in plan.sections.iter().zip(&mut of_sections) {
        if section.items.is_empty() {
            own.extend(all.iter().take(WHOLE_EVIDENCE));
        }
    }
    of_sections
}

#[cfg(test)]
mod tests {
    use ibid_core::domain::{ItemId, SectionPlan};

    use super::*;
    use crate::test_support::evidence;

    fn plan(sections: &[(&str, &[u32])]) -> WritingPlan {
        let section = |(title, items): &(&str, &[u32])| SectionPlan {
            title: (*title).to_owned(),
            guidance: String::new(),
            items: items.iter().map(|it| ItemId::new(*it)).collect(),
        };
        WritingPlan {
            overall_goal: String::new(),
            desired_tone: String::new(),
            sections: sections.iter().map(section).collect(),
            additional_directives: Vec::new(),
            bibliography: true,
        }
    }

    #[test]
    fn a_section_with_much_evidence_is_written_in_several_calls() {
        let all: Vec<Evidence> = (1..=17).map(|id| evidence(id, &[1])).collect();
        let all: Vec<&Evidence> = all.iter().collect();
        let groups = section_groups(&plan(&[("Uses", &[1])]), &[], &all, 1);
        assert_eq!(groups.len(), 1);
        let sizes: Vec<usize> = split_large(groups).iter().map(|it| it.evidence.len()).collect();
        assert_eq!(sizes, [6, 6, 5]);
        let few = section_groups(&plan(&[("Uses", &[1])]), &[], &all[..8], 1);
        assert_eq!(split_large(few).len(), 1);
    }

    #[test]
    fn evidence_goes_to_the_section_whose_words_it_has() {
        let mut of_price = evidence(1, &[1, 2]);
        of_price.claim = "The harvest costs 3 euros a tree.".to_owned();
        let all = [&of_price];
        let plan = plan(&[("Uses", &[1]), ("Price and costs of the harvest", &[2])]);
        let groups = section_groups(&plan, &[], &all, 0);
        let numbers: Vec<usize> = groups.iter().map(|group| group.evidence.len()).collect();
        assert_eq!(numbers, [0, 1]);
    }

    #[test]
    fn evidence_goes_to_one_section_and_poor_sections_are_written_together() {
        // Items 1 and 2 have four and three pieces, item 3 has one; the last piece serves an item without a section.
        let all: Vec<Evidence> = [(1, 1), (2, 2), (3, 1), (4, 2), (5, 1), (6, 2), (7, 3), (8, 9)]
            .iter()
            .map(|(id, item)| evidence(*id, &[*item, 1]))
            .collect();
        let all: Vec<&Evidence> = all.iter().collect();
        let plan = plan(&[("Uses", &[1]), ("Harvest", &[2]), ("Price", &[3]), ("Outlook", &[])]);
        let shape = |least| -> Vec<(Vec<String>, Vec<String>)> {
            let titles = |plan: &WritingPlan| {
                plan.sections.iter().map(|section| section.title.clone()).collect()
            };
            section_groups(&plan, &[], &all, least)
                .iter()
                .map(|group| {
                    let ids = group.evidence.iter().map(|it| it.id.to_string()).collect();
                    (titles(&group.plan), ids)
                })
                .collect()
        };
        let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            shape(MIN_GROUP_EVIDENCE),
            [
                (owned(&["Uses"]), owned(&["e1", "e3", "e5", "e8"])),
                (owned(&["Harvest"]), owned(&["e2", "e4", "e6"])),
                (owned(&["Price", "Outlook"]), owned(&["e1", "e2", "e3", "e4", "e5", "e6", "e7"])),
            ]
        );
        assert_eq!(shape(1).len(), 4, "each by itself");
    }
}
