//! Writing: a draft of sentences, each naming the evidence that carries it (rows A8, E2, E9).
use crate::domain::words::share;
use crate::domain::{
    Brief, Evidence, EvidenceId, ItemId, Mode, ModelRole, Notes, Question, SectionPlan, WritingPlan,
};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::{LanguageModel, Log, Mind, Prompt};

use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    fit::{self, Part, Window},
    shapes::{AnswerAsk, EvidenceRow, WriteAsk, Written, language},
};
use super::draft::{Draft, DraftSection, Line};
use super::gathered::Gathered;
use super::prompts::{self, fill};
use super::unaided::{self, score::Scale};

/// Tokens kept free for a report, at most; a small window keeps a third.
const ANSWER: usize = 6_000;
/// Evidence that the one-line answer is made from.
const FOR_AN_ANSWER: usize = 12;
/// Sentences of a paragraph.
const PARAGRAPH: usize = 4;
/// Share of a sentence's words that the evidence it names must hold to be meant, where other evidence holds so many.
const MEANT: f32 = 0.5;
const SAYS_IT: f32 = 0.8;
/// Words of the short answer (row E2).
const SHORT_WORDS: usize = 60;

/// The draft that the notes carry, told piece by piece.
///
/// Without a model it is made of the sources' own sentences. With one, sections and answer are the
/// model's words, each sentence with the evidence it names; findings stay the sources' own sentences.
///
/// # Errors
/// `NotFound` when nothing that was read speaks to the question.
pub(crate) async fn compose(
    log: &Log,
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
    gathered: &Gathered,
    scale: &mut Scale,
) -> Result<Draft> {
    let draft = unaided::compose::compose(question, brief, gathered, scale)?;
    let Some(mut draft) = draft else {
        return Err(nothing(brief, gathered)?);
    };
    let role = ModelRole::Writer;
    if let Some(mind) = aid.mind(Step::Write, role) {
        let model = Counting::of(mind);
        let written =
            in_own_words(&model, mind, question, brief, &gathered.notes, &mut draft).await;
        aid.settle(Step::Write, role, model);
        if let Err(fault) = written {
            aid.without(Step::Write, role, fault)?;
        }
    }
    tell(log, &draft);
    Ok(draft)
}

/// Puts what a model writes in the place of what was picked. What it wrote before it failed stays.
async fn in_own_words(
    model: &dyn LanguageModel,
    mind: &Mind,
    question: &Question,
    brief: &Brief,
    notes: &Notes,
    draft: &mut Draft,
) -> Result<()> {
    let language = language(Some(&brief.lang));
    let desk = Desk {
        model,
        window: mind.window as usize,
        question,
        brief,
        notes,
        language: &language,
    };
    let best = best_first(notes, notes.evidence.iter());
    // Where one of the two cannot be written, the other still is.
    let answer = desk.answer(&best).await;
    let sections = match question.mode {
        Mode::Report => desk.sections().await,
        Mode::Answer => Ok(Vec::new()),
    };
    let mut fault = None;
    match answer {
        Ok(Some(answer)) => {
            draft.short = short(&answer, &draft.short);
            draft.answer = Some(answer);
        }
        Ok(None) => {}
        Err(it) => fault = Some(it),
    }
    match sections {
        Ok(sections) if !sections.is_empty() => draft.sections = sections,
        Ok(_) => {}
        Err(it) => fault = fault.or(Some(it)),
    }
    fault.map_or(Ok(()), Err)
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
    model: &'a dyn LanguageModel,
    window: usize,
    question: &'a Question,
    brief: &'a Brief,
    notes: &'a Notes,
    language: &'a str,
}

impl Desk<'_> {
    async fn answer(&self, best: &[&Evidence]) -> Result<Option<Line>> {
        let from: Vec<String> = best.iter().map(|it| self.whence(it)).collect();
        let rows: Vec<EvidenceRow<'_>> = rows(best, &from).take(FOR_AN_ANSWER).collect();
        let asked = AnswerAsk {
            question: self.brief.asked(),
            evidence: &rows,
            language: self.language,
        };
        let answer = ask::typed(self.model, asked.prompt()?, |it| asked.check(it)).await?;
        let evidence = asked.carried(&answer.value);
        let text = answer.value.answer.trim().to_owned();
        Ok((!evidence.is_empty() && !text.is_empty()).then_some(Line { text, evidence }))
    }

    /// All sections in one call where the evidence fits, else each by itself.
    async fn sections(&self) -> Result<Vec<DraftSection>> {
        let plan = &self.notes.plan.writing;
        let all = best_first(self.notes, self.notes.evidence.iter());
        let frame = self.asking(plan, &[]).prompt()?;
        let kept = self.fitting(&all, &frame);
        if kept.len() == all.len() {
            return self.write(plan, &kept).await;
        }
        let mut sections = Vec::new();
        for section in &plan.sections {
            let own = self.notes.evidence.iter();
            let own = own.filter(|it| it.items.iter().any(|id| section.items.contains(id)));
            let alone = WritingPlan {
                sections: vec![section.clone()],
                ..plan.clone()
            };
            let frame = self.asking(&alone, &[]).prompt()?;
            let own = self.fitting(&best_first(self.notes, own), &frame);
            if own.is_empty() {
                continue;
            }
            sections.extend(self.write(&alone, &own).await?);
        }
        Ok(sections)
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
            language: self.language,
        }
    }

    async fn write(&self, plan: &WritingPlan, evidence: &[&Evidence]) -> Result<Vec<DraftSection>> {
        let from: Vec<String> = evidence.iter().map(|it| self.whence(it)).collect();
        let rows: Vec<EvidenceRow<'_>> = rows(evidence, &from).collect();
        let asked = self.asking(plan, &rows);
        let mut prompt = asked.prompt()?;
        prompt.max_tokens = Some(self.kept_free() as u32);
        let written: Written = ask::typed(self.model, prompt, |it| asked.check(it))
            .await?
            .value;
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
        Ok(sections)
    }

    /// As much of the evidence as fits, best first.
    fn fitting<'e>(&self, evidence: &[&'e Evidence], frame: &Prompt) -> Vec<&'e Evidence> {
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
            tokens: self.window.saturating_sub(ids),
            answer: self.kept_free(),
        }
        .beside(frame);
        let fitted = fit::fit(parts, window);
        fitted.kept.iter().map(|it| evidence[it.0]).collect()
    }

    fn kept_free(&self) -> usize {
        ANSWER.min(self.window / 3)
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

/// The section of the plan that a written one is: by its heading, else by its place.
fn planned<'a>(plan: &'a WritingPlan, heading: &str, nth: usize) -> Option<&'a SectionPlan> {
    let named = plan
        .sections
        .iter()
        .find(|it| it.title.eq_ignore_ascii_case(heading.trim()));
    named.or_else(|| plan.sections.get(nth))
}

fn tell(log: &Log, draft: &Draft) {
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

fn nothing(brief: &Brief, gathered: &Gathered) -> Result<Error> {
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
