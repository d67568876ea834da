//! Which sections a model writes together, and from which evidence.
use ibid_core::domain::{Evidence, WritingPlan};

/// Least evidence of a group of sections: a call for less costs more in instructions than it saves in time.
pub(super) const MIN_GROUP_EVIDENCE: usize = 3;
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
/// evidence, with the poorer ones beside it. `all` is the evidence, best first.
pub(super) fn section_groups<'e>(
    plan: &WritingPlan,
    all: &[&'e Evidence],
    least: usize,
) -> Vec<SectionGroup<'e>> {
    let mut groups: Vec<SectionGroup<'e>> = Vec::new();
    for (section, evidence) in plan.sections.iter().zip(assign_evidence(plan, all)) {
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

/// The evidence of each section, best first. Each piece goes to one section, so that no two sections say the same: to that
/// of the item it serves best, or to the first. A section without items is about the whole and gets the best of all.
fn assign_evidence<'e>(plan: &WritingPlan, all: &[&'e Evidence]) -> Vec<Vec<&'e Evidence>> {
    let mut of_sections: Vec<Vec<&Evidence>> = vec![Vec::new(); plan.sections.len()];
    let first = plan.sections.iter().position(|section| !section.items.is_empty());
    for it in all {
        let section_of = |id| plan.sections.iter().position(|section| section.items.contains(id));
        if let Some(nth) = it.items.iter().find_map(section_of).or(first) {
            of_sections[nth].push(it);
        }
    }
    for (section, own) in plan.sections.iter().zip(&mut of_sections) {
        if section.items.is_empty() {
            own.extend(all.iter().take(WHOLE_EVIDENCE));
        }
    }
    of_sections
}
