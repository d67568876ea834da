//! Applies patches to a draft, as far as they do no harm.
use std::collections::{BTreeMap, BTreeSet};

use ibid_core::Result;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Evidence, EvidenceId, ItemId, Objection, PatchOutcome, SectionLayout};

use super::proposal::{DraftChange, DraftResearch, ProposedPatch, is_cited, section_lines};
use crate::draft::{DraftLine, DraftSection, ReportDraft};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::score::RelevanceScorer;
use crate::heuristic::sentence::{claim_text, has_denial, has_doubt_words};
use crate::prompts;
use crate::report_length::{draft_words, words};

/// Of the sentences of a section, one in so many may be removed in a round; at least one.
const REMOVABLE_SHARE: usize = 4;
/// Maximum number of words of the short answer after another sentence was put before it.
const SHORT_WORDS: usize = 60;

/// A draft that is being patched.
pub(super) struct DraftPatcher<'a> {
    research: DraftResearch<'a>,
    scorer: &'a mut RelevanceScorer,
    draft: ReportDraft,
    /// How many words the draft may have.
    most: Option<usize>,
    /// How many sentences each section had, and how many of them were removed.
    removed: BTreeMap<String, (usize, usize)>,
}

impl<'a> DraftPatcher<'a> {
    pub(super) fn new(
        research: DraftResearch<'a>,
        scorer: &'a mut RelevanceScorer,
        draft: ReportDraft,
    ) -> DraftPatcher<'a> {
        let mut removed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (title, _) in section_lines(&draft) {
            removed.entry(title.to_owned()).or_default().0 += 1;
        }
        DraftPatcher { research, scorer, draft, most: None, removed }
    }

    /// Adds nothing beyond so many words, if there is a bound.
    pub(super) fn within(self, most: Option<usize>) -> DraftPatcher<'a> {
        DraftPatcher { most, ..self }
    }

    pub(super) fn into_draft(self) -> ReportDraft {
        self.draft
    }

    /// Applies all patches in order. Returns each objection with what became of it.
    pub(super) fn apply_all(&mut self, proposed: Vec<ProposedPatch>) -> Result<Vec<Objection>> {
        let mut objections = Vec::new();
        for patch in proposed {
            let outcome = match &patch.change {
                DraftChange::AddQuote { evidence, to } => self.add_quote(*evidence, to)?,
                // What limits the rest is easily taken for beside the point.
                DraftChange::Remove(line) if patch.by.is_some() && is_caveat(&line.text)? => {
                    rejected("it says a doubt or a denial")
                }
                DraftChange::Remove(line) => self.remove(line),
                DraftChange::Move { line, to } => self.move_line(line, to),
                DraftChange::Lead(line) => self.lead(line)?,
            };
            let sentence = match &patch.change {
                DraftChange::AddQuote { evidence, .. } => {
                    self.evidence(*evidence).map_or_else(String::new, |it| it.claim.clone())
                }
                DraftChange::Remove(line)
                | DraftChange::Move { line, .. }
                | DraftChange::Lead(line) => line.text.clone(),
            };
            objections.push(Objection {
                critic: patch.critic,
                by: patch.by,
                section: patch.section,
                sentence,
                why: patch.why,
                outcome,
            });
        }
        Ok(objections)
    }

    fn evidence(&self, id: EvidenceId) -> Option<&'a Evidence> {
        self.research.notes.evidence.iter().find(|it| it.id == id)
    }

    /// Adds the quote of evidence to a section, which is made if the outline has it.
    fn add_quote(&mut self, id: EvidenceId, to: &str) -> Result<PatchOutcome> {
        let Some(evidence) = self.evidence(id) else {
            return Ok(rejected("there is no such evidence"));
        };
        if is_cited(&self.draft, id) {
            return Ok(rejected("a sentence tells it already"));
        }
        let phrases = &prompts::phrases()?.sentence;
        let text = match evidence.has_context() {
            true => evidence.claim.clone(),
            false => claim_text(evidence.passage.text().expose(), phrases),
        };
        let own: BTreeSet<String> = content_stems(&text).into_iter().collect();
        let told = |line: &DraftLine| {
            let stems: BTreeSet<String> = content_stems(&line.text).into_iter().collect();
            own.is_subset(&stems)
        };
        if section_lines(&self.draft).any(|pair| told(pair.1)) {
            return Ok(rejected("a sentence says it already"));
        }
        let of_items = evidence.items.iter().map(|item| self.scorer.part_relevance(*item, &text));
        let of_items = of_items.fold(0.0, f32::max);
        if self.scorer.relevance(&text).max(of_items) <= 0.0 {
            return Ok(rejected("it has no word of what is asked"));
        }
        let line = DraftLine { text, evidence: vec![id] };
        if self.most.is_some_and(|most| draft_words(&self.draft) + words(&line) > most) {
            return Ok(rejected("the report is as long as it may be"));
        }
        match self.draft.sections.iter_mut().find(|section| section.title == to) {
            Some(section) if section.layout != SectionLayout::Prose => {
                return Ok(rejected("the section is a list in order"));
            }
            Some(section) => section.paragraphs.push(vec![line]),
            None => {
                let outlined = self.research.outline.sections();
                let Some(place) = outlined.iter().position(|section| section.title == to) else {
                    return Ok(rejected("there is no such section"));
                };
                let section = DraftSection {
                    title: to.to_owned(),
                    item: outlined[place].items.first().copied(),
                    layout: SectionLayout::Prose,
                    paragraphs: vec![vec![line]],
                };
                let is_later = |it: &DraftSection| {
                    outlined[place..].iter().any(|later| later.title == it.title)
                };
                let before = self.draft.sections.iter().position(is_later);
                let before = before.unwrap_or(self.draft.sections.len());
                self.draft.sections.insert(before, section);
            }
        }
        Ok(PatchOutcome::Added)
    }

    fn remove(&mut self, line: &DraftLine) -> PatchOutcome {
        let Some(title) = self.title_of(line) else {
            return rejected("no section has the sentence");
        };
        if self.prose_item(&title).is_none() {
            return rejected("the section is a list in order");
        }
        let (all, removed) = self.removed.get(&title).copied().unwrap_or_default();
        if all - removed.min(all) <= 1 {
            return rejected("it is the only sentence of its section");
        }
        if removed >= (all / REMOVABLE_SHARE).max(1) {
            return rejected("enough of its section was removed");
        }
        self.removed.insert(title.clone(), (all, removed + 1));
        self.take(&title, line);
        PatchOutcome::Removed
    }

    fn move_line(&mut self, line: &DraftLine, to: &str) -> PatchOutcome {
        let Some(from) = self.title_of(line) else {
            return rejected("no section has the sentence");
        };
        let sections = (self.prose_item(&from).flatten(), self.prose_item(to).flatten());
        let (Some(here), Some(there)) = sections else {
            return rejected("one of the sections is a list in order, or answers no item");
        };
        let relevance = |patcher: &mut Self, item| patcher.scorer.part_relevance(item, &line.text);
        if from == to || relevance(self, there) <= relevance(self, here) {
            return rejected("its words belong where it is");
        }
        if self.removed.get(&from).is_some_and(|count| count.0 - count.1.min(count.0) <= 1) {
            return rejected("it is the only sentence of its section");
        }
        self.removed.entry(from.clone()).or_default().1 += 1;
        self.take(&from, line);
        if let Some(section) = self.draft.sections.iter_mut().find(|it| it.title == to) {
            section.paragraphs.push(vec![line.clone()]);
        }
        PatchOutcome::Moved { to: Some(to.to_owned()) }
    }

    /// Begins the short answer with a sentence, and keeps of the rest what there is room for.
    fn lead(&mut self, line: &DraftLine) -> Result<PatchOutcome> {
        let said = |it: &DraftLine| it.text == line.text;
        if self.draft.short.first().is_some_and(said) {
            return Ok(rejected("the short answer begins with it"));
        }
        let told = |it: &DraftLine, scorer: &mut RelevanceScorer| scorer.relevance(&it.text);
        let own = told(line, self.scorer);
        let mut others = self.draft.short.iter();
        if words(line) > SHORT_WORDS || others.any(|it| told(it, self.scorer) >= own) {
            return Ok(rejected("the short answer says as much of what is asked"));
        }
        let mut room = SHORT_WORDS - words(line);
        let mut short = vec![line.clone()];
        for it in self.draft.short.iter().filter(|it| !said(it)) {
            if words(it) <= room {
                room -= words(it);
                short.push(it.clone());
            } else if is_caveat(&it.text)? {
                return Ok(rejected("the short answer would lose a doubt or a denial"));
            }
        }
        self.draft.short = short;
        // It is told once, unless its section has nothing else.
        if let Some(title) = self.title_of(line)
            && section_lines(&self.draft).filter(|pair| pair.0 == title).count() > 1
        {
            self.take(&title, line);
        }
        Ok(PatchOutcome::Moved { to: None })
    }

    /// The item of a section in prose, if it answers one; `None` where there is no such section.
    fn prose_item(&self, title: &str) -> Option<Option<ItemId>> {
        let section = self.draft.sections.iter().find(|it| it.title == title)?;
        (section.layout == SectionLayout::Prose).then_some(section.item)
    }

    /// The title of the section that has a line.
    fn title_of(&self, line: &DraftLine) -> Option<String> {
        section_lines(&self.draft).find(|pair| pair.1 == line).map(|pair| pair.0.to_owned())
    }

    /// Takes a line out of a section.
    fn take(&mut self, title: &str, line: &DraftLine) {
        for section in self.draft.sections.iter_mut().filter(|section| section.title == title) {
            for paragraph in &mut section.paragraphs {
                paragraph.retain(|it| it != line);
            }
            section.paragraphs.retain(|paragraph| !paragraph.is_empty());
        }
    }
}

/// Whether a sentence says a doubt or a denial.
fn is_caveat(text: &str) -> Result<bool> {
    let words = &prompts::phrases()?.sentence;
    let text = spaced(text);
    Ok(has_doubt_words(&text, words) || has_denial(&text, words))
}

fn rejected(because: &str) -> PatchOutcome {
    PatchOutcome::Rejected { because: because.to_owned() }
}
