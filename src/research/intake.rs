//! Understanding the question (rows B2, E3).
use std::collections::BTreeSet;

use crate::domain::words::{content_stems, share, tokens};
use crate::domain::{Brief, Clarified, IntakeDecision, ModelRole, Question, QuestionKind, Turn};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::{Log, Steering};

use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{RefineAsk, Refined},
};
use super::topic::{in_thread, topic};
use super::unaided;

/// Share of the question's words that a sharper version must keep: a model that asks something else is
/// not listened to.
const KEPT: f32 = 0.7;

/// The refined question.
///
/// # Errors
/// `Usage` when there is no word in it.
pub(crate) async fn refine(
    aid: &mut Aid<'_>,
    steering: &dyn Steering,
    log: &Log,
    question: &Question,
) -> Result<Brief> {
    let topic = topic(question)?;
    let tell = |decision| {
        log.emit(Event::IntakeDecided {
            decision,
            topic,
            awaiting_clarification: decision == IntakeDecision::Clarify,
            follows: question.follows.as_ref().map(|it| it.run.clone()),
        });
    };
    if let Some(given) = &question.given {
        // Where nobody plays the planner, this step is one without a model, whoever wrote the plan.
        aid.mind(Step::Intake, ModelRole::Planner);
        aid.mind(Step::Plan, ModelRole::Planner);
        tell(IntakeDecision::Proceed);
        return Ok(given.brief.clone());
    }
    let text = &question.text;
    let question = &in_thread(question, topic)?;
    let brief = refined(aid, question, text).await?;
    let open: Vec<String> = brief
        .clarified
        .iter()
        .map(|it| it.question.clone())
        .collect();
    if open.is_empty() || !question.clarify {
        tell(IntakeDecision::Proceed);
        return Ok(brief);
    }
    tell(IntakeDecision::Clarify);
    log.emit(Event::ClarifyAsked {
        questions: open.clone(),
    });
    let answers = steering.clarify(&open).await?;
    log.emit(Event::ClarifyAnswered {
        answers: answers.clone(),
    });
    tell(IntakeDecision::Proceed);
    let answered = |nth: usize| {
        answers
            .get(nth)
            .map(|it| it.trim())
            .filter(|it| !it.is_empty())
    };
    let said = (0..open.len()).filter_map(|nth| Some((&open[nth], answered(nth)?)));
    let turns: Vec<Turn> = said
        .map(|(asked, said)| Turn {
            system: None,
            assistant: Some(asked.clone()),
            user: Some(said.to_owned()),
        })
        .collect();
    let clarified = open.iter().enumerate().map(|(nth, it)| Clarified {
        question: it.clone(),
        answer: answered(nth).map(str::to_owned),
    });
    let clarified = clarified.collect();
    if turns.is_empty() {
        return Ok(Brief { clarified, ..brief });
    }
    let mut question = question.clone();
    question.dialogue.extend(turns);
    // Asked back once: what is still open is researched as it stands.
    let brief = refined(aid, &question, text).await?;
    Ok(Brief { clarified, ..brief })
}

/// The question refined once, with what it leaves open; a model is asked by its `text` as asked and what was said before.
async fn refined(aid: &mut Aid<'_>, question: &Question, text: &str) -> Result<Brief> {
    let brief = by_words(question)?;
    let role = ModelRole::Planner;
    let Some(mind) = aid.mind(Step::Intake, role) else {
        return Ok(brief);
    };
    let asked = RefineAsk {
        question: text,
        today: &question.asked_on,
        dialogue: &question.dialogue,
    };
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked.prompt()?, Refined::check).await;
    aid.settle(Step::Intake, role, model);
    match answer {
        Ok(it) => Ok(sharpened(brief, it.value)),
        Err(fault) => aid.without(Step::Intake, role, fault).map(|()| brief),
    }
}

/// The brief with what a model made of the question, as far as that still asks the same.
fn sharpened(brief: Brief, refined: Refined) -> Brief {
    let asked = content_stems(&brief.question);
    let filled = |all: Vec<String>, own: Vec<String>| {
        let mut seen = BTreeSet::new();
        let all: Vec<String> = all
            .into_iter()
            .map(|it| it.trim().to_owned())
            .filter(|it| !it.is_empty() && seen.insert(it.to_lowercase()))
            .collect();
        if all.is_empty() { own } else { all }
    };
    // What evidence is measured by must stand in the question; other words belong in queries.
    let asked_for = |all: Vec<String>, own: Vec<String>| {
        let of_it = |it: &String| content_stems(it).iter().any(|it| asked.contains(it));
        let mut all: Vec<String> = all.into_iter().filter(of_it).collect();
        let lacking = own.iter().filter(|it| !all.contains(it)).cloned();
        let lacking: Vec<String> = lacking.collect();
        all.extend(lacking);
        filled(all, own)
    };
    let clarified = filled(refined.clarify, Vec::new()).into_iter();
    let clarified = clarified.map(|question| Clarified {
        question,
        answer: None,
    });
    let clarified = clarified.collect();
    if share(&brief.question, &refined.question) < KEPT {
        return Brief { clarified, ..brief };
    }
    Brief {
        question: brief.question,
        sharpened: Some(refined.question.trim().to_owned()),
        kind: match brief.kind {
            QuestionKind::Open => refined.kind,
            told => told,
        },
        subjects: asked_for(refined.subjects, brief.subjects),
        key_terms: asked_for(refined.key_terms, brief.key_terms),
        scope_in: filled(refined.scope_in, brief.scope_in),
        scope_out: filled(refined.scope_out, brief.scope_out),
        lang: brief.lang,
        clarified,
    }
}

/// The refined question, without a model.
///
/// # Errors
/// `Usage` when there is no word in it.
pub(crate) fn unaided(question: &Question) -> Result<Brief> {
    by_words(&in_thread(question, topic(question)?)?)
}

fn by_words(question: &Question) -> Result<Brief> {
    if tokens(&question.text).is_empty() {
        return Err(Error::new(Kind::Usage, "the question has no words in it")
            .hint("ask in words, as in `ibid \"Why do bridges sway?\"`"));
    }
    unaided::intake::refine(question)
}
