//! The outline of the report: which sections it will have, with the evidence and the gaps of each. It begins as the writing plan and
//! changes with what is found.
//!
//! A living outline that is tied to its evidence is the method of `WebWeaver` (Li and others 2025). Here code alone edits it, by
//! counts of evidence and by coverage, so that a model cannot drop what was found.
use std::collections::BTreeMap;

use ibid_core::domain::words::stem_overlap;
use ibid_core::domain::{
    ChecklistItem, Coverage, CoverageRow, Evidence, EvidenceId, EvidenceStore, ItemId, OutlineEdit,
    OutlineSection, Plan, SectionPlan,
};

use crate::thresholds::{MIN_MERGED_SECTION_OVERLAP, MIN_SECTION_EVIDENCE, MIN_SPLIT_EVIDENCE};

/// The sections of the report that is being researched.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    sections: Vec<OutlineSection>,
    assignment: EvidenceAssignment,
}

/// Which of its items' sections a piece of evidence goes to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvidenceAssignment {
    /// That of its first item, which it speaks to most, as found by words.
    #[default]
    FirstItem,
    /// The one whose words it has most of: a model names items in no order.
    NearestWords,
}

impl Outline {
    /// The outline before anything was found: the sections of the plan.
    pub(crate) fn from_plan(plan: &Plan, assignment: EvidenceAssignment) -> Outline {
        let section = |it: &SectionPlan| new_section(&it.title, &it.guidance, it.items.clone());
        Outline { sections: plan.writing.sections.iter().map(section).collect(), assignment }
    }

    /// Its sections, in order.
    pub(crate) fn sections(&self) -> &[OutlineSection] {
        &self.sections
    }

    /// Its sections as a writer's plan.
    pub(crate) fn section_plans(&self) -> Vec<SectionPlan> {
        let plan = |it: &OutlineSection| SectionPlan {
            title: it.title.clone(),
            guidance: it.claim.clone(),
            items: it.items.clone(),
        };
        self.sections.iter().map(plan).collect()
    }

    /// Updates the outline after a round. `best` is the evidence, best first. Returns what was edited.
    pub(crate) fn update(
        &mut self,
        plan: &Plan,
        best: &[&Evidence],
        coverage: &[CoverageRow],
    ) -> Vec<OutlineEdit> {
        let mut edits = self.add_missing(plan);
        self.assign(plan.items(), best);
        if let Some(split) = self.split(plan, best) {
            edits.push(split);
            self.assign(plan.items(), best);
        }
        for section in &mut self.sections {
            let rows = || coverage.iter().filter(|row| section.items.contains(&row.id));
            let is_open =
                |row: &&CoverageRow| matches!(row.state, Coverage::Open | Coverage::Partial);
            section.gaps = rows().filter(is_open).filter_map(|row| row.gap.clone()).collect();
            let covered = rows().next().is_some() && !rows().any(|row| is_open(&row));
            let answered = covered && !section.evidence.is_empty();
            if answered != section.answered {
                section.answered = answered;
                let title = section.title.clone();
                edits.push(match answered {
                    true => OutlineEdit::MarkAnswered { title },
                    false => OutlineEdit::Reopen { title },
                });
            }
        }
        edits
    }

    /// Settles the outline before writing: what nothing was found for is dropped, what has too little to stand alone is merged if
    /// `merges`, and what is not answered stands after what is. Returns what was edited.
    pub(crate) fn settle(&mut self, notes: &EvidenceStore, merges: bool) -> Vec<OutlineEdit> {
        let mut edits = Vec::new();
        let is_empty = |it: &OutlineSection| !it.items.is_empty() && it.evidence.is_empty();
        // Without any evidence there is no report that could be ordered.
        if self.sections.iter().all(|it| it.evidence.is_empty()) {
            return edits;
        }
        for dropped in self.sections.extract_if(.., |it| is_empty(it)) {
            edits.push(OutlineEdit::Drop { title: dropped.title });
        }
        while let Some((from, into)) = merges.then(|| self.mergeable(notes)).flatten() {
            let own = self.sections.remove(from);
            let into = &mut self.sections[if from < into { into - 1 } else { into }];
            into.items.extend(own.items);
            into.evidence.extend(own.evidence);
            into.gaps.extend(own.gaps);
            edits.push(OutlineEdit::Merge { title: own.title, into: into.title.clone() });
        }
        let core = notes.plan.items().first().map(|item| item.id);
        let later = |it: &OutlineSection| {
            !it.items.is_empty() && !it.answered && core.is_none_or(|id| !it.items.contains(&id))
        };
        let before: Vec<String> = self.sections.iter().map(|it| it.title.clone()).collect();
        let fixed: Vec<bool> = self.sections.iter().map(|it| it.items.is_empty()).collect();
        let mut movable: Vec<OutlineSection> =
            self.sections.extract_if(.., |it| !it.items.is_empty()).collect();
        movable.sort_by_key(later);
        let mut whole = std::mem::take(&mut self.sections).into_iter();
        let mut movable = movable.into_iter();
        let ordered = fixed.into_iter();
        self.sections =
            ordered.filter_map(|fixed| if fixed { whole.next() } else { movable.next() }).collect();
        for (to, section) in (0..).zip(&self.sections) {
            if before[to as usize] != section.title {
                edits.push(OutlineEdit::Move { title: section.title.clone(), to });
            }
        }
        edits
    }

    /// Adds a section for each item that has none.
    fn add_missing(&mut self, plan: &Plan) -> Vec<OutlineEdit> {
        let mut edits = Vec::new();
        for item in plan.items() {
            if self.sections.iter().any(|it| it.items.contains(&item.id)) {
                continue;
            }
            let same = |it: &&mut OutlineSection| it.title.eq_ignore_ascii_case(&item.heading);
            if let Some(known) = self.sections.iter_mut().find(same) {
                known.items.push(item.id);
                continue;
            }
            self.sections.push(new_section(&item.heading, &item.asks, vec![item.id]));
            edits.push(OutlineEdit::Add { title: item.heading.clone() });
        }
        edits
    }

    /// Gives each section its evidence.
    fn assign(&mut self, items: &[ChecklistItem], best: &[&Evidence]) {
        let plans = self.section_plans();
        let assigned = assign_evidence(&plans, items, best, self.assignment);
        for (section, own) in self.sections.iter_mut().zip(assigned) {
            section.evidence = own.iter().map(|it| it.id).collect();
        }
    }

    /// Splits a section where two of its items have enough evidence for a section each.
    fn split(&mut self, plan: &Plan, best: &[&Evidence]) -> Option<OutlineEdit> {
        let taken =
            |title: &str| self.sections.iter().any(|it| it.title.eq_ignore_ascii_case(title));
        let (at, parts) = self.sections.iter().enumerate().find_map(|(at, section)| {
            let mut counts: BTreeMap<ItemId, usize> = BTreeMap::new();
            for it in best.iter().filter(|it| section.evidence.contains(&it.id)) {
                if let Some(item) = it.items.iter().find(|id| section.items.contains(id)) {
                    *counts.entry(*item).or_default() += 1;
                }
            }
            let rich: Vec<&ChecklistItem> = section
                .items
                .iter()
                .filter(|id| counts.get(id).is_some_and(|n| *n >= MIN_SPLIT_EVIDENCE))
                .filter_map(|id| plan.item(*id))
                .filter(|item| !taken(&item.heading))
                .collect();
            (rich.len() >= 2).then_some((at, rich))
        })?;
        let whole = self.sections.remove(at);
        // What has little of its own stays with the first.
        let rest = whole.items.iter().filter(|id| !parts.iter().any(|part| part.id == **id));
        let rest: Vec<ItemId> = rest.copied().collect();
        let titles: Vec<String> = parts.iter().map(|part| part.heading.clone()).collect();
        for (nth, part) in parts.iter().enumerate() {
            let mut items = vec![part.id];
            items.extend(rest.iter().filter(|_| nth == 0));
            let mut section = new_section(&part.heading, &part.asks, items);
            section.answered = whole.answered;
            self.sections.insert(at + nth, section);
        }
        Some(OutlineEdit::Split { title: whole.title, into: titles })
    }

    /// A section with too little to stand alone, and the one that speaks of the same.
    fn mergeable(&self, notes: &EvidenceStore) -> Option<(usize, usize)> {
        let core = notes.plan.items().first()?.id;
        let words: Vec<String> = self
            .section_plans()
            .iter()
            .map(|section| section_words(section, notes.plan.items()))
            .collect();
        self.sections.iter().enumerate().find_map(|(from, section)| {
            let little = !section.items.is_empty()
                && section.evidence.len() < MIN_SECTION_EVIDENCE
                && !section.items.contains(&core);
            let own = notes.evidence.iter().find(|it| section.evidence.contains(&it.id));
            let own = own.filter(|_| little)?;
            let others = self.sections.iter().enumerate();
            let mut best: Option<(f32, usize)> = None;
            for (into, _) in others.filter(|(at, it)| *at != from && !it.items.is_empty()) {
                let overlap = stem_overlap(&own.claim, &words[into]);
                if best.is_none_or(|(most, _)| overlap > most) {
                    best = Some((overlap, into));
                }
            }
            best.filter(|(most, _)| *most >= MIN_MERGED_SECTION_OVERLAP)
                .map(|(_, into)| (from, into))
        })
    }
}

fn new_section(title: &str, claim: &str, items: Vec<ItemId>) -> OutlineSection {
    OutlineSection {
        title: title.to_owned(),
        claim: claim.to_owned(),
        items,
        evidence: Vec::<EvidenceId>::new(),
        gaps: Vec::new(),
        answered: false,
    }
}

/// The evidence of each section, best first as in `best`. Each piece goes to one section, so that no two sections say the same: to
/// one whose items it serves, or to the first.
pub(crate) fn assign_evidence<'e>(
    sections: &[SectionPlan],
    items: &[ChecklistItem],
    best: &[&'e Evidence],
    assignment: EvidenceAssignment,
) -> Vec<Vec<&'e Evidence>> {
    let mut of_sections: Vec<Vec<&Evidence>> = vec![Vec::new(); sections.len()];
    let first = sections.iter().position(|section| !section.items.is_empty());
    let words: Vec<String> = sections.iter().map(|it| section_words(it, items)).collect();
    for it in best {
        let section_of = |id| sections.iter().position(|section| section.items.contains(id));
        let mut nearest: Option<(f32, usize)> = None;
        for nth in it.items.iter().filter_map(section_of) {
            let overlap = stem_overlap(&words[nth], &it.claim);
            let nearer =
                |(most, _)| assignment == EvidenceAssignment::NearestWords && overlap > most;
            if nearest.is_none_or(nearer) {
                nearest = Some((overlap, nth));
            }
        }
        if let Some(nth) = nearest.map(|(_, nth)| nth).or(first) {
            of_sections[nth].push(it);
        }
    }
    of_sections
}

/// The words that say what a section is about: its title and what its items ask.
fn section_words(section: &SectionPlan, items: &[ChecklistItem]) -> String {
    let asked = items.iter().filter(|item| section.items.contains(&item.id));
    let mut words = section.title.clone();
    for item in asked {
        words.push(' ');
        words.push_str(&item.asks);
    }
    words
}

#[cfg(test)]
mod tests {
    use ibid_core::domain::{Complexity, WritingPlan};

    use super::*;
    use crate::test_support::evidence;

    fn item(n: u32, heading: &str) -> ChecklistItem {
        ChecklistItem {
            id: ItemId::new(n),
            asks: format!("{heading} of cork"),
            heading: heading.to_owned(),
            terms: vec!["cork".to_owned()],
            query: "cork".to_owned(),
        }
    }

    fn notes(sections: &[(&str, &[u32])], found: &[(u32, u32, &str)]) -> EvidenceStore {
        let section = |(title, items): &(&str, &[u32])| SectionPlan {
            title: (*title).to_owned(),
            guidance: String::new(),
            items: items.iter().map(|it| ItemId::new(*it)).collect(),
        };
        let writing = WritingPlan {
            overall_goal: String::new(),
            desired_tone: String::new(),
            sections: sections.iter().map(section).collect(),
            additional_directives: Vec::new(),
            bibliography: true,
        };
        let items = [item(1, "Harvest"), item(2, "Price"), item(3, "Uses")].to_vec();
        let mut notes = EvidenceStore::new(Plan::new(items, Complexity::Simple, writing).unwrap());
        for (id, item, claim) in found {
            notes.evidence.push(Evidence { claim: (*claim).to_owned(), ..evidence(*id, &[*item]) });
        }
        notes
    }

    fn covered(states: &[Coverage]) -> Vec<CoverageRow> {
        let row = |(n, state): (u32, &Coverage)| CoverageRow {
            state: *state,
            gap: matches!(state, Coverage::Open).then(|| "nothing".to_owned()),
            ..CoverageRow::empty(ItemId::new(n), "")
        };
        (1..).zip(states).map(row).collect()
    }

    fn titles(outline: &Outline) -> Vec<&str> {
        outline.sections().iter().map(|it| it.title.as_str()).collect()
    }

    #[test]
    fn a_section_is_answered_with_its_items_and_says_what_it_lacks() {
        let notes = notes(
            &[("Harvest", &[1]), ("Price and uses", &[2, 3])],
            &[(1, 1, "The harvest of cork."), (2, 2, "The price of cork.")],
        );
        let best: Vec<&Evidence> = notes.evidence.iter().collect();
        let mut outline = Outline::from_plan(&notes.plan, EvidenceAssignment::NearestWords);
        let states = [Coverage::Covered, Coverage::Covered, Coverage::Open];
        let edits = outline.update(&notes.plan, &best, &covered(&states));
        let answered = |title: &str| OutlineEdit::MarkAnswered { title: title.to_owned() };
        assert_eq!(edits, [answered("Harvest")]);
        assert_eq!(outline.sections()[1].gaps, ["nothing"]);
        assert_eq!(outline.sections()[1].evidence, [EvidenceId::new(2)]);
        let edits = outline.update(&notes.plan, &best, &covered(&[Coverage::Covered; 3]));
        assert_eq!(edits, [answered("Price and uses")]);
        let edits = outline.update(&notes.plan, &best, &covered(&states));
        assert_eq!(edits, [OutlineEdit::Reopen { title: "Price and uses".to_owned() }]);
    }

    #[test]
    fn two_rich_items_become_two_sections_and_a_new_item_gets_one() {
        let found: Vec<(u32, u32, &str)> =
            (1..=8).map(|n| (n, 1 + n % 2, "Something of cork.")).collect();
        let notes = notes(&[("All of it", &[1, 2])], &found);
        let best: Vec<&Evidence> = notes.evidence.iter().collect();
        let mut outline = Outline::from_plan(&notes.plan, EvidenceAssignment::NearestWords);
        let edits = outline.update(&notes.plan, &best, &covered(&[Coverage::Open; 3]));
        assert_eq!(titles(&outline), ["Harvest", "Price", "Uses"]);
        let split = OutlineEdit::Split {
            title: "All of it".to_owned(),
            into: vec!["Harvest".to_owned(), "Price".to_owned()],
        };
        assert_eq!(edits, [OutlineEdit::Add { title: "Uses".to_owned() }, split]);
        let all: usize = outline.sections().iter().map(|it| it.evidence.len()).sum();
        assert_eq!(all, 8);
    }

    #[test]
    fn before_writing_sections_are_dropped_merged_and_moved() {
        let notes = notes(
            &[("Opening", &[]), ("Price", &[2]), ("Harvest", &[1]), ("Uses", &[3])],
            &[
                (1, 1, "The harvest of cork takes nine years."),
                (2, 1, "The harvest of cork hurts no tree."),
                (3, 2, "The price of a harvest of cork."),
            ],
        );
        let best: Vec<&Evidence> = notes.evidence.iter().collect();
        let settled = |merges| {
            let mut outline = Outline::from_plan(&notes.plan, EvidenceAssignment::NearestWords);
            let states = [Coverage::Covered, Coverage::Open, Coverage::Open];
            outline.update(&notes.plan, &best, &covered(&states));
            let edits = outline.settle(&notes, merges);
            (outline, edits)
        };
        let name = |title: &str| title.to_owned();
        let (outline, edits) = settled(false);
        assert_eq!(titles(&outline), ["Opening", "Harvest", "Price"]);
        assert_eq!(edits[0], OutlineEdit::Drop { title: name("Uses") });
        assert!(edits.contains(&OutlineEdit::Move { title: name("Harvest"), to: 1 }), "{edits:?}");
        let (outline, edits) = settled(true);
        assert_eq!(titles(&outline), ["Opening", "Harvest"]);
        let merge = OutlineEdit::Merge { title: name("Price"), into: name("Harvest") };
        assert!(edits.contains(&merge), "{edits:?}");
        assert_eq!(outline.sections()[1].items, [ItemId::new(1), ItemId::new(2)]);
        assert_eq!(outline.sections()[1].evidence.len(), 3);
    }
}
