//! Scores a finished run: the quality of its answer and of its research.
//!
//! Code counts what the events say. A model, where there is one, may adjust that within limits. None of this
//! is part of a run.
//! part of a run.
mod answer;
mod process;

use crate::thresholds::{MAX_MODEL_CUT, MAX_MODEL_RAISE, MODEL_PART_WEIGHT};
use ibid_core::domain::{Claim, Judgement, QualityPart, QualityScore, Report};
use ibid_core::ports::RoleModel;
use ibid_core::record::{Envelope, Run};
use ibid_core::{Error, ErrorKind, Result};

use super::ask::fit::{ContextWindow, fit_parts};
use super::ask::shapes::{JudgeAnswerPrompt, JudgeProcessPrompt, JudgeReply};
use super::ask::{self, fit};
use super::llm_session::TrackedModel;

/// The parts that only a model scores.
const ALONE: [&str; 2] = ["relevance", "strategy"];

/// Scores a finished run by its events. Uses `role_model` where its answers are valid, and otherwise counts
/// alone.
///
/// # Errors
/// `Usage` for a run without a report; `Cancelled` and `Internal` from a model. Other faults of a model are
/// listed in the result.
pub async fn judge(
    run: &Run,
    events: &[Envelope],
    role_model: Option<&RoleModel>,
) -> Result<Judgement> {
    let Some(report) = run.report.as_deref() else {
        return Err(Error::new(ErrorKind::Usage, format!("run {} has no report to judge", run.id))
            .with_hint("see `ibid ls` for runs that are completed"));
    };
    let trail = process::RunActivity::from_events(events);
    let mut answer = answer::score_answer(run, report);
    let mut process = process::score_process(run, report, &trail);
    let Some(role_model) = role_model else {
        return Ok(Judgement::new(
            QualityScore::from_parts(answer),
            QualityScore::from_parts(process),
        ));
    };
    let model = TrackedModel::new(role_model);
    let mut faults = Vec::new();
    let mut answered = false;
    for (parts, asked) in [
        (&mut answer, ask_about_answer(&model, role_model, run, report).await),
        (&mut process, ask_about_process(&model, role_model, run, &trail).await),
    ] {
        match asked {
            Ok(reply) => {
                answered = true;
                merge_model_scores(parts, &reply);
            }
            Err(fault) if matches!(fault.kind(), ErrorKind::Cancelled | ErrorKind::Internal) => {
                return Err(fault);
            }
            // Both calls often fail for the same reason, which is listed once.
            Err(fault) if faults.contains(&fault.chain()) => {}
            Err(fault) => faults.push(fault.chain()),
        }
    }
    let mut judgement =
        Judgement::new(QualityScore::from_parts(answer), QualityScore::from_parts(process));
    judgement.by = answered.then(|| role_model.model.name().to_owned());
    judgement.unaided_because = (!faults.is_empty()).then(|| faults.join("; "));
    judgement.usage = model.usage();
    Ok(judgement)
}

/// Merges a model's scores into the counted ones. Parts that were not counted take the model's score.
fn merge_model_scores(parts: &mut Vec<QualityPart>, reply: &JudgeReply) {
    for it in &reply.parts {
        let score = f64::from(it.score).clamp(0.0, 1.0);
        match parts.iter_mut().find(|part| part.name == it.part) {
            Some(part) => {
                part.said = Some(score);
                part.score = clamp_score(part.counted.unwrap_or(part.score), score);
                part.why = format!("{}; {}", part.why, it.why.trim());
            }
            // Candour of a one-line answer is not counted, so the model's score is ignored.
            None if !ALONE.contains(&it.part.as_str()) => {}
            None => parts.push(QualityPart {
                name: it.part.clone(),
                weight: MODEL_PART_WEIGHT,
                score,
                counted: None,
                said: Some(score),
                why: it.why.trim().to_owned(),
            }),
        }
    }
}

/// The model's score `by_model`, limited by the `counted` one.
fn clamp_score(counted: f64, by_model: f64) -> f64 {
    by_model.clamp((counted - MAX_MODEL_CUT).max(0.0), (counted + MAX_MODEL_RAISE).min(1.0))
}

async fn ask_about_answer(
    model: &TrackedModel<'_>,
    role_model: &RoleModel,
    run: &Run,
    report: &Report,
) -> Result<JudgeReply> {
    let question = refined_question(run, report);
    let items: Vec<String> = report
        .coverage
        .iter()
        .map(|it| format!("{} ({})", it.text, it.state.status_word()))
        .collect();
    let mut ask = JudgeAnswerPrompt {
        question: &question,
        items: &items,
        claims: &[],
        conflicts: report.conflicts.len(),
        open: &report.open.iter().map(|it| format!("{}: {}", it.what, it.why)).collect::<Vec<_>>(),
    };
    // Of a long report, the parts that are read first: short answer, findings, then sections.
    let claims: Vec<String> = distinct_claims(report)
        .map(|distinct_claim| claim_summary(distinct_claim, report))
        .collect();
    let claims = rows_that_fit(role_model, &ask.prompt()?, claims);
    ask.claims = &claims;
    let answer = ask::ask_typed(model, ask.prompt()?, |it| ask.check(it)).await?;
    Ok(answer.value)
}

async fn ask_about_process(
    model: &TrackedModel<'_>,
    role_model: &RoleModel,
    run: &Run,
    trail: &process::RunActivity,
) -> Result<JudgeReply> {
    let report = run.report.as_deref();
    let question = report.map_or_else(String::new, |it| refined_question(run, it));
    let mut ask = JudgeProcessPrompt {
        question: &question,
        facts: &process::facts(run, trail),
        searches: &[],
        domains: &trail.domains(),
    };
    let searches = rows_that_fit(role_model, &ask.prompt()?, trail.searches());
    ask.searches = &searches;
    let answer = ask::ask_typed(model, ask.prompt()?, |it| ask.check(it)).await?;
    Ok(answer.value)
}

/// The question in its least ambiguous words.
fn refined_question(run: &Run, report: &Report) -> String {
    let brief = run.brief.as_ref();
    brief.map_or_else(|| report.question.clone(), |it| it.effective_question().to_owned())
}

/// The first rows that fit into the prompt beside its other content.
fn rows_that_fit(
    role_model: &RoleModel,
    prompt: &ibid_core::ports::Prompt,
    rows: Vec<String>,
) -> Vec<String> {
    let window = ContextWindow {
        tokens: role_model.window as usize,
        answer: prompt.max_tokens.unwrap_or(1_000) as usize,
    };
    let parts = rows
        .into_iter()
        .map(|text| fit::PromptPart { text, required: false, weight: 1.0 })
        .collect();
    let fitted = fit_parts(parts, window.minus_prompt(prompt));
    fitted.kept.into_iter().map(|pair| pair.1).collect()
}

/// The claims of a report, each sentence once.
fn distinct_claims(report: &Report) -> impl Iterator<Item = &Claim> {
    let mut seen = std::collections::BTreeSet::new();
    report.claims().filter(move |claim| seen.insert(claim.text()))
}

/// A claim with its quotes.
fn claim_summary(it: &Claim, report: &Report) -> String {
    let mut out = it.text().to_owned();
    for citation in it.citations() {
        let source = report.sources.get((citation.n as usize).wrapping_sub(1));
        let voice = source.map_or("", |source| source.domain.as_str());
        out += &format!(" | {voice}: “{}”", citation.passage.text().expose());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::clamp_score;

    #[test]
    fn praise_is_held_close_to_what_was_counted_and_blame_less_so() {
        assert_eq!(clamp_score(0.5, 1.0), 0.6);
        assert_eq!(clamp_score(0.5, 0.55), 0.55);
        assert!((clamp_score(0.9, 0.0) - 0.5).abs() < 1e-9);
        assert_eq!(clamp_score(0.2, 0.0), 0.0);
        assert_eq!(clamp_score(1.0, 1.0), 1.0);
    }
}
