//! What to search for next (rows B4, D3).
use crate::domain::{Brief, Coverage, CoverageRow, Item, ModelRole, Plan};
use crate::error::Result;

use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{QueriesAsk, QueryRow},
};

/// The queries that a model thinks of for what is still open; none without a model.
pub(crate) async fn thought_of(
    aid: &mut Aid<'_>,
    brief: &Brief,
    plan: &Plan,
    rows: &[CoverageRow],
    searched: &[String],
) -> Result<Vec<QueryRow>> {
    let role = ModelRole::Researcher;
    let open: Vec<(&Item, Option<&CoverageRow>)> = rows
        .iter()
        .filter(|it| matches!(it.state, Coverage::Open | Coverage::Partial))
        .filter_map(|row| Some((plan.item(row.id)?, Some(row))))
        .collect();
    let Some(mind) = aid.mind(Step::Cover, role).filter(|_| !open.is_empty()) else {
        return Ok(Vec::new());
    };
    let asked = QueriesAsk {
        question: brief.asked(),
        items: &open,
        searched,
    };
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked.prompt()?, |it| asked.check(it)).await;
    aid.settle(Step::Cover, role, model);
    match answer {
        Ok(it) => Ok(asked.sound(&it.value).into_iter().cloned().collect()),
        Err(fault) => aid.without(Step::Cover, role, fault).map(|()| Vec::new()),
    }
}
