//! Whether what was written in other words than the sources' says what they say (rows A9, E9).
//!
//! Each sentence is judged by itself against its own quotes, by a model that sees nothing else, or by
//! the words alone. One that does not hold gives way to its quote, word for word.
use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use crate::domain::words::share;
use crate::domain::{Brief, Evidence, EvidenceId, Mode, ModelRole};
use crate::error::Result;
use crate::seams::Mind;

use super::AT_ONCE;
use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{Verdict, Verified, VerifyAsk},
};
use super::draft::{Draft, Line};
use super::foreign::{counts_otherwise, is_foreign, says_otherwise, ties_otherwise};
use super::gathered::Gathered;
use super::prompts;
use super::unaided::answer::in_its_words;
use super::unaided::language::{language, sure_language};
use super::unaided::sentence::claim_text;
use super::weigh::says_the_same;

/// Share of a sentence's words that its quotes must hold, whatever a model says of them.
const SPEAKS: f32 = 0.2;

/// The draft with every sentence in its own words or in those of its quotes.
pub(crate) async fn verify(
    aid: &mut Aid<'_>,
    gathered: &Gathered,
    brief: &Brief,
    mode: Mode,
    mut draft: Draft,
) -> Result<Draft> {
    // What code made of a quote ("Yes: …", a count, a clause) needs no judge, who would miss the added words in it.
    let by_code = draft.answer.take_if(|_| draft.answer_by_code);
    let mut draft = verify_lines(aid, gathered, brief, mode, draft).await?;
    draft.answer = draft.answer.or(by_code);
    Ok(draft)
}

async fn verify_lines(
    aid: &mut Aid<'_>,
    gathered: &Gathered,
    brief: &Brief,
    mode: Mode,
    mut draft: Draft,
) -> Result<Draft> {
    let notes: BTreeMap<EvidenceId, &Evidence> = gathered
        .notes
        .evidence
        .iter()
        .map(|it| (it.id, it))
        .collect();
    let quotes = |line: &Line| -> Vec<&str> {
        line.evidence
            .iter()
            .filter_map(|id| notes.get(id))
            .map(|it| it.passage.text().expose())
            .collect()
    };
    let mut told: Vec<Line> = Vec::new();
    for line in lines(&mut draft) {
        let verbatim = quotes(line)
            .iter()
            .any(|it| it.contains(line.text.trim_end_matches('…')));
        if !verbatim && !told.contains(line) {
            told.push(line.clone());
        }
    }
    if told.is_empty() {
        return Ok(draft);
    }
    let role = ModelRole::Verifier;
    let mut faulty: Vec<Line> = Vec::new();
    let mind = aid.mind(Step::Verify, role);
    let mut asking = Vec::new();
    for line in &told {
        asking.push(judged(mind, line, quotes(line)));
    }
    let answers: Vec<_> = stream::iter(asking).buffered(AT_ONCE).collect().await;
    for (line, answer) in answers {
        let by_words = || {
            let quoted: Vec<String> = quotes(line).iter().map(|it| (*it).to_owned()).collect();
            says_the_same(&line.text, &quoted)
        };
        // Whatever a model says of it: what is no word must stand in the quotes.
        let quoted = quotes(line);
        let known = quoted.iter().copied().chain([brief.question.as_str()]);
        let made_up = counts_otherwise(&line.text, &quoted)
            || is_foreign(&line.text, known.clone())
            || says_otherwise(&line.text, known)
            || ties_otherwise(&line.text, &brief.question, &quoted)
            || strays(&line.text, brief);
        let holds = match answer {
            None => by_words()?,
            Some((model, verdict)) => {
                aid.settle(Step::Verify, role, model);
                match verdict {
                    // A model that nods at everything is not believed where the quotes speak of something else.
                    Ok(it) => {
                        it == Verdict::Entails && speaks_of(line, &brief.lang, &notes, gathered)
                    }
                    Err(fault) => {
                        aid.without(Step::Verify, role, fault)?;
                        by_words()?
                    }
                }
            }
        };
        if !holds || made_up {
            faulty.push(line.clone());
        }
    }
    let words = &prompts::phrases()?.sentence;
    // The report's short answer says it; a line that stands alone is cut from its quote.
    let unsound = draft.answer.as_ref().is_some_and(|it| faulty.contains(it));
    if unsound && mode == Mode::Report {
        draft.answer = None;
    }
    let mut answer = draft.answer.take();
    if let Some(answer) = answer.as_mut().filter(|it| faulty.contains(it))
        && let Some(it) = answer.evidence.first().and_then(|id| notes.get(id))
    {
        answer.text = in_its_words(&claim_text(it.passage.text().expose(), words));
        answer.evidence.truncate(1);
    }
    for line in lines(&mut draft) {
        if !faulty.contains(line) {
            continue;
        }
        if let Some(it) = line.evidence.first().and_then(|id| notes.get(id)) {
            line.text = claim_text(it.passage.text().expose(), words);
            line.evidence.truncate(1);
        }
    }
    draft.answer = answer;
    // An answer that gave way may now say what was picked beside it.
    let mut said: BTreeSet<String> = BTreeSet::new();
    draft.short.retain(|it| said.insert(it.text.clone()));
    draft.reworded = faulty.len() as u32;
    Ok(draft)
}

/// Whether a line is beyond doubt in another language than the question: a page may ask for that, and nobody else did.
fn strays(said: &str, brief: &Brief) -> bool {
    let other = sure_language(said).is_some_and(|it| it != brief.lang);
    other && language(&brief.question) == brief.lang
}

/// Whether the quotes of a line have words in common with it. In another language they need not.
fn speaks_of(
    line: &Line,
    lang: &str,
    notes: &BTreeMap<EvidenceId, &Evidence>,
    gathered: &Gathered,
) -> bool {
    let mut cited = line.evidence.iter().filter_map(|id| notes.get(id));
    cited.any(|it| {
        let page = gathered.shelf.pages().get(it.passage.page());
        let other = page.and_then(|it| it.lang.as_deref());
        other.is_some_and(|it| it != lang)
            || share(&line.text, it.passage.text().expose()) >= SPEAKS
    })
}

/// What a model says of a line, where there is one.
async fn judged<'a>(
    mind: Option<&'a Mind>,
    line: &'a Line,
    quotes: Vec<&'a str>,
) -> (&'a Line, Option<(Counting<'a>, Result<Verdict>)>) {
    let Some(mind) = mind else {
        return (line, None);
    };
    let model = Counting::of(mind);
    let verdict = verdict(&model, &line.text, &quotes).await;
    (line, Some((model, verdict)))
}

/// What `model` says of `claim`, seeing the exact words it rests on and nothing else.
pub(crate) async fn verdict(model: &Counting<'_>, claim: &str, quotes: &[&str]) -> Result<Verdict> {
    let asked = VerifyAsk { claim, quotes };
    let answer = ask::typed(model, asked.prompt()?, reasoned).await?;
    Ok(answer.value.verdict)
}

fn reasoned(answer: &Verified) -> std::result::Result<(), String> {
    if answer.reason.trim().is_empty() {
        return Err("`reason` is empty".to_owned());
    }
    Ok(())
}

/// Every sentence of the draft that stands for itself.
fn lines(draft: &mut Draft) -> impl Iterator<Item = &mut Line> {
    draft
        .short
        .iter_mut()
        .chain(draft.answer.iter_mut())
        .chain(draft.findings.iter_mut().map(|it| &mut it.0))
        .chain(
            draft
                .sections
                .iter_mut()
                .flat_map(|it| it.paragraphs.iter_mut().flatten()),
        )
        .chain(
            draft
                .conflicts
                .iter_mut()
                .flat_map(|it| it.sides.iter_mut().map(|it| &mut it.1)),
        )
}
