//! Runs that wait for a person who does not come: they cost nothing, and who only asked something back goes on.
use std::sync::Arc;
use std::time::Duration;

use ibid::app::App;
use ibid::app::queue::{Queue, QueueLimits};
use ibid::app::spending::Submission;
use ibid::config::{SecretString, Settings};
use ibid_core::domain::{Approval, ModelRole, Question, RunId};
use ibid_core::ports::RunCommand;
use ibid_core::record::{Event, RunStatus};
use serde_json::json;
use tokio::task::JoinSet;

use crate::deadlines::{app, app_at, app_with};
use crate::memory::question;
use crate::stand_in::{Wall, settings};
use crate::thought::{Scripted, well};

const SAID: &str = "The bottle stoppers, please.";
const MINUTE_MS: u64 = 60_000;
/// When a test is given up that would wait for a person.
const LONG: Duration = Duration::from_secs(60);

/// A model that wants to know which cork is meant until somebody has said it.
fn unsure() -> Arc<Scripted> {
    Scripted::new(|step, words| {
        let mut said = well(step, words);
        if step == "refine" && !words.contains(SAID) {
            said["clarify"] = json!(["Which cork is meant: bottle stoppers or floors?"]);
        }
        Ok(said.to_string())
    })
}

fn asked() -> Question {
    Question { clarify: true, ..question("What is cork?") }
}

/// A queue that waits for nobody, and its work.
fn impatient(app: &Arc<App>) -> (Arc<Queue>, JoinSet<()>) {
    let limits = QueueLimits {
        working: 1,
        waiting: 0,
        waiting_each: 0,
        parked_each: 10,
        patience: Duration::ZERO,
    };
    let queue = Arc::new(Queue::new(Arc::clone(app), limits));
    let mut work = JoinSet::new();
    work.spawn(Arc::clone(&queue).run());
    (queue, work)
}

async fn events(app: &App, run: &RunId) -> Vec<Event> {
    let events = app.events(run, 0).await.unwrap();
    events.into_iter().map(|it| it.event).collect()
}

/// How often the run was sat down to.
async fn sittings(app: &App, run: &RunId) -> usize {
    let begins = |it: &&Event| matches!(it, Event::RunStarted {} | Event::RunResumed { .. });
    events(app, run).await.iter().filter(begins).count()
}

async fn ended(queue: &Arc<Queue>, run: &RunId) {
    let mut story = queue.follow(run, 0);
    let end = async { while story.next().await.unwrap().is_some() {} };
    tokio::time::timeout(LONG, end).await.unwrap();
}

/// A run that is parked until somebody approves its plan.
async fn put_aside(app: &App, queue: &Queue) -> RunId {
    let run = app.new_run_id();
    let asked = Question { approve: true, ..question("What is cork?") };
    queue.accept(run.clone(), asked, Submission::default()).await.unwrap();
    while queue.parked_count() == 0 {
        tokio::task::yield_now().await;
    }
    run
}

#[tokio::test]
async fn a_run_that_waits_for_approval_is_not_sat_down_to_until_somebody_speaks() {
    let dir = tempfile::tempdir().unwrap();
    let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
    let here = Arc::new(app(dir.path(), &model, &ModelRole::ALL, 1));
    let (queue, _work) = impatient(&here);
    let run = put_aside(&here, &queue).await;
    assert!(!queue.is_full(None), "it waits for a person, not for a turn");
    for _ in 0..5 {
        assert_eq!(queue.wake_answered().await, 0);
    }
    assert_eq!(queue.parked_count(), 1);
    assert_eq!(sittings(&here, &run).await, 1);
    // Nobody here hears what another process was told.
    let there = app(dir.path(), &model, &ModelRole::ALL, 1);
    let go = RunCommand::Approve(Approval::Approve);
    there.send_command(&run, go).await.unwrap();
    assert_eq!(queue.parked_count(), 1);
    assert_eq!(queue.wake_answered().await, 1);
    ended(&queue, &run).await;
    assert_eq!(sittings(&here, &run).await, 2);
    assert_eq!(here.run(&run).await.unwrap().status, RunStatus::Completed);
}

#[tokio::test]
async fn a_run_put_aside_that_another_process_cancels_or_deletes_leaves_the_queue() {
    for deleted in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
        let here = Arc::new(app(dir.path(), &model, &ModelRole::ALL, 1));
        let (queue, _work) = impatient(&here);
        let run = put_aside(&here, &queue).await;
        let there = app(dir.path(), &model, &ModelRole::ALL, 1);
        there.send_command(&run, RunCommand::Cancel).await.unwrap();
        if deleted {
            there.remove(&run).await.unwrap();
        }
        assert_eq!(queue.wake_answered().await, 1);
        let gone = async {
            while queue.counts() != (0, 0) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, gone).await.unwrap();
        assert_eq!(queue.wake_answered().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_run_put_aside_hears_at_once_what_another_server_was_told() {
    let url = crate::postgres::database().await;
    let dir = tempfile::tempdir().unwrap();
    let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
    let server = || {
        let url = SecretString::new(&url);
        let settings = Settings { store_url: Some(url), ..settings(dir.path()) };
        Arc::new(app_with(settings, &model, &ModelRole::ALL, Wall::at(1_790_000_000_000)))
    };
    let (here, there) = (server(), server());
    let (queue, _work) = impatient(&here);
    for command in [RunCommand::Approve(Approval::Approve), RunCommand::Cancel] {
        let run = put_aside(&here, &queue).await;
        there.send_command(&run, command).await.unwrap();
        // Without being told, the queue would look after five minutes.
        ended(&queue, &run).await;
        let free = async {
            while queue.counts() != (0, 0) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, free).await.unwrap();
    }
}

#[tokio::test]
async fn a_question_back_that_nobody_answers_is_let_be_however_often_the_run_was_put_aside() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Wall::at(1_790_000_000_000);
    let by = Arc::clone(&clock);
    let here = Arc::new(app_at(dir.path(), &unsure(), &ModelRole::ALL, by));
    let (queue, work) = impatient(&here);
    let run = here.new_run_id();
    queue.accept(run.clone(), asked(), Submission::default()).await.unwrap();
    while queue.parked_count() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(queue.wake_answered().await, 0);
    drop((queue, work));
    while here.is_running(&run).await.unwrap() {
        tokio::task::yield_now().await;
    }
    // It is taken up when its time is over, here by another server.
    clock.put_on(11 * MINUTE_MS);
    let (queue, _work) = impatient(&here);
    assert_eq!(queue.recover().await.unwrap(), 1);
    ended(&queue, &run).await;
    assert_eq!(here.run(&run).await.unwrap().status, RunStatus::Completed);
    assert_eq!(sittings(&here, &run).await, 2);
}

#[tokio::test]
async fn the_time_to_answer_counts_from_the_question_and_a_late_answer_is_heard() {
    for said in [None, Some(SAID)] {
        let dir = tempfile::tempdir().unwrap();
        let clock = Wall::at(1_790_000_000_000);
        let by = Arc::clone(&clock);
        let app = app_at(dir.path(), &unsure(), &ModelRole::ALL, by);
        let running = app.start(asked()).await.unwrap();
        let run = running.id.clone();
        // Who follows sees the question before it is stored, and a run stopped between the two asks anew.
        let asks = |it: &Event| matches!(it, Event::ClarifyAsked { .. });
        while !events(&app, &run).await.iter().any(asks) {
            tokio::task::yield_now().await;
        }
        drop(running);
        clock.put_on(11 * MINUTE_MS);
        if let Some(it) = said {
            let reply = RunCommand::Reply(vec![it.to_owned()]);
            app.send_command(&run, reply).await.unwrap();
        }
        while app.is_running(&run).await.unwrap() {
            tokio::task::yield_now().await;
        }
        let running = app.resume(&run).await.unwrap();
        let ended = tokio::time::timeout(LONG, running.wait()).await.unwrap();
        assert_eq!(ended.unwrap().status, RunStatus::Completed);
        let told = events(&app, &run).await;
        let heard = told.iter().find_map(|it| match it {
            Event::ClarifyAnswered { answers } => Some(answers.clone()),
            _ => None,
        });
        let wanted: Vec<String> = said.into_iter().map(str::to_owned).collect();
        assert_eq!(heard, Some(wanted));
    }
}
