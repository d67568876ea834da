//! The next searches, proposed by a model.
use ibid_core::Result;
use ibid_core::domain::{
    Brief, ChecklistItem, Coverage, CoverageRow, ModelRole, SearchEndpoint, SearchTask,
};

use super::ask::{
    self,
    shapes::{QueriesPrompt, QueryRow, RefineSearchPrompt},
};
use super::heuristic::queries::SearchTargets;
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::query_policy::{QueryPolicy, add_subject};
use super::research_state::ResearchState;
use super::run_context::RunContext;

/// Maximum number of searches of a refinement, and below it the pages read in one.
const A_REFINEMENT: usize = 2;
pub(crate) const PAGES_PER_REFINEMENT: usize = 3;

/// The queries that a model proposes for items still open, also in PubMed's syntax where PubMed is searched;
/// none without a model.
pub(crate) async fn propose_queries(
    llm: &mut LlmSession<'_>,
    brief: &Brief,
    targets: &SearchTargets,
    state: &ResearchState,
    rows: &[CoverageRow],
) -> Result<Vec<QueryRow>> {
    let role = ModelRole::Researcher;
    // Its words may be sent outside, so it is shown nothing that may not.
    let shown = |text: &String| targets.policy().may_be_shown(text);
    let searched: Vec<String> = state.queries.iter().filter(|text| shown(text)).cloned().collect();
    let rows: Vec<CoverageRow> = rows
        .iter()
        .map(|row| CoverageRow { gap: row.gap.clone().filter(shown), proof: None, ..row.clone() })
        .collect();
    let open: Vec<(&ChecklistItem, Option<&CoverageRow>)> = rows
        .iter()
        .filter(|row| matches!(row.state, Coverage::Open | Coverage::Partial))
        .filter_map(|row| Some((state.notes.plan.item(row.id)?, Some(row))))
        .collect();
    let Some(role_model) = llm.role_model(LlmStep::Cover, role).filter(|_| !open.is_empty()) else {
        return Ok(Vec::new());
    };
    let prompt_input = QueriesPrompt {
        question: brief.effective_question(),
        items: &open,
        searched: &searched,
        pubmed: targets.has_pubmed(),
    };
    let model = TrackedModel::new(role_model);
    let answer = ask::ask_typed(&model, prompt_input.prompt()?, |it| prompt_input.check(it)).await;
    llm.record_usage(LlmStep::Cover, role, model);
    match answer {
        Ok(it) => Ok(prompt_input.valid_queries(&it.value).into_iter().cloned().collect()),
        Err(fault) => llm.fall_back(LlmStep::Cover, role, fault).map(|()| Vec::new()),
    }
}

/// The search tasks for what a draft lacks, at most two: by a model, or else its words as they are.
pub(crate) async fn refinement_tasks(
    llm: &mut LlmSession<'_>,
    ctx: RunContext<'_>,
    policy: &QueryPolicy,
    searched: &[String],
    wanted: &[String],
) -> Result<Vec<SearchTask>> {
    let role = ModelRole::Planner;
    let usual = ctx.question.method.results_per_query;
    let plain = || {
        let task = |query: &String| SearchTask {
            query: query.clone(),
            endpoint: SearchEndpoint::Search,
            num_results: usual,
            reasoning: "the draft lacks it".to_owned(),
        };
        wanted.iter().take(A_REFINEMENT).map(task).collect::<Vec<_>>()
    };
    let role_model = llm.role_model(LlmStep::Refine, role);
    let Some(role_model) = role_model.filter(|_| !wanted.is_empty()) else {
        return Ok(plain());
    };
    let prompt_input = RefineSearchPrompt {
        question: ctx.brief.effective_question(),
        topics: wanted,
        searched,
        usual,
    };
    let model = TrackedModel::new(role_model);
    let answer = ask::ask_typed(&model, prompt_input.prompt()?, |it| prompt_input.check(it)).await;
    llm.record_usage(LlmStep::Refine, role, model);
    match answer {
        Ok(it) => Ok(prompt_input
            .valid_tasks(it.value)
            .into_iter()
            .filter_map(|valid_task| {
                let query = add_subject(ctx.brief, policy.narrow(&valid_task.query)?);
                Some(SearchTask { query, ..valid_task })
            })
            .take(A_REFINEMENT)
            .collect()),
        Err(fault) => llm.fall_back(LlmStep::Refine, role, fault).map(|()| plain()),
    }
}
