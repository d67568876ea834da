//! The checklist of what a complete answer must say (rows A1, B3, D2, E4).
use crate::domain::words::{content_stems, share, stem};
use crate::domain::{
    Brief, Complexity, Item, ItemId, ModelRole, Plan, Question, SectionPlan, Strategy, WritingPlan,
};
use crate::error::Result;
use crate::seams::Prompt;

use super::aid::{Aid, Counting, Step};
use super::ask::{
    self,
    shapes::{PlanAsk, Planned, PlannedItem, changed, language},
};
use super::unaided::plan::{FEWEST, MOST};
use super::unaided::{self, intake};

/// What small models ask about where they take the form of a plan for its matter.
const OF_THE_FORM: [&str; 8] = [
    "report",
    "goal",
    "tone",
    "section",
    "heading",
    "directive",
    "obey",
    "checklist",
];
/// Share of the question's words in an item that asks it.
const HEART: f32 = 0.6;

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
    let model = Counting::of(mind);
    let answer = ask::typed(&model, asked(question, brief)?, Planned::check).await;
    aid.settle(Step::Plan, role, model);
    match answer {
        Ok(it) => {
            let own = unaided(brief)?;
            let mut plan = earned(brief, &it.value, own.clone()).unwrap_or(own);
            plan.search_tasks = it.value.sound_tasks(brief.asked(), tasks_wanted(question));
            Ok(plan)
        }
        Err(fault) => {
            aid.without(Step::Plan, role, fault)?;
            unaided(brief)
        }
    }
}

/// Search tasks that the plan is to name: where gathering may begin with them.
fn tasks_wanted(question: &Question) -> u32 {
    let method = &question.method;
    match question.strategy(Complexity::Simple) {
        Strategy::Planned => method.max_initial_search_tasks,
        _ => 0,
    }
}

/// The plan made anew with what the person wants changed in `before`; `None` where no model does that.
pub(crate) async fn anew(
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
    before: &Plan,
    wishes: &[String],
) -> Result<Option<Plan>> {
    let role = ModelRole::Planner;
    let Some(mind) = aid.mind(Step::Plan, role) else {
        return Ok(None);
    };
    let prompt = changed(asked(question, brief)?, before.items(), wishes)?;
    let model = Counting::of(mind);
    let answer = ask::typed(&model, prompt, Planned::check).await;
    aid.settle(Step::Plan, role, model);
    match answer {
        Ok(it) => {
            let plan = earned(brief, &it.value, unaided(brief)?);
            Ok(plan.map(|mut plan| {
                plan.search_tasks = it.value.sound_tasks(brief.asked(), tasks_wanted(question));
                plan
            }))
        }
        Err(fault) => aid.without(Step::Plan, role, fault).map(|()| None),
    }
}

fn asked(question: &Question, brief: &Brief) -> Result<Prompt> {
    PlanAsk {
        question: brief.asked(),
        kind: brief.kind,
        scope_in: &brief.scope_in,
        scope_out: &brief.scope_out,
        today: &question.asked_on,
        language: &language(Some(&brief.lang)),
        tasks: tasks_wanted(question),
    }
    .prompt()
}

/// The plan that a model's answer spells. The question itself always stands in it, and where it has too few items, those
/// of the unaided plan fill it up.
fn earned(brief: &Brief, planned: &Planned, own: Plan) -> Option<Plan> {
    let mut items: Vec<(Option<u32>, Item)> = Vec::new();
    let sound: Vec<(u32, &PlannedItem)> = planned
        .sound()
        .into_iter()
        .filter(|it| !of_the_form(brief, it.1))
        .collect();
    let heart = own.items().first().filter(|_| !asks_it(brief, &sound));
    items.extend(heart.map(|it| (None, it.clone())));
    items.extend(sound.iter().map(|it| (Some(it.0), item(brief, it.1))));
    for it in own.items() {
        let known = |other: &(Option<u32>, Item)| other.1.heading.eq_ignore_ascii_case(&it.heading);
        if items.len() < FEWEST && !items.iter().any(known) {
            items.push((None, it.clone()));
        }
    }
    items.truncate(MOST);
    for (nth, it) in (1..).zip(&mut items) {
        it.1.id = ItemId::new(nth);
    }
    let sections = sections(planned, &items);
    let directives = &planned.directives;
    let writing = WritingPlan {
        overall_goal: planned.goal.clone(),
        desired_tone: planned.tone.clone(),
        sections,
        additional_directives: directives.clone(),
        bibliography: own.writing.bibliography,
    };
    let items = items.into_iter().map(|it| it.1).collect();
    Plan::new(items, planned.complexity, writing)
}

/// Whether one of the items asks what was asked.
fn asks_it(brief: &Brief, items: &[(u32, &PlannedItem)]) -> bool {
    items
        .iter()
        .any(|it| share(&brief.question, &it.1.asks) >= HEART)
}

/// Whether an item asks about the report instead of what was asked.
fn of_the_form(brief: &Brief, item: &PlannedItem) -> bool {
    let matter = format!("{} {}", brief.question, brief.key_terms.join(" "));
    let matter = content_stems(&matter);
    let own = content_stems(&item.asks);
    let form = |it: &String| OF_THE_FORM.iter().any(|word| stem(word) == *it);
    own.iter().any(form) && !own.iter().any(|it| matter.contains(it))
}

fn item(brief: &Brief, planned: &PlannedItem) -> Item {
    let asks = planned.asks.trim().to_owned();
    let mut terms = intake::subjects(&asks);
    if terms.is_empty() {
        terms.clone_from(&brief.subjects);
    }
    let query = match planned.query.trim() {
        "" => asks.clone(),
        query => query.to_owned(),
    };
    Item {
        id: ItemId::new(1),
        heading: planned.heading.trim().to_owned(),
        terms,
        query,
        asks,
    }
}

/// The sections of a model's answer, with the items that there are; each item that they forgot gets its own.
fn sections(planned: &Planned, items: &[(Option<u32>, Item)]) -> Vec<SectionPlan> {
    let named = |n: &u32| items.iter().find(|it| it.0 == Some(*n)).map(|it| it.1.id);
    let mut sections: Vec<SectionPlan> = planned
        .sections
        .iter()
        .map(|it| SectionPlan {
            title: it.title.trim().to_owned(),
            guidance: it.guidance.clone(),
            items: it.items.iter().filter_map(named).collect(),
        })
        .filter(|it| !it.title.is_empty() && !it.items.is_empty())
        .collect();
    for (nth, (_, item)) in items.iter().enumerate() {
        if !sections.iter().any(|it| it.items.contains(&item.id)) {
            let own = SectionPlan {
                title: item.heading.clone(),
                guidance: item.asks.clone(),
                items: vec![item.id],
            };
            sections.insert(nth.min(sections.len()), own);
        }
    }
    sections
}

/// The plan for `brief`, without a model.
pub(crate) fn unaided(brief: &Brief) -> Result<Plan> {
    unaided::plan::break_down(brief)
}
