//! The short answer in a model's words, and what opens and closes a report.
use ibid_core::Result;
use ibid_core::domain::{OutputMode, split_sentences};

use super::evidence::{best_first, evidence_rows, resolve_evidence, without_label};
use super::{ModelOutcome, WriteContext, WriterOutput};
use crate::ask;
use crate::ask::shapes::{AnswerPrompt, AnswerReply, EvidenceRow, WrittenSentence};
use crate::draft::DraftLine;
use crate::heuristic::lexicon::{begins_with_phrase, spaced};
use crate::llm_session::TrackedModel;
use crate::prompts;

/// Maximum amount of evidence for the one-line answer.
const MAX_ANSWER_EVIDENCE: usize = 12;

impl<'a> WriteContext<'a> {
    /// Writes the short answer, and what opens and closes a report.
    pub(super) async fn write_answer(&self) -> ModelOutcome<'a, WriterOutput> {
        let model = TrackedModel::new(self.role_model);
        let answer = self.request_answer(&model).await;
        (model, answer)
    }

    async fn request_answer(&self, model: &TrackedModel<'a>) -> Result<WriterOutput> {
        let mut best = best_first(self.notes, self.notes.evidence.iter());
        // Small models use what they see first, so the evidence of the heuristic answer goes first.
        best.sort_by_key(|it| !self.picked.contains(&it.id));
        let from: Vec<String> = best.iter().map(|it| self.source_label(it)).collect();
        let rows: Vec<EvidenceRow<'_>> =
            evidence_rows(&best, &from).take(MAX_ANSWER_EVIDENCE).collect();
        if let Some(kept) = self.kept_answer(rows.iter().map(|row| row.id)) {
            return Ok(kept);
        }
        let prompt_input = AnswerPrompt {
            question: self.brief.effective_question(),
            evidence: &rows,
            language: &self.language,
            whole: self.question.mode == OutputMode::Report,
        };
        let answer =
            ask::ask_typed(model, prompt_input.prompt()?, |it| prompt_input.check(it)).await?;
        let AnswerReply { answer: line, introduction, conclusion, .. } = &answer.value;
        let text = without_label(line).to_owned();
        let evidence = resolve_evidence(&text, prompt_input.cited_evidence(&answer.value), &best);
        let known = self.has_known_names(&text, "", &evidence);
        let announcements = &prompts::phrases()?.sentence.announcements;
        let lines = |sentences: &[WrittenSentence]| -> Vec<DraftLine> {
            let lines = sentences.iter().flat_map(|sentence| {
                let named = prompt_input.sentence_evidence(sentence);
                let text = without_label(&sentence.text);
                let said = stated_sentences(text, announcements).into_iter();
                said.map(move |text| (named.clone(), text.to_owned()))
            });
            let lines = lines.map(|(named, text)| DraftLine {
                evidence: resolve_evidence(&text, named, &best),
                text,
            });
            lines
                .filter(|it| !it.evidence.is_empty())
                .filter(|it| self.has_known_names(&it.text, "", &it.evidence))
                .collect()
        };
        Ok(WriterOutput::Answer {
            introduction: lines(introduction),
            conclusion: lines(conclusion),
            line: (!evidence.is_empty() && !text.is_empty() && known)
                .then_some(DraftLine { text, evidence }),
        })
    }
}

/// The sentences of what a model gives as one, each to be checked by itself, without questions and without what speaks of the answer:
/// "This answer is based on …".
fn stated_sentences<'t>(text: &'t str, announcements: &[String]) -> Vec<&'t str> {
    let sentences = split_sentences(text).into_iter().map(|span| text[span].trim());
    sentences
        .filter(|it| !it.ends_with('?') && !begins_with_phrase(&spaced(it), announcements))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_that_states_something_stands_by_itself() {
        let announcements = &prompts::phrases().unwrap().sentence.announcements;
        let text = "How do you plant an oak? Dig a hole of 40 cm. This answer is based on the text. Water it.";
        assert_eq!(stated_sentences(text, announcements), ["Dig a hole of 40 cm.", "Water it."]);
    }
}
