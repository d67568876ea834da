//! Verifies that reworded sentences say what their sources say.
//!
//! Each sentence is judged by itself against its quotes, by a model that sees nothing else, or by the words
//! alone. A sentence that does not hold is replaced by its quote, or left out where the quote says much less of what is asked.
use crate::thresholds::{MIN_DIRECTNESS_SHARE, MIN_REPLACEMENT_SHARE, MIN_VERIFIED_QUOTE_OVERLAP};
use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use ibid_core::Result;
use ibid_core::domain::words::stem_overlap;
use ibid_core::domain::{Brief, Evidence, EvidenceId, ModelRole, OutputMode, QuestionKind};
use ibid_core::ports::RoleModel;

use super::ask::{
    self,
    shapes::{Entailment, VerifyPrompt, VerifyReply},
};
use super::draft::{DraftLine, ReportDraft};
use super::heuristic::answer::answer_from_quote;
use super::heuristic::score::RelevanceScorer;
use super::heuristic::sentence::claim_text;
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::merge_drafts::merge_drafts;
use super::overstatement::overstates;
use super::prompts;
use super::research_state::ResearchState;
use super::run_context::RunContext;
use super::weigh::adds_no_words_to;
use super::write::steps::begin_with_first_step;
use super::write::{dedup_sentences, drop_told_findings};
use crate::concurrency::MAX_CALLS_IN_FLIGHT;

/// The draft, with every sentence that says more than its quotes replaced by its quote.
pub(crate) async fn verify(
    llm: &mut LlmSession<'_>,
    ctx: RunContext<'_>,
    state: &ResearchState,
    scorer: &mut RelevanceScorer,
    mut draft: ReportDraft,
) -> Result<ReportDraft> {
    let quotes = Quotes::new(state, ctx.brief);
    // A line that code made from a quote ("Yes: …", a count, a clause) is not judged: a model would miss the
    // added words in the quote.
    let by_code = draft.answer.take_if(|_| draft.answer_by_code);
    let drawn =
        if draft.conclusion_by_code { std::mem::take(&mut draft.conclusion) } else { Vec::new() };
    let lines = quotes.reworded_lines(&mut draft)?;
    if !lines.is_empty() {
        let mut faulty = quotes.find_faulty(llm, &lines).await?;
        merge_drafts(&mut draft, &faulty);
        // What only a draft that was not used says is nothing that was left out.
        let used: Vec<DraftLine> = draft_lines(&mut draft).map(|line| line.clone()).collect();
        faulty.retain(|line| used.contains(line));
        draft.restore_answer(&faulty);
        quotes.replace_faulty(&mut draft, &faulty, ctx.question.mode, scorer)?;
        // Two sentences may have become one quote, and a finding may be that quote.
        draft.sections = dedup_sentences(std::mem::take(&mut draft.sections));
        drop_told_findings(&mut draft);
    }
    draft.answer = draft.answer.or(by_code);
    draft.conclusion.extend(drawn);
    begin_with_first_step(&mut draft);
    Ok(draft)
}

/// Share of the content words of a line that its quotes must have where no model has judged it.
const MIN_HELD_WORDS: f32 = 0.75;

/// The evidence that the lines of a draft are checked against.
struct Quotes<'a> {
    brief: &'a Brief,
    state: &'a ResearchState,
    evidence: BTreeMap<EvidenceId, &'a Evidence>,
}

impl<'a> Quotes<'a> {
    fn new(state: &'a ResearchState, brief: &'a Brief) -> Quotes<'a> {
        let evidence = state.notes.evidence.iter();
        Quotes {
            brief,
            state,
            evidence: evidence.map(|evidence| (evidence.id, evidence)).collect(),
        }
    }

    /// The quotes of a line, as they stand in their pages.
    fn for_line(&self, line: &DraftLine) -> Vec<&'a str> {
        line.evidence
            .iter()
            .filter_map(|id| self.evidence.get(id))
            .flat_map(|it| it.quotes())
            .map(|quote| quote.text().expose())
            .collect()
    }

    /// How much `text` says of the question, or of a part of it that the evidence of `line` answers.
    fn relevance(&self, scorer: &mut RelevanceScorer, line: &DraftLine, text: &str) -> f32 {
        let cited = line.evidence.iter().filter_map(|id| self.evidence.get(id));
        let parts = cited.flat_map(|it| &it.items).map(|item| scorer.part_relevance(*item, text));
        parts.fold(0.0, f32::max).max(scorer.relevance(text))
    }

    /// Whether a line is what code made of a passage and the heading or table header above it.
    fn is_with_context(&self, line: &DraftLine) -> bool {
        let text = line.text.trim_end_matches('…');
        let mut cited = line.evidence.iter().filter_map(|id| self.evidence.get(id));
        cited.any(|it| it.has_context() && it.claim.starts_with(text))
    }

    /// The lines of a draft that none of their quotes contains verbatim, each once. A quote without its "First," is verbatim.
    fn reworded_lines(&self, draft: &mut ReportDraft) -> Result<Vec<DraftLine>> {
        let words = &prompts::phrases()?.sentence;
        let mut lines: Vec<DraftLine> = Vec::new();
        let other_drafts = draft.other_drafts.clone();
        let of_other_drafts =
            other_drafts.iter().flatten().flat_map(|it| it.paragraphs.iter().flatten());
        for line in draft_lines(draft).map(|line| &*line).chain(of_other_drafts) {
            let text = line.text.trim_end_matches('…');
            let is_quote = |it: &&str| it.contains(text) || claim_text(it, words) == text;
            let verbatim = self.for_line(line).iter().any(is_quote);
            if !verbatim && !self.is_with_context(line) && !lines.contains(line) {
                lines.push(line.clone());
            }
        }
        Ok(lines)
    }

    /// The lines that say something other or more than their quotes, as judged by a model, or else by the
    /// words.
    async fn find_faulty(
        &self,
        llm: &mut LlmSession<'_>,
        lines: &[DraftLine],
    ) -> Result<Vec<DraftLine>> {
        let role = ModelRole::Verifier;
        let role_model = llm.role_model(LlmStep::Verify, role);
        let mut calls = Vec::new();
        for line in lines {
            calls.push(judge_line(role_model, line, self.for_line(line)));
        }
        let answers: Vec<_> = stream::iter(calls).buffered(MAX_CALLS_IN_FLIGHT).collect().await;
        let mut faulty: Vec<DraftLine> = Vec::new();
        for (line, answer) in answers {
            let holds = match answer {
                None => self.holds_by_words(line)?,
                Some((model, verdict)) => {
                    llm.record_usage(LlmStep::Verify, role, model);
                    match verdict {
                        // A model that agrees to everything is not believed where the quotes are about
                        // something else.
                        Ok(verdict) => {
                            verdict == Entailment::Entails && self.has_common_words(line)
                        }
                        Err(fault) => {
                            llm.fall_back(LlmStep::Verify, role, fault)?;
                            self.holds_by_words(line)?
                        }
                    }
                }
            };
            if !holds || overstates(&line.text, self.brief, &self.for_line(line)) {
                faulty.push(line.clone());
            }
        }
        Ok(faulty)
    }

    /// Whether the quotes have nearly all content words of a line that no model has judged, and its words say no more than theirs.
    fn holds_by_words(&self, line: &DraftLine) -> Result<bool> {
        let quoted: Vec<String> = self.for_line(line).into_iter().map(str::to_owned).collect();
        let is_held = stem_overlap(&line.text, &quoted.join(" ")) >= MIN_HELD_WORDS;
        Ok(is_held && adds_no_words_to(&line.text, &quoted)?)
    }

    /// Replaces each of the `faulty` lines by its first quote, or leaves it out where the quote says much less of what is asked.
    fn replace_faulty(
        &self,
        draft: &mut ReportDraft,
        faulty: &[DraftLine],
        mode: OutputMode,
        scorer: &mut RelevanceScorer,
    ) -> Result<()> {
        let words = &prompts::phrases()?.sentence;
        let first_quote = |line: &DraftLine| {
            let evidence = line.evidence.first().and_then(|id| self.evidence.get(id));
            evidence.map(|evidence| match evidence.has_context() {
                true => evidence.claim.clone(),
                false => claim_text(evidence.passage.text().expose(), words),
            })
        };
        let mut answer = draft.answer.take();
        if let Some(line) = answer.as_mut().filter(|answer| faulty.contains(answer)) {
            if mode == OutputMode::Report {
                // The report's short answer says the same.
                answer = None;
            } else if let Some(quote) = first_quote(line) {
                // A line that stands alone is cut from its quote.
                line.text = answer_from_quote(&quote);
                line.evidence.truncate(1);
            }
        }
        // What opens and closes a report draws its quotes together: one of them in its place would only repeat it.
        draft.introduction.retain(|line| !faulty.contains(line));
        draft.conclusion.retain(|line| !faulty.contains(line));
        // A quote that stands for a sentence was not chosen for what it says itself.
        let held = draft_lines(draft).filter(|line| !faulty.contains(line));
        let best = held.map(|line| self.relevance(scorer, line, &line.text)).fold(0.0, f32::max);
        let mut left_out: Vec<DraftLine> = Vec::new();
        for line in draft_lines(draft) {
            if !faulty.contains(line) {
                continue;
            }
            if let Some(quote) = first_quote(line) {
                let own = scorer.relevance(&line.text);
                let near = self.relevance(scorer, line, &quote) >= best * MIN_REPLACEMENT_SHARE;
                // A quote on the subject alone does not stand for a sentence on what is asked of it.
                let on_aspect =
                    scorer.aspect_share(&quote) > 0.0 || scorer.aspect_share(&line.text) == 0.0;
                let source = line.evidence.first().and_then(|id| self.evidence.get(id));
                let source = source.and_then(|it| self.state.notes.source(it.source));
                let title = source.map_or("", |source| source.title.as_str());
                let on_other =
                    !matches!(self.brief.kind, QuestionKind::Comparison | QuestionKind::HowTo)
                        && scorer.is_on_another_kind(&quote, title);
                let direct = scorer.relevance(&quote) >= own * MIN_DIRECTNESS_SHARE;
                let serves = near && direct && on_aspect && !on_other;
                line.text = quote;
                line.evidence.truncate(1);
                if !serves {
                    left_out.push(line.clone());
                    line.text.clear();
                }
            }
        }
        draft.answer = answer;
        let is_left = |line: &DraftLine| !line.text.is_empty();
        draft.short.retain(is_left);
        draft.conflicts.retain(|conflict| conflict.sides.iter().all(|side| is_left(&side.1)));
        draft.findings.retain(|finding| is_left(&finding.0));
        for section in &mut draft.sections {
            section.paragraphs.iter_mut().for_each(|paragraph| paragraph.retain(is_left));
        }
        if draft.short.is_empty() {
            // A poor quote is better than no answer.
            let all = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
            draft.short.extend(all.chain(&left_out).take(1).cloned());
        }
        // A line that was replaced may now repeat another.
        let mut seen: BTreeSet<String> = BTreeSet::new();
        draft.short.retain(|it| seen.insert(it.text.clone()));
        // A quote of several sentences may hold another line: the shorter one stays.
        let texts: Vec<String> = draft.short.iter().map(|line| line.text.clone()).collect();
        draft.short.retain(|it| !texts.iter().any(|own| *own != it.text && it.text.contains(own)));
        draft.reworded += faulty.len() as u32;
        Ok(())
    }

    /// Whether the quotes of a line share words with it. Quotes in another language need not.
    fn has_common_words(&self, line: &DraftLine) -> bool {
        let mut cited = line.evidence.iter().filter_map(|id| self.evidence.get(id));
        cited.any(|it| {
            let page = self.state.pages.pages().get(it.passage.page());
            let lang = page.and_then(|page| page.lang.as_deref());
            lang.is_some_and(|lang| lang != self.brief.lang)
                || stem_overlap(&line.text, it.passage.text().expose())
                    >= MIN_VERIFIED_QUOTE_OVERLAP
        })
    }
}

/// A model's verdict on a line; `None` without a model.
async fn judge_line<'a>(
    role_model: Option<&'a RoleModel>,
    line: &'a DraftLine,
    quotes: Vec<&'a str>,
) -> (&'a DraftLine, Option<(TrackedModel<'a>, Result<Entailment>)>) {
    let Some(role_model) = role_model else {
        return (line, None);
    };
    let model = TrackedModel::new(role_model);
    let verdict = judge_claim(&model, &line.text, &quotes).await;
    (line, Some((model, verdict)))
}

/// A model's verdict on `claim`, which is shown its quotes and nothing else.
pub(crate) async fn judge_claim(
    model: &TrackedModel<'_>,
    claim: &str,
    quotes: &[&str],
) -> Result<Entailment> {
    let prompt_input = VerifyPrompt { claim, quotes };
    let answer = ask::ask_typed(model, prompt_input.prompt()?, check_reason).await?;
    Ok(answer.value.verdict)
}

fn check_reason(answer: &VerifyReply) -> std::result::Result<(), String> {
    if answer.reason.trim().is_empty() {
        return Err("`reason` is empty".to_owned());
    }
    Ok(())
}

/// Every independent sentence of the draft.
fn draft_lines(draft: &mut ReportDraft) -> impl Iterator<Item = &mut DraftLine> {
    draft
        .short
        .iter_mut()
        .chain(draft.answer.iter_mut())
        .chain(&mut draft.introduction)
        .chain(draft.findings.iter_mut().map(|finding| &mut finding.0))
        .chain(
            draft.sections.iter_mut().flat_map(|section| section.paragraphs.iter_mut().flatten()),
        )
        .chain(
            draft
                .conflicts
                .iter_mut()
                .flat_map(|conflict| conflict.sides.iter_mut().map(|side| &mut side.1)),
        )
        .chain(&mut draft.conclusion)
}
