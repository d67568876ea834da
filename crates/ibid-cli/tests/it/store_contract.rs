//! What every store promises, written over the trait, so that each new one runs the same suite.
use std::path::Path;
use std::sync::Arc;

use ibid_core::domain::{Owner, RunId, Traffic};
use ibid_core::ports::{JournalCall, JournalCallState, RunCommand, Store, StoredAnswer};
use ibid_core::record::{EVENT_VERSION, Envelope, Event, Phase, RunStatus};
use ibid_core::{ErrorKind, FailureReason};
use ibid_store::store::{SqliteStore, database};
use serde_json::json;

use crate::stand_in::{page, question};

async fn sqlite(dir: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(dir).await.unwrap())
}

/// Runs each promise against each kind of store, fresh.
macro_rules! promises {
    ($($name:ident),* $(,)?) => {
        mod sqlite_keeps {
            $(#[tokio::test]
            async fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(super::sqlite(dir.path()).await.as_ref()).await;
            })*
        }

        mod postgres_keeps {
            use ibid_store::store::PostgresStore;

            $(#[tokio::test]
            #[ignore = "needs PostgreSQL"]
            async fn $name() {
                let url = crate::postgres::database().await;
                super::$name(&PostgresStore::open(&url).await.unwrap()).await;
            })*
        }

        mod pooled_postgres_keeps {
            use ibid_store::store::PostgresStore;

            $(#[tokio::test]
            #[ignore = "needs PostgreSQL and PgBouncer"]
            async fn $name() {
                let url = crate::postgres::database().await;
                let (_pgbouncer, pooler_url) = crate::postgres::pooler::before(&url);
                let store = PostgresStore::open_pooled(&url, &pooler_url).await.unwrap();
                super::$name(&store).await;
            })*
        }
    };
}

promises!(
    events_in_order_and_after_a_number,
    no_gap_and_no_seq_twice,
    a_row_of_each_run_folded_from_its_events,
    unknown_runs_apart_from_empty_ones,
    calls_from_intent_to_answer,
    an_answer_from_being_asked_for_or_written_over_again,
    failures_and_their_reasons_until_they_are_tried_again,
    one_row_a_page_however_often_it_is_kept,
    a_page_together_with_the_answer_it_is,
    pages_while_any_run_holds_them,
    orders_oldest_first,
    writes_apart_when_one_of_them_is_refused,
    the_pages_of_a_run_and_where_they_are_from,
    the_rows_of_an_owner_from_everybody_else,
    no_run_that_is_begun_in_the_name_of_another,
    a_page_from_who_holds_it_in_no_run,
);

fn run(n: u64) -> RunId {
    RunId::new(1_790_000_000_000 + n, u128::from(n))
}

fn event(run: &RunId, seq: u64) -> Envelope {
    let event = match seq {
        1 => Event::RunCreated { question: question("why?"), version: EVENT_VERSION, owner: None },
        2 => Event::RunStarted {},
        _ => Event::Log { level: "info".to_owned(), message: format!("event {seq}"), source: None },
    };
    Envelope {
        seq,
        ts: format!("2026-11-21T20:17:{:02}.120Z", seq % 60),
        run: run.clone(),
        event,
        phase: Phase::Run,
        round: None,
        agent: None,
        span: None,
    }
}

async fn begun(store: &dyn Store, n: u64) -> RunId {
    let run = run(n);
    store.append(&run, &[event(&run, 1)]).await.unwrap();
    run
}

fn step(key: &str) -> JournalCall {
    JournalCall {
        key: key.to_owned(),
        provider: "search:shelf".to_owned(),
        request: json!({"text": "why\u{0} \"?\""}),
        state: JournalCallState::Intended,
    }
}

fn answered(words: &str) -> JournalCallState {
    JournalCallState::Answered(StoredAnswer { answer: json!([words, 0.1]), cost_usd: 0.25 })
}

async fn events_in_order_and_after_a_number(store: &dyn Store) {
    let run = begun(store, 1).await;
    let more: Vec<Envelope> = (2..=9).map(|it| event(&run, it)).collect();
    store.append(&run, &more).await.unwrap();
    let all = store.events(&run, 0).await.unwrap();
    assert_eq!(all.len(), 9);
    assert_eq!(all[1..], more);
    assert_eq!(store.events(&run, 7).await.unwrap(), more[6..]);
    assert!(store.events(&run, 9).await.unwrap().is_empty());
    assert!(store.events(&run, u64::MAX).await.unwrap().is_empty());
}

async fn no_gap_and_no_seq_twice(store: &dyn Store) {
    let run = begun(store, 1).await;
    for wrong in [vec![1], vec![3], vec![2, 4], vec![2, 2], vec![0]] {
        let events: Vec<Envelope> = wrong.iter().map(|it| event(&run, *it)).collect();
        assert!(store.append(&run, &events).await.is_err(), "{wrong:?}");
        assert_eq!(store.events(&run, 0).await.unwrap().len(), 1, "{wrong:?}");
    }
    let other = self::run(2);
    assert!(store.append(&other, &[event(&other, 2)]).await.is_err());
    assert_eq!(store.runs().await.unwrap().len(), 1);
}

async fn a_row_of_each_run_folded_from_its_events(store: &dyn Store) {
    let first = begun(store, 1).await;
    let second = begun(store, 2).await;
    store.append(&first, &[event(&first, 2)]).await.unwrap();
    let rows = store.runs().await.unwrap();
    assert_eq!(rows[0].run_id, second);
    assert_eq!(rows[0].status, RunStatus::Pending);
    assert_eq!(rows[1].run_id, first);
    assert_eq!(rows[1].status, RunStatus::InProgress);
    assert_eq!(rows[1].question, "why?");
    assert_eq!(rows[1].started_at, "2026-11-21T20:17:01.120Z");
    assert_eq!(rows[1].updated_at, "2026-11-21T20:17:02.120Z");
    // The number of the last event, by which who keeps what is made of them knows that it is still so.
    for row in &rows {
        let events = store.events(&row.run_id, 0).await.unwrap();
        assert_eq!(row.seq, events.last().unwrap().seq);
        assert_eq!(store.run_row(&row.run_id).await.unwrap().seq, row.seq);
    }
}

async fn unknown_runs_apart_from_empty_ones(store: &dyn Store) {
    let nobody = run(9);
    let not_found = |it: ibid_core::Error| assert_eq!(it.kind(), ErrorKind::NotFound, "{it:?}");
    not_found(store.events(&nobody, 0).await.unwrap_err());
    not_found(store.remove_run(&nobody).await.unwrap_err());
    not_found(store.send_command(&nobody, RunCommand::Finish).await.unwrap_err());
    not_found(store.begin_call(&nobody, &step("a")).await.unwrap_err());
    let page = page("https://a.test", "Words.");
    not_found(store.save_page(&nobody, &page).await.unwrap_err());
    assert!(store.steps(&nobody).await.unwrap().is_empty());
    assert!(store.commands(&nobody).await.unwrap().is_empty());
    assert_eq!(store.page(page.hash()).await.unwrap(), None);
}

async fn calls_from_intent_to_answer(store: &dyn Store) {
    let run = begun(store, 1).await;
    let other = begun(store, 2).await;
    for key in ["b", "a"] {
        store.begin_call(&run, &step(key)).await.unwrap();
    }
    assert_eq!(store.steps(&run).await.unwrap(), [step("b"), step("a")]);
    store.finish_call(&run, "a", &answered("because")).await.unwrap();
    let expected = JournalCall { state: answered("because"), ..step("a") };
    assert!(store.steps(&other).await.unwrap().is_empty());
    assert_eq!(store.steps(&run).await.unwrap(), [step("b"), expected]);
    assert!(store.finish_call(&run, "never", &answered("x")).await.is_err());
}

async fn an_answer_from_being_asked_for_or_written_over_again(store: &dyn Store) {
    let run = begun(store, 1).await;
    store.begin_call(&run, &step("a")).await.unwrap();
    store.finish_call(&run, "a", &answered("because")).await.unwrap();
    assert!(store.begin_call(&run, &step("a")).await.is_err());
    assert!(store.finish_call(&run, "a", &answered("other")).await.is_err());
    assert_eq!(store.steps(&run).await.unwrap()[0].state, answered("because"));
}

async fn failures_and_their_reasons_until_they_are_tried_again(store: &dyn Store) {
    let run = begun(store, 1).await;
    let failed = JournalCallState::Failed {
        kind: ErrorKind::Malformed,
        message: "asking: no answer".to_owned(),
        reason: Some(FailureReason::PromptTooLong { window: Some(4_000) }),
        status: Some(400),
        hint: Some("Choose a model with a longer context. \0".to_owned()),
    };
    store.begin_call(&run, &step("a")).await.unwrap();
    store.finish_call(&run, "a", &failed).await.unwrap();
    assert_eq!(store.steps(&run).await.unwrap()[0].state, failed);
    store.begin_call(&run, &step("a")).await.unwrap();
    assert_eq!(store.steps(&run).await.unwrap()[0].state, JournalCallState::Intended);
    store.finish_call(&run, "a", &answered("now")).await.unwrap();
    assert_eq!(store.steps(&run).await.unwrap().len(), 1);
}

async fn one_row_a_page_however_often_it_is_kept(store: &dyn Store) {
    let run = begun(store, 1).await;
    let page = page("https://a.test", "Words. And \u{1F33F} more.");
    for _ in 0..3 {
        store.save_page(&run, &page).await.unwrap();
    }
    assert_eq!(store.page(page.hash()).await.unwrap(), Some(page));
}

async fn a_page_together_with_the_answer_it_is(store: &dyn Store) {
    let run = begun(store, 1).await;
    let page = page("https://a.test", "Words.");
    let refused = store.finish_call_with_page(&run, "a", &answered("x"), &page).await;
    assert!(refused.is_err());
    assert_eq!(store.page(page.hash()).await.unwrap(), None);
    store.begin_call(&run, &step("a")).await.unwrap();
    store.finish_call_with_page(&run, "a", &answered("x"), &page).await.unwrap();
    assert_eq!(store.page(page.hash()).await.unwrap(), Some(page));
}

async fn pages_while_any_run_holds_them(store: &dyn Store) {
    let (one, two) = (begun(store, 1).await, begun(store, 2).await);
    let shared = page("https://a.test", "Both read this.");
    let own = page("https://b.test", "One read this.");
    for (run, page) in [(&one, &shared), (&two, &shared), (&one, &own)] {
        store.save_page(run, page).await.unwrap();
    }
    store.begin_call(&one, &step("a")).await.unwrap();
    store.send_command(&one, RunCommand::Finish).await.unwrap();
    store.remove_run(&one).await.unwrap();
    assert_eq!(store.page(own.hash()).await.unwrap(), None);
    assert!(store.page(shared.hash()).await.unwrap().is_some());
    assert!(store.steps(&one).await.unwrap().is_empty());
    assert!(store.commands(&one).await.unwrap().is_empty());
    assert_eq!(store.runs().await.unwrap().len(), 1);
    store.remove_run(&two).await.unwrap();
    assert_eq!(store.page(shared.hash()).await.unwrap(), None);
}

async fn orders_oldest_first(store: &dyn Store) {
    let run = begun(store, 1).await;
    store.send_command(&run, RunCommand::Finish).await.unwrap();
    store.send_command(&run, RunCommand::Cancel).await.unwrap();
    let orders = store.commands(&run).await.unwrap();
    assert_eq!(orders, [RunCommand::Finish, RunCommand::Cancel]);
}

async fn writes_apart_when_one_of_them_is_refused(store: &dyn Store) {
    let run = begun(store, 1).await;
    let nobody = self::run(9);
    let steps: Vec<JournalCall> = (0..20).map(|it| step(&format!("k{it}"))).collect();
    let writes = steps.iter().enumerate().map(|(n, it)| {
        let run = if n % 3 == 0 { &nobody } else { &run };
        store.begin_call(run, it)
    });
    let outcomes = futures_util::future::join_all(writes).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), n % 3 == 0, "write {n}: {outcome:?}");
    }
    assert_eq!(store.steps(&run).await.unwrap().len(), 13);
}

async fn the_pages_of_a_run_and_where_they_are_from(store: &dyn Store) {
    let (one, two) = (begun(store, 1).await, begun(store, 2).await);
    let pages = ["https://a.test", "https://b.test"].map(|it| page(it, &format!("Of {it}.")));
    for page in &pages {
        store.save_page(&one, page).await.unwrap();
    }
    let mut held = pages.iter().map(|it| it.hash().clone()).collect::<Vec<_>>();
    held.sort();
    assert_eq!(store.run_pages(&one).await.unwrap(), held);
    assert!(store.run_pages(&two).await.unwrap().is_empty());
    let latest = pages.iter().rev();
    let told = latest.map(|it| (it.hash().clone(), it.url.clone()));
    assert_eq!(store.page_urls().await.unwrap(), told.collect::<Vec<_>>());
}

fn owner(user: &str, org: Option<&str>) -> Owner {
    Owner { user: user.to_owned(), org: org.map(str::to_owned) }
}

fn owned(run: &RunId, owner: &Owner) -> Envelope {
    Envelope {
        event: Event::RunCreated {
            question: question("why?"),
            version: EVENT_VERSION,
            owner: Some(owner.clone()),
        },
        ..event(run, 1)
    }
}

async fn the_rows_of_an_owner_from_everybody_else(store: &dyn Store) {
    let ann = owner("ann", Some("acme"));
    let run = run(1);
    let mine = store.for_owner(&ann);
    mine.append(&run, &[owned(&run, &ann)]).await.unwrap();
    mine.begin_call(&run, &step("a")).await.unwrap();
    let kept = page("https://a.test", "Words.");
    mine.finish_call_with_page(&run, "a", &answered("x"), &kept).await.unwrap();
    mine.send_command(&run, RunCommand::Finish).await.unwrap();
    let sent = [("a.test".to_owned(), Traffic::default())].into();
    mine.add_traffic(&run, &sent).await.unwrap();
    assert_eq!(mine.runs().await.unwrap()[0].owner, Some(ann.clone()));
    assert_eq!(mine.events(&run, 0).await.unwrap().len(), 1);
    assert_eq!(mine.page(kept.hash()).await.unwrap().as_ref(), Some(&kept));
    // Nobody's run: of a time when the program served one person.
    begun(store, 2).await;
    assert_eq!(store.runs().await.unwrap().len(), 2);
    assert_eq!(mine.runs().await.unwrap().len(), 1);
    let others = [
        owner("bob", Some("acme")),
        owner("ann", Some("other")),
        owner("ann", None),
        owner("", None),
    ];
    for other in &others {
        let theirs = store.for_owner(other);
        let not_found =
            |it: ibid_core::Error| assert_eq!(it.kind(), ErrorKind::NotFound, "{other:?}: {it:?}");
        not_found(theirs.events(&run, 0).await.unwrap_err());
        not_found(theirs.remove_run(&run).await.unwrap_err());
        not_found(theirs.send_command(&run, RunCommand::Cancel).await.unwrap_err());
        not_found(theirs.begin_call(&run, &step("b")).await.unwrap_err());
        not_found(theirs.finish_call(&run, "a", &answered("y")).await.unwrap_err());
        not_found(theirs.save_page(&run, &kept).await.unwrap_err());
        not_found(theirs.add_traffic(&run, &sent).await.unwrap_err());
        assert!(theirs.append(&run, &[event(&run, 2)]).await.is_err());
        assert!(theirs.runs().await.unwrap().is_empty());
        assert!(theirs.steps(&run).await.unwrap().is_empty());
        assert!(theirs.commands(&run).await.unwrap().is_empty());
        assert!(theirs.traffic(&run).await.unwrap().is_empty());
        assert!(theirs.run_pages(&run).await.unwrap().is_empty());
        assert!(theirs.page_urls().await.unwrap().is_empty());
        assert_eq!(theirs.page(kept.hash()).await.unwrap(), None);
    }
    assert_eq!(store.events(&run, 0).await.unwrap().len(), 1);
    assert_eq!(store.commands(&run).await.unwrap(), [RunCommand::Finish]);
    mine.remove_run(&run).await.unwrap();
    assert_eq!(store.runs().await.unwrap().len(), 1);
}

async fn no_run_that_is_begun_in_the_name_of_another(store: &dyn Store) {
    let (ann, bob) = (owner("ann", None), owner("bob", None));
    let run = run(1);
    let theirs = store.for_owner(&bob);
    assert!(theirs.append(&run, &[owned(&run, &ann)]).await.is_err());
    assert!(theirs.append(&run, &[event(&run, 1)]).await.is_err());
    assert!(store.runs().await.unwrap().is_empty());
    // Writes of several owners that share a commit stay apart.
    let runs: Vec<RunId> = (10..30).map(self::run).collect();
    let writes = runs.iter().enumerate().map(|(n, run)| {
        let (own, other) = if n % 2 == 0 { (&ann, &bob) } else { (&bob, &ann) };
        let (mine, named) = (store.for_owner(own), if n % 5 == 0 { other } else { own });
        let first = owned(run, named);
        async move { mine.append(run, &[first]).await }
    });
    let outcomes = futures_util::future::join_all(writes).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), n % 5 == 0, "run {n}: {outcome:?}");
    }
    assert_eq!(store.for_owner(&ann).runs().await.unwrap().len(), 8);
    assert_eq!(store.for_owner(&bob).runs().await.unwrap().len(), 8);
}

async fn a_page_from_who_holds_it_in_no_run(store: &dyn Store) {
    let (ann, bob) = (owner("ann", None), owner("bob", None));
    let shared = page("https://a.test", "Both read this.");
    for (n, owner) in [(1, &ann), (2, &bob)] {
        let (run, mine) = (run(n), store.for_owner(owner));
        mine.append(&run, &[owned(&run, owner)]).await.unwrap();
        mine.save_page(&run, &shared).await.unwrap();
    }
    // What one of them forgets stays for the other, and is out of reach for the first.
    let mine = store.for_owner(&ann);
    mine.remove_run(&run(1)).await.unwrap();
    assert_eq!(mine.page(shared.hash()).await.unwrap(), None);
    let theirs = store.for_owner(&bob).page(shared.hash()).await.unwrap();
    assert_eq!(theirs, Some(shared));
}

#[tokio::test]
async fn what_was_acknowledged_is_there_when_the_store_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let run = {
        let store = SqliteStore::open(dir.path()).await.unwrap();
        begun(&store, 1).await
    };
    let store = SqliteStore::open(dir.path()).await.unwrap();
    assert_eq!(store.events(&run, 0).await.unwrap().len(), 1);
    store.check_integrity().await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn two_stores_on_one_file_write_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) =
        futures_util::join!(SqliteStore::open(dir.path()), SqliteStore::open(dir.path()));
    let (one, two) = (one.unwrap(), two.unwrap());
    let run = begun(&one, 1).await;
    let steps: Vec<JournalCall> = (0..100).map(|it| step(&format!("k{it}"))).collect();
    let writes = steps.iter().enumerate().map(|(n, it)| {
        let store: &dyn Store = if n % 2 == 0 { &one } else { &two };
        store.begin_call(&run, it)
    });
    for outcome in futures_util::future::join_all(writes).await {
        outcome.unwrap();
    }
    assert_eq!(two.steps(&run).await.unwrap().len(), 100);
}

#[cfg(unix)]
#[tokio::test]
async fn questions_and_pages_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a/b");
    let store = SqliteStore::open(&data).await.unwrap();
    begun(&store, 1).await;
    let mode = |it: &Path| it.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for name in ["ibid.db", "ibid.db-wal", "ibid.db-shm"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

async fn refusal(data_dir: &Path) -> ibid_core::Error {
    let fault = SqliteStore::open(data_dir).await.err().unwrap();
    assert!(fault.chain().contains(data_dir.to_str().unwrap()), "{fault:?} does not name the path");
    assert!(fault.hint().is_some(), "{fault:?} has no hint");
    fault
}

#[tokio::test]
async fn a_place_that_cannot_hold_a_store_is_named_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    assert_eq!(refusal(&file).await.kind(), ErrorKind::Setup);
    assert_eq!(refusal(&file.join("below")).await.kind(), ErrorKind::Setup);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    if cfg!(target_os = "linux") {
        // Nobody, not even root, can make a directory there.
        assert_eq!(refusal(Path::new("/proc/ibid")).await.kind(), ErrorKind::Setup);
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_store_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = database(dir.path());
    let words = "not a database, ".repeat(1000);
    std::fs::write(&path, &words).unwrap();
    assert_eq!(refusal(dir.path()).await.kind(), ErrorKind::Setup);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), words);
}

#[tokio::test]
async fn a_store_of_a_newer_ibid_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    begun(&store, 1).await;
    store.close().await;
    // The schema version stands in the file's header at offset 60, big endian.
    let path = database(dir.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let fault = refusal(dir.path()).await;
    assert_eq!(fault.kind(), ErrorKind::Setup);
    assert!(fault.chain().contains("99"), "{fault:?}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn damage_inside_the_file_is_found_by_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    let run = begun(&store, 1).await;
    for n in 0..200 {
        let page = page(&format!("https://a.test/{n}"), &"Words. ".repeat(200));
        store.save_page(&run, &page).await.unwrap();
    }
    store.close().await;
    let path = database(dir.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    for at in (middle..bytes.len() - 4096).step_by(4096) {
        bytes[at / 4096 * 4096..at / 4096 * 4096 + 64].fill(0xAA);
    }
    std::fs::write(&path, &bytes).unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    let fault = store.check_integrity().await.unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Setup);
    assert!(fault.chain().contains("ibid.db"), "{fault:?}");
}
