//! While a model plans, the question's own words are searched for, and the first quotes are told.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::domain::{
    DialogueTurn, Effort, Hits, ModelRole, Page, Query, Question, Strategy, Usage, Vertical,
};
use ibid_core::ports::{
    Completion, LanguageModel, Prompt, Providers, RoleModel, RoleModels, SearchProvider, TextSink,
};
use ibid_core::record::{Envelope, Event, Phase};
use ibid_core::{Error, ErrorKind, Result};
use tokio::sync::Notify;

use super::{Scripted, holds, shelf, well};
use crate::deadlines::app;
use crate::memory::{Events, Pages, log, question, researched, run_id, world};
use crate::recordings::replays_byte_for_byte;

fn good() -> Arc<Scripted> {
    Scripted::new(|step, words| Ok(well(step, words).to_string()))
}

fn in_all_roles<M: LanguageModel + 'static>(model: &Arc<M>) -> RoleModels {
    let mut models = RoleModels::default();
    for role in ModelRole::ALL {
        let model = Arc::clone(model) as Arc<dyn LanguageModel>;
        models.insert(role, RoleModel { model, window: 8_000 });
    }
    models
}

fn with_model<M: LanguageModel + 'static>(pages: Vec<Page>, model: &Arc<M>) -> Providers {
    Providers { models: in_all_roles(model), ..world(Arc::new(Pages::new(pages))) }
}

/// A planner that answers only when the first quotes were heard.
struct Patient {
    inner: Arc<Scripted>,
    heard: Arc<Notify>,
}

#[async_trait]
impl LanguageModel for Patient {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        if prompt.purpose == "plan" {
            self.heard.notified().await;
        }
        self.inner.complete(prompt, sink).await
    }
}

/// The events before the plan, and those after it.
fn around_plan(events: &[Event]) -> (&[Event], &[Event]) {
    let at = events.iter().position(|it| matches!(it, Event::PlanProposed { .. })).unwrap();
    events.split_at(at)
}

fn searches(events: &[Event]) -> Vec<&str> {
    let started = events.iter().filter_map(|it| match it {
        Event::SearchStarted { query, .. } => Some(query.as_str()),
        _ => None,
    });
    started.collect()
}

fn reads(events: &[Event]) -> Vec<&str> {
    let started = events.iter().filter_map(|it| match it {
        Event::ReadStarted { url } => Some(url.as_str()),
        _ => None,
    });
    started.collect()
}

#[tokio::test]
async fn quotes_are_told_before_the_planner_has_answered() {
    let heard = Arc::new(Notify::new());
    let model = Arc::new(Patient { inner: good(), heard: Arc::clone(&heard) });
    let world = with_model(shelf(), &model);
    let events = Arc::new(Events::default());
    let log = log(events.clone());
    let mut live = log.subscribe();
    let first = async {
        loop {
            let it = live.recv().await.unwrap();
            if let Event::DraftDelta { text, .. } = &it.event {
                heard.notify_one();
                return (it.phase, text.clone());
            }
        }
    };
    let (id, asked) = (run_id(), question("What is cork?"));
    let research = ibid_research::research(&world, &log, &id, &asked);
    let both = async { tokio::join!(research, first) };
    let (report, first) = tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
    holds(&report.unwrap());
    assert_eq!(first.0, Phase::Intake);
    let quote = "stripped from the bark of the cork oak";
    assert!(first.1.contains(quote), "{first:?}");
}

#[tokio::test]
async fn what_was_prefetched_is_neither_searched_nor_read_again_and_counted_once() {
    // The supervisor and its researchers are left to the code.
    let model = Scripted::new(|step, words| match step {
        "supervise" | "research" => Ok("{}".to_owned()),
        _ => Ok(well(step, words).to_string()),
    });
    for strategy in
        [Strategy::Checklist, Strategy::Planned, Strategy::Coverage, Strategy::Supervisor]
    {
        let mut asked = question("What is cork?");
        asked.method.strategy = Some(strategy);
        let (report, events) = researched(&with_model(shelf(), &model), &asked).await;
        let report = report.unwrap();
        holds(&report);
        let (before, _) = around_plan(&events);
        assert!(!searches(before).is_empty() && !reads(before).is_empty(), "{strategy:?}");
        let read = reads(&events);
        let once: BTreeSet<_> = read.iter().collect();
        assert_eq!(once.len(), read.len(), "{strategy:?}: {read:?}");
        assert_eq!(report.usage.pages as usize, read.len(), "{strategy:?}");
        assert_eq!(report.usage.searches as usize, searches(&events).len(), "{strategy:?}");
        // No evidence is recorded for a plan that nobody sees, and the pages are evidence for the plan that there is.
        let added = |it: &Event| matches!(it, Event::EvidenceAdded { .. });
        assert!(!before.iter().any(added), "{strategy:?}");
        assert!(events.iter().any(added), "{strategy:?}");
    }
}

#[tokio::test]
async fn nothing_is_searched_before_the_person_has_had_their_say() {
    let asked_back = Question { clarify: true, ..question("What is cork?") };
    let mut cases = vec![asked_back];
    let mut follows = question("What is cork?");
    follows.dialogue.push(DialogueTurn {
        system: None,
        assistant: None,
        user: Some("I ask about floors.".to_owned()),
    });
    cases.push(follows);
    for asked in cases {
        let (report, events) = researched(&with_model(shelf(), &good()), &asked).await;
        holds(&report.unwrap());
        let (before, after) = around_plan(&events);
        assert!(searches(before).is_empty() && reads(before).is_empty(), "{asked:?}");
        assert!(!searches(after).is_empty());
    }
    // Without a planner the plan is there at once.
    let (report, events) =
        researched(&world(Arc::new(Pages::new(shelf()))), &question("What is cork?")).await;
    holds(&report.unwrap());
    assert!(searches(around_plan(&events).0).is_empty());
}

#[tokio::test]
async fn a_limited_budget_is_kept_for_the_plan() {
    let mut asked = question("What is cork?");
    asked.budget.searches = Some(4);
    asked.budget.pages = Some(4);
    let (report, events) = researched(&with_model(shelf(), &good()), &asked).await;
    let usage: Usage = report.unwrap().usage;
    assert!(usage.searches <= 4 && usage.pages <= 4, "{usage:?}");
    let (before, after) = around_plan(&events);
    assert!(searches(before).len() <= 1 && reads(before).len() <= 1);
    assert!(!searches(after).is_empty());
}

/// An outside engine that finds nothing.
struct Outside;

#[async_trait]
impl SearchProvider for Outside {
    fn name(&self) -> &str {
        "outside"
    }

    fn verticals(&self) -> &[Vertical] {
        &[Vertical::Web]
    }

    async fn search(&self, _: &Query) -> Result<Hits> {
        Err(Error::new(ErrorKind::Transient, "asking outside"))
    }
}

#[tokio::test]
async fn outside_engines_wait_for_the_plan_where_there_is_a_folder_and_fail_without_ending_the_run()
{
    let verticals = |events: &[Event]| -> Vec<Vertical> {
        let started = events.iter().filter_map(|it| match it {
            Event::SearchStarted { vertical, .. } => Some(*vertical),
            _ => None,
        });
        started.collect()
    };
    let mut world = with_model(shelf(), &good());
    world.search.push(Arc::new(Outside));
    let (report, events) = researched(&world, &question("What is cork?")).await;
    holds(&report.unwrap());
    let (before, after) = around_plan(&events);
    assert!(verticals(before).iter().all(|it| *it == Vertical::Local));
    assert!(verticals(after).contains(&Vertical::Web));
    // Without a folder the engine is asked at once; that it fails ends the run after the plan, in the first round.
    world.search.remove(0);
    let (report, events) = researched(&world, &question("What is cork?")).await;
    assert!(report.is_err());
    let (before, after) = around_plan(&events);
    assert!(
        verticals(before).contains(&Vertical::Web) && verticals(after).contains(&Vertical::Web)
    );
}

#[tokio::test]
async fn a_run_replays_as_it_was_and_a_resumed_one_pays_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let model = good();
    let app = app(dir.path(), &model, &ModelRole::ALL, 0);
    let running = app.start(question("What is cork?")).await.unwrap();
    let id = running.id.clone();
    // The process is gone as soon as the first quotes were told.
    let mut story = running.follow(0);
    loop {
        let it = story.next().await.unwrap().unwrap();
        if matches!(it.event, Event::DraftDelta { .. }) {
            break;
        }
    }
    drop((story, running));
    while app.is_running(&id).await.unwrap() {
        tokio::task::yield_now().await;
    }
    let run = app.resume(&id).await.unwrap().wait().await.unwrap();
    holds(run.report.as_deref().unwrap());
    let events: Vec<Envelope> = app.events(&id, 0).await.unwrap();
    let events: Vec<Event> = events.into_iter().map(|it| it.event).collect();
    let read = reads(&events);
    let once: BTreeSet<_> = read.iter().collect();
    assert_eq!(once.len(), read.len(), "{read:?}");
    let usage = run.report.as_deref().unwrap().usage;
    assert_eq!(usage.pages as usize, read.len());
    replays_byte_for_byte(&app.recording(&id).await.unwrap()).await;
}

#[tokio::test]
async fn at_quick_effort_the_code_plans_and_the_first_draft_is_the_report() {
    let model = good();
    let mut asked = question("What is cork?");
    asked.method.effort = Effort::Quick;
    asked.method.max_refinement_iterations = 0;
    let (report, events) = researched(&with_model(shelf(), &model), &asked).await;
    let report = report.unwrap();
    holds(&report);
    let steps = model.steps();
    let asked_for = |step: &str| steps.iter().any(|it| it == step);
    assert!(!asked_for("refine") && !asked_for("plan"), "{steps:?}");
    assert!(asked_for("weigh") && asked_for("write"), "{steps:?}");
    assert_eq!(report.method.unaided, ["intake", "plan"]);
    assert!(report.method.unaided_because.is_empty());
    let rounds = events.iter().filter(|it| matches!(it, Event::RoundStarted { .. })).count();
    assert_eq!(rounds, 1);
    // Who wants to see the plan first, or to be asked, gets a model's.
    asked.clarify = true;
    researched(&with_model(shelf(), &model), &asked).await.0.unwrap();
    assert!(model.steps().iter().any(|it| it == "plan"));
}
