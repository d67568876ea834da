//! The next searches, proposed by a model.
use ibid_core::Result;
use ibid_core::domain::{Brief, ChecklistItem, Coverage, CoverageRow, ModelRole};

use super::ask::{
    self,
    shapes::{QueriesPrompt, QueryRow},
};
use super::heuristic::queries::SearchTargets;
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::research_state::ResearchState;

/// Maximum number of pages read in a refinement.
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
