//! Revises a draft by patches: sentences from new evidence are added, and what was written and cited stays as it is.
use ibid_core::domain::{Evidence, EvidenceId, SectionPlan, WritingPlan};

use super::kept_sentences::extend_sections;
use super::section_groups::SectionGroup;
use super::{ModelOutcome, WriteContext, WriterOutput};
use crate::draft::DraftSection;
use crate::llm_session::TrackedModel;

impl<'a> WriteContext<'a> {
    /// The sections of the draft to revise that a group has, if all of the group are in it.
    pub(super) fn written_sections(&self, group: &SectionGroup<'_>) -> Option<Vec<DraftSection>> {
        let last = self.last.as_ref()?;
        let written = |planned: &SectionPlan| {
            last.draft.sections.iter().find(|it| it.title == planned.title).cloned()
        };
        group.plan.sections.iter().map(written).collect()
    }

    /// Whether all sections of `plan` are in the draft to revise, so that sentences are added to them.
    pub(super) fn written_titles(&self, plan: &WritingPlan) -> bool {
        let last = self.last.as_ref();
        let mut planned = plan.sections.iter();
        last.is_some_and(|last| {
            planned.all(|it| last.draft.sections.iter().any(|known| known.title == it.title))
        })
    }

    /// The sections of the draft to revise that `plan` names, for a prompt; empty if there are none.
    pub(super) fn earlier_draft(&self, plan: &WritingPlan) -> String {
        let sections = self.last.iter().flat_map(|last| &last.draft.sections);
        let planned =
            sections.filter(|section| plan.sections.iter().any(|it| it.title == section.title));
        let texts = planned.map(|section| {
            let lines = section.paragraphs.iter().flatten();
            let text: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
            format!("{}: {}", section.title, text.join(" "))
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The answer of the draft to revise, if a model wrote it from all of the evidence that would be `shown` now.
    pub(super) fn kept_answer(
        &self,
        mut shown: impl Iterator<Item = EvidenceId>,
    ) -> Option<WriterOutput> {
        let last = self.last.as_ref().filter(|last| !last.draft.answer_by_code)?;
        shown.all(|id| last.evidence.contains(&id)).then(|| WriterOutput::Answer {
            line: last.draft.answer.clone(),
            introduction: last.draft.introduction.clone(),
            conclusion: last.draft.conclusion.clone(),
        })
    }

    /// Adds to the `written` sections of a group what its new evidence says. Without new evidence nothing is asked.
    pub(super) async fn patch_sections(
        &self,
        group: &SectionGroup<'a>,
        mut written: Vec<DraftSection>,
    ) -> ModelOutcome<'a, WriterOutput> {
        let known = self.last.as_ref().map(|last| last.evidence);
        let is_new = |it: &&&Evidence| known.is_some_and(|known| !known.contains(&it.id));
        let new: Vec<&Evidence> = group.evidence.iter().filter(is_new).copied().collect();
        let untouched = |written| (TrackedModel::new(self.role_model), Ok(written));
        if new.is_empty() {
            return untouched(WriterOutput::Sections(written, Vec::new()));
        }
        let fitting = match self.fitting_evidence(&new, &group.plan) {
            Ok(fitting) => fitting,
            Err(fault) => return untouched(WriterOutput::Unpatched(written, fault)),
        };
        let (model, added) = self.write_planned(&group.plan, fitting, None).await;
        let patched = match added {
            Ok(WriterOutput::Sections(added, more)) => {
                extend_sections(&mut written, added);
                WriterOutput::Sections(written, more)
            }
            Ok(_) => WriterOutput::Sections(written, Vec::new()),
            Err(fault) => WriterOutput::Unpatched(written, fault),
        };
        (model, Ok(patched))
    }
}
