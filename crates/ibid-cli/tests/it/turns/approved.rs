//! Nothing is spent on a plan before the person has said go, if they want to be asked.
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use ibid::app::App;
use ibid_core::domain::{Approval, ModelRole, Plan, ProvidedPlan, Question};
use ibid_core::ports::RunCommand;
use ibid_core::record::{Event, Run, RunStatus};
use ibid_core::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::cli::{ASKED, Outcome, TestHome};
use crate::deadlines::app;
use crate::memory::question;
use crate::recordings::replays_byte_for_byte;
use crate::thought::{Scripted, well};

/// A model that plans well, and otherwise once it has heard a wish.
fn willing() -> Arc<Scripted> {
    Scripted::new(|step, words| {
        let mut said = well(step, words);
        if words.contains("They want it changed:") {
            let wish = words.split("They want it changed:").nth(1).unwrap();
            if wish.contains("fail") {
                return Err(Error::new(ErrorKind::Setup, "the planner is away"));
            }
            let wishes = wish.lines().filter(|it| it.starts_with("- ")).count();
            said["items"][1]["heading"] = json!(format!("Changed {wishes}"));
        }
        Ok(said.to_string())
    })
}

fn asked() -> Question {
    Question { approve: true, ..question("What is cork?") }
}

/// The run, with `words` said to its plan in turn; what was read or searched for before the last was said is a fault.
async fn answered(app: &App, asked: Question, words: Vec<Approval>) -> (Run, Vec<Event>) {
    let running = app.start(asked).await.unwrap();
    let id = running.id.clone();
    let mut words = words.into_iter();
    let mut story = running.follow(0);
    let mut gone = false;
    while let Some(it) = story.next().await.unwrap() {
        match it.event {
            Event::PlanWaiting { .. } => {
                let word = words.next().unwrap_or(Approval::Approve);
                app.send_command(&id, RunCommand::Approve(word)).await.unwrap();
            }
            Event::PlanApproved { .. } => gone = true,
            Event::SearchStarted { .. } | Event::ReadStarted { .. } => assert!(gone),
            Event::RunCompleted { .. } | Event::RunFailed { .. } => break,
            _ => {}
        }
    }
    let run = running.wait().await.unwrap();
    let events = app.events(&id, 0).await.unwrap();
    (run, events.into_iter().map(|it| it.event).collect())
}

/// The run resumed, as soon as the sitting that was dropped has let go of it.
async fn taken_up(app: &App, id: &ibid_core::domain::RunId) -> ibid::app::RunHandle {
    while app.is_running(id).await.unwrap() {
        tokio::task::yield_now().await;
    }
    app.resume(id).await.unwrap()
}

fn count(events: &[Event], of: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|it| of(it)).count()
}

fn changed(events: &[Event]) -> Option<bool> {
    events.iter().find_map(|it| match it {
        Event::PlanApproved { changed, by } if by == "person" => Some(*changed),
        _ => None,
    })
}

#[tokio::test]
async fn a_plan_waits_for_a_go_and_the_wait_costs_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let model = willing();
    // Each look at the clock is half a second: were the wait counted, the time would be over.
    let app = app(dir.path(), &model, &ModelRole::ALL, 500);
    let (run, events) = answered(&app, asked(), vec![Approval::Approve]).await;
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!(changed(&events), Some(false));
    assert!(!run.awaiting_approval);
    let late = app.send_command(&run.id, RunCommand::Approve(Approval::Approve)).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Usage);
}

#[tokio::test]
async fn words_make_the_plan_anew_and_not_more_than_three_times() {
    let dir = tempfile::tempdir().unwrap();
    let model = willing();
    let app = app(dir.path(), &model, &ModelRole::ALL, 0);
    let wish = |it: &str| Approval::RequestChanges(it.to_owned());
    let wishes = ["shorter", "more on harvest", "no floating", "once more"];
    let (run, events) = answered(&app, asked(), wishes.map(wish).to_vec()).await;
    let planned = model.asked.lock().unwrap().iter().filter(|it| it.purpose == "plan").count();
    assert_eq!(planned, 4, "the first plan and three anew");
    let headings: Vec<String> =
        run.plan.unwrap().items().iter().map(|it| it.heading.clone()).collect();
    assert!(headings.contains(&"Changed 3".to_owned()), "{headings:?}");
    assert_eq!(changed(&events), Some(true));
    assert_eq!(count(&events, |it| matches!(it, Event::PlanWaiting { .. })), 5);
    let told = |it: &Event| matches!(it, Event::Log { message, .. } if message.contains("3 times already"));
    assert_eq!(count(&events, told), 1);
    replays_byte_for_byte(&app.recording(&run.id).await.unwrap()).await;
}

#[tokio::test]
async fn without_a_planner_the_plan_stays_and_that_is_told() {
    let wish = |it: &str| vec![Approval::RequestChanges(it.to_owned())];
    for (roles, words) in [(&[][..], "shorter"), (&ModelRole::ALL[..], "fail")] {
        let dir = tempfile::tempdir().unwrap();
        let model = willing();
        let app = app(dir.path(), &model, roles, 0);
        let (run, events) = answered(&app, asked(), wish(words)).await;
        assert_eq!(count(&events, |it| matches!(it, Event::PlanProposed { .. })), 1);
        let told = |it: &Event| matches!(it, Event::Log { message, .. } if message.contains("the plan is unchanged"));
        assert_eq!(count(&events, told), 1, "{words}");
        assert_eq!(changed(&events), Some(false));
        assert!(run.report.is_some());
    }
}

#[tokio::test]
async fn an_edited_plan_is_gone_by() {
    let dir = tempfile::tempdir().unwrap();
    let model = willing();
    let app = app(dir.path(), &model, &[], 0);
    let (brief, plan) = ibid_research::plan_by_heuristics(&asked()).unwrap();
    let heart = plan.items()[0].clone();
    let mut writing = plan.writing.clone();
    writing.sections.truncate(1);
    let short = Plan::new(vec![heart], plan.complexity, writing).unwrap();
    let given = ProvidedPlan { brief, plan: short.clone() };
    let (run, events) = answered(&app, asked(), vec![Approval::ReplacePlan(Box::new(given))]).await;
    assert_eq!(run.plan, Some(short));
    assert_eq!(changed(&events), Some(true));
    assert_eq!(run.report.unwrap().method.gate.pass, run.gate.unwrap().pass);
}

#[tokio::test]
async fn a_run_that_is_left_while_it_waits_waits_again_and_one_that_was_answered_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let model = willing();
    let app = app(dir.path(), &model, &ModelRole::ALL, 0);
    let running = app.start(asked()).await.unwrap();
    let id = running.id.clone();
    let until = async |running: &ibid::app::RunHandle, name: &str| {
        let mut story = running.follow(0);
        while let Some(it) = story.next().await.unwrap() {
            if it.event.name() == name {
                return;
            }
        }
    };
    until(&running, "plan.waiting").await;
    drop(running);
    let again = taken_up(&app, &id).await;
    until(&again, "run.resumed").await;
    app.send_command(&id, RunCommand::Approve(Approval::Approve)).await.unwrap();
    until(&again, "plan.approved").await;
    drop(again);
    let run = taken_up(&app, &id).await.wait().await.unwrap();
    assert_eq!(run.status, RunStatus::Completed);
    let events: Vec<Event> =
        app.events(&id, 0).await.unwrap().into_iter().map(|it| it.event).collect();
    for name in ["plan.waiting", "plan.approved"] {
        assert_eq!(count(&events, |it| it.name() == name), 1, "{name}");
    }
}

#[test]
fn where_nobody_can_be_asked_approve_is_refused_and_what_to_do_is_said() {
    let desk = TestHome::new();
    let asked = ["run", ASKED, "--folder", "docs", "--approve"];
    let it = desk.ibid(&asked);
    assert_eq!(it.code, 2);
    assert!(it.err.contains("stdin is not a terminal"), "{}", it.err);
    assert!(it.err.contains("ibid run --plan") && it.err.contains("ibid approve"), "{}", it.err);
    for name in ["CI", "IBID_NO_PROMPT"] {
        let it: Outcome = desk.command(&asked).env(name, "1").output().unwrap().into();
        assert_eq!(it.code, 2);
        assert!(it.err.contains(name), "{}", it.err);
    }
    // The second is the earlier spelling of the first.
    for flag in ["--no-prompt", "--no-ask"] {
        assert_eq!(desk.ibid(&[&asked[..], &[flag]].concat()).code, 2, "{flag}");
    }
}

/// A run that waits for a word on its plan, answered from another process by `words`; its last line and exit code.
fn waited(desk: &TestHome, words: &[&[&str]]) -> (Value, i32, String) {
    let mut child = desk
        .command(&["run", ASKED, "--folder", "docs", "--approve", "--jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = words.iter();
    let mut last = Value::Null;
    for text in BufReader::new(child.stdout.take().unwrap()).lines() {
        last = serde_json::from_str(&text.unwrap()).unwrap();
        if last["type"] == "plan.waiting" {
            let word = words.next().unwrap();
            let it = desk.ibid(word);
            assert_eq!(it.code, 0, "{word:?}: {}", it.err);
        }
    }
    let ended: Outcome = child.wait_with_output().unwrap().into();
    (last, ended.code, ended.err)
}

#[test]
fn another_process_can_say_go_give_another_plan_or_stop() {
    let desk = TestHome::new();
    let (end, code, err) = waited(&desk, &[&["approve", "last"]]);
    assert_eq!((code, &end["subtype"]), (0, &json!("success")), "{err}");
    assert!(err.contains("ibid approve r_"), "{err}");

    let plan = json!({"brief": {"question": "What does a green roof cost?"}, "plan": {"items": [{"asks": "What does a green roof cost?"}]}});
    desk.write("plan.json", &plan.to_string());
    let change = ["approve", "last", "--change", "only the costs"];
    let give = ["approve", "last", "--plan", "plan.json"];
    let (end, code, err) = waited(&desk, &[&change, &give]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("the plan is unchanged: no model could revise it"), "{err}");
    assert_eq!(end["checklist_coverage"]["total"].as_u64().unwrap_or(1), 1);
    assert!(end["result"].as_str().unwrap().contains("110 euros"), "{end}");

    let (end, code, _) = waited(&desk, &[&["cancel", "last"]]);
    assert_eq!((code, &end["status"]), (1, &json!("cancelled")));
    assert_eq!(end["num_searches"], 0);
    let late = desk.ibid(&["approve", "last"]);
    assert_eq!(late.code, 2, "{}", late.err);
    // What was planned is not lost.
    let kept = desk.ibid(&["export", "last", "-f", "plan", "-o", "kept.json"]);
    assert_eq!(kept.code, 0, "{}", kept.err);
    assert_eq!(desk.ibid(&["run", "--plan", "kept.json", "--folder", "docs"]).code, 0);
}
