//! A process that is killed at any point leaves a run that resumes to the same report, and no
//! answered call is sent again.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ibid_core::domain::RunId;
use ibid_core::ports::{CRASH_POINTS, JournalCallState, Store};
use ibid_store::store::SqliteStore;

use crate::stand_in::{FakePages, QUERIES, WAVES, app, question};

/// Where the killed process works, which run it resumes (none: it starts one), how slow its shelf is.
const DIR: &str = "IBID_TEST_DIR";
const RUN: &str = "IBID_TEST_RUN";
const LATENCY: &str = "IBID_TEST_LATENCY_MS";

#[tokio::test]
#[ignore = "the process that the other tests of this module start and kill"]
async fn the_process_that_is_killed() {
    let dir = PathBuf::from(std::env::var(DIR).unwrap());
    let shelf = Arc::new(FakePages {
        bill: Some(dir.join("bill")),
        latency: Duration::from_millis(std::env::var(LATENCY).unwrap().parse().unwrap()),
        ..FakePages::default()
    });
    let app = app(&dir.join("data"), &shelf);
    let running = match std::env::var(RUN) {
        Ok(run) => app.resume(&run.parse().unwrap()).await.unwrap(),
        Err(_) => app.start(question("cork")).await.unwrap(),
    };
    let run = running.wait().await.unwrap();
    let report = serde_json::to_vec(run.report.as_ref().unwrap()).unwrap();
    std::fs::write(dir.join("report"), report).unwrap();
}

fn spawn(dir: &Path, run: Option<&RunId>, crash_at: Option<&str>, latency: u64) -> Child {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process
        .args(["--ignored", "--exact", "crash::the_process_that_is_killed"])
        .env(DIR, dir)
        .env(LATENCY, latency.to_string())
        .env_remove(RUN)
        .env_remove("IBID_CRASH_AT")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(run) = run {
        process.env(RUN, run.as_str());
    }
    if let Some(point) = crash_at {
        process.env("IBID_CRASH_AT", point);
    }
    process.spawn().unwrap()
}

fn work(dir: &Path, run: Option<&RunId>, crash_at: Option<&str>) -> ExitStatus {
    spawn(dir, run, crash_at, 0).wait().unwrap()
}

fn report(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("report")).unwrap()
}

/// How often each call was sent, over all sittings.
fn bill(dir: &Path) -> BTreeMap<String, u32> {
    let mut sent = BTreeMap::new();
    for call in std::fs::read_to_string(dir.join("bill")).unwrap_or_default().lines() {
        *sent.entry(call.to_owned()).or_default() += 1;
    }
    sent
}

/// What a killed process left: its run, and the calls that are answered there.
async fn left(dir: &Path) -> Option<(RunId, BTreeSet<String>)> {
    if !dir.join("data/ibid.db").exists() {
        return None;
    }
    let store = SqliteStore::open(&dir.join("data")).await.unwrap();
    store.check_integrity().await.unwrap();
    let run = store.runs().await.unwrap().pop()?.run_id;
    let mut answered = BTreeSet::new();
    for step in store.steps(&run).await.unwrap() {
        if matches!(step.state, JournalCallState::Answered(_)) {
            let asked = |name: &str| step.request[name].as_str().map(str::to_owned);
            let searched = asked("text").map(|it| format!("search {it}"));
            let read = || asked("url").map(|it| format!("read {it}"));
            answered.extend(searched.or_else(read));
        }
    }
    store.close().await;
    Some((run, answered))
}

/// Resumes what was left in `dir` and holds the promises to it.
async fn resumes_to(expected: &str, dir: &Path, what: &str) {
    let before = left(dir).await;
    let run = before.as_ref().map(|it| &it.0);
    let sent_before = bill(dir);
    assert!(work(dir, run, None).success(), "{what}: not resumed");
    assert_eq!(report(dir), expected, "{what}: another report");
    let sent = bill(dir);
    for call in before.iter().flat_map(|it| &it.1) {
        assert_eq!(sent[call], 1, "{what}: {call} was answered and sent again");
    }
    let again = sent.iter().filter(|it| *it.1 > 1).count();
    assert!(again <= 8, "{what}: {again} calls were sent again, 8 were in flight");
    assert!(sent.values().all(|it| *it <= 2), "{what}");
    assert_eq!(sent.len() as u32, WAVES * QUERIES * 5, "{what}");
    assert!(sent_before.len() <= sent.len());
    let (run, _) = left(dir).await.unwrap();
    let store = SqliteStore::open(&dir.join("data")).await.unwrap();
    let events = store.events(&run, 0).await.unwrap();
    let seqs: Vec<u64> = events.iter().map(|it| it.seq).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>(), "{what}");
    let mut told = BTreeSet::new();
    for it in &events {
        assert!(
            told.insert(it.event.identity().to_string()) || it.event.name() == "budget.updated",
            "{what}: {:?} told twice",
            it.event
        );
    }
}

fn uninterrupted() -> String {
    let dir = tempfile::tempdir().unwrap();
    assert!(work(dir.path(), None, None).success());
    report(dir.path())
}

#[tokio::test]
async fn a_run_killed_at_any_named_point_resumes_to_the_same_report() {
    let expected = uninterrupted();
    for point in CRASH_POINTS {
        for nth in [1, 2, 17] {
            let dir = tempfile::tempdir().unwrap();
            let at = format!("{point}:{nth}");
            let died = work(dir.path(), None, Some(&at));
            // Some points are passed once or a few times only; each must be passed at least once.
            assert!(nth > 1 || !died.success(), "{at} was never reached");
            if died.success() {
                continue;
            }
            assert!(!dir.path().join("report").exists(), "{at}: not killed there");
            resumes_to(&expected, dir.path(), &at).await;
        }
    }
}

#[tokio::test]
async fn a_run_killed_again_while_it_resumes_still_resumes_to_the_same_report() {
    let expected = uninterrupted();
    for point in
        ["call.after_intent", "call.answer_in_memory", "page.after_commit", "decision.after_commit"]
    {
        let dir = tempfile::tempdir().unwrap();
        assert!(!work(dir.path(), None, Some(&format!("{point}:1"))).success());
        let (run, _) = left(dir.path()).await.unwrap();
        assert!(!work(dir.path(), Some(&run), Some("call.after_result:9")).success());
        resumes_to_in_the_end(&expected, dir.path(), point).await;
    }
}

async fn resumes_to_in_the_end(expected: &str, dir: &Path, what: &str) {
    let (run, answered) = left(dir).await.unwrap();
    let before = bill(dir);
    assert!(work(dir, Some(&run), None).success(), "{what}");
    assert_eq!(report(dir), expected, "{what}");
    let sent = bill(dir);
    for call in &answered {
        assert_eq!(sent[call], before[call], "{what}: {call} was answered and sent again");
    }
}

#[tokio::test]
async fn a_run_killed_at_a_random_moment_resumes_to_the_same_report() {
    let expected = uninterrupted();
    let mut killed = 0;
    for moment in 0..20_u64 {
        let dir = tempfile::tempdir().unwrap();
        let mut process = spawn(dir.path(), None, None, 5);
        // Spread over the time a run takes; where exactly it hits is left to the machine.
        std::thread::sleep(Duration::from_millis(10 + moment * 7));
        process.kill().unwrap();
        killed += u32::from(!process.wait().unwrap().success());
        if !dir.path().join("report").exists() {
            resumes_to(&expected, dir.path(), &format!("moment {moment}")).await;
        }
    }
    assert!(killed >= 5, "only {killed} of 20 were killed before their end");
}
