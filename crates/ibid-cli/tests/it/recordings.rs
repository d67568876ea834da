//! A run is recorded whole, told again byte for byte without asking anybody, and forked.
mod files;
mod worlds;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ibid::app::{App, Recording, ReplayCounts, ReplayDiff, RunProviders};
use ibid_core::domain::Report;
use ibid_core::ports::SeededRng;
use ibid_core::record::{Event, RunStatus};
use ibid_core::{Error, ErrorKind};
use ibid_index::ranker::LexicalRanker;

use crate::stand_in::{self, FakePages, settings};
use worlds::{RAIN, alone, asked, library, parts, reader_of_rain, recorded};

const TEXTS: [&str; 4] = ["web", "notes", "text", "monitoring"];

fn wire<T: serde::Serialize>(it: &T) -> String {
    serde_json::to_string(it).unwrap()
}

/// Every quote of a report stands where the report says, in a page of the recording.
fn quotes_stand(report: &Report, recording: &Recording) {
    let mut cited = 0;
    for citation in report.claims().flat_map(|it| it.citations()) {
        let page = &recording.pages[citation.passage.page()];
        assert!(citation.passage.is_found_in(page));
        cited += 1;
    }
    assert!(cited > 0, "a report cites");
    assert_eq!(report.checks.quotes.passed, report.checks.quotes.total);
}

/// Parses what was written, replays it on a machine that has nothing, and holds it to the recording.
pub(crate) async fn replays_byte_for_byte(recording: &Recording) {
    let text = recording.to_jsonl().unwrap();
    let read = Recording::parse("world.jsonl", text.as_bytes()).unwrap();
    assert_eq!(read.to_jsonl().unwrap(), text);
    let dir = tempfile::tempdir().unwrap();
    let told = alone(dir.path()).replay(&read).await.unwrap();
    assert_eq!(told.differences, ReplayDiff::default());
    assert_eq!(wire(&told.events), wire(&recording.events));
    assert_eq!(wire(&told.run.report.as_deref()), wire(&recording.report()));
    assert!(told.calls > 0);
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "a replay keeps nothing");
}

#[tokio::test]
async fn a_run_without_a_model_replays_byte_for_byte_with_nobody_to_ask() {
    let recording = recorded(parts(&library(&TEXTS), None), asked(RAIN)).await;
    quotes_stand(recording.report().unwrap(), &recording);
    replays_byte_for_byte(&recording).await;
}

#[tokio::test]
async fn a_run_with_a_model_replays_byte_for_byte_without_the_model() {
    let model = reader_of_rain();
    let world = parts(&library(&["web"]), Some(Arc::clone(&model)));
    let recording = recorded(world, asked(RAIN)).await;
    let sent = model.asked.lock().unwrap().len();
    let report = recording.report().unwrap();
    assert!(report.method.unaided.is_empty(), "{:?}", report.method);
    assert_eq!(report.usage.model_calls as usize, sent);
    quotes_stand(report, &recording);
    replays_byte_for_byte(&recording).await;
    assert_eq!(model.asked.lock().unwrap().len(), sent);
}

#[tokio::test]
async fn a_model_that_failed_fails_again_and_a_budget_that_was_spent_is_spent_again() {
    let busy = crate::thought::Scripted::new(|_, _| {
        Err(Error::new(ErrorKind::Setup, "asking scripted/one: no credit"))
    });
    let mut question = asked(RAIN);
    question.budget.calls = Some(9);
    let recording = recorded(parts(&library(&["web"]), Some(busy)), question).await;
    let report = recording.report().unwrap();
    assert!(report.method.unaided.contains(&"plan".to_owned()));
    assert_eq!(report.usage.calls(), 9);
    replays_byte_for_byte(&recording).await;
}

#[tokio::test]
async fn a_run_that_found_no_answer_replays_to_none() {
    let world = parts(&library(&["text"]), None);
    let recording = recorded(world, asked("Who composed the opera Zyxomma?")).await;
    assert!(recording.report().is_none());
    replays_byte_for_byte(&recording).await;
}

#[tokio::test]
async fn a_run_of_several_sittings_replays_in_one() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    shelf.failing.store(1, Ordering::SeqCst);
    let mut world = stand_in::parts(&shelf);
    let opened = Arc::clone(&world.open);
    world.open = Arc::new(move |settings, question, owner| {
        let opened = opened(settings, question, owner);
        Box::pin(async move {
            Ok(RunProviders {
                egress: Default::default(),
                ranker: Arc::new(LexicalRanker),
                ..opened.await?
            })
        })
    });
    let rest = Arc::clone(&world.research);
    let begun = Arc::new(AtomicBool::new(false));
    world.research = Arc::new(move |world, log, run, question| {
        if begun.swap(true, Ordering::SeqCst) {
            return rest(world, log, run, question);
        }
        Box::pin(async move {
            let query = stand_in::query("cork 1 1");
            let fault = world.search[0].search(&query).await.unwrap_err();
            log.emit(Event::Log { level: "warn".to_owned(), message: fault.chain(), source: None });
            Err(Error::new(ErrorKind::Cancelled, "for now"))
        })
    });
    let app = App::with_components(settings(dir.path()), world);
    let running = app.start(stand_in::question("cork")).await.unwrap();
    let run = running.id.clone();
    let unended = app.recording(&run).await.unwrap_err();
    assert_eq!(unended.kind(), ErrorKind::Usage);
    assert!(unended.hint().unwrap().contains("ibid resume"));
    running.wait().await.unwrap_err();
    app.resume(&run).await.unwrap().wait().await.unwrap();
    let recording = app.recording(&run).await.unwrap();
    let sent = shelf.count();
    let elsewhere = tempfile::tempdir().unwrap();
    let told = App::with_components(settings(elsewhere.path()), stand_in::parts(&shelf))
        .replay(&recording)
        .await
        .unwrap();
    assert_eq!(told.differences, ReplayDiff::default());
    assert_eq!(wire(&told.events), wire(&recording.events));
    assert_eq!(shelf.count(), sent);
}

#[tokio::test]
async fn what_was_not_recorded_is_told_by_name_and_no_answer_made_up() {
    let whole = recorded(parts(&library(&["web"]), None), asked(RAIN)).await;
    let dir = tempfile::tempdir().unwrap();
    for (door, field) in [("search:", "text"), ("read:", "url")] {
        let mut torn = whole.clone();
        torn.name = "kept.jsonl".to_owned();
        let at = torn.steps.iter().position(|it| it.provider.starts_with(door));
        let lost = torn.steps.remove(at.unwrap());
        let named = lost.request[field].as_str().unwrap();
        let fault = alone(dir.path()).replay(&torn).await.unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::NotFound);
        let told = fault.chain();
        assert!(told.contains("kept.jsonl") && told.contains(named), "{told}");
        assert!(fault.hint().unwrap().contains("record the run again"));
    }
}

#[tokio::test]
async fn a_report_that_comes_out_otherwise_is_told_with_its_place() {
    let mut recording = recorded(parts(&library(&["web"]), None), asked(RAIN)).await;
    for it in &mut recording.events {
        if let Event::ReportReady { report } = &mut it.event {
            report.short.clear();
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let told = alone(dir.path()).replay(&recording).await.unwrap();
    assert_eq!(told.differences.report.as_deref(), Some("report.short"));
    assert!(told.differences.events.unwrap().contains("report.ready"));
    assert!(!told.run.report.unwrap().short.is_empty(), "what came out is shown");
}

#[tokio::test]
async fn a_fork_answers_from_the_recording_and_asks_the_rest_live() {
    let pages = library(&TEXTS);
    let model = reader_of_rain();
    let recording =
        recorded(parts(&library(&["web"]), Some(Arc::clone(&model))), asked(RAIN)).await;
    let sent = model.asked.lock().unwrap().len();
    let dir = tempfile::tempdir().unwrap();
    // The same world with more in it, and twice as deep.
    let mut world = parts(&pages, None);
    world.chance = Arc::new(SeededRng::new(8));
    let app = App::with_components(settings(dir.path()), world);
    let mut deeper = recording.question.clone();
    deeper.method.depth = 2;
    deeper.method.results_per_query = 8;
    let (running, taken) = app.fork(&recording, deeper).await.unwrap().into_parts();
    let run = running.wait().await.unwrap();
    assert_ne!(run.id, recording.run);
    assert_eq!(run.status, RunStatus::Completed);
    let ReplayCounts { recorded, live, .. } = taken();
    assert!(recorded > 0 && live > 0, "{:?}", taken());
    let report = run.report.unwrap();
    assert!(report.usage.model_calls > 0);
    assert_eq!(report.usage.usd, Some(0.0), "the recorded run has paid");
    assert_eq!(model.asked.lock().unwrap().len(), sent);
    // The fork is a run like any other.
    let again = app.recording(&run.id).await.unwrap();
    replays_byte_for_byte(&again).await;
}

#[tokio::test]
async fn a_fork_without_its_recording_does_not_go_on_as_another_run() {
    let pages = library(&["web"]);
    let recording = recorded(parts(&pages, None), asked(RAIN)).await;
    let dir = tempfile::tempdir().unwrap();
    let mut world = parts(&pages, None);
    world.chance = Arc::new(SeededRng::new(8));
    let app = App::with_components(settings(dir.path()), world);
    let fork = app.fork(&recording, recording.question.clone()).await;
    let (running, taken) = fork.unwrap().into_parts();
    while taken().recorded == 0 {
        tokio::task::yield_now().await;
    }
    let run = running.id.clone();
    drop(running);
    let fault = loop {
        // The lock is free when the dropped task is gone.
        match app.resume(&run).await {
            Ok(it) => break it.wait().await.unwrap_err(),
            Err(fault) => assert_eq!(fault.kind(), ErrorKind::Transient, "{fault:?}"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(fault.kind(), ErrorKind::Setup);
    assert!(fault.hint().unwrap().contains("ibid replay FILE"));
    assert!(!app.run(&run).await.unwrap().status.ended());
}

/// The recordings kept as tests, and how each is made anew.
fn kept() -> [(&'static str, ibid::app::AppComponents); 2] {
    [
        ("rain.jsonl", parts(&library(&TEXTS), None)),
        ("rain-with-a-model.jsonl", parts(&library(&["notes"]), Some(reader_of_rain()))),
    ]
}

fn path_of(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("crates/ibid-cli/tests/recordings")
        .join(name)
}

/// What must hold of an old recording whatever becomes of scoring: it can be read, it leads to a report without a
/// live call, and every quote stands. Whether that is still the recorded report is told and no fault.
#[tokio::test]
async fn kept_recordings_lead_to_reports_that_hold_without_a_live_call() {
    let mut bytes = 0;
    for (name, world) in kept() {
        let path = path_of(name);
        if std::env::var_os("IBID_ACCEPT").is_some() {
            let text = recorded(world, asked(RAIN)).await.to_jsonl().unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let text = std::fs::read(&path).unwrap();
        bytes += text.len();
        let recording = Recording::parse(name, &text).unwrap();
        quotes_stand(recording.report().unwrap(), &recording);
        let dir = tempfile::tempdir().unwrap();
        let app = alone(dir.path());
        let fork = app.fork(&recording, recording.question.clone()).await;
        let (running, taken) = fork.unwrap().into_parts();
        let run = running.wait().await.unwrap();
        quotes_stand(run.report.as_deref().unwrap(), &recording);
        let taken = taken();
        assert_eq!(taken.live, 0);
        assert!(taken.recorded > taken.unanswered, "{name}: {taken:?}");
        match app.replay(&recording).await {
            Ok(told) if told.differences.is_empty() => {}
            Ok(told) => eprintln!("{name}: {:?}; IBID_ACCEPT=1 records it anew", told.differences),
            Err(fault) => {
                assert_eq!(fault.kind(), ErrorKind::NotFound, "{name}: {fault:?}");
                eprintln!("{name}: {}; IBID_ACCEPT=1 records it anew", fault.chain());
            }
        }
    }
    assert!(bytes < 300_000, "{bytes} bytes of recordings are kept");
}
