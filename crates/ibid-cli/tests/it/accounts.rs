//! Users, organisations, tokens, budgets and the audit log, on every store.
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ibid::app::retention::purge_loop;
use ibid::app::spending::Submission;
use ibid::app::{App, AppComponents};
use ibid_core::ErrorKind;
use ibid_core::domain::{Owner, RunId, Usage};
use ibid_core::ports::{Accounts, FrozenClock, IdempotencyStatus, KeyOwner, Org, Store, User};
use ibid_core::ports::{BrowserSession, SessionLimits};
use ibid_core::record::{Envelope, Event, Phase};
use ibid_store::store::{PostgresStore, SqliteStore};

use tokio::sync::mpsc;

use crate::stand_in::{Wall, app, app_on, parts, question};

/// Runs each promise with each kind of store, fresh.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(super::app(dir.path(), &super::Arc::default())).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test]
            #[ignore = "needs PostgreSQL"]
            async fn $name() {
                let url = crate::postgres::database().await;
                let dir = tempfile::tempdir().unwrap();
                super::$name(super::app_on(dir.path(), &super::Arc::default(), &url)).await;
            })*
        }
    };
}

on_both!(
    a_token_is_known_until_it_is_taken_back_and_kept_as_a_hash_alone,
    a_session_lasts_until_it_ends_expires_or_gives_way,
    what_is_there_or_is_not_is_told,
    a_user_sees_runs_of_their_own_alone,
    runs_that_have_not_ended_are_counted_for_their_user,
    a_key_begins_one_run,
    the_audit_log_only_grows,
    runs_that_ended_long_ago_are_purged,
    a_server_forgets_what_ended_long_ago_and_writes_it_down,
    a_server_that_keeps_running_forgets_each_run_when_its_days_are_over,
);

fn user(id: &str, org: Option<&str>) -> User {
    User {
        id: id.to_owned(),
        name: id.to_uppercase(),
        org: org.map(str::to_owned),
        admin: false,
        disabled: false,
        daily_usd: Some(2.5),
        concurrency: Some(3),
    }
}

fn org(id: &str) -> Org {
    Org { id: id.to_owned(), name: "Acme & sons".to_owned(), daily_usd: Some(10.0), weight: 1.0 }
}

async fn a_token_is_known_until_it_is_taken_back_and_kept_as_a_hash_alone(app: App) {
    app.add_org(&org("acme")).await.unwrap();
    app.add_user(&user("ann", Some("acme"))).await.unwrap();
    app.add_user(&user("bob", None)).await.unwrap();
    let (one, two) = (app.add_token("ann").await.unwrap(), app.add_token("ann").await.unwrap());
    assert!(one.starts_with("ibid_") && one.len() == 69 && one != two, "{one} {two}");
    let known = app.identify(&one).await.unwrap().unwrap();
    assert_eq!(known.user, user("ann", Some("acme")));
    assert_eq!(known.org, Some(org("acme")));
    let bobs = app.add_token("bob").await.unwrap();
    assert_eq!(app.identify(&bobs).await.unwrap().unwrap().org, None);
    for wrong in ["", "ibid_", &one[..68], &format!("{one}0"), &one.to_uppercase()] {
        assert_eq!(app.identify(wrong).await.unwrap(), None, "{wrong}");
    }
    for kept in app.tokens().await.unwrap() {
        let told = format!("{kept:?}");
        assert!(!told.contains(&one[13..]) && !told.contains(&two[13..]), "{told}");
    }
    app.revoke_token("ann", &one[..13]).await.unwrap();
    assert_eq!(app.identify(&one).await.unwrap(), None);
    assert!(app.identify(&two).await.unwrap().is_some());
    app.disable_user("ann", true).await.unwrap();
    assert_eq!(app.identify(&two).await.unwrap(), None);
    app.disable_user("ann", false).await.unwrap();
    assert!(app.identify(&two).await.unwrap().is_some());
    app.remove_user("ann").await.unwrap();
    assert_eq!(app.identify(&two).await.unwrap(), None);
}

async fn a_session_lasts_until_it_ends_expires_or_gives_way(app: App) {
    let sessions = app.browser_sessions().await.unwrap();
    let limits = SessionLimits { age_ms: 1_000, idle_ms: 500, each: 3, all: 5 };
    let begin = async |hash: &str, token: &str, at: u64| {
        let (hash, token) = (hash.to_owned(), token.to_owned());
        let session = BrowserSession { hash, token, begun_ms: at, used_ms: at };
        sessions.begin_session(&session, limits).await.unwrap();
    };
    let known = async |hashes: &[&str]| {
        let mut known = String::new();
        for hash in hashes {
            known += sessions.session(hash).await.unwrap().map_or("-", |_| hash);
        }
        known
    };
    for (nth, hash) in ["a", "b", "c"].iter().enumerate() {
        begin(hash, "one", 10 + nth as u64).await;
    }
    sessions.touch_session("a", 100).await.unwrap();
    let a = sessions.session("a").await.unwrap().unwrap();
    assert_eq!((a.token.as_str(), a.begun_ms, a.used_ms), ("one", 10, 100));
    // A fourth of its token takes the place of the one that was unused for longest.
    begin("d", "one", 101).await;
    assert_eq!(known(&["a", "b", "c", "d"]).await, "a-cd");
    // A sixth of all takes that of one of the token with the most.
    begin("e", "two", 102).await;
    begin("f", "three", 103).await;
    begin("g", "four", 104).await;
    assert_eq!(known(&["a", "c", "d", "e", "f", "g"]).await, "a-defg");
    // What ends stays so.
    sessions.end_session("d").await.unwrap();
    sessions.touch_session("d", 400).await.unwrap();
    assert_eq!(known(&["d"]).await, "-");
    // What was unused for too long goes when another begins, and so does what is too old.
    sessions.touch_session("e", 400).await.unwrap();
    begin("h", "one", 650).await;
    assert_eq!(known(&["a", "e", "f", "g", "h"]).await, "-e--h");
    for at in [800, 1_102] {
        sessions.touch_session("e", at - 1).await.unwrap();
        begin("i", "five", at).await;
        sessions.end_session("i").await.unwrap();
    }
    assert_eq!(known(&["e", "h"]).await, "-h");
}

async fn what_is_there_or_is_not_is_told(app: App) {
    let kind = |it: ibid_core::Result<()>| {
        let fault = it.unwrap_err();
        assert!(fault.hint().is_some(), "{fault:?}");
        fault.kind()
    };
    app.add_user(&user("ann", None)).await.unwrap();
    assert_eq!(kind(app.add_user(&user("ann", None)).await), ErrorKind::Usage);
    assert_eq!(kind(app.add_user(&user("bob", Some("none"))).await), ErrorKind::NotFound);
    assert_eq!(kind(app.add_user(&user("a b", None)).await), ErrorKind::Usage);
    assert_eq!(kind(app.add_user(&user("", None)).await), ErrorKind::Usage);
    assert_eq!(kind(app.disable_user("bob", true).await), ErrorKind::NotFound);
    assert_eq!(kind(app.remove_user("bob").await), ErrorKind::NotFound);
    assert_eq!(kind(app.revoke_token("ann", "ibid_").await), ErrorKind::NotFound);
    assert_eq!(app.add_token("bob").await.unwrap_err().kind(), ErrorKind::NotFound);
    let poor = Org { daily_usd: Some(-1.0), ..org("acme") };
    assert_eq!(kind(app.add_org(&poor).await), ErrorKind::Usage);
    assert_eq!(app.users().await.unwrap(), [user("ann", None)]);
}

fn owner(user: &str) -> Owner {
    Owner { user: user.to_owned(), org: Some("acme".to_owned()) }
}

async fn a_user_sees_runs_of_their_own_alone(app: App) {
    let (ann, bob) = (app.as_owner(&owner("ann")), app.as_owner(&owner("bob")));
    let running = ann.start(question("cork")).await.unwrap();
    let run = running.wait().await.unwrap();
    assert_eq!(run.owner, Some(owner("ann")));
    assert_eq!(ann.runs().await.unwrap().len(), 1);
    assert!(bob.runs().await.unwrap().is_empty());
    let not_found = |it: ibid_core::Error| assert_eq!(it.kind(), ErrorKind::NotFound, "{it:?}");
    not_found(bob.run(&run.id).await.unwrap_err());
    not_found(bob.resume(&run.id).await.err().unwrap());
    not_found(bob.remove(&run.id).await.unwrap_err());
    not_found(bob.recording(&run.id).await.err().unwrap());
    not_found(bob.send_command(&run.id, ibid_core::ports::RunCommand::Cancel).await.unwrap_err());
    not_found(bob.follow_up(&run.id, "and?", "2026-11-22").await.unwrap_err());
    let page = &run.report.as_ref().unwrap().sources[0].page;
    assert!(ann.page(page).await.unwrap().is_some());
    assert_eq!(bob.page(page).await.unwrap(), None);
    ann.remove(&run.id).await.unwrap();
    assert!(app.runs().await.unwrap().is_empty());
}

async fn runs_that_have_not_ended_are_counted_for_their_user(app: App) {
    let none = app.spent_today(&owner("ann")).await.unwrap();
    assert_eq!((none.user_usd, none.org_usd, none.unended), (0.0, 0.0, 0));
    drop(app.as_owner(&owner("ann")).start(question("cork")).await.unwrap());
    let running = app.as_owner(&owner("ann")).start(question("oak")).await.unwrap();
    running.wait().await.unwrap();
    assert_eq!(app.spent_today(&owner("ann")).await.unwrap().unended, 1);
    assert_eq!(app.spent_today(&owner("bob")).await.unwrap().unended, 0);
}

/// Runs of two users that ended on two days, with what each cost.
async fn what_was_spent_in_a_day_is_summed_by_user_and_organisation(
    store: &(impl Store + Accounts),
) {
    let spent = [
        ("ann", "2026-11-21", 0.25),
        ("ann", "2026-11-21", 0.5),
        ("bob", "2026-11-21", 1.0),
        ("ann", "2026-11-20", 8.0),
    ];
    for (n, (user, day, usd)) in spent.into_iter().enumerate() {
        let run = RunId::new(n as u64, 1);
        let usage = Usage { usd: Some(usd), ..Usage::default() };
        let created = Event::RunCreated {
            question: question("why?"),
            version: ibid_core::record::EVENT_VERSION,
            owner: Some(owner(user)),
        };
        let told = [created, Event::BudgetUpdated { usage }, Event::RunCancelled {}];
        let events: Vec<Envelope> = told
            .into_iter()
            .zip(1..)
            .map(|(event, seq)| Envelope {
                seq,
                ts: format!("{day}T20:17:01.120Z"),
                run: run.clone(),
                event,
                phase: Phase::Run,
                round: None,
                agent: None,
                span: None,
            })
            .collect();
        store.append(&run, &events).await.unwrap();
    }
    let spent = async |owner: &Owner, day| store.spending(owner, day, "2026-11-21T20:00").await;
    let ann = spent(&owner("ann"), "2026-11-21").await.unwrap();
    assert_eq!((ann.user_usd, ann.org_usd), (0.75, 1.75));
    let bob = spent(&owner("bob"), "2026-11-21").await.unwrap();
    assert_eq!((bob.user_usd, bob.org_usd), (1.0, 1.75));
    let alone = Owner { org: None, ..owner("ann") };
    let alone = spent(&alone, "2026-11-20").await.unwrap();
    assert_eq!((alone.user_usd, alone.org_usd), (8.0, 0.0));
}

#[tokio::test]
async fn what_was_spent_is_summed_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    what_was_spent_in_a_day_is_summed_by_user_and_organisation(&store).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn what_was_spent_is_summed_on_postgres() {
    let url = crate::postgres::database().await;
    let store = PostgresStore::open(&url).await.unwrap();
    what_was_spent_in_a_day_is_summed_by_user_and_organisation(&store).await;
}

async fn a_key_begins_one_run(app: App) {
    let (one, two) = (app.new_run_id(), app.new_run_id());
    let asked = async |user, request: &[u8], run| {
        let user = KeyOwner::User(user);
        app.remember_request(user, "k", request, run).await.unwrap()
    };
    assert_eq!(asked("ann", b"x", &one).await, IdempotencyStatus::New);
    assert_eq!(asked("ann", b"x", &two).await, IdempotencyStatus::Same(one.clone()));
    assert_eq!(asked("ann", b"y", &two).await, IdempotencyStatus::Other);
    assert_eq!(asked("bob", b"y", &two).await, IdempotencyStatus::New);
    let ids: Vec<_> = (0..20).map(|_| app.new_run_id()).collect();
    let together = ids.iter().map(|it| app.remember_request(KeyOwner::User("eve"), "k", b"x", it));
    let outcomes = futures_util::future::join_all(together).await;
    let new = outcomes.iter().filter(|it| matches!(it, Ok(IdempotencyStatus::New))).count();
    assert_eq!(new, 1, "{outcomes:?}");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

async fn the_audit_log_only_grows(app: App) {
    for n in 0..3 {
        let on = format!("run {n}\0");
        app.record_audit("ann", "run.delete", &on, "ok").await.unwrap();
    }
    let told = app.audit_log(2).await.unwrap();
    assert_eq!(told.len(), 2);
    assert_eq!((&*told[0].on, &*told[1].on), ("run 2\u{FFFD}", "run 1\u{FFFD}"));
    assert!(told[0].at >= told[1].at, "{told:?}");
}

async fn runs_that_ended_long_ago_are_purged(app: App) {
    let running = app.start(question("cork")).await.unwrap();
    running.wait().await.unwrap();
    assert_eq!(app.purge(1).await.unwrap(), 0);
    assert_eq!(app.runs().await.unwrap().len(), 1);
    assert_eq!(app.purge(0).await.unwrap(), 1);
    assert!(app.runs().await.unwrap().is_empty());
}

async fn a_server_forgets_what_ended_long_ago_and_writes_it_down(app: App) {
    for _ in 0..3 {
        let running = app.start(question("cork")).await.unwrap();
        running.wait().await.unwrap();
    }
    let now = app.now_ms();
    let later = |days: u64| {
        let clock = Arc::new(FrozenClock::at(now + days * 24 * 3_600_000));
        let parts = AppComponents { clock, ..parts(&Arc::default()) };
        App::with_components(app.settings().clone(), parts)
    };
    assert_eq!(later(29).purge_expired(30).await.unwrap(), 0);
    assert!(app.audit_log(9).await.unwrap().is_empty());
    let late = later(31);
    let lately = late.start(question("cork")).await.unwrap();
    let id = lately.id.clone();
    lately.wait().await.unwrap();
    assert_eq!(late.purge_expired(30).await.unwrap(), 3);
    let left = late.runs().await.unwrap();
    assert_eq!((left.len(), &left[0].run_id), (1, &id));
    assert_eq!(late.purge_expired(30).await.unwrap(), 0);
    let told = late.audit_log(9).await.unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    let it = &told[0];
    assert_eq!(
        (&*it.who, &*it.what, &*it.on, &*it.outcome),
        ("server", "runs.purge", "older than 30 days", "deleted 3")
    );
}

async fn a_server_that_keeps_running_forgets_each_run_when_its_days_are_over(app: App) {
    const DAY_MS: u64 = 24 * 3_600_000;
    let clock = Wall::at(app.now_ms());
    let parts = AppComponents { clock: Arc::clone(&clock) as _, ..parts(&Arc::default()) };
    let app = App::with_components(app.settings().clone(), parts);
    let ended = async || {
        let running = app.start(question("cork")).await.unwrap();
        let id = running.id.clone();
        running.wait().await.unwrap();
        id
    };
    let left = async || -> BTreeSet<RunId> {
        let rows = app.runs().await.unwrap();
        rows.into_iter().map(|it| it.run_id).collect()
    };
    let old = ended().await;
    let waiting = app.new_run_id();
    let asked = app.accept(waiting.clone(), question("bark"), Submission::default());
    asked.await.unwrap();
    let (rests, mut resting) = mpsc::unbounded_channel();
    let (wake, woken) = mpsc::unbounded_channel();
    let woken = tokio::sync::Mutex::new(woken);
    let rest = async || {
        rests.send(()).unwrap();
        woken.lock().await.recv().await;
    };
    let keep = AtomicBool::new(true);
    let days = || (!keep.load(Ordering::Relaxed)).then_some(30);
    let told = Mutex::new(Vec::new());
    let tell = |days, outcome: ibid_core::Result<u64>| {
        told.lock().unwrap().push((days, outcome.unwrap()));
    };
    let server = purge_loop(&app, rest, days, tell);
    let story = async {
        // The first rest begins with the server, and each hour is the end of one and the beginning of the next.
        resting.recv().await.unwrap();
        let mut hour = async || {
            wake.send(()).unwrap();
            resting.recv().await.unwrap();
        };
        clock.put_on(20 * DAY_MS);
        let young = ended().await;
        clock.put_on(11 * DAY_MS);
        hour().await;
        assert!(left().await.contains(&old), "nothing says that anything is forgotten");
        keep.store(false, Ordering::Relaxed);
        hour().await;
        assert_eq!(left().await, [young, waiting.clone()].into());
        clock.put_on(20 * DAY_MS);
        hour().await;
        assert_eq!(left().await, [waiting].into());
    };
    tokio::select! {
        () = server => panic!("a server forgets for as long as it runs"),
        () = story => {}
    }
    assert_eq!(*told.lock().unwrap(), [(30, 1), (30, 1)]);
}
