//! Several drafts of the same sections, of which a verifier makes one.
use ibid_core::domain::Evidence;

use super::WriteContext;

impl<'a> WriteContext<'a> {
    /// The writers of the further drafts; none for a revision, and none where code leads.
    pub(super) fn other_writers(&self) -> Vec<WriteContext<'a>> {
        let most = match (&self.last, &self.allowed) {
            (None, None) => self.question.method.drafts.max(1),
            _ => 1,
        };
        (1..most).map(|nth_draft| WriteContext { nth_draft, ..self.clone() }).collect()
    }

    /// Turns the evidence, so that each draft begins with other pieces of it: models use most what they see first.
    pub(super) fn vary_evidence(&self, evidence: &mut [&Evidence]) {
        let drafts = self.question.method.drafts.max(1) as usize;
        if !evidence.is_empty() {
            evidence
                .rotate_left(self.nth_draft as usize * evidence.len() / drafts % evidence.len());
        }
    }
}
