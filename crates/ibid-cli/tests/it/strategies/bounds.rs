//! Whatever a model says, and however often, no strategy goes past its bounds.
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ibid_core::domain::{
    ModelRole, Question, Report, ResearcherProgress, ResearcherStatus, StopReason, Strategy,
};
use ibid_core::ports::{LanguageModel, RoleModel, RoleModels};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{asked, holds, shelf, small_world};
use crate::memory::{Pages, researched, world};
use crate::thought::Scripted;

/// What a tireless model says: more of everything, and never twice the same.
fn more(step: &str, nth: u32) -> Value {
    let words = format!("cork matter {nth}");
    match step {
        "supervise" => {
            json!({"action": "ConductResearch", "thought": words, "units": (1..=4).map(|it| {
            json!({"item": format!("Q{it}"), "topic": format!("Find more about {words}."), "query": words})
        }).collect::<Vec<_>>()})
        }
        "research" => {
            json!({"action": "search_web", "queries": [words, format!("{words} b"), format!("{words} c")],
            "pages": [], "thought": "", "notes": []})
        }
        "queries" => json!({"queries": (1..=3).map(|it| {
            json!({"item": format!("Q{it}"), "variation": "gap", "query": format!("{words} {it}")})
        }).collect::<Vec<_>>()}),
        "cover" => {
            json!({"state": "partial", "gap": format!("More is wanted about {words}."), "gap_query": words})
        }
        "write" => json!({"sections": [], "more": [words, format!("{words} b")]}),
        _ => json!({}),
    }
}

async fn with_model(
    strategy: Strategy,
    says: impl Fn(&str, u32) -> String + Send + Sync + 'static,
    change: impl Fn(&mut Question),
) -> (Result<Report>, Vec<Event>, usize) {
    let count = AtomicU32::new(0);
    let model = Scripted::new(move |step, _| Ok(says(step, count.fetch_add(1, Ordering::Relaxed))));
    let mut world = small_world();
    let mut models = RoleModels::default();
    for role in ModelRole::ALL {
        let model = Arc::clone(&model) as Arc<dyn LanguageModel>;
        models.insert(role, RoleModel { model, window: 8_000 });
    }
    world.models = models;
    let mut asked = asked(strategy);
    asked.budget.calls = Some(110);
    change(&mut asked);
    let (report, events) = researched(&world, &asked).await;
    let calls = model.asked.lock().unwrap().len();
    (report, events, calls)
}

fn count(events: &[Event], name: &str) -> u32 {
    events.iter().filter(|it| it.name() == name).count() as u32
}

/// Every state of a researcher that was told.
fn researchers(events: &[Event]) -> impl Iterator<Item = ResearcherProgress> {
    let told = events.iter().filter_map(|it| match it {
        Event::RuntimeProgress { progress } => Some(progress.research_units.clone()),
        _ => None,
    });
    told.flatten()
}

/// What no run may exceed, by the numbers of its method.
fn within_bounds(strategy: Strategy, report: &Report, events: &[Event], model_calls: usize) {
    let method = crate::memory::method();
    let rounds = match strategy {
        Strategy::Checklist | Strategy::Coverage => method.depth + 1,
        Strategy::Planned => 1,
        Strategy::Supervisor => method.max_iterations,
    } + method.max_refinement_iterations;
    assert!(count(events, "wave.started") <= rounds, "{strategy:?}");
    assert!(report.usage.calls() <= 110, "{strategy:?} {:?}", report.usage);
    let sent = events.iter().filter_map(|it| match it {
        Event::RuntimeProgress { progress } => Some(progress.dispatched_research_units),
        _ => None,
    });
    assert!(sent.max().unwrap_or(0) <= method.team.max_researcher_iterations);
    // A turn of each researcher, a call a page and item, and each asked twice: far below what a loop would make.
    assert!(model_calls < 4_000, "{strategy:?}: {model_calls}");
}

#[tokio::test]
async fn a_model_that_always_wants_more_is_held_by_the_bounds() {
    for strategy in Strategy::ALL {
        let (report, events, calls) =
            with_model(strategy, |step, n| more(step, n).to_string(), |_| ()).await;
        let report = report.unwrap();
        holds(&report);
        within_bounds(strategy, &report, &events, calls);
    }
}

#[tokio::test]
async fn a_researcher_that_only_searches_is_stopped_and_says_no_more_than_that() {
    let (report, events, _) = with_model(
        Strategy::Supervisor,
        |step, n| more(step, n).to_string(),
        |it| {
            it.budget.calls = None;
            it.method.team.max_react_tool_calls = 6;
            it.method.team.researcher_search_budget = 100;
            it.method.team.max_researcher_iterations = 5;
        },
    )
    .await;
    report.unwrap();
    let failures: Vec<String> = researchers(&events).filter_map(|it| it.failure).collect();
    assert!(failures.contains(&"recursion limit of 7 reached".to_owned()), "{failures:?}");
    assert!(researchers(&events).all(|it| it.tool_calls <= 6), "code that goes on keeps the limit");
    let last = events.iter().rev().find_map(|it| match it {
        Event::RuntimeProgress { progress } => Some(progress.clone()),
        _ => None,
    });
    let last = last.unwrap();
    assert!(last.dispatched_research_units <= 5);
    assert!(last.skipped_research_units > 0);
}

#[tokio::test]
async fn a_researcher_that_asks_the_same_again_is_ended_and_code_reads_what_it_found() {
    let asks = |step: &str, n: u32| match step {
        "research" => {
            json!({"action": "search_web", "queries": ["cork"], "pages": [], "thought": "", "notes": []})
        }
        _ => more(step, n),
    };
    let (report, events, _) = with_model(
        Strategy::Supervisor,
        move |step, n| asks(step, n).to_string(),
        |it| {
            it.budget.calls = None;
            it.method.team.max_react_tool_calls = 40;
            it.method.team.researcher_search_budget = 100;
            it.method.team.max_researcher_iterations = 4;
        },
    )
    .await;
    holds(&report.unwrap());
    let units: Vec<_> =
        researchers(&events).filter(|it| it.status != ResearcherStatus::Dispatched).collect();
    assert!(!units.is_empty());
    for it in units {
        assert_eq!((it.status, &it.failure), (ResearcherStatus::Completed, &None), "{it:?}");
        assert!(it.tool_calls <= 16, "{it:?}");
    }
}

#[tokio::test]
async fn when_research_has_spent_its_money_the_report_is_written_and_says_so() {
    for strategy in [Strategy::Checklist, Strategy::Coverage, Strategy::Supervisor] {
        let model = Scripted::new(|_, _| {
            Err(Error::new(ErrorKind::Exhausted, "asking: the budget has no room"))
        });
        // Two pages leave items open, for which there would be more rounds.
        let few = vec![shelf()[1].clone(), shelf()[5].clone()];
        let mut world = world(Arc::new(Pages::new(few)));
        let mut models = RoleModels::default();
        let model = model as Arc<dyn LanguageModel>;
        models.insert(ModelRole::Summarizer, RoleModel { model, window: 8_000 });
        world.models = models;
        let mut asked = asked(strategy);
        asked.method.min_evidence_records = 100;
        asked.method.depth = 5;
        let (report, events) = researched(&world, &asked).await;
        let report = report.unwrap();
        holds(&report);
        let rounds = count(&events, "wave.started");
        assert_eq!((report.method.stop, rounds), (StopReason::BudgetUsd, 1), "{strategy:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Garbage, silence, thoughts, wishes to be done and more, in any order.
    #[test]
    fn no_strategy_loops_whatever_a_model_says(
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        kinds in prop::collection::vec(0_u8..7, 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let said = kinds.clone();
        let says = move |step: &str, n: u32| match said[n as usize % said.len()] {
            0 => String::new(),
            1 => "no".to_owned(),
            2 => "{\"action\":[[".to_owned(),
            3 => json!({"action": "think", "thought": "hm", "units": [], "queries": [], "pages": [], "notes": []}).to_string(),
            4 => json!({"action": "ResearchComplete", "thought": "", "units": []}).to_string(),
            5 => json!({"action": "finish", "queries": [], "pages": [], "thought": "",
                "notes": [{"text": "Cork is gold.", "findings": [1, 99, -4]}]}).to_string(),
            _ => more(step, n).to_string(),
        };
        let (report, events, calls) = runtime.block_on(with_model(strategy, says, |_| ()));
        let report = report.unwrap();
        holds(&report);
        within_bounds(strategy, &report, &events, calls);
    }
}
