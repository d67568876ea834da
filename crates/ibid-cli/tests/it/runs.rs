//! A run is accepted, worked on, interrupted, resumed and ended, and loses nothing.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ibid::app::App;
use ibid_core::domain::StopReason;
use ibid_core::ports::{CheckpointDecision, RunCommand};
use ibid_core::record::{Envelope, Event, Run, RunStatus};
use ibid_core::{Error, ErrorKind};
use sqlx::Connection;

use crate::stand_in::{FakePages, QUERIES, WAVES, app, parts, query, question, research, settings};

/// Searches and reads of one whole stand-in run.
const CALLS: usize = (WAVES * QUERIES * 5) as usize;

fn told(run: &Run) -> String {
    serde_json::to_string(run.report.as_ref().unwrap()).unwrap()
}

#[tokio::test]
async fn a_run_ends_with_a_report_and_its_whole_story_in_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    let app = app(dir.path(), &shelf);
    let running = app.start(question("cork")).await.unwrap();
    let id = running.id.clone();
    let run = running.wait().await.unwrap();
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!(shelf.count(), CALLS);
    let events = app.events(&id, 0).await.unwrap();
    let seqs: Vec<u64> = events.iter().map(|it| it.seq).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(matches!(events[0].event, Event::RunCreated { .. }));
    let rows = app.runs().await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].status, &*rows[0].question), (RunStatus::Completed, "cork"));
    for source in &run.report.as_ref().unwrap().sources {
        let page = app.page(&source.page).await.unwrap().unwrap();
        assert_eq!(page.hash(), &source.page);
    }
}

#[tokio::test]
async fn one_bound_holds_for_all_searches_and_reads_of_all_runs() {
    for concurrency in [1, 3, 64] {
        let dir = tempfile::tempdir().unwrap();
        let shelf =
            Arc::new(FakePages { latency: Duration::from_millis(2), ..FakePages::default() });
        let settings = ibid::config::Settings { concurrency, ..settings(dir.path()) };
        let app = App::with_components(settings, parts(&shelf));
        let one = app.start(question("cork")).await.unwrap();
        let two = app.start(question("rye")).await.unwrap();
        one.wait().await.unwrap();
        two.wait().await.unwrap();
        let most = shelf.most_out.load(Ordering::SeqCst);
        match concurrency {
            64 => assert!(most > 3, "without the bound more are out at once: {most}"),
            bound => assert!(most <= bound as u64, "{most} of {bound}"),
        }
        assert_eq!(shelf.count(), 2 * CALLS);
    }
}

#[tokio::test]
async fn an_interrupted_run_resumes_with_no_answered_call_sent_again_and_the_same_report() {
    let whole = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    let expected = app(whole.path(), &shelf).start(question("cork")).await.unwrap();
    let expected = told(&expected.wait().await.unwrap());
    for after in [1, 7, 23, 41, 47] {
        let dir = tempfile::tempdir().unwrap();
        let shelf =
            Arc::new(FakePages { latency: Duration::from_millis(2), ..FakePages::default() });
        let id = {
            let app = app(dir.path(), &shelf);
            let running = app.start(question("cork")).await.unwrap();
            while shelf.count() < after {
                tokio::task::yield_now().await;
            }
            running.id.clone()
        };
        let sent = shelf.count();
        let run = loop {
            // The lock is free when the dropped task is gone.
            match app(dir.path(), &shelf).resume(&id).await {
                Ok(it) => break it.wait().await.unwrap(),
                Err(fault) => assert_eq!(fault.kind(), ErrorKind::Transient, "{fault:?}"),
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(told(&run), expected, "interrupted after {after} calls");
        assert!(sent < CALLS, "{sent} calls: not interrupted");
        assert!(shelf.count() <= CALLS + 8, "{} calls", shelf.count());
    }
}

#[tokio::test]
async fn an_ended_run_tells_its_result_again_without_any_call() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    let running = app(dir.path(), &shelf).start(question("cork")).await.unwrap();
    let id = running.id.clone();
    let first = running.wait().await.unwrap();
    let again = app(dir.path(), &shelf).resume(&id).await.unwrap();
    let again = again.wait().await.unwrap();
    assert_eq!(first, again);
    assert_eq!(shelf.count(), CALLS);
}

#[tokio::test]
async fn a_run_is_worked_on_by_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages { latency: Duration::from_secs(60), ..FakePages::default() });
    let app = app(dir.path(), &shelf);
    let running = app.start(question("cork")).await.unwrap();
    let fault = app.resume(&running.id).await.err().unwrap();
    assert_eq!(fault.kind(), ErrorKind::Transient);
    assert!(fault.hint().unwrap().contains("ibid finish"));
    assert!(app.is_running(&running.id).await.unwrap());
}

#[tokio::test]
async fn a_command_that_needs_no_store_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let app = app(&data, &Arc::default());
    assert!(app.runs().await.unwrap().is_empty());
    let fault = app.run(&"r_01J00000000000000000000000".parse().unwrap()).await;
    assert_eq!(fault.err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(app.check_store().await.unwrap(), None);
    assert!(!data.exists());
}

#[tokio::test]
async fn a_panic_in_research_fails_the_run_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut parts = parts(&Arc::default());
    parts.research = Arc::new(|_, _, _, _| Box::pin(async { panic!("the floor gave way") }));
    let app = ibid::app::App::with_components(settings(dir.path()), parts);
    let running = app.start(question("cork")).await.unwrap();
    let run = running.wait().await.unwrap();
    assert_eq!(run.status, RunStatus::Failed);
    assert!(run.error.unwrap().contains("the floor gave way"));
}

#[tokio::test]
async fn a_cancel_from_outside_ends_a_run_that_is_being_worked_on() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages { latency: Duration::from_secs(60), ..FakePages::default() });
    let here = app(dir.path(), &shelf);
    let there = app(dir.path(), &shelf);
    let running = here.start(question("cork")).await.unwrap();
    let id = running.id.clone();
    there.send_command(&id, RunCommand::Cancel).await.unwrap();
    let run = running.wait().await.unwrap();
    assert_eq!(run.status, RunStatus::Cancelled);
    let fault = there.send_command(&id, RunCommand::Cancel).await.err().unwrap();
    assert_eq!(fault.kind(), ErrorKind::Usage);
}

#[tokio::test]
async fn a_failed_call_is_kept_and_tried_again_when_the_run_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    shelf.failing.store(2, Ordering::SeqCst);
    let mut parts = parts(&shelf);
    // A method that stops for now after its first wave, as a process that ends there would.
    let stopped = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&stopped);
    parts.research = Arc::new(move |world, log, run, question| {
        let once = Arc::clone(&once);
        Box::pin(async move {
            if once.swap(true, Ordering::SeqCst) {
                return research(world, log, run, question).await;
            }
            for n in 1..=2 {
                let asked = query(&format!("{} 1 {n}", question.text));
                let told = world.search[0].search(&asked).await.unwrap_err();
                let again = world.search[0].search(&asked).await.unwrap_err();
                assert_eq!(told.chain(), again.chain());
                assert_eq!(told.kind(), ErrorKind::Transient);
            }
            Err(Error::new(ErrorKind::Cancelled, "for now"))
        })
    });
    let app = App::with_components(settings(dir.path()), parts);
    let running = app.start(question("cork")).await.unwrap();
    let id = running.id.clone();
    let stopped = running.wait().await.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert_eq!(shelf.count(), 2);
    assert_eq!(app.run(&id).await.unwrap().status, RunStatus::InProgress);
    let run = app.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(run.status, RunStatus::Completed);
    assert!(run.report.unwrap().method.pages_failed.is_empty());
    assert_eq!(shelf.count(), CALLS + 2);
}

#[tokio::test]
async fn the_budget_of_calls_is_a_wall_and_ends_the_search_for_more() {
    for (calls, stop) in [(3, 3), (20, 20), (37, 37)] {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Arc::new(FakePages::default());
        let mut asked = question("cork");
        asked.budget.calls = Some(calls);
        let running = app(dir.path(), &shelf).start(asked).await.unwrap();
        let report = running.wait().await.unwrap().report.unwrap();
        assert_eq!(shelf.count(), stop);
        assert_eq!(report.method.stop, StopReason::BudgetCalls);
    }
}

#[tokio::test]
async fn a_word_once_given_is_given_again_when_the_run_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    let here = app(dir.path(), &shelf);
    let mut parts = parts(&shelf);
    parts.research = Arc::new(|world, _, _, _| {
        Box::pin(async move {
            assert_eq!(world.steering.checkpoint("wave-1").await?, CheckpointDecision::Continue);
            Err(Error::new(ErrorKind::Cancelled, "for now"))
        })
    });
    let running =
        App::with_components(settings(dir.path()), parts).start(question("cork")).await.unwrap();
    let id = running.id.clone();
    running.wait().await.unwrap_err();
    // Ordered after the word on the first wave was given: it holds from the second on.
    here.send_command(&id, RunCommand::Finish).await.unwrap();
    let run = here.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(run.stop_reason, Some(StopReason::UserFinish));
    assert_eq!(shelf.count(), CALLS / WAVES as usize);
    let events = here.events(&id, 0).await.unwrap();
    let finishing = |it: &&Envelope| matches!(it.event, Event::RunFinishing { .. });
    assert_eq!(events.iter().filter(finishing).count(), 1);
}

#[tokio::test]
async fn a_store_that_is_gone_stops_the_run_and_leaves_it_to_be_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages { latency: Duration::from_millis(20), ..FakePages::default() });
    let app = app(dir.path(), &shelf);
    let running = app.start(question("cork")).await.unwrap();
    let id = running.id.clone();
    // Another program holds the database longer than anyone waits.
    let path = ibid_store::store::database(dir.path());
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("begin exclusive").execute(&mut other).await.unwrap();
    let sent = shelf.count();
    let fault = running.wait().await.unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Transient, "{fault:?}");
    assert!(shelf.count() <= sent + 8, "calls were sent that could not be kept");
    sqlx::raw_sql("rollback").execute(&mut other).await.unwrap();
    let run = app.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(run.status, RunStatus::Completed);
}
