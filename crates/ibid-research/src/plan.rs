//! Makes the plan: the checklist of what a complete answer must say.
mod item_relevance;

use crate::thresholds::MIN_CORE_ITEM_OVERLAP;
use crate::thresholds::MIN_SAME_ASKS_OVERLAP;
use std::collections::BTreeSet;

use ibid_core::Result;
use ibid_core::domain::words::{content_stems, stem, stem_overlap};
use ibid_core::domain::{
    Brief, ChecklistItem, Complexity, Effort, ItemId, ModelRole, Plan, Question, SearchTask,
    SectionPlan, Strategy, WritingPlan,
};
use ibid_core::ports::{Prompt, RoleModel};

use super::ask::{
    self, TypedAnswer,
    shapes::{PlanPrompt, PlanReply, PlannedItem, add_change_requests, language_name},
};
use super::heuristic::instructions::leaves_out_sources;
use super::heuristic::plan::{MAX_ITEMS, MIN_ITEMS};
use super::heuristic::{self, intake, question_parts};
use super::llm_session::{LlmSession, LlmStep, TrackedModel};
use super::planned_headings::with_safe_headings;
use super::prompts::{self, fill_template};
use super::query_policy::add_subject;
use item_relevance::{
    has_context_words, is_about_report, is_foreign, repeats, strays_from_question,
};

/// Number of words from which a query of a planner is a sentence; it was asked for at most 7.
const MIN_SENTENCE_WORDS: usize = 13;
/// Words of section titles that name what code makes: small models list the fields of the plan as sections.
const FORM_TITLE_WORDS: [&str; 12] = [
    "bibliography",
    "checklist",
    "citation",
    "list",
    "method",
    "plan",
    "query",
    "reference",
    "research",
    "search",
    "source",
    "task",
];

/// The reply of the planner, with the model that recorded its usage.
pub(crate) type PlanAnswer<'a> = (TrackedModel<'a>, Result<TypedAnswer<PlanReply>>);

/// Requests a plan for `brief` from the planner.
pub(crate) async fn request_plan<'a>(
    role_model: &'a RoleModel,
    question: &Question,
    brief: &Brief,
) -> PlanAnswer<'a> {
    let model = TrackedModel::new(role_model);
    let answer = match plan_prompt(question, brief) {
        Ok(prompt) => ask::ask_typed(&model, prompt, PlanReply::check).await,
        Err(fault) => Err(fault),
    };
    (model, answer)
}

/// Whether the question is refined and planned without a model although there is one: at effort `quick`, where a planner takes as
/// long as all that follows, unless the user wants to see or say something about the plan.
pub(crate) fn is_planned_by_code(question: &Question) -> bool {
    question.method.effort == Effort::Quick && !question.approve && !question.clarify
}

/// The plan for `brief`, by a model if there is one. `requested` is the reply of the planner, if it was called before,
/// and `found` are the words of what the question's own words have found.
pub(crate) async fn build_plan<'a>(
    llm: &mut LlmSession<'a>,
    question: &Question,
    brief: &Brief,
    requested: Option<PlanAnswer<'a>>,
    found: &BTreeSet<String>,
) -> Result<Plan> {
    let mut plan = first_plan(llm, question, brief, requested, found).await?;
    // A model that refines the question may leave that out.
    plan.writing.bibliography &= !leaves_out_sources(&question.text)?;
    Ok(plan)
}

async fn first_plan<'a>(
    llm: &mut LlmSession<'a>,
    question: &Question,
    brief: &Brief,
    requested: Option<PlanAnswer<'a>>,
    found: &BTreeSet<String>,
) -> Result<Plan> {
    let role = ModelRole::Planner;
    let role_model = match is_planned_by_code(question) {
        true => llm.skip_model(LlmStep::Plan),
        false => llm.role_model(LlmStep::Plan, role),
    };
    let Some(role_model) = role_model else {
        return build_heuristic_plan(brief);
    };
    let (model, answer) = match requested {
        Some(requested) => requested,
        None => request_plan(role_model, question, brief).await,
    };
    llm.record_usage(LlmStep::Plan, role, model);
    match answer {
        Ok(it) => {
            let own = build_heuristic_plan(brief)?;
            let reply = with_safe_headings(brief, it.value)?;
            let mut plan =
                plan_from_reply((question, brief), &reply, own.clone(), found).unwrap_or(own);
            plan.search_tasks = search_tasks(question, brief, &reply);
            report_struck(llm, &reply, &plan);
            Ok(plan)
        }
        Err(fault) => {
            llm.fall_back(LlmStep::Plan, role, fault)?;
            build_heuristic_plan(brief)
        }
    }
}

/// The words of an item, with those of its query.
fn asked_words(item: &PlannedItem) -> String {
    format!("{} {} {}", item.heading, item.asks, item.query)
}

/// Logs which sections of a model's plan were struck: those beside the question, and those that the program makes.
fn report_struck(llm: &LlmSession<'_>, reply: &PlanReply, plan: &Plan) {
    let kept = |title: &str| {
        let mut sections = plan.writing.sections.iter();
        sections.any(|section| section.title.eq_ignore_ascii_case(title.trim()))
    };
    let titles = reply.sections.iter().map(|section| section.title.trim());
    let struck: Vec<String> =
        titles.filter(|title| !kept(title)).map(|it| format!("“{it}”")).collect();
    if !struck.is_empty() {
        llm.log_info(format!("plan: left out the sections {}", struck.join(", ")));
    }
}

/// How many search tasks the plan must name, if gathering begins with them.
fn search_task_count(question: &Question) -> u32 {
    let method = &question.method;
    match question.strategy(Complexity::Simple) {
        Strategy::Planned => method.max_initial_search_tasks,
        _ => 0,
    }
}

/// The plan revised by the user's `wishes`; `None` if no model can do it.
pub(crate) async fn revise_plan(
    llm: &mut LlmSession<'_>,
    question: &Question,
    brief: &Brief,
    before: &Plan,
    wishes: &[String],
) -> Result<Option<Plan>> {
    let role = ModelRole::Planner;
    let Some(role_model) = llm.role_model(LlmStep::Plan, role) else {
        return Ok(None);
    };
    let prompt = add_change_requests(plan_prompt(question, brief)?, before.items(), wishes)?;
    let model = TrackedModel::new(role_model);
    let answer = ask::ask_typed(&model, prompt, PlanReply::check).await;
    llm.record_usage(LlmStep::Plan, role, model);
    match answer {
        Ok(it) => {
            let reply = with_safe_headings(brief, it.value)?;
            let plan = plan_from_reply(
                (question, brief),
                &reply,
                build_heuristic_plan(brief)?,
                &BTreeSet::new(),
            );
            let unlisted = leaves_out_sources(&question.text)?;
            Ok(plan.map(|mut plan| {
                plan.search_tasks = search_tasks(question, brief, &reply);
                plan.writing.bibliography &= !unlisted;
                plan
            }))
        }
        Err(fault) => llm.fall_back(LlmStep::Plan, role, fault).map(|()| None),
    }
}

/// The search tasks of a model's plan that serve the question.
fn search_tasks(question: &Question, brief: &Brief, planned: &PlanReply) -> Vec<SearchTask> {
    let mut tasks = planned.valid_tasks(brief.effective_question(), search_task_count(question));
    let subject: Vec<String> = brief.subjects.iter().flat_map(|it| content_stems(it)).collect();
    // A search may ask for any side of the subject.
    for task in &mut tasks {
        task.query = add_subject(brief, std::mem::take(&mut task.query));
    }
    tasks.retain(|task| !has_context_words(brief, question.context.as_deref(), &task.query));
    tasks.retain(|task| {
        content_stems(&task.query).iter().any(|stem| subject.contains(stem))
            || !strays_from_question(brief, "", &task.query)
    });
    tasks
}

fn plan_prompt(question: &Question, brief: &Brief) -> Result<Prompt> {
    PlanPrompt {
        question: brief.effective_question(),
        kind: brief.kind,
        scope_in: &brief.scope_in,
        scope_out: &brief.scope_out,
        today: &question.asked_on,
        language: &language_name(Some(&brief.lang)),
        tasks: search_task_count(question),
        context: question.context.as_deref(),
    }
    .prompt()
}

/// The plan from a model's answer. The question itself is always an item, and if there are too few, those of
/// the heuristic plan are added.
fn plan_from_reply(
    (question, brief): (&Question, &Brief),
    planned: &PlanReply,
    own: Plan,
    found: &BTreeSet<String>,
) -> Option<Plan> {
    let mut items: Vec<(Option<u32>, ChecklistItem)> = Vec::new();
    let mut sound: Vec<(u32, &PlannedItem)> = Vec::new();
    for (nth, item) in planned.valid_items() {
        let struck = is_about_report(brief, item)
            || strays_from_question(brief, &item.heading, &item.asks)
            || is_foreign(brief, item, found)
            || has_context_words(brief, question.context.as_deref(), &asked_words(item))
            || sound.iter().any(|earlier| repeats(brief, earlier.1, item));
        if !struck {
            sound.push((nth, item));
        }
    }
    let heart = own.items().first().filter(|_| !has_main_question(brief, &sound));
    items.extend(heart.map(|it| (None, it.clone())));
    items.extend(sound.iter().map(|pair| (Some(pair.0), item(brief, pair.1))));
    let asked = question_parts::parts(&brief.question, prompts::phrases().ok()?);
    for it in own.items() {
        let same = |text: &str, own: &str| {
            let least = MIN_SAME_ASKS_OVERLAP;
            stem_overlap(text, own) >= least && stem_overlap(own, text) >= least
        };
        let known = items.iter().position(|(_, other)| {
            same(&other.heading, &it.heading)
                || same(&other.asks, &it.asks)
                || same(&other.heading, &it.asks)
        });
        match known {
            // A part of the question is known by its own words.
            Some(at) if asked.contains(&it.asks) => items[at].1.asks.clone_from(&it.asks),
            None if items.len() < MIN_ITEMS => items.push((None, it.clone())),
            _ => {}
        }
    }
    items.truncate(MAX_ITEMS);
    for (nth, it) in (1..).zip(&mut items) {
        it.1.id = ItemId::new(nth);
    }
    let sections = sections(brief, planned, &items);
    let directives = &planned.directives;
    let goal = planned.goal.trim();
    let goal = match goal.is_empty() || strays_from_question(brief, "", goal) {
        true => {
            fill_template(&prompts::prompt_lines().ok()?.goal, &[("question", &brief.question)])
        }
        false => goal.to_owned(),
    };
    let writing = WritingPlan {
        overall_goal: goal,
        desired_tone: planned.tone.clone(),
        sections,
        additional_directives: directives.clone(),
        bibliography: own.writing.bibliography,
    };
    let items = items.into_iter().map(|item| item.1).collect();
    // Small models call a question of many parts simple.
    let mut plan = Plan::new(items, planned.complexity.max(own.complexity), writing)?;
    plan.approach = planned.approach.trim().to_owned();
    Some(plan)
}

/// Whether one of the items asks the question itself.
fn has_main_question(brief: &Brief, items: &[(u32, &PlannedItem)]) -> bool {
    items.iter().any(|item| {
        let own = content_stems(&item.1.asks);
        let names = |subject: &String| content_stems(subject).iter().any(|stem| own.contains(stem));
        stem_overlap(&brief.question, &item.1.asks) >= MIN_CORE_ITEM_OVERLAP
            && brief.subjects.iter().all(names)
    })
}

fn item(brief: &Brief, planned: &PlannedItem) -> ChecklistItem {
    let asks = planned.asks.trim().to_owned();
    let mut terms = intake::subjects(&asks);
    if terms.is_empty() {
        terms.clone_from(&brief.subjects);
    }
    // A whole sentence is no query: what the item asks is searched for.
    let query = match planned.query.split_whitespace().count() {
        0 | MIN_SENTENCE_WORDS.. => asks.clone(),
        _ => add_subject(brief, planned.query.trim().to_owned()),
    };
    ChecklistItem {
        id: ItemId::new(1),
        heading: planned.heading.trim().to_owned(),
        terms,
        query,
        asks,
    }
}

/// Whether a section title names only a part that code makes, such as the list of sources.
fn is_form_title(brief: &Brief, title: &str) -> bool {
    let own = content_stems(title);
    let asked = content_stems(&brief.question);
    let is_form = |text: &String| FORM_TITLE_WORDS.iter().any(|word| stem(word) == *text);
    !own.is_empty() && own.iter().all(|text| is_form(text) && !asked.contains(text))
}

/// The sections of a model's answer with their existing items, those without items among them: an outlook, for example.
/// Items without a section get one each.
fn sections(
    brief: &Brief,
    planned: &PlanReply,
    items: &[(Option<u32>, ChecklistItem)],
) -> Vec<SectionPlan> {
    let named = |n: &u32| items.iter().find(|item| item.0 == Some(*n)).map(|item| item.1.id);
    let mut sections: Vec<SectionPlan> = planned
        .sections
        .iter()
        .map(|section| {
            let own = SectionPlan {
                title: section.title.trim().to_owned(),
                guidance: section.guidance.clone(),
                items: section.items.iter().filter_map(named).collect(),
            };
            (section.items.len(), own)
        })
        // One whose items were all struck has nothing to say; one that names none is about the whole.
        .filter(|(wanted, it)| !it.title.is_empty() && (*wanted == 0 || !it.items.is_empty()))
        .filter(|(_, it)| !is_form_title(brief, &it.title))
        .filter(|(wanted, it)| *wanted > 0 || !strays_from_question(brief, "", &it.title))
        .map(|(_, section)| section)
        .collect();
    let mut titles: Vec<String> = Vec::new();
    sections.retain(|section| {
        let title = section.title.to_lowercase();
        let new = !titles.contains(&title);
        titles.push(title);
        new
    });
    for (nth, (_, item)) in items.iter().enumerate() {
        if sections.iter().any(|section| section.items.contains(&item.id)) {
            continue;
        }
        let same = |section: &&mut SectionPlan| section.title.eq_ignore_ascii_case(&item.heading);
        if let Some(section) = sections.iter_mut().find(same) {
            section.items.push(item.id);
        } else {
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
pub(crate) fn build_heuristic_plan(brief: &Brief) -> Result<Plan> {
    heuristic::plan::build_plan(brief)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use ibid_core::domain::QuestionKind;

    pub(super) fn brief() -> Brief {
        Brief {
            kind: QuestionKind::List,
            subjects: vec!["green roof".to_owned()],
            key_terms: vec!["annual rainfall".to_owned(), "green roof".to_owned()],
            ..test_support::brief("How much annual rainfall does a green roof retain?")
        }
    }

    #[test]
    fn sections_have_different_titles_and_none_is_a_part_that_code_makes() {
        let reply: PlanReply = serde_json::from_value(serde_json::json!({
            "complexity": "simple", "goal": "", "tone": "", "directives": [],
            "items": [{"heading": "Amount", "asks": "a", "query": ""},
                {"heading": "Weight", "asks": "b", "query": ""}],
            "sections": [{"title": "weight", "guidance": "", "items": [1]},
                {"title": "Research tasks", "guidance": "", "items": []}],
        }))
        .unwrap();
        let named = |n: u32, heading: &str| {
            let item = ChecklistItem {
                id: ItemId::new(n),
                heading: heading.to_owned(),
                asks: String::new(),
                terms: Vec::new(),
                query: String::new(),
            };
            (Some(n), item)
        };
        let sections = sections(&brief(), &reply, &[named(1, "Amount"), named(2, "Weight")]);
        let titles: Vec<&str> = sections.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["weight"]);
        assert_eq!(sections[0].items, [ItemId::new(1), ItemId::new(2)]);
    }

    #[test]
    fn a_bare_name_is_searched_for_with_the_subject() {
        let query = |text: &str| add_subject(&brief(), text.to_owned());
        assert_eq!(query("Germany"), "green roof Germany");
        assert_eq!(query("retention in Germany"), "green roof retention in Germany");
        assert_eq!(query("roof retention Germany"), "roof retention Germany");
        assert_eq!(query("Munich climate station records"), "Munich climate station records");
    }
}
