//! What a model objects to in a draft: three critics side by side, each of whom sees the sentences and the evidence that none cites.
use futures_util::{StreamExt, stream};

use ibid_core::Result;
use ibid_core::domain::{Critic, Evidence, EvidenceStore, ModelRole};
use ibid_core::ports::{LanguageModel as _, RoleModel};

use super::proposal::{DraftChange, ProposedPatch, is_cited, section_lines};
use crate::ask;
use crate::ask::fit::{ContextWindow, PromptPart, fit_parts};
use crate::ask::shapes::{CritiquePrompt, CritiqueReplyRow, EvidenceRow, FlawKind, SentenceRow};
use crate::draft::{DraftLine, ReportDraft};
use crate::llm_session::{LlmSession, LlmStep, TrackedModel};
use crate::run_context::RunContext;
use crate::write::best_first;

/// The title under which a critic sees the short answer.
const SHORT_ANSWER: &str = "short answer";
/// Tokens reserved for the objections.
const ANSWER_TOKENS: usize = 1_000;

/// What the model objects to, by critic; nothing without a model.
pub(super) async fn object(
    llm: &mut LlmSession<'_>,
    ctx: RunContext<'_>,
    notes: &EvidenceStore,
    draft: &ReportDraft,
) -> Result<Vec<ProposedPatch>> {
    let role = ModelRole::Verifier;
    let Some(role_model) = llm.role_model(LlmStep::Critique, role) else {
        return Ok(Vec::new());
    };
    let view = CriticView::new(notes, draft);
    let window = llm.window(role_model) as usize;
    let question = ctx.brief.effective_question();
    let calls = Critic::ALL.map(|critic| view.ask_critic(role_model, window, question, critic));
    let answers: Vec<_> = stream::iter(calls).buffered(Critic::ALL.len()).collect().await;
    let mut proposed = Vec::new();
    for (model, objections) in answers {
        llm.record_usage(LlmStep::Critique, role, model);
        match objections {
            Ok(objections) => proposed.extend(objections),
            Err(fault) => llm.fall_back(LlmStep::Critique, role, fault)?,
        }
    }
    Ok(proposed)
}

/// The draft as the critics see it.
struct CriticView<'a> {
    /// Each sentence with the title of its section; `None` for the short answer.
    lines: Vec<(Option<&'a str>, &'a DraftLine)>,
    titles: Vec<&'a str>,
    /// The evidence that no sentence cites, best first.
    unused: Vec<&'a Evidence>,
    notes: &'a EvidenceStore,
}

impl<'a> CriticView<'a> {
    fn new(notes: &'a EvidenceStore, draft: &'a ReportDraft) -> CriticView<'a> {
        let short = draft.short.iter().map(|line| (None, line));
        let sections = section_lines(draft).map(|(title, line)| (Some(title), line));
        let unused = notes.evidence.iter().filter(|it| !is_cited(draft, it.id));
        CriticView {
            lines: short.chain(sections).collect(),
            titles: draft.sections.iter().map(|section| section.title.as_str()).collect(),
            unused: best_first(notes, unused),
            notes,
        }
    }

    /// Asks `critic` about as much of the draft and of the evidence as fits into `window`.
    async fn ask_critic<'m>(
        &self,
        role_model: &'m RoleModel,
        window: usize,
        question: &str,
        critic: Critic,
    ) -> (TrackedModel<'m>, Result<Vec<ProposedPatch>>) {
        let model = TrackedModel::new(role_model);
        let objections = self.objections(&model, window, question, critic).await;
        (model, objections)
    }

    async fn objections(
        &self,
        model: &TrackedModel<'_>,
        window: usize,
        question: &str,
        critic: Critic,
    ) -> Result<Vec<ProposedPatch>> {
        let from: Vec<String> = self.unused.iter().map(|it| self.source_name(it)).collect();
        let sentences: Vec<SentenceRow<'_>> = self
            .lines
            .iter()
            .map(|(title, line)| SentenceRow {
                section: title.unwrap_or(SHORT_ANSWER),
                text: &line.text,
            })
            .collect();
        let evidence: Vec<EvidenceRow<'_>> = self
            .unused
            .iter()
            .zip(&from)
            .map(|(it, from)| EvidenceRow { id: it.id, claim: &it.claim, from })
            .collect();
        let mut asked = CritiquePrompt {
            question,
            critic,
            sentences: &[],
            sections: &self.titles,
            evidence: &[],
        };
        let parts = sentences.iter().map(|it| (format!("{} {}", it.section, it.text), true));
        let rest = evidence.iter().map(|it| (format!("{} {}", it.claim, it.from), false));
        let parts = parts.chain(rest).map(|(text, required)| PromptPart {
            text: format!("E000: {text} ()"),
            required,
            weight: 1.0,
        });
        let room =
            ContextWindow { tokens: window, answer: ANSWER_TOKENS }.minus_prompt(&asked.prompt()?);
        let fitted = fit_parts(parts.collect(), room);
        // Labels are places, so the sentences that are shown are the first of all.
        let cut = fitted.cut.first().copied().unwrap_or(sentences.len());
        let kept = fitted.kept.iter().filter_map(|part| part.0.checked_sub(sentences.len()));
        let spare: Vec<EvidenceRow<'_>> = kept.map(|nth| evidence[nth].clone()).collect();
        asked.sentences = &sentences[..cut];
        asked.evidence = &spare;
        let answer = ask::ask_typed(model, asked.prompt()?, |it| asked.check(it)).await?;
        let rows = asked.valid_rows(&answer.value);
        let by = model.name();
        Ok(rows.into_iter().filter_map(|row| self.patch(&asked, row, by)).collect())
    }

    /// The patch that an objection asks for.
    fn patch(
        &self,
        asked: &CritiquePrompt<'_>,
        row: &CritiqueReplyRow,
        by: &str,
    ) -> Option<ProposedPatch> {
        let place = asked.sentence_by_label(&row.sentence).map(|nth| self.lines[nth]);
        let title = place.and_then(|place| place.0).map(str::to_owned);
        let line = place.map(|place| place.1.clone());
        let evidence = asked.evidence_by_label(&row.evidence);
        let change = match row.kind {
            FlawKind::Missing => {
                DraftChange::AddQuote { evidence: evidence?, to: row.section.clone() }
            }
            FlawKind::OneSided => DraftChange::AddQuote {
                evidence: evidence?,
                to: title.clone().or_else(|| self.titles.first().map(|it| (*it).to_owned()))?,
            },
            FlawKind::OffTopic | FlawKind::Repeats => DraftChange::Remove(line?),
            FlawKind::Misplaced => DraftChange::Move { line: line?, to: row.section.clone() },
            FlawKind::AnswersBetter => DraftChange::Lead(line?),
        };
        Some(ProposedPatch {
            critic: asked.critic,
            by: Some(by.to_owned()),
            section: if row.kind == FlawKind::Missing { Some(row.section.clone()) } else { title },
            why: row.why.trim().to_owned(),
            change,
        })
    }

    fn source_name(&self, it: &Evidence) -> String {
        let source = self.notes.source(it.source);
        source.map_or_else(String::new, |source| source.public_name().to_owned())
    }
}
