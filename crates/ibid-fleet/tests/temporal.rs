//! The queue on a real Temporal. `cargo xtask test` installs it where the feature is asked for.
#![cfg(feature = "temporal")]
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "temporal/fake_server.rs"]
mod fake_server;
#[path = "temporal/queues.rs"]
mod queues;

use std::collections::BTreeSet;

use std::time::{Duration, Instant};

use fake_server::{FakeServer, run_id, submit, until};
use ibid_core::ports::{FleetQueue, WorkResult};
use queues::{TestFleet, ping_submit, queue_at};

const NOT_ENDED: WorkResult = WorkResult::NotEnded { after_ms: 0, failed: false };
const WAITS: WorkResult = WorkResult::WaitsForInput { commands_seen: 1, at_most_ms: None };

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Temporal"]
async fn a_run_is_given_to_servers_until_it_has_ended() {
    let fleet = TestFleet::start();
    let results = |nth: usize| if nth < 2 { NOT_ENDED } else { WorkResult::Ended };
    let servers = [FakeServer::join(&fleet, 2, results), FakeServer::join(&fleet, 2, results)];
    let queue = fleet.queue();
    for nth in 0..5 {
        // A run that is queued twice is worked on as if it had been queued once.
        submit(&queue, nth, "a", 1.0).await;
        submit(&queue, nth, "a", 1.0).await;
    }
    let works = || servers.iter().map(|it| it.works().len()).sum::<usize>();
    until(Duration::from_secs(30), || works() >= 15).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(works(), 15);
    for nth in 0..5 {
        let all = servers.iter().flat_map(FakeServer::works);
        assert_eq!(all.filter(|it| *it == run_id(nth)).count(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Temporal"]
async fn the_runs_of_a_server_that_stops_go_to_another_at_once() {
    let fleet = TestFleet::start();
    let stops = FakeServer::join(&fleet, 4, |_| WorkResult::Ended).hangs();
    let queue = fleet.queue();
    for nth in 0..4 {
        submit(&queue, nth, "a", 1.0).await;
    }
    until(Duration::from_secs(20), || stops.works().len() == 4).await;
    let other = FakeServer::join(&fleet, 4, |_| WorkResult::Ended);
    let stopped = Instant::now();
    stops.stop().await;
    until(Duration::from_secs(15), || other.works().len() == 4).await;
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Temporal"]
async fn a_run_that_waits_for_input_takes_no_slot_and_goes_on_when_it_is_woken() {
    let fleet = TestFleet::start();
    let results = |nth: usize| if nth == 0 { WAITS } else { WorkResult::Ended };
    let server = FakeServer::join(&fleet, 1, results);
    let queue = fleet.queue();
    for nth in 0..3 {
        submit(&queue, nth, "a", 1.0).await;
    }
    until(Duration::from_secs(20), || server.works().len() == 3).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(server.works().len(), 3, "nobody has woken them");
    queue.wake(&run_id(1).parse().unwrap()).await.unwrap();
    until(Duration::from_secs(5), || server.works().len() == 4).await;
    assert_eq!(server.works()[3], run_id(1));
    // An unknown run needs no waking.
    queue.wake(&run_id(77).parse().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Temporal"]
async fn a_queue_that_is_killed_keeps_its_runs() {
    let mut fleet = TestFleet::start();
    let server =
        FakeServer::join(&fleet, 2, |_| WorkResult::Ended).takes(Duration::from_millis(200));
    let queue = fleet.queue();
    for nth in 0..20 {
        submit(&queue, nth, "a", 1.0).await;
    }
    until(Duration::from_secs(20), || server.works().len() >= 4).await;
    fleet.temporal.kill().unwrap();
    fleet.temporal.start_again().unwrap();
    let ended = || server.works().into_iter().collect::<BTreeSet<_>>().len();
    until(Duration::from_secs(90), || ended() == 20).await;
    queue.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Temporal"]
async fn parties_take_turns_by_their_weights() {
    let fleet = TestFleet::start();
    let queue = fleet.queue();
    for nth in 0..60 {
        submit(&queue, nth, "org:a", 1.0).await;
    }
    for nth in 100..160 {
        submit(&queue, nth, "org:c", 3.0).await;
    }
    let of = |run: &str| (100..160).any(|nth| run_id(nth) == run);
    let ended = |_| WorkResult::Ended;
    let server = FakeServer::join(&fleet, 2, ended).takes(Duration::from_millis(150));
    // The first workflows are handled while the queues fill.
    until(Duration::from_secs(60), || server.works().len() >= 60).await;
    let works = server.works();
    let favoured = works[20..60].iter().filter(|it| of(it)).count();
    assert!((27..=33).contains(&favoured), "{favoured} of 40, and 30 are fair");

    // Who asks for one has its turn before the two that wait for many.
    submit(&queue, 200, "org:b", 1.0).await;
    let before = server.works().len();
    until(Duration::from_secs(20), || server.works().iter().any(|it| *it == run_id(200))).await;
    let at = server.works().iter().position(|it| *it == run_id(200)).unwrap();
    let a_between = server.works()[before..at].iter().filter(|it| !of(it)).count();
    assert!(a_between < 3, "{a_between} of another party came first");
}

#[tokio::test]
#[ignore = "needs Temporal"]
async fn what_is_wrong_is_said_with_a_hint() {
    let fleet = TestFleet::start();
    let fault =
        ping_submit(&queue_at(fleet.temporal.port(), "no-such-namespace")).await.unwrap_err();
    assert_eq!(fault.kind(), ibid_core::ErrorKind::Setup);
    assert!(fault.hint().unwrap().contains("fleet.namespace"), "{fault:?}");
    let port = fleet.temporal.port();
    drop(fleet);
    let fault = ping_submit(&queue_at(port, "default")).await.unwrap_err();
    assert_eq!(fault.kind(), ibid_core::ErrorKind::Transient);
    assert!(fault.hint().unwrap().contains("fleet.address"), "{fault:?}");
}
