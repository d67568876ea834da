//! Writing: a draft of sentences, each naming the evidence that carries it (rows A8, E2, E9).
use std::collections::BTreeSet;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::{StreamExt, stream};

use crate::domain::words::{Number, content_stems, numbers, share};
use crate::domain::{
    Brief, Evidence, EvidenceId, ItemId, Mode, ModelRole, Notes, Question, SectionPlan, WritingPlan,
};
use crate::error::{Error, Kind, Result};
use crate::seams::{Log, Mind, TooLong};

mod stage;

use super::AT_ONCE;
use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    fit::{self, Part, Window},
    shapes::{AnswerAsk, EvidenceRow, WriteAsk, Written as Answer, WrittenSentence, language},
};
use super::draft::{Draft, DraftSection, Line};
use super::foreign::{names_otherwise, says_otherwise, ties_otherwise};
use super::gather::Gathering;
use super::gathered::Gathered;
use super::prompts::{self, fill};
use super::unaided;
use stage::Stage;

/// Tokens kept free for a report, at most; a small window keeps a third.
const ANSWER: usize = 6_000;
/// Tokens of a report besides what its evidence says, and of what one piece says, with its form, twice.
const A_REPORT: usize = 600;
const A_PIECE: usize = 120;
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
/// Fewest words of a sentence.
const A_SENTENCE: usize = 4;
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
/// says it lacks stands in `more`, as long as it may ask (row A9). What is written is told piece by piece as it comes
/// (row E9), not yet checked.
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
    let mind = match question.mode {
        // Evidence is given as it stands.
        Mode::Evidence => None,
        _ => aid.mind(Step::Write, role),
    };
    if let Some(mind) = mind {
        let desk = Desk {
            mind,
            question,
            brief,
            notes: &gathered.notes,
            language: language(Some(&brief.lang)),
            picked: draft
                .short
                .iter()
                .flat_map(|it| it.evidence.clone())
                .collect(),
            may_ask: last.as_ref().map_or(0, |it| it.nth)
                < question.method.max_refinement_iterations,
            earlier: last.map_or_else(String::new, |it| earlier(it.draft)),
        };
        desk.in_own_words(aid, gathering.log, &mut draft).await?;
    } else {
        stage::tell(gathering.log, &draft);
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

/// The answer, then what was picked, as far as the short answer has room. A bare figure or word is left to the one-line
/// answer: beside what was picked it says nothing.
fn short(answer: &Line, picked: &[Line]) -> Vec<Line> {
    let words = |it: &Line| it.text.split_whitespace().count();
    if words(answer) < A_SENTENCE && !picked.is_empty() {
        return picked.to_vec();
    }
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
    /// The evidence of the short answer that was made without a model.
    picked: Vec<EvidenceId>,
    /// Whether searches may still be asked for.
    may_ask: bool,
    /// The draft before this one; empty the first time.
    earlier: String,
}

/// Who was asked, and what came of it.
type Asked<'a, T> = (Counting<'a>, Result<T>);

/// What a model wrote.
enum Written {
    /// One line.
    Answer(Line),
    /// No line that rests on evidence.
    Nothing,
    /// Sections, and the searches for what they lack.
    Sections(Vec<DraftSection>, Vec<String>),
}

impl<'a> Desk<'a> {
    /// Puts what a model writes in the place of what was picked: answer and sections side by side, told in their order as
    /// soon as they are there. Where one cannot be written, the others still are.
    async fn in_own_words(&self, aid: &mut Aid<'_>, log: &Log, draft: &mut Draft) -> Result<()> {
        let stage = Stage::new(log);
        let mut parts: Vec<BoxFuture<'_, Option<Asked<'_, Written>>>> = Vec::new();
        parts.push(Box::pin(async { Some(self.answer().await) }));
        if self.question.mode == Mode::Report {
            parts.extend(self.sections(&stage));
        }
        let mut parts = stream::iter(parts).buffered(AT_ONCE);
        let mut written = Vec::new();
        while let Some(part) = parts.next().await {
            let Some((model, part)) = part else { continue };
            aid.settle(Step::Write, ModelRole::Writer, model);
            match part {
                Ok(Written::Answer(answer)) => {
                    draft.short = short(&answer, &draft.short);
                    draft.answer = Some(answer);
                    draft.answer_by_code = false;
                }
                Ok(Written::Nothing) => {}
                Ok(Written::Sections(sections, more)) => {
                    stage.sections(&self.previewed(&sections));
                    written.extend(sections);
                    draft.more.extend(more);
                }
                Err(fault) => {
                    stage.lost();
                    aid.without(Step::Write, ModelRole::Writer, fault)?;
                }
            }
            // The answer is the first that is waited for.
            stage.open(&draft.short);
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
        let picked: Vec<DraftSection> = picked.filter(|it| !told.contains(&it.item)).collect();
        stage.more(&picked);
        written.extend(picked);
        draft.sections = said_once(written);
        Ok(())
    }

    /// Whether every name in a sentence stands in the evidence it names, the question, or the title it stands under, and what
    /// is said of the names is spoken of there.
    fn names_known(&self, text: &str, title: &str, evidence: &[EvidenceId]) -> bool {
        let all = self.notes.evidence.iter();
        let named = all.filter(|it| evidence.contains(&it.id));
        let shown = named.flat_map(|it| [it.claim.as_str(), it.passage.text().expose()]);
        let shown: Vec<&str> = shown.collect();
        let known = shown.iter().copied().chain([self.brief.asked(), title]);
        !names_otherwise(text, known.clone())
            && !says_otherwise(text, known)
            && !ties_otherwise(text, &format!("{} {title}", self.brief.asked()), &shown)
    }

    /// The sections as they may be told before they are checked.
    fn previewed(&self, sections: &[DraftSection]) -> Vec<DraftSection> {
        let lines = |section: &DraftSection, lines: &[Line]| -> Vec<Line> {
            let known = |it: &&Line| self.names_known(&it.text, &section.title, &it.evidence);
            lines.iter().filter(known).cloned().collect()
        };
        let previewed = sections.iter().map(|it| DraftSection {
            title: it.title.clone(),
            item: it.item,
            paragraphs: it
                .paragraphs
                .iter()
                .map(|own| lines(it, own))
                .filter(|it| !it.is_empty())
                .collect(),
        });
        previewed.collect()
    }

    async fn answer(&self) -> Asked<'a, Written> {
        let model = Counting::of(self.mind);
        let answer = self.answered(&model).await;
        (model, answer)
    }

    async fn answered(&self, model: &Counting<'a>) -> Result<Written> {
        let mut best = best_first(self.notes, self.notes.evidence.iter());
        // Small models take what they see first: that is what the voices weighed against each other came to.
        best.sort_by_key(|it| !self.picked.contains(&it.id));
        let from: Vec<String> = best.iter().map(|it| self.whence(it)).collect();
        let rows: Vec<EvidenceRow<'_>> = rows(&best, &from).take(FOR_AN_ANSWER).collect();
        let asked = AnswerAsk {
            question: self.brief.asked(),
            evidence: &rows,
            language: &self.language,
        };
        let answer = ask::typed(model, asked.prompt()?, |it| asked.check(it)).await?;
        let text = answer.value.answer.trim().to_owned();
        let evidence = meant(&text, asked.carried(&answer.value), &best);
        let known = self.names_known(&text, "", &evidence);
        Ok(match evidence.is_empty() || text.is_empty() || !known {
            true => Written::Nothing,
            false => Written::Answer(Line { text, evidence }),
        })
    }

    /// All sections in one call where the evidence fits, else each by itself.
    fn sections<'d>(
        &'d self,
        stage: &'d Stage<'d>,
    ) -> Vec<BoxFuture<'d, Option<Asked<'a, Written>>>> {
        let plan = &self.notes.plan.writing;
        let all = best_first(self.notes, self.notes.evidence.iter());
        let failed = |fault| -> BoxFuture<'d, Option<Asked<'a, Written>>> {
            Box::pin(async move { Some((Counting::of(self.mind), Err(fault))) })
        };
        match self.fitting(&all, plan) {
            Ok(kept) if kept.len() == all.len() => {
                return vec![Box::pin(async move {
                    Some(self.write(plan, kept, Some(stage)).await)
                })];
            }
            Ok(_) => {}
            Err(fault) => return vec![failed(fault)],
        }
        let alone = plan.sections.iter().map(|section| {
            let own = self.notes.evidence.iter();
            let own = own.filter(|it| it.items.iter().any(|id| section.items.contains(id)));
            let alone = WritingPlan {
                sections: vec![section.clone()],
                ..plan.clone()
            };
            self.section(alone, best_first(self.notes, own)).boxed()
        });
        alone.collect()
    }

    /// One section from its own evidence; nothing without any.
    async fn section(
        &self,
        alone: WritingPlan,
        own: Vec<&'a Evidence>,
    ) -> Option<Asked<'a, Written>> {
        match self.fitting(&own, &alone) {
            Ok(own) if own.is_empty() => None,
            Ok(own) => Some(self.write(&alone, own, None).await),
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

    async fn write(
        &self,
        plan: &WritingPlan,
        evidence: Vec<&'a Evidence>,
        stage: Option<&Stage<'_>>,
    ) -> Asked<'a, Written> {
        let model = Counting::of(self.mind);
        let mut kept = evidence.as_slice();
        let mut written = self.written(&model, plan, kept, stage).await;
        // The window was set too wide, or counts otherwise than we do: the best of the evidence has to do (row C12).
        for _ in 0..SHRINKS {
            match &written {
                Err(fault) if TooLong::caused(fault) && kept.len() > 1 => {
                    kept = &kept[..kept.len() * 3 / 5];
                    written = self.written(&model, plan, kept, stage).await;
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
        stage: Option<&Stage<'_>>,
    ) -> Result<Written> {
        let from: Vec<String> = evidence.iter().map(|it| self.whence(it)).collect();
        let rows: Vec<EvidenceRow<'_>> = rows(evidence, &from).collect();
        let asked = self.asking(plan, &rows);
        let mut prompt = asked.prompt()?;
        // Enough to say each piece of evidence twice: small models go on until they are stopped.
        let enough = A_REPORT + A_PIECE * evidence.len();
        prompt.max_tokens = Some(self.kept_free().min(enough) as u32);
        // Nothing is told of what will not stand in the draft either, nor of a name that the evidence does not have.
        let holds = |nth: usize, heading: &str, it: &WrittenSentence| {
            let title = &planned(plan, heading, nth)?.title;
            let carried = asked.carried(it);
            let told = !carried.is_empty() && self.names_known(&it.text, title, &carried);
            told.then(|| (title.clone(), it.text.trim().to_owned()))
        };
        let mut teller = stage.map(|it| it.teller(&holds));
        let aloud = teller.as_mut().map(|it| it as &mut dyn ask::Hear);
        let written = ask::typed_aloud(model, prompt, aloud, |it| asked.check(it)).await?;
        let written: Answer = written.value;
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
        Ok(Written::Sections(sections, asked.more(&written)))
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
/// nearly word for word. Small models copy the right words and name the wrong id. Where some of it holds the sentence's
/// figures, the rest is another's.
fn meant(text: &str, named: Vec<EvidenceId>, all: &[&Evidence]) -> Vec<EvidenceId> {
    let named = carries(text, named, all);
    let figures = numbers(text);
    let holds = |id: &EvidenceId| {
        let it = all.iter().find(|it| it.id == *id);
        let there = it.map_or_else(Vec::new, |it| numbers(it.passage.text().expose()));
        let same = |a: &Number, b: &Number| a.value == b.value && a.unit == b.unit;
        figures.iter().any(|a| there.iter().any(|b| same(a, b)))
    };
    match named.iter().any(holds) {
        true => named.into_iter().filter(holds).collect(),
        false => named,
    }
}

/// The same, by the words.
fn carries(text: &str, named: Vec<EvidenceId>, all: &[&Evidence]) -> Vec<EvidenceId> {
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

/// Every sentence where it is said first; small models say theirs again in each section, and parts of them.
fn said_once(sections: Vec<DraftSection>) -> Vec<DraftSection> {
    let mut said: Vec<BTreeSet<String>> = Vec::new();
    let mut once = Vec::new();
    for mut section in sections {
        for paragraph in &mut section.paragraphs {
            paragraph.retain(|it| {
                let own: BTreeSet<String> = content_stems(&it.text).into_iter().collect();
                let new = !said.iter().any(|it| own.is_subset(it));
                said.push(own);
                new
            });
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

/// What is told where nothing that was read answers.
pub(crate) fn nothing(brief: &Brief, gathered: &Gathered) -> Result<Error> {
    let words = &prompts::phrases()?.nothing;
    let pages = gathered.usage.pages;
    let hint = match pages {
        0 => words.hint_no_pages.clone(),
        1 => words.hint_one_page.clone(),
        _ => fill(&words.hint, &[("pages", &pages.to_string())]),
    };
    let asked: String = brief.question.chars().take(200).collect();
    Ok(Error::new(
        Kind::NotFound,
        fill(&words.none_found, &[("question", &asked)]),
    )
    .hint(hint))
}
