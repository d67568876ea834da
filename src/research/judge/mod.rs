//! Looking back at a finished run: how good its answer is, and how good its research (row C15).
//!
//! Code counts what the record says. A model, where there is one, is listened to within what was counted. Nothing here is
//! part of a run.
mod answer;
mod process;

use crate::domain::{Claim, Judgement, Part, Quality, Report};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Run};
use crate::seams::Mind;

use super::aid::Counting;
use super::ask::fit::{Window, fit};
use super::ask::shapes::{JudgeAnswerAsk, JudgeProcessAsk, Judged};
use super::ask::{self, fit};

/// How far a model may lift a part above what was counted: praise is cheap.
const LIFT: f64 = 0.1;
/// How far it may lower one: it sees what counting does not.
const LOWER: f64 = 0.4;
/// The parts that only a model sees.
const ALONE: [&str; 2] = ["relevance", "strategy"];
/// Weight of each of them, beside 1 for all that is counted.
const UNSEEN: f64 = 0.33;

/// Judges a finished run by its events: with `mind`, as far as its answers can be used, else by counting alone.
///
/// # Errors
/// `Usage` for a run without a report; `Cancelled` and `Internal` of a model. All else that a model fails with is told
/// in the judgement.
pub async fn judge(run: &Run, events: &[Envelope], mind: Option<&Mind>) -> Result<Judgement> {
    let Some(report) = run.report.as_deref() else {
        return Err(Error::new(
            Kind::Usage,
            format!("run {} has no report to judge", run.id),
        )
        .hint("see `ibid ls` for runs that are completed"));
    };
    let trail = process::Trail::of(events);
    let mut answer = answer::counted(run, report);
    let mut process = process::counted(run, report, &trail);
    let Some(mind) = mind else {
        return Ok(Judgement::of(Quality::of(answer), Quality::of(process)));
    };
    let model = Counting::of(mind);
    let mut faults = Vec::new();
    let mut heard = false;
    for (parts, asked) in [
        (
            &mut answer,
            asked_of_answer(&model, mind, run, report).await,
        ),
        (
            &mut process,
            asked_of_process(&model, mind, run, &trail).await,
        ),
    ] {
        match asked {
            Ok(said) => {
                heard = true;
                listen(parts, &said);
            }
            Err(fault) if matches!(fault.kind(), Kind::Cancelled | Kind::Internal) => {
                return Err(fault);
            }
            // Both often fail for one reason, which is told once.
            Err(fault) if faults.contains(&fault.chain()) => {}
            Err(fault) => faults.push(fault.chain()),
        }
    }
    let mut judgement = Judgement::of(Quality::of(answer), Quality::of(process));
    judgement.by = heard.then(|| mind.model.name().to_owned());
    judgement.unaided_because = (!faults.is_empty()).then(|| faults.join("; "));
    judgement.usage = model.usage();
    Ok(judgement)
}

/// Puts what a model said beside what was counted; a part that was not counted is the model's alone.
fn listen(parts: &mut Vec<Part>, said: &Judged) {
    for it in &said.parts {
        let score = f64::from(it.score).clamp(0.0, 1.0);
        match parts.iter_mut().find(|part| part.name == it.part) {
            Some(part) => {
                part.said = Some(score);
                part.score = held(part.counted.unwrap_or(part.score), score);
                part.why = format!("{}; {}", part.why, it.why.trim());
            }
            // Candour of an answer of one line is not counted, and so not heard.
            None if !ALONE.contains(&it.part.as_str()) => {}
            None => parts.push(Part {
                name: it.part.clone(),
                weight: UNSEEN,
                score,
                counted: None,
                said: Some(score),
                why: it.why.trim().to_owned(),
            }),
        }
    }
}

/// What counts of a score that a model `said` of what was `counted`.
fn held(counted: f64, said: f64) -> f64 {
    said.clamp((counted - LOWER).max(0.0), (counted + LIFT).min(1.0))
}

async fn asked_of_answer(
    model: &Counting<'_>,
    mind: &Mind,
    run: &Run,
    report: &Report,
) -> Result<Judged> {
    let question = asked(run, report);
    let items: Vec<String> = report
        .coverage
        .iter()
        .map(|it| format!("{} ({})", it.text, it.state.judged()))
        .collect();
    let mut ask = JudgeAnswerAsk {
        question: &question,
        items: &items,
        claims: &[],
        conflicts: report.conflicts.len(),
        open: &report
            .open
            .iter()
            .map(|it| format!("{}: {}", it.what, it.why))
            .collect::<Vec<_>>(),
    };
    // Of a long report, what is read first: the short answer, the findings, then the sections in order.
    let claims: Vec<String> = distinct(report).map(|it| shown(it, report)).collect();
    let claims = room(mind, &ask.prompt()?, claims);
    ask.claims = &claims;
    let answer = ask::typed(model, ask.prompt()?, |it| ask.check(it)).await?;
    Ok(answer.value)
}

async fn asked_of_process(
    model: &Counting<'_>,
    mind: &Mind,
    run: &Run,
    trail: &process::Trail,
) -> Result<Judged> {
    let report = run.report.as_deref();
    let question = report.map_or_else(String::new, |it| asked(run, it));
    let mut ask = JudgeProcessAsk {
        question: &question,
        facts: &process::facts(run, trail),
        searches: &[],
        domains: &trail.domains(),
    };
    let searches = room(mind, &ask.prompt()?, trail.searches());
    ask.searches = &searches;
    let answer = ask::typed(model, ask.prompt()?, |it| ask.check(it)).await?;
    Ok(answer.value)
}

/// The question in its least ambiguous words.
fn asked(run: &Run, report: &Report) -> String {
    let brief = run.brief.as_ref();
    brief.map_or_else(|| report.question.clone(), |it| it.asked().to_owned())
}

/// The rows that fit a prompt beside what is in it already, first ones first.
fn room(mind: &Mind, prompt: &crate::seams::Prompt, rows: Vec<String>) -> Vec<String> {
    let window = Window {
        tokens: mind.window as usize,
        answer: prompt.max_tokens.unwrap_or(1_000) as usize,
    };
    let parts = rows
        .into_iter()
        .map(|text| fit::Part {
            text,
            must: false,
            weight: 1.0,
        })
        .collect();
    let fitted = fit(parts, window.beside(prompt));
    fitted.kept.into_iter().map(|it| it.1).collect()
}

/// The claims of a report, each sentence once.
fn distinct(report: &Report) -> impl Iterator<Item = &Claim> {
    let mut seen = std::collections::BTreeSet::new();
    report.claims().filter(move |it| seen.insert(it.text()))
}

/// A claim with what carries it.
fn shown(it: &Claim, report: &Report) -> String {
    let mut out = it.text().to_owned();
    for citation in it.citations() {
        let source = report.sources.get((citation.n as usize).wrapping_sub(1));
        let voice = source.map_or("", |it| it.domain.as_str());
        out += &format!(" | {voice}: “{}”", citation.passage.text().expose());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::held;

    #[test]
    fn praise_is_held_close_to_what_was_counted_and_blame_less_so() {
        assert_eq!(held(0.5, 1.0), 0.6);
        assert_eq!(held(0.5, 0.55), 0.55);
        assert!((held(0.9, 0.0) - 0.5).abs() < 1e-9);
        assert_eq!(held(0.2, 0.0), 0.0);
        assert_eq!(held(1.0, 1.0), 1.0);
    }
}
