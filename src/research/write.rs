//! Writing: a draft of sentences, each naming the evidence that carries it (rows A8, E2, E9).
use std::collections::BTreeSet;

use futures_util::{StreamExt, future::join, stream};

use crate::domain::words::{content_stems, share};
use crate::domain::{
    Brief, Evidence, EvidenceId, ItemId, Mode, ModelRole, Notes, Question, SectionPlan, WritingPlan,
};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::{Log, Mind, TooLong};

use super::AT_ONCE;
use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    fit::{self, Part, Window},
    shapes::{AnswerAsk, EvidenceRow, WriteAsk, Written, language},
};
use super::draft::{Draft, DraftSection, Line};
use super::gather::Gathering;
use super::gathered::Gathered;
use super::prompts::{self, fill};
use super::unaided;

/// Tokens kept free for a report, at most; a small window keeps a third.
const ANSWER: usize = 6_000;
/// Evidence that the one-line answer is made from.
const FOR_AN_ANSWER: usize = 12;
/// Sentences of a paragraph.
const PARAGRAPH: usize = 4;
/// Share of a sentence's words that the evidence it names must hold to be meant, where other evidence holds so many.
const MEANT: f32 = 0.5;
const SAYS_IT: f32 = 0.8;
/// How often a prompt that proved too long is sent with less evidence (row C12).
const SHRINKS: usize = 3;
/// Searches that a writer may ask for at a time (row A9).
const MOST_MORE: usize = 2;
/// Words of the short answer (row E2).
const SHORT_WORDS: usize = 60;

/// An earlier draft that is written anew with more evidence.
pub(crate) struct Revision<'a> {
    pub(crate) draft: &'a Draft,
    /// Which time, from 1.
    pub(crate) nth: u32,
}

/// The draft that the notes carry.
///
/// Without a model it is made of the sources' own sentences. With one, sections and answer are the
/// model's words, each sentence with the evidence it names; findings stay the sources' own sentences. What the model
/// says it lacks stands in `more`, as long as it may ask (row A9).
///
/// # Errors
/// `NotFound` when nothing that was read speaks to the question.
pub(crate) async fn compose(
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
    gathering: &mut Gathering<'_>,
    last: Option<Revision<'_>>,
) -> Result<Draft> {
    let gathered = &gathering.gathered;
    let draft = unaided::compose::compose(question, brief, gathered, &mut gathering.scale)?;
    let Some(mut draft) = draft else {
        return Err(nothing(brief, gathered)?);
    };
    let role = ModelRole::Writer;
    if let Some(mind) = aid.mind(Step::Write, role) {
        let desk = Desk {
            mind,
            question,
            brief,
            notes: &gathered.notes,
            language: language(Some(&brief.lang)),
            may_ask: last.as_ref().map_or(0, |it| it.nth)
                < question.method.max_refinement_iterations,
            earlier: last.map_or_else(String::new, |it| earlier(it.draft)),
        };
        for (model, fault) in desk.in_own_words(&mut draft).await {
            aid.settle(Step::Write, role, model);
            if let Some(fault) = fault {
                aid.without(Step::Write, role, fault)?;
            }
        }
    }
    Ok(draft)
}

/// The sections of an earlier draft as a prompt shows them.
fn earlier(draft: &Draft) -> String {
    let sections = draft.sections.iter().map(|section| {
        let lines = section.paragraphs.iter().flatten();
        let text: Vec<&str> = lines.map(|it| it.text.as_str()).collect();
        format!("{}: {}", section.title, text.join(" "))
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// The answer, then what was picked, as far as the short answer has room.
fn short(answer: &Line, picked: &[Line]) -> Vec<Line> {
    let words = |it: &Line| it.text.split_whitespace().count();
    let mut room = SHORT_WORDS.saturating_sub(words(answer));
    let mut lines = vec![answer.clone()];
    for it in picked {
        if words(it) <= room && it.text != answer.text {
            room -= words(it);
            lines.push(it.clone());
        }
    }
    lines
}

/// What writing rests on.
struct Desk<'a> {
    mind: &'a Mind,
    question: &'a Question,
    brief: &'a Brief,
    notes: &'a Notes,
    language: String,
    /// Whether searches may still be asked for.
    may_ask: bool,
    /// The draft before this one; empty the first time.
    earlier: String,
}

/// Who was asked, and what came of it.
type Asked<'a, T> = (Counting<'a>, Result<T>);

/// Sections, and the searches for what they lack.
type Sections = (Vec<DraftSection>, Vec<String>);

impl<'a> Desk<'a> {
    /// Puts what a model writes in the place of what was picked: answer and sections side by side. Where one cannot be
    /// written, the others still are.
    async fn in_own_words(&self, draft: &mut Draft) -> Vec<(Counting<'a>, Option<Error>)> {
        let (answer, sections) = match self.question.mode {
            Mode::Report => join(self.answer(), self.sections()).await,
            Mode::Answer => (self.answer().await, Vec::new()),
        };
        let mut asked = Vec::new();
        let (model, answer) = answer;
        asked.push((
            model,
            match answer {
                Ok(answer) => {
                    if let Some(answer) = answer {
                        draft.short = short(&answer, &draft.short);
                        draft.answer = Some(answer);
                        draft.answer_by_code = false;
                    }
                    None
                }
                Err(fault) => Some(fault),
            },
        ));
        let mut written = Vec::new();
        for (model, sections) in sections {
            match sections {
                Ok((sections, more)) => {
                    written.extend(sections);
                    draft.more.extend(more);
                    asked.push((model, None));
                }
                Err(fault) => asked.push((model, Some(fault))),
            }
        }
        draft.more.truncate(MOST_MORE);
        // What the model left out of the plan keeps what was picked for it.
        let mut told: Vec<ItemId> = Vec::new();
        for it in &self.notes.plan.writing.sections {
            if written.iter().any(|own| own.title == it.title) {
                told.extend(&it.items);
            }
        }
        let picked = draft.sections.drain(..);
        written.extend(picked.filter(|it| !told.contains(&it.item)));
        draft.sections = said_once(written);
        asked
    }

    async fn answer(&self) -> Asked<'a, Option<Line>> {
        let model = Counting::of(self.mind);
        let answer = self.answered(&model).await;
        (model, answer)
    }

    async fn answered(&self, model: &Counting<'a>) -> Result<Option<Line>> {
        let best = best_first(self.notes, self.notes.evidence.iter());
        let from: Vec<String> = best.iter().map(|it| self.whence(it)).collect();
        let rows: Vec<EvidenceRow<'_>> = rows(&best, &from).take(FOR_AN_ANSWER).collect();
        let asked = AnswerAsk {
            question: self.brief.asked(),
            evidence: &rows,
            language: &self.language,
        };
        let answer = ask::typed(model, asked.prompt()?, |it| asked.check(it)).await?;
        let evidence = asked.carried(&answer.value);
        let text = answer.value.answer.trim().to_owned();
        Ok((!evidence.is_empty() && !text.is_empty()).then_some(Line { text, evidence }))
    }

    /// All sections in one call where the evidence fits, else each by itself.
    async fn sections(&self) -> Vec<Asked<'a, Sections>> {
        let plan = &self.notes.plan.writing;
        let all = best_first(self.notes, self.notes.evidence.iter());
        match self.fitting(&all, plan) {
            Ok(kept) if kept.len() == all.len() => return vec![self.write(plan, kept).await],
            Ok(_) => {}
            Err(fault) => return vec![(Counting::of(self.mind), Err(fault))],
        }
        let mut asking = Vec::new();
        for section in &plan.sections {
            let own = self.notes.evidence.iter();
            let own = own.filter(|it| it.items.iter().any(|id| section.items.contains(id)));
            let alone = WritingPlan {
                sections: vec![section.clone()],
                ..plan.clone()
            };
            asking.push(self.section(alone, best_first(self.notes, own)));
        }
        let written: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
        written.into_iter().flatten().collect()
    }

    /// One section from its own evidence; nothing without any.
    async fn section(
        &self,
        alone: WritingPlan,
        own: Vec<&'a Evidence>,
    ) -> Option<Asked<'a, Sections>> {
        match self.fitting(&own, &alone) {
            Ok(own) if own.is_empty() => None,
            Ok(own) => Some(self.write(&alone, own).await),
            Err(fault) => Some((Counting::of(self.mind), Err(fault))),
        }
    }

    fn asking<'p>(
        &'p self,
        plan: &'p WritingPlan,
        evidence: &'p [EvidenceRow<'p>],
    ) -> WriteAsk<'p> {
        let bound = self.question.method.final_report_max_length;
        WriteAsk {
            question: self.brief.asked(),
            plan,
            evidence,
            words: (bound > 0).then_some(bound * 3 / 4),
            language: &self.language,
            earlier: &self.earlier,
            most_more: if self.may_ask { MOST_MORE } else { 0 },
        }
    }

    async fn write(&self, plan: &WritingPlan, evidence: Vec<&'a Evidence>) -> Asked<'a, Sections> {
        let model = Counting::of(self.mind);
        let mut kept = evidence.as_slice();
        let mut written = self.written(&model, plan, kept).await;
        // The window was set too wide, or counts otherwise than we do: the best of the evidence has to do (row C12).
        for _ in 0..SHRINKS {
            match &written {
                Err(fault) if TooLong::caused(fault) && kept.len() > 1 => {
                    kept = &kept[..kept.len() * 3 / 5];
                    written = self.written(&model, plan, kept).await;
                }
                _ => break,
            }
        }
        (model, written)
    }

    async fn written(
        &self,
        model: &Counting<'a>,
        plan: &WritingPlan,
        evidence: &[&Evidence],
    ) -> Result<Sections> {
        let from: Vec<String> = evidence.iter().map(|it| self.whence(it)).collect();
        let rows: Vec<EvidenceRow<'_>> = rows(evidence, &from).collect();
        let asked = self.asking(plan, &rows);
        let mut prompt = asked.prompt()?;
        prompt.max_tokens = Some(self.kept_free() as u32);
        let written: Written = ask::typed(model, prompt, |it| asked.check(it)).await?.value;
        let mut sections: Vec<DraftSection> = Vec::new();
        for (nth, it) in written.sections.iter().enumerate() {
            let lines: Vec<Line> = it
                .sentences
                .iter()
                .map(|it| Line {
                    text: it.text.trim().to_owned(),
                    evidence: meant(&it.text, asked.carried(it), evidence),
                })
                .filter(|it| !it.evidence.is_empty())
                .collect();
            let Some(planned) = planned(plan, &it.heading, nth) else {
                continue;
            };
            let item = planned.items.first().copied();
            if lines.is_empty() || sections.iter().any(|it| it.title == planned.title) {
                continue;
            }
            sections.push(DraftSection {
                title: planned.title.clone(),
                item: item.unwrap_or(ItemId::new(1)),
                paragraphs: lines.chunks(PARAGRAPH).map(<[Line]>::to_vec).collect(),
            });
        }
        Ok((sections, asked.more(&written)))
    }

    /// As much of the evidence as fits beside what `plan` asks, best first.
    fn fitting<'e>(
        &self,
        evidence: &[&'e Evidence],
        plan: &WritingPlan,
    ) -> Result<Vec<&'e Evidence>> {
        let frame = self.asking(plan, &[]).prompt()?;
        let parts = evidence
            .iter()
            .map(|it| Part {
                text: format!("{}: {} ({})", it.id, it.claim, self.whence(it)),
                must: false,
                weight: it.score,
            })
            .collect();
        // The schema lists the ids of the evidence: some tokens for each.
        let ids = 8 * evidence.len();
        let window = Window {
            tokens: (self.mind.window as usize).saturating_sub(ids),
            answer: self.kept_free(),
        }
        .beside(&frame);
        let fitted = fit::fit(parts, window);
        Ok(fitted.kept.iter().map(|it| evidence[it.0]).collect())
    }

    fn kept_free(&self) -> usize {
        ANSWER.min(self.mind.window as usize / 3)
    }

    /// Where evidence comes from, in a few words.
    fn whence(&self, it: &Evidence) -> String {
        let Some(source) = self.notes.source(it.source) else {
            return String::new();
        };
        let year = source.date.as_deref().and_then(|it| it.get(..4));
        let name = if source.url.starts_with("file:") {
            &source.title
        } else {
            &source.domain
        };
        match year {
            Some(year) => format!("{name}, {year}"),
            None => name.clone(),
        }
    }
}

/// The evidence that a sentence rests on: what it names, unless that says something else and other evidence says it
/// nearly word for word. Small models copy the right words and name the wrong id.
fn meant(text: &str, named: Vec<EvidenceId>, all: &[&Evidence]) -> Vec<EvidenceId> {
    let says = |it: &Evidence| share(text, it.passage.text().expose()).max(share(text, &it.claim));
    let own = all.iter().filter(|it| named.contains(&it.id));
    let own = own.map(|it| says(it)).fold(0.0, f32::max);
    if named.is_empty() || own >= MEANT {
        return named;
    }
    let best = all
        .iter()
        .map(|it| (says(it), it.id))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match best {
        Some((share, id)) if share >= SAYS_IT => vec![id],
        _ => named,
    }
}

fn rows<'a>(
    evidence: &'a [&Evidence],
    from: &'a [String],
) -> impl Iterator<Item = EvidenceRow<'a>> {
    evidence.iter().zip(from).map(|(it, from)| EvidenceRow {
        id: it.id,
        claim: &it.claim,
        from,
    })
}

/// Evidence by score, ties in the order found; only of sources that the notes hold.
fn best_first<'a>(
    notes: &Notes,
    evidence: impl Iterator<Item = &'a Evidence>,
) -> Vec<&'a Evidence> {
    let mut all: Vec<&Evidence> = evidence
        .filter(|it| notes.source(it.source).is_some())
        .collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    all
}

/// Every sentence where it is said first; small models say theirs again in each section.
fn said_once(sections: Vec<DraftSection>) -> Vec<DraftSection> {
    let mut said = BTreeSet::new();
    let mut once = Vec::new();
    for mut section in sections {
        for paragraph in &mut section.paragraphs {
            paragraph.retain(|it| said.insert(content_stems(&it.text)));
        }
        section.paragraphs.retain(|it| !it.is_empty());
        if !section.paragraphs.is_empty() {
            once.push(section);
        }
    }
    once
}

/// The section of the plan that a written one is: by its heading, else by its place.
fn planned<'a>(plan: &'a WritingPlan, heading: &str, nth: usize) -> Option<&'a SectionPlan> {
    let named = plan
        .sections
        .iter()
        .find(|it| it.title.eq_ignore_ascii_case(heading.trim()));
    named.or_else(|| plan.sections.get(nth))
}

/// Tells the draft piece by piece.
pub(crate) fn tell(log: &Log, draft: &Draft) {
    let tell = |text: String| log.emit(Event::DraftDelta { text });
    let joined = |lines: &[Line]| {
        lines
            .iter()
            .map(|it| it.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    tell(joined(&draft.short));
    for (line, _) in &draft.findings {
        tell(line.text.clone());
    }
    for section in &draft.sections {
        for paragraph in &section.paragraphs {
            tell(joined(paragraph));
        }
    }
}

/// What is told where nothing that was read answers.
pub(crate) fn nothing(brief: &Brief, gathered: &Gathered) -> Result<Error> {
    let words = &prompts::phrases()?.nothing;
    let pages = gathered.usage.pages;
    let hint = if pages == 0 {
        words.hint_no_pages.clone()
    } else {
        fill(&words.hint, &[("pages", &pages.to_string())])
    };
    let asked: String = brief.question.chars().take(200).collect();
    Ok(Error::new(
        Kind::NotFound,
        fill(&words.none_found, &[("question", &asked)]),
    )
    .hint(hint))
}
