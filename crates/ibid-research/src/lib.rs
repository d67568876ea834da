//! Researches one question: brief, plan, then search, read and weigh until covered, then write, then check.
//!
//! [`research`] is the whole method, top to bottom; each step only uses the results of those before it.
//! `gather` searches, `heuristic` decides without a model, and `ask` holds what a model is asked.
//!
//! Nothing here opens a connection, reads a file or a clock, or logs: all of it comes through the traits of
//! `ibid_core::ports`.
mod approve;
mod intake;
mod llm_session;
pub mod plan;
mod planned_headings;
mod query_policy;
mod topic;

mod cited_sources;
mod cover;
mod gather;
mod next_searches;
mod read;
mod search;
mod section_fit;
mod weigh;

mod authority;
mod check;
mod consistency;
mod critique;
mod excerpts;
mod finding_kind;
mod speaker;
mod trust;
mod verify;
mod works;
mod write;

mod catch_item;
mod changed_fact;
mod compare_meaning;
mod concurrency;
mod draft;
mod grounding;
mod merge_drafts;
mod report_length;
mod research_state;
mod run_context;

pub mod ask;
mod asked_amount;
pub mod attribution;
pub mod audit;
pub mod changes;
pub mod judge;
mod lookup;
mod model_steps;
pub mod multi_hop;
mod near_copies;
mod outline;
mod overstatement;
mod page_set;
pub mod page_summary;

mod heuristic;
pub(crate) mod prompts;
#[cfg(test)]
mod test_support;
mod thesaurus;
mod thresholds;

pub use heuristic::text_answer;
pub use lookup::{LookupResult, look_up};
pub use model_steps::{ModelStep, model_steps};
pub use page_summary::{PageSummary, SummarySentence, summarize_page, summarize_url};
pub use read::read_with_fallback;
pub use topic::{detect_topic, is_same_question};

use compare_meaning::needs_meaning;
use gather::ResearchLoop;
use llm_session::LlmSession;
use run_context::RunContext;
use write::Revision;

use std::collections::BTreeSet;

use futures_util::future::join;
use ibid_core::Result;
use ibid_core::domain::{Brief, Claim, OutputMode, Plan, QueryExpansion, Question, Report, RunId};
use ibid_core::ports::{EventLog, NoSteering, Providers, RoleModels};
use ibid_core::record::{Event, Phase};

/// Researches `question` and returns the report. Emits to `log` every event from `brief.ready` to `report.ready`.
///
/// # Errors
/// `Usage` for a question without words; `NotFound` when nothing that was read answers it, because no report is
/// invented; and the error of the last search when none succeeded.
pub async fn research(
    providers: &Providers,
    log: &EventLog,
    run: &RunId,
    question: &Question,
) -> Result<Report> {
    let mut llm = LlmSession::new(&providers.models, log);
    log.set_phase(Phase::Intake, None);
    let prefetch = gather::prefetch(providers, log, question);
    let intake = intake::refine(&mut llm, &*providers.steering, log, question, prefetch).await?;
    let (brief, prefetched) = (intake.brief, intake.beside.flatten());
    log.emit(Event::BriefReady { brief: brief.clone() });

    log.set_phase(Phase::Plan, None);
    let plan = match &question.given {
        Some(given) => given.plan.clone(),
        None => {
            let found = prefetched.as_ref().map(|it| it.words()).unwrap_or_default();
            plan::build_plan(&mut llm, question, &brief, intake.planned, &found).await?
        }
    };
    log.emit(Event::PlanProposed { plan: plan.clone() });
    log.flush().await?;
    let ctx = RunContext { providers, log, question, brief: &brief };
    let (brief, plan) = approve::approve_plan(&mut llm, ctx, plan).await?;

    let ctx = RunContext { brief: &brief, ..ctx };
    let mut research = ResearchLoop::after_prefetch(ctx, plan, prefetched)?;
    research.recall_known_pages(&mut llm).await?;
    // The model that compares loads while the first pages are searched and read.
    let prepare = async {
        if needs_meaning(brief.kind, 1, false) {
            providers.ranker.prepare_similarity().await;
        }
    };
    join(research.gather_until_enough(&mut llm), prepare).await.0?;
    research.gather_added_items(&mut llm).await?;

    log.set_phase(Phase::Write, None);
    research.apply_write_signal(providers.steering.checkpoint("write").await?);
    let mut draft = write::compose(&mut llm, &mut research, None).await?;
    for nth in 1..=question.method.max_refinement_iterations {
        let wanted = std::mem::take(&mut draft.more);
        let known = research.state.notes.evidence.iter().map(|it| it.id).collect();
        if wanted.is_empty() || !research.refine_round(&mut llm, &wanted, nth).await? {
            break;
        }
        log.set_phase(Phase::Write, None);
        let last = Revision { draft: &draft, evidence: &known, nth };
        draft = write::compose(&mut llm, &mut research, Some(last)).await?;
        if !research.answers_better() {
            break;
        }
    }
    log.flush().await?;

    log.set_phase(Phase::Check, None);
    let (state, scorer) = (&research.state, &mut research.scorer);
    let draft = match question.mode {
        // Nothing was written in a model's words.
        OutputMode::Evidence => draft,
        _ => verify::verify(&mut llm, ctx, state, scorer, draft).await?,
    };
    let mut draft = critique::criticize(&mut llm, &mut research, draft).await?;
    if question.mode == OutputMode::Report {
        let (state, scorer) = (&mut research.state, &mut research.scorer);
        section_fit::remove_unfit_lines(&brief, &state.notes, &mut draft, scorer)?;
        // A quote may be longer than the sentence of a model that it replaced.
        report_length::trim_to_tokens(&mut draft, question.method.final_report_max_length);
        section_fit::report_open_parts(&mut draft, &mut state.coverage, scorer)?;
    }
    let state = &research.state;
    let draft = consistency::without_unfit_line(draft, state)?;
    let mut report = check::check_report(ctx, run, draft, state, &llm)?;
    if question.mode == OutputMode::Evidence {
        report.results = excerpts::build_excerpts(&brief, state)?;
    }
    if question.mode == OutputMode::Answer && report.one_line_answer().is_none() {
        return Err(write::no_answer_error(state, report.short.first().map(Claim::text))?);
    }
    log.emit(Event::ReportReady { report: Box::new(report.clone()) });
    log.flush().await?;
    Ok(report)
}

/// Refines the question and makes the plan, with `models` where there are any: what a run does before it
/// gathers.
///
/// # Errors
/// `Usage` for a question without words.
pub async fn plan_by_model(
    models: &RoleModels,
    log: &EventLog,
    question: &Question,
) -> Result<(Brief, Plan)> {
    let mut llm = LlmSession::new(models, log);
    let nothing = std::future::ready(Ok(()));
    let intake = intake::refine(&mut llm, &NoSteering, log, question, nothing).await?;
    let plan =
        plan::build_plan(&mut llm, question, &intake.brief, intake.planned, &BTreeSet::new())
            .await?;
    Ok((intake.brief, plan))
}

/// Refines the question and makes the plan without any call.
///
/// # Errors
/// `Usage` for a question without words.
pub fn plan_by_heuristics(question: &Question) -> Result<(Brief, Plan)> {
    if let Some(given) = &question.given {
        return Ok((given.brief.clone(), given.plan.clone()));
    }
    let brief = intake::refine_by_heuristics(question)?;
    let plan = plan::build_heuristic_plan(&brief)?;
    Ok((brief, plan))
}

/// The queries for each item of a plan: its own words, rephrased, broader and narrower, and more at a `breadth` above the standard.
///
/// # Errors
/// `Internal` when the query templates cannot be read.
pub fn expand_queries(brief: &Brief, plan: &Plan, breadth: u32) -> Result<Vec<QueryExpansion>> {
    heuristic::queries::expand_plan_queries(brief, plan, breadth)
}

/// The plan of a brief, without a model.
///
/// # Errors
/// `Internal` when no plan can be made.
pub fn plan_from_brief(brief: &Brief) -> Result<Plan> {
    plan::build_heuristic_plan(brief)
}
