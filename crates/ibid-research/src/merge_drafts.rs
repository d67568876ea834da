//! Merges several drafts of the same sections into one, by what a verifier found to hold.
use std::collections::BTreeSet;

use ibid_core::domain::EvidenceId;
use ibid_core::domain::words::content_stems;

use super::draft::{DraftLine, DraftSection, ReportDraft};

/// Makes one draft of all: each section is that of the draft with most sentences that hold, and the sentences of the others that hold
/// are added where they cite what it does not. `faulty` are the sentences that do not hold.
pub(crate) fn merge_drafts(draft: &mut ReportDraft, faulty: &[DraftLine]) {
    let others = std::mem::take(&mut draft.other_drafts);
    for section in &mut draft.sections {
        let same: Vec<&DraftSection> = others
            .iter()
            .filter_map(|other| other.iter().find(|it| it.title == section.title))
            .collect();
        let holding = |it: &DraftSection| {
            let lines = it.paragraphs.iter().flatten();
            lines.filter(|line| !faulty.contains(line)).count()
        };
        let first = section.clone();
        let mut best = &first;
        for other in &same {
            if holding(other) > holding(best) {
                best = other;
            }
        }
        section.paragraphs.clone_from(&best.paragraphs);
        let mut cited: BTreeSet<EvidenceId> = BTreeSet::new();
        let mut said: Vec<BTreeSet<String>> = Vec::new();
        let stems = |line: &DraftLine| content_stems(&line.text).into_iter().collect();
        for line in section.paragraphs.iter().flatten() {
            cited.extend(&line.evidence);
            said.push(stems(line));
        }
        for line in [&first].into_iter().chain(same).flat_map(|it| it.paragraphs.iter().flatten()) {
            let own: BTreeSet<String> = stems(line);
            let adds = !faulty.contains(line)
                && line.evidence.iter().all(|id| !cited.contains(id))
                && !said.iter().any(|it| own.is_subset(it));
            if adds {
                cited.extend(&line.evidence);
                said.push(own);
                section.paragraphs.push(vec![line.clone()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::draft;

    fn line(text: &str, id: u32) -> DraftLine {
        DraftLine { text: text.to_owned(), evidence: vec![EvidenceId::new(id)] }
    }

    #[test]
    fn the_draft_with_most_that_holds_leads_and_the_others_add_what_it_does_not_cite() {
        let section = |lines: &[DraftLine]| DraftSection {
            title: "Uses".to_owned(),
            item: None,
            layout: ibid_core::domain::SectionLayout::Prose,
            paragraphs: vec![lines.to_vec()],
        };
        let wrong = line("Cork sinks.", 1);
        let first = [wrong.clone(), line("Cork burns.", 2)];
        let second = [line("Cork floats.", 1), line("Cork insulates.", 3), line("Cork bends.", 4)];
        let mut all = draft(&[], vec![section(&first)]);
        all.other_drafts = vec![vec![section(&second)]];
        merge_drafts(&mut all, &[wrong]);
        let texts: Vec<&str> =
            all.sections[0].paragraphs.iter().flatten().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["Cork floats.", "Cork insulates.", "Cork bends.", "Cork burns."]);
        assert!(all.other_drafts.is_empty());
    }
}
