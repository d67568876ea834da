//! The checklist of what a complete answer must say (rows A1, B3, D2, E4).
use crate::domain::{Brief, Item, ItemId, ModelRole, Plan, Question, SectionPlan, WritingPlan};
use crate::error::Result;

use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{PlanAsk, Planned, language},
};
use super::unaided::{self, intake};

/// The plan for `brief`.
pub(crate) async fn break_down(
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
) -> Result<Plan> {
    let role = ModelRole::Planner;
    let Some(mind) = aid.mind(Step::Plan, role) else {
        return unaided(brief);
    };
    let asked = PlanAsk {
        question: brief.asked(),
        kind: brief.kind,
        scope_in: &brief.scope_in,
        scope_out: &brief.scope_out,
        today: &question.asked_on,
        language: &language(Some(&brief.lang)),
    };
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked.prompt()?, Planned::check).await;
    aid.settle(Step::Plan, role, model);
    match answer {
        Ok(it) => earned(brief, it.value).map_or_else(|| unaided(brief), Ok),
        Err(fault) => {
            aid.without(Step::Plan, role, fault)?;
            unaided(brief)
        }
    }
}

/// The plan that a model's answer spells; `None` where it spells none.
fn earned(brief: &Brief, planned: Planned) -> Option<Plan> {
    let items: Vec<Item> = (1..)
        .zip(planned.items)
        .map(|(nth, it)| {
            let mut terms = intake::subjects(&it.asks);
            if terms.is_empty() {
                terms.clone_from(&brief.subjects);
            }
            let query = it.queries.into_iter().next();
            Item {
                id: ItemId::new(nth),
                heading: it.heading.trim().to_owned(),
                terms,
                query: query.unwrap_or_else(|| it.asks.clone()),
                asks: it.asks.trim().to_owned(),
            }
        })
        .collect();
    let mut sections: Vec<SectionPlan> = planned
        .sections
        .into_iter()
        .map(|it| SectionPlan {
            title: it.title.trim().to_owned(),
            guidance: it.guidance,
            items: it.items.into_iter().map(ItemId::new).collect(),
        })
        .filter(|it| !it.title.is_empty() && !it.items.is_empty())
        .collect();
    // Every item has its place, also one that the model's sections forgot.
    for item in &items {
        if !sections.iter().any(|it| it.items.contains(&item.id)) {
            sections.push(SectionPlan {
                title: item.heading.clone(),
                guidance: item.asks.clone(),
                items: vec![item.id],
            });
        }
    }
    let writing = WritingPlan {
        overall_goal: planned.goal,
        desired_tone: planned.tone,
        sections,
        additional_directives: planned.directives,
    };
    Plan::new(items, planned.complexity, writing)
}

/// The plan for `brief`, without a model.
pub(crate) fn unaided(brief: &Brief) -> Result<Plan> {
    unaided::plan::break_down(brief)
}
