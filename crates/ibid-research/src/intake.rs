//! Refines the question.
use crate::thresholds::MIN_REFINED_QUESTION_OVERLAP;
use std::collections::BTreeSet;

use ibid_core::domain::words::{content_stems, stem_overlap, tokens};
use ibid_core::domain::{
    Brief, Clarification, DialogueTurn, IntakeDecision, ModelRole, Question, QuestionKind,
};
use ibid_core::ports::{EventLog, Steering};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};

use super::ask::{
    self,
    shapes::{RefinePrompt, RefineReply},
};
use super::heuristic;
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::plan::{PlanAnswer, is_planned_by_code, request_plan};
use super::topic::{detect_topic, resolve_in_thread};

/// What intake made of a question, and what came at the same time.
pub(crate) struct Intake<'a, T> {
    pub(crate) brief: Brief,
    /// The answer of the planner, if it was called.
    pub(crate) planned: Option<PlanAnswer<'a>>,
    /// What the work beside the model brought, if a model was called.
    pub(crate) beside: Option<T>,
}

impl<T> Intake<'_, T> {
    fn of_brief(brief: Brief) -> Self {
        Intake { brief, planned: None, beside: None }
    }
}

/// Refines the question, with a model if there is one. The planner is called at the same time, and its answer
/// is returned, unless the user may be asked to clarify or the question continues a dialogue. `beside` runs while the models
/// answer; without a model it does not run. Nothing is emitted here until all of them have ended, so that the order of events
/// does not depend on which ends first.
///
/// # Errors
/// `Usage` when the question has no words; the error of `beside`.
pub(crate) async fn refine<'a, T>(
    llm: &mut LlmSession<'a>,
    steering: &dyn Steering,
    log: &EventLog,
    question: &Question,
    beside: impl Future<Output = Result<T>>,
) -> Result<Intake<'a, T>> {
    let topic = detect_topic(question)?;
    let tell = |decision| {
        log.emit(Event::IntakeDecided {
            decision,
            topic,
            awaiting_clarification: decision == IntakeDecision::Clarify,
            follows: question.follows.as_ref().map(|follow| follow.run.clone()),
        });
    };
    if let Some(given) = &question.given {
        // Without a planner model this step counts as heuristic, whoever wrote the plan.
        llm.role_model(LlmStep::Intake, ModelRole::Planner);
        llm.role_model(LlmStep::Plan, ModelRole::Planner);
        tell(IntakeDecision::Proceed);
        return Ok(Intake::of_brief(given.brief.clone()));
    }
    let text = &question.text;
    let question = &resolve_in_thread(question, topic)?;
    let is_alone = question.dialogue.is_empty() && question.follows.is_none();
    let calls = ConcurrentIntake { plans: is_alone && !question.clarify, beside };
    let intake = refine_once(llm, question, text, calls).await?;
    let open: Vec<String> = intake.brief.clarified.iter().map(|it| it.question.clone()).collect();
    if open.is_empty() || !question.clarify {
        tell(IntakeDecision::Proceed);
        return Ok(intake);
    }
    tell(IntakeDecision::Clarify);
    log.emit(Event::ClarifyAsked { questions: open.clone() });
    let answers = steering.clarify(&open).await?;
    log.emit(Event::ClarifyAnswered { answers: answers.clone() });
    tell(IntakeDecision::Proceed);
    let answered =
        |nth: usize| answers.get(nth).map(|answer| answer.trim()).filter(|it| !it.is_empty());
    let said = (0..open.len()).filter_map(|nth| Some((&open[nth], answered(nth)?)));
    let turns: Vec<DialogueTurn> = said
        .map(|(asked, said)| DialogueTurn {
            system: None,
            assistant: Some(asked.clone()),
            user: Some(said.to_owned()),
        })
        .collect();
    let clarified = open.iter().enumerate().map(|(nth, it)| Clarification {
        question: it.clone(),
        answer: answered(nth).map(str::to_owned),
    });
    let clarified = clarified.collect();
    if turns.is_empty() {
        let brief = Brief { clarified, ..intake.brief };
        return Ok(Intake { brief, planned: None, ..intake });
    }
    let mut question = question.clone();
    question.dialogue.extend(turns);
    // The person is asked once; what is still open is researched as it is.
    let calls = ConcurrentIntake { plans: false, beside: std::future::ready(Ok(())) };
    let brief = refine_once(llm, &question, text, calls).await?.brief;
    Ok(Intake { brief: Brief { clarified, ..brief }, planned: None, beside: intake.beside })
}

/// What runs while the question is refined.
struct ConcurrentIntake<F> {
    /// Whether a plan is asked for.
    plans: bool,
    /// What runs at the same time, such as the first searches.
    beside: F,
}

/// Refines the question once and lists what is unclear. `text` is the question as asked, for the model.
async fn refine_once<'a, T>(
    llm: &mut LlmSession<'a>,
    question: &Question,
    text: &str,
    calls: ConcurrentIntake<impl Future<Output = Result<T>>>,
) -> Result<Intake<'a, T>> {
    let brief = refine_by_words(question)?;
    let role = ModelRole::Planner;
    let role_model = match is_planned_by_code(question) {
        true => llm.skip_model(LlmStep::Intake),
        false => llm.role_model(LlmStep::Intake, role),
    };
    let Some(role_model) = role_model else {
        return Ok(Intake::of_brief(brief));
    };
    let asked =
        RefinePrompt { question: text, today: &question.asked_on, dialogue: &question.dialogue };
    let model = TrackedModel::new(role_model);
    let refined = ask::ask_typed(&model, asked.prompt()?, RefineReply::check);
    let planned = async {
        match calls.plans {
            true => Some(request_plan(role_model, question, &brief).await),
            false => None,
        }
    };
    let (answer, planned, beside) =
        futures_util::future::join3(refined, planned, calls.beside).await;
    let beside = Some(beside?);
    llm.record_usage(LlmStep::Intake, role, model);
    let brief = match answer {
        Ok(it) => apply_refinement(brief, it.value),
        Err(fault) => {
            llm.fall_back(LlmStep::Intake, role, fault)?;
            brief
        }
    };
    Ok(Intake { brief, planned, beside })
}

/// Merges a model's refinement into the brief, if it still asks the same.
fn apply_refinement(brief: Brief, refined: RefineReply) -> Brief {
    let asked = content_stems(&brief.question);
    let filled = |all: Vec<String>, own: Vec<String>| {
        let mut seen = BTreeSet::new();
        let all: Vec<String> = all
            .into_iter()
            .map(|text| text.trim().to_owned())
            .filter(|it| !it.is_empty() && seen.insert(it.to_lowercase()))
            .collect();
        if all.is_empty() { own } else { all }
    };
    // Evidence is scored by words of the question only; other words belong in queries.
    let asked_for = |all: Vec<String>, own: Vec<String>| {
        let of_it = |text: &String| {
            content_stems(text).iter().any(|content_stem| asked.contains(content_stem))
        };
        let mut all: Vec<String> = all.into_iter().filter(of_it).collect();
        let lacking = own.iter().filter(|text| !all.contains(text)).cloned();
        let lacking: Vec<String> = lacking.collect();
        all.extend(lacking);
        filled(all, own)
    };
    // A subject with a word that the question does not have is another subject.
    let named_only = |all: Vec<String>| -> Vec<String> {
        let named = |text: &String| content_stems(text).iter().all(|stem| asked.contains(stem));
        all.into_iter().filter(named).collect()
    };
    let clarified = filled(refined.clarify, Vec::new()).into_iter();
    let clarified = clarified.map(|question| Clarification { question, answer: None });
    let clarified = clarified.collect();
    if stem_overlap(&brief.question, &refined.question) < MIN_REFINED_QUESTION_OVERLAP {
        return Brief { clarified, ..brief };
    }
    Brief {
        question: brief.question,
        sharpened: Some(refined.question.trim().to_owned()),
        kind: match brief.kind {
            QuestionKind::Open => refined.kind,
            known => known,
        },
        subjects: asked_for(named_only(refined.subjects), brief.subjects),
        key_terms: asked_for(refined.key_terms, brief.key_terms),
        scope_in: filled(refined.scope_in, brief.scope_in),
        scope_out: filled(refined.scope_out, brief.scope_out),
        lang: brief.lang,
        clarified,
    }
}

/// Refines the question without a model.
///
/// # Errors
/// `Usage` when the question has no words.
pub(crate) fn refine_by_heuristics(question: &Question) -> Result<Brief> {
    refine_by_words(&resolve_in_thread(question, detect_topic(question)?)?)
}

fn refine_by_words(question: &Question) -> Result<Brief> {
    if tokens(&question.text).is_empty() {
        return Err(Error::new(ErrorKind::Usage, "the question has no words")
            .with_hint("ask in words, for example: `ibid \"Why do bridges sway?\"`"));
    }
    heuristic::intake::refine_question(question)
}
