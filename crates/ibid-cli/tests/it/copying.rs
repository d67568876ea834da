//! `ibid store copy`: everything arrives, once, however often the copy is begun.
use std::sync::Arc;

use ibid::app::store_copy::{CopyPages, StoreLocation, copy};
use ibid::config::SecretString;
use ibid_core::ErrorKind;
use ibid_core::domain::Owner;
use ibid_core::ports::{RunCommand, User};
use serde_json::json;

use crate::stand_in::{FakePages, app, app_on, question};

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn all_that_a_store_keeps_is_copied_to_a_server_and_back() {
    let url = crate::postgres::database().await;
    let (dir, back) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shelf = Arc::new(FakePages::default());
    let before = app(dir.path(), &shelf);
    let ann = User {
        id: "ann".to_owned(),
        name: "Ann".to_owned(),
        org: None,
        admin: true,
        disabled: false,
        daily_usd: None,
        concurrency: None,
    };
    before.add_user(&ann).await.unwrap();
    let token = before.add_token("ann").await.unwrap();
    before.record_audit("operator", "user.add", "ann", "ok").await.unwrap();
    let owner = Owner { user: "ann".to_owned(), org: None };
    let hers = before.as_owner(&owner);
    let mut ids = Vec::new();
    for text in ["cork", "oak"] {
        let running = hers.start(question(text)).await.unwrap();
        ids.push(running.wait().await.unwrap().id);
    }
    // One that was interrupted, with an order that waits for it.
    let interrupted = before.start(question("birch")).await.unwrap().id.clone();
    while before.is_running(&interrupted).await.unwrap() {
        tokio::task::yield_now().await;
    }
    before.send_command(&interrupted, RunCommand::Finish).await.unwrap();
    ids.push(interrupted);
    let trace = before.create_trace("tidy", json!({"of": "x"})).await.unwrap();
    let (from, to) =
        (StoreLocation::Dir(dir.path().to_owned()), StoreLocation::Server(SecretString::new(&url)));
    let copied = copy(&from, &to, CopyPages::default(), &|_, _, _| {}).await.unwrap();
    assert_eq!((copied.runs, copied.there, copied.users, copied.tokens), (3, 0, 1, 1));
    let again = copy(&from, &to, CopyPages::default(), &|_, _, _| {}).await.unwrap();
    assert_eq!((again.runs, again.there, again.users, again.audited), (0, 3, 0, 0));
    let there = app_on(back.path(), &shelf, &url);
    assert_eq!(there.identify(&token).await.unwrap().unwrap().user, ann);
    assert_eq!(there.trace(&trace).await.unwrap().tool_name, "tidy");
    assert_eq!(there.runs().await.unwrap(), before.runs().await.unwrap());
    for id in &ids {
        let (one, two) = (before.events(id, 0).await.unwrap(), there.events(id, 0).await.unwrap());
        assert_eq!(one, two);
    }
    let (one, two) =
        (before.recording(&ids[0]).await.unwrap(), there.recording(&ids[0]).await.unwrap());
    assert_eq!(one.steps, two.steps);
    assert_eq!(one.pages, two.pages);
    // A run that was cut off midway is copied anew; a whole one is left.
    let mut db = <sqlx::PgConnection as sqlx::Connection>::connect(&url).await.unwrap();
    sqlx::query("delete from ibid.events where run = $1 and seq > 3")
        .bind(ids[0].as_str())
        .execute(&mut db)
        .await
        .unwrap();
    let mended = copy(&from, &to, CopyPages::default(), &|_, _, _| {}).await.unwrap();
    assert_eq!((mended.runs, mended.there), (1, 2));
    let home = StoreLocation::Dir(back.path().join("home"));
    assert_eq!(copy(&to, &home, CopyPages::default(), &|_, _, _| {}).await.unwrap().runs, 3);
    let home = app(&back.path().join("home"), &shelf);
    assert_eq!(home.runs().await.unwrap(), before.runs().await.unwrap());
}

#[tokio::test]
async fn a_store_is_not_copied_onto_itself_nor_out_of_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let here = StoreLocation::Dir(dir.path().to_owned());
    let other = StoreLocation::Dir(dir.path().join("other"));
    let quiet = |_: &ibid_core::domain::RunId, _, _| {};
    assert_eq!(
        copy(&here, &here, CopyPages::default(), &quiet).await.unwrap_err().kind(),
        ErrorKind::Usage
    );
    assert_eq!(
        copy(&here, &other, CopyPages::default(), &quiet).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(!dir.path().join("other").exists());
}

#[cfg(feature = "object-store")]
#[tokio::test]
async fn pages_go_to_an_object_store_and_back() {
    use ibid::config::Settings;

    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(FakePages::default());
    let before = app(&dir.path().join("a"), &shelf);
    let run = before.start(question("cork")).await.unwrap().wait().await.unwrap().id;
    let pages = before.recording(&run).await.unwrap().pages;
    assert!(!pages.is_empty());
    let of = |name: &str| StoreLocation::Dir(dir.path().join(name));
    let url = format!("file://{}", dir.path().join("objects").display());
    let settings = Settings { pages_url: url, ..crate::stand_in::settings(dir.path()) };
    let into = CopyPages::open(Some("none"), None, &settings).unwrap();
    assert_eq!(copy(&of("a"), &of("b"), into, &|_, _, _| {}).await.unwrap().runs, 1);
    let error = app(&dir.path().join("b"), &shelf).recording(&run).await.err().unwrap();
    assert!(error.hint().unwrap().contains("`pages.url`"), "{error:?}");
    let out_of = CopyPages::open(None, Some("none"), &settings).unwrap();
    assert_eq!(copy(&of("b"), &of("c"), out_of, &|_, _, _| {}).await.unwrap().runs, 1);
    let after = app(&dir.path().join("c"), &shelf);
    assert_eq!(after.recording(&run).await.unwrap().pages, pages);
}
