//! Writes the draft: sentences, each with its evidence.
use std::collections::BTreeSet;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::{StreamExt, stream};

use ibid_core::domain::{
    Brief, Evidence, EvidenceId, EvidenceStore, ItemId, ModelRole, OutputMode, Question,
    QuestionKind, SearchTask, SectionLayout, SectionPlan, WritingPlan,
};
use ibid_core::ports::{EventLog, RoleModel};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};

mod drafts;
mod evidence;
mod kept_sentences;
mod opening;
mod patch;
mod preview;
mod section_groups;
mod short_answer;
pub(crate) mod steps;

use super::ask::{
    self,
    fit::{self, ContextWindow, PromptPart},
    shapes::{EvidenceRow, WritePrompt, WriteReply as Answer, WrittenSentence, language_name},
};
use super::draft::{DraftLine, DraftSection, ReportDraft};
use super::gather::ResearchLoop;
use super::grounding::{has_misplaced_name, has_unknown_name, has_unknown_statement};
use super::heuristic;
use super::heuristic::compose::max_words;
use super::heuristic::lexicon::{begins_with_phrase, spaced};
use super::heuristic::score::RelevanceScorer;
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::prompts::{self, fill_template};
use super::report_length::trim_to_tokens;
use super::research_state::ResearchState;
use super::run_context::RunContext;
use super::weigh::names_item;
use crate::concurrency::MAX_CALLS_IN_FLIGHT;
use crate::thresholds::MIN_ANSWERING_SCORE;
pub(crate) use evidence::best_first;
use evidence::{evidence_on_question, evidence_rows, resolve_evidence, without_label};
pub(crate) use kept_sentences::dedup_sentences;
use kept_sentences::{MAX_PARAGRAPH_SENTENCES, add_to_picked, cut_irrelevant, extend_sections};
use preview::DraftPreview;
pub(crate) use preview::emit_draft;
use section_groups::{MIN_GROUP_EVIDENCE, SectionGroup, section_groups, split_large};
pub(crate) use short_answer::{drop_told_findings, told_answer};
use short_answer::{is_less_direct, lead_with_answer, open_and_close, whole_sentence};

/// Maximum number of tokens reserved for a report; a small window reserves a third.
const ANSWER_TOKENS: usize = 6_000;
/// Tokens of a report beyond its evidence, and below it the tokens to state one piece of evidence, with its
/// form, twice.
const REPORT_TOKENS: usize = 600;
const TOKENS_PER_EVIDENCE: usize = 120;
/// Least evidence that serves the items for the rest to be left out.
const MIN_SERVING_EVIDENCE: usize = 3;
/// How often a prompt that was too long is sent again with less evidence.
const MAX_SHRINKS: usize = 3;
/// Temperature of the drafts after the first, so that they differ.
const NEXT_DRAFT_TEMPERATURE: f32 = 0.7;
/// Maximum number of searches that a writer may ask for at a time.
const MAX_WRITER_SEARCHES: usize = 2;

/// An earlier draft to revise with more evidence.
#[derive(Clone, Copy)]
pub(crate) struct Revision<'a> {
    pub(crate) draft: &'a ReportDraft,
    /// The evidence that it was written from.
    pub(crate) evidence: &'a BTreeSet<EvidenceId>,
    /// The number of the revision, from 1.
    pub(crate) nth: u32,
}

/// Writes the draft.
///
/// Without a model it consists of the sources' own sentences. With one, sections and answer are in the
/// model's words, each sentence with the evidence it names; findings stay the sources' own sentences.
/// Searches that the model asks for are put into `more`, as long as it may ask. The text is emitted piece by
/// piece as it is written, before it is checked.
///
/// # Errors
/// `NotFound` when nothing that was read answers the question.
pub(crate) async fn compose(
    llm: &mut LlmSession<'_>,
    research: &mut ResearchLoop<'_>,
    last: Option<Revision<'_>>,
) -> Result<ReportDraft> {
    let RunContext { log, question, brief, .. } = research.ctx;
    settle_outline(research);
    let state = &research.state;
    let draft = heuristic::compose::compose_report(question, brief, state, &mut research.scorer)?;
    let Some(mut draft) = draft else {
        return Err(no_evidence_error(state)?);
    };
    draft.title = heuristic::instructions::without_instructions(&draft.title)?;
    let role_model = match question.mode {
        // Evidence is returned verbatim.
        OutputMode::Evidence => None,
        _ => llm.role_model(LlmStep::Write, ModelRole::Writer),
    };
    if let Some(role_model) = role_model {
        let allowed = llm
            .reads_poorly()
            .then(|| evidence_on_question(&state.notes, &mut research.scorer, &draft));
        let writer = WriteContext {
            role_model,
            window: llm.window(role_model) as usize,
            question,
            brief,
            notes: &state.notes,
            language: language_name(Some(&brief.lang)),
            picked: draft.short.iter().flat_map(|it| it.evidence.clone()).collect(),
            allowed,
            may_ask: last.as_ref().map_or(0, |revision| revision.nth)
                < question.method.max_refinement_iterations,
            last,
            nth_draft: 0,
        };
        writer.write_by_model(llm, log, &mut draft, &mut research.scorer).await?;
    }
    trim_to_tokens(&mut draft, question.method.final_report_max_length);
    if role_model.is_none() {
        emit_draft(log, &draft);
    }
    Ok(draft)
}

/// Settles the outline and makes it the writing plan.
fn settle_outline(research: &mut ResearchLoop<'_>) {
    let state = &mut research.state;
    // Steps and the members of a list stay among themselves.
    let kind = research.ctx.brief.kind;
    let merges = !matches!(kind, QuestionKind::HowTo | QuestionKind::List);
    let edits = state.outline.settle(&state.notes, merges);
    if !edits.is_empty() {
        let sections = state.outline.sections().to_vec();
        research.ctx.log.emit(Event::OutlineUpdated { edits, sections });
    }
    state.notes.plan.writing.sections = state.outline.section_plans();
}

/// What a model writes from.
#[derive(Clone)]
struct WriteContext<'a> {
    role_model: &'a RoleModel,
    /// Context window in tokens.
    window: usize,
    question: &'a Question,
    brief: &'a Brief,
    notes: &'a EvidenceStore,
    language: String,
    /// The evidence of the short answer that was made without a model.
    picked: Vec<EvidenceId>,
    /// The evidence to write from, where code leads because the model reads poorly: what it writes is then added to what code
    /// picked. All of it if `None`.
    allowed: Option<BTreeSet<EvidenceId>>,
    /// Whether it may still ask for searches.
    may_ask: bool,
    /// The draft to revise; `None` the first time.
    last: Option<Revision<'a>>,
    /// Which of several drafts of the same sections it writes, from 0.
    nth_draft: u32,
}

/// A model's usage and its result.
type ModelOutcome<'a, T> = (TrackedModel<'a>, Result<T>);

/// What a model wrote.
enum WriterOutput {
    /// One line, if its evidence supports it, and what opens and closes a report.
    Answer { line: Option<DraftLine>, introduction: Vec<DraftLine>, conclusion: Vec<DraftLine> },
    /// Sections, and searches for what they lack.
    Sections(Vec<DraftSection>, Vec<SearchTask>),
    /// Sections of an earlier draft as they were, because adding to them failed.
    Unpatched(Vec<DraftSection>, Error),
}

impl<'a> WriteContext<'a> {
    /// Replaces picked lines by what a model writes. Answer and sections are requested in parallel and
    /// emitted in order. Where one of them fails, the others are still used.
    async fn write_by_model(
        &self,
        llm: &mut LlmSession<'_>,
        log: &EventLog,
        draft: &mut ReportDraft,
        scorer: &mut RelevanceScorer,
    ) -> Result<()> {
        let stage = DraftPreview::new(log);
        let other_writers = self.other_writers();
        let mut parts: Vec<BoxFuture<'_, (u32, Option<ModelOutcome<'_, WriterOutput>>)>> =
            Vec::new();
        // A model that reads poorly would answer with whatever it saw first.
        if self.allowed.is_none() || draft.short.is_empty() {
            parts.push(Box::pin(async { (0, Some(self.write_answer().await)) }));
        }
        if self.question.mode == OutputMode::Report {
            for writer in [self].into_iter().chain(&other_writers) {
                let stage = (writer.nth_draft == 0).then_some(&stage);
                let calls = writer.write_sections(stage).into_iter();
                parts.extend(calls.map(|call| call.map(|it| (writer.nth_draft, it)).boxed()));
            }
        }
        let mut parts = stream::iter(parts).buffered(MAX_CALLS_IN_FLIGHT);
        let mut written = Vec::new();
        let mut others: Vec<Vec<DraftSection>> = vec![Vec::new(); other_writers.len()];
        let (mut opening, mut closing) = (Vec::new(), Vec::new());
        while let Some(part) = parts.next().await {
            let (nth_draft, Some((model, part))) = part else { continue };
            llm.record_usage(LlmStep::Write, ModelRole::Writer, model);
            match part {
                Ok(WriterOutput::Answer { line, introduction, conclusion }) => {
                    // A small model may answer with whatever it saw first.
                    if let Some(answer) = line.map(|it| whole_sentence(it, self.notes))
                        && !is_less_direct(scorer, self.brief, &answer, &draft.short)?
                    {
                        lead_with_answer(draft, answer)?;
                    }
                    (opening, closing) = (introduction, conclusion);
                }
                Ok(WriterOutput::Sections(sections, _)) if nth_draft > 0 => {
                    extend_sections(&mut others[nth_draft as usize - 1], sections);
                }
                Ok(WriterOutput::Sections(sections, more)) => {
                    stage.emit_unless_started(&self.preview_sections(&sections));
                    extend_sections(&mut written, sections);
                    draft.more.extend(more);
                }
                // A further draft that fails costs nothing but itself.
                Err(fault)
                    if nth_draft > 0
                        && !matches!(fault.kind(), ErrorKind::Cancelled | ErrorKind::Internal) => {}
                Ok(WriterOutput::Unpatched(sections, fault)) => {
                    written.extend(sections);
                    llm.fall_back(LlmStep::Write, ModelRole::Writer, fault)?;
                }
                Err(fault) => {
                    stage.discard();
                    llm.fall_back(LlmStep::Write, ModelRole::Writer, fault)?;
                }
            }
            // The answer is the first result, so the rest may be emitted now.
            stage.release(&draft.short);
        }
        // What is added to the lines that code picked is as much on the question as the best of these.
        let lead = if self.allowed.is_some() { &draft.short[..] } else { &[] };
        draft.reworded += cut_irrelevant(self.brief.kind, &mut written, lead, self.notes, scorer)?;
        steps::order_steps(self.brief.kind, &mut written, self.notes, scorer)?;
        for other in &mut others {
            cut_irrelevant(self.brief.kind, other, lead, self.notes, scorer)?;
        }
        draft.other_drafts = match &self.last {
            Some(last) => last.draft.other_drafts.clone(),
            None => others,
        };
        draft.more.truncate(MAX_WRITER_SEARCHES);
        kept_sentences::cut_off_topic_aspects(&mut draft.sections, scorer);
        if self.allowed.is_some() {
            add_to_picked(&mut draft.sections, written, self.brief.kind);
            drop_told_findings(draft);
            return Ok(());
        }
        let picked = self.picked_beside(&written, std::mem::take(&mut draft.sections));
        stage.emit_sections(&picked);
        extend_sections(&mut written, picked);
        draft.sections = dedup_sentences(written);
        drop_told_findings(draft);
        open_and_close(draft, opening, closing);
        Ok(())
    }

    /// The `picked` sections whose items none of the `written` ones answers.
    fn picked_beside(
        &self,
        written: &[DraftSection],
        mut picked: Vec<DraftSection>,
    ) -> Vec<DraftSection> {
        let mut covered: Vec<ItemId> = Vec::new();
        for it in &self.notes.plan.writing.sections {
            if written.iter().any(|own| own.title == it.title) {
                covered.extend(&it.items);
            }
        }
        picked.retain(|it| !it.item.is_some_and(|item| covered.contains(&item)));
        picked
    }

    /// Whether every name in a sentence is in its evidence, the question or the section title, and what it
    /// says about the names is there, too.
    fn has_known_names(&self, text: &str, title: &str, evidence: &[EvidenceId]) -> bool {
        let all = self.notes.evidence.iter();
        let named = all.filter(|it| evidence.contains(&it.id));
        let quotes = |it: &'a Evidence| it.quotes().map(|quote| quote.text().expose());
        let shown = named.flat_map(|it| [it.claim.as_str()].into_iter().chain(quotes(it)));
        let shown: Vec<&str> = shown.collect();
        let known = shown.iter().copied().chain([self.brief.effective_question(), title]);
        !has_unknown_name(text, known.clone())
            && !has_unknown_statement(text, known)
            && !has_misplaced_name(
                text,
                &format!("{} {title}", self.brief.effective_question()),
                &shown,
            )
    }

    /// The sections as they may be shown before they are checked.
    fn preview_sections(&self, sections: &[DraftSection]) -> Vec<DraftSection> {
        let lines = |section: &DraftSection, lines: &[DraftLine]| -> Vec<DraftLine> {
            let known = |draft_line: &&DraftLine| {
                self.has_known_names(&draft_line.text, &section.title, &draft_line.evidence)
            };
            lines.iter().filter(known).cloned().collect()
        };
        let previewed = sections.iter().map(|section| DraftSection {
            title: section.title.clone(),
            item: section.item,
            layout: section.layout,
            paragraphs: section
                .paragraphs
                .iter()
                .map(|own| lines(section, own))
                .filter(|it| !it.is_empty())
                .collect(),
        });
        previewed.collect()
    }

    /// Writes the sections in groups side by side, each from its own evidence: in one call where there is little, and
    /// each section by itself where the evidence does not fit into one prompt.
    fn write_sections<'d>(
        &'d self,
        stage: Option<&'d DraftPreview<'d>>,
    ) -> Vec<BoxFuture<'d, Option<ModelOutcome<'a, WriterOutput>>>> {
        let plan = &self.notes.plan.writing;
        let all = self.serving_evidence();
        let failed = |fault| -> BoxFuture<'d, Option<ModelOutcome<'a, WriterOutput>>> {
            Box::pin(async move { Some((TrackedModel::new(self.role_model), Err(fault))) })
        };
        let fits = match self.fitting_evidence(&all, plan) {
            Ok(kept) => kept.len() == all.len(),
            Err(fault) => return vec![failed(fault)],
        };
        let least = if fits { MIN_GROUP_EVIDENCE } else { 1 };
        let mut groups = section_groups(plan, self.notes.plan.items(), &all, least);
        if self.last.is_none() {
            groups = split_large(groups);
        }
        groups.iter_mut().for_each(|group| self.vary_evidence(&mut group.evidence));
        // Sentences of several calls would come mixed, so they are shown when a call is done.
        let stage = stage.filter(|_| groups.len() == 1);
        groups.into_iter().map(|group| self.write_group(group, stage).boxed()).collect()
    }

    /// The evidence to write sections from, best first, without what words alone found for several items, none of which it
    /// names or answers: a model writes down whatever it is shown. All of it where that is very little.
    fn serving_evidence(&self) -> Vec<&'a Evidence> {
        let all = best_first(self.notes, self.notes.evidence.iter());
        let serves = |it: &&Evidence| {
            it.items.len() == 1
                || it.score >= MIN_ANSWERING_SCORE
                || names_item(self.brief, &self.notes.plan, it)
        };
        // What a newer edition replaced is shown as one side of a conflict, and nowhere else.
        let replaced =
            heuristic::editions::superseded_sources(&self.notes.sources, &self.question.text);
        let stands = |it: &&Evidence| {
            let allowed = self.allowed.as_ref();
            !replaced.contains(&it.source) && allowed.is_none_or(|ids| ids.contains(&it.id))
        };
        let serving: Vec<&Evidence> = all.iter().copied().filter(serves).filter(stands).collect();
        let few = serving.len() < MIN_SERVING_EVIDENCE && self.allowed.is_none();
        if few { all } else { serving }
    }

    /// Writes the sections of a group from their evidence; `None` without any. A revision adds to what was written.
    async fn write_group(
        &self,
        group: SectionGroup<'a>,
        stage: Option<&DraftPreview<'_>>,
    ) -> Option<ModelOutcome<'a, WriterOutput>> {
        if let Some(written) = self.written_sections(&group) {
            return Some(self.patch_sections(&group, written).await);
        }
        match self.fitting_evidence(&group.evidence, &group.plan) {
            Ok(own) if own.is_empty() => None,
            Ok(own) => Some(self.write_planned(&group.plan, own, stage).await),
            Err(fault) => Some((TrackedModel::new(self.role_model), Err(fault))),
        }
    }

    fn sections_prompt<'p>(
        &'p self,
        plan: &'p WritingPlan,
        evidence: &'p [EvidenceRow<'p>],
    ) -> WritePrompt<'p> {
        let bound = self.question.method.final_report_max_length;
        let sections = self.notes.plan.writing.sections.len().max(1);
        let words = max_words(bound) * plan.sections.len() / sections;
        WritePrompt {
            question: self.brief.effective_question(),
            plan,
            evidence,
            words: (bound > 0).then_some(words as u32),
            language: &self.language,
            context: self.question.context.as_deref(),
            earlier: self.earlier_draft(plan),
            adds: self.written_titles(plan),
            most_more: if self.may_ask { MAX_WRITER_SEARCHES } else { 0 },
            usual: self.question.method.results_per_query,
        }
    }

    async fn write_planned(
        &self,
        plan: &WritingPlan,
        evidence: Vec<&'a Evidence>,
        stage: Option<&DraftPreview<'_>>,
    ) -> ModelOutcome<'a, WriterOutput> {
        let model = TrackedModel::new(self.role_model);
        let mut kept = evidence.as_slice();
        let mut written = self.request_sections(&model, plan, kept, stage).await;
        // The window was configured too large, or the model counts tokens differently: continue with the best
        // of the evidence.
        for _ in 0..MAX_SHRINKS {
            match &written {
                Err(fault) if fault.is_prompt_too_long() && kept.len() > 1 => {
                    kept = &kept[..kept.len() * 3 / 5];
                    written = self.request_sections(&model, plan, kept, stage).await;
                }
                _ => break,
            }
        }
        (model, written)
    }

    async fn request_sections(
        &self,
        model: &TrackedModel<'a>,
        plan: &WritingPlan,
        evidence: &[&Evidence],
        stage: Option<&DraftPreview<'_>>,
    ) -> Result<WriterOutput> {
        let from: Vec<String> =
            evidence.iter().map(|evidence| self.source_label(evidence)).collect();
        let rows: Vec<EvidenceRow<'_>> = evidence_rows(evidence, &from).collect();
        let asked = self.sections_prompt(plan, &rows);
        let mut prompt = asked.prompt()?;
        if self.nth_draft > 0 {
            prompt.temperature = Some(NEXT_DRAFT_TEMPERATURE);
        }
        // Enough to state each piece of evidence twice: small models go on until they are stopped.
        let enough = REPORT_TOKENS + TOKENS_PER_EVIDENCE * evidence.len();
        prompt.max_tokens = Some(self.reserved_tokens().min(enough) as u32);
        // A sentence that will not be in the draft, or that has an unknown name, is not shown in the preview
        // either.
        let announcements = &prompts::phrases()?.sentence.announcements;
        let holds = |nth: usize, heading: &str, it: &WrittenSentence| {
            let title = &self.planned_section(plan, heading, nth)?.title;
            let carried = asked.cited_evidence(it);
            let shown = !carried.is_empty()
                && !begins_with_phrase(&spaced(&it.text), announcements)
                && self.has_known_names(&it.text, title, &carried);
            shown.then(|| (title.clone(), without_label(&it.text).to_owned()))
        };
        let mut listener = stage.map(|stage| stage.listener(&holds));
        let listener = listener.as_mut().map(|listener| listener as &mut dyn ask::AnswerListener);
        let written =
            ask::ask_typed_streaming(model, prompt, listener, |it| asked.check(it)).await?;
        let written: Answer = written.value;
        let mut sections: Vec<DraftSection> = Vec::new();
        for (nth, it) in written.sections.iter().enumerate() {
            let lines: Vec<DraftLine> = it
                .sentences
                .iter()
                .map(|sentence| DraftLine {
                    text: without_label(&sentence.text).to_owned(),
                    evidence: resolve_evidence(
                        &sentence.text,
                        asked.cited_evidence(sentence),
                        evidence,
                    ),
                })
                .filter(|it| {
                    !it.evidence.is_empty() && !begins_with_phrase(&spaced(&it.text), announcements)
                })
                .collect();
            let Some(planned) = self.planned_section(plan, &it.heading, nth) else {
                continue;
            };
            let item = planned.items.first().copied();
            if lines.is_empty() || sections.iter().any(|section| section.title == planned.title) {
                continue;
            }
            sections.push(DraftSection {
                title: planned.title.clone(),
                item,
                layout: SectionLayout::Prose,
                paragraphs: lines
                    .chunks(MAX_PARAGRAPH_SENTENCES)
                    .map(<[DraftLine]>::to_vec)
                    .collect(),
            });
        }
        Ok(WriterOutput::Sections(sections, asked.requested_searches(&written)))
    }

    /// The best of the evidence that fits into the prompt of `plan`.
    fn fitting_evidence<'e>(
        &self,
        evidence: &[&'e Evidence],
        plan: &WritingPlan,
    ) -> Result<Vec<&'e Evidence>> {
        let frame = self.sections_prompt(plan, &[]).prompt()?;
        let parts = evidence
            .iter()
            .map(|evidence| PromptPart {
                text: format!(
                    "{}: {} ({})",
                    evidence.id,
                    evidence.claim,
                    self.source_label(evidence)
                ),
                required: false,
                weight: evidence.score,
            })
            .collect();
        // The schema lists the ids of the evidence: some tokens for each.
        let ids = 8 * evidence.len();
        let window = ContextWindow {
            tokens: self.window.saturating_sub(ids),
            answer: self.reserved_tokens(),
        }
        .minus_prompt(&frame);
        let fitted = fit::fit_parts(parts, window);
        Ok(fitted.kept.iter().map(|pair| evidence[pair.0]).collect())
    }

    /// The section of `plan` that a written one is: by its heading, or else by its position. `None` for one that another call
    /// writes.
    fn planned_section<'p>(
        &self,
        plan: &'p WritingPlan,
        heading: &str,
        nth: usize,
    ) -> Option<&'p SectionPlan> {
        let is_named = |section: &&SectionPlan| section.title.eq_ignore_ascii_case(heading.trim());
        match plan.sections.iter().find(is_named) {
            None if self.notes.plan.writing.sections.iter().any(|it| is_named(&it)) => None,
            None => plan.sections.get(nth),
            named => named,
        }
    }

    fn reserved_tokens(&self) -> usize {
        ANSWER_TOKENS.min(self.window / 3)
    }

    /// The source of evidence in a few words.
    fn source_label(&self, it: &Evidence) -> String {
        let Some(source) = self.notes.source(it.source) else {
            return String::new();
        };
        let year = source.date.as_deref().and_then(|date| date.get(..4));
        let name = source.public_name();
        match year {
            Some(year) => format!("{name}, {year}"),
            None => name.to_owned(),
        }
    }
}

/// The error when nothing that was read answers the question.
pub(crate) fn no_evidence_error(state: &ResearchState) -> Result<Error> {
    let words = &prompts::phrases()?.nothing;
    let pages = state.usage.pages;
    let (why, hint) = match pages {
        0 => (&words.none_found_no_pages, &words.hint_no_pages),
        1 => (&words.none_found_one_page, &words.hint_one_page),
        _ => (&words.none_found, &words.hint),
    };
    let filled = |template: &str| fill_template(template, &[("pages", &pages.to_string())]);
    Ok(Error::new(ErrorKind::NotFound, filled(why)).with_hint(filled(hint)))
}

/// The error when an answer of one line is wanted and there is none: it quotes `nearest`, what only comes near the question.
pub(crate) fn no_answer_error(state: &ResearchState, nearest: Option<&str>) -> Result<Error> {
    let error = no_evidence_error(state)?;
    let Some(nearest) = nearest else { return Ok(error) };
    let words = &prompts::phrases()?.nothing;
    let why = fill_template(&words.nearest, &[("passage", nearest)]);
    let hint = error.hint().unwrap_or_default().to_owned();
    Ok(Error::new(ErrorKind::NotFound, why).with_hint(hint))
}
