//! Accounts that end: what a disabled user's runs spend, who takes over a removed user's name, who may add users to an open server.
use std::time::Duration;

use serde_json::json;

use super::{Counted, get, ibid, post, serve, user};
use crate::cli::{ASKED, TestHome};

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_disabled_user_stop_asking_models_and_are_not_ended() {
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_millis(400)).await;
    let mut env = model.env();
    env.push(("IBID_SERVE_CONCURRENCY".to_owned(), "2".to_owned()));
    let token = user(&desk, &env, "ann", &[]);
    let served = serve(&desk, &env);
    let mut runs = Vec::new();
    for nth in 0..4 {
        let asked = json!({"question": format!("{ASKED} Case {nth}.")});
        let it = post(&served, &token, "/v1/runs", None, &asked).await;
        assert_eq!(it.status, 202, "{}", it.body);
        runs.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, model.until(2)).await.expect("no model was asked");
    ibid(&desk, &env, &["admin", "user", "disable", "ann"]);
    let stopped = async { while served.get("/readyz").await.json()["working"] != 0 {} };
    tokio::time::timeout(patience, stopped).await.expect("a disabled user's runs go on");
    let after = model.calls();
    ibid(&desk, &env, &["admin", "user", "disable", "ann", "--undo"]);
    assert_eq!(model.calls(), after, "a disabled user's runs asked on");
    let state = get(&served, &token, &format!("/v1/runs/{}", runs[0])).await;
    assert_eq!(state["status"], "in_progress", "{state}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_inherits_the_runs_of_a_removed_user_by_taking_the_name() {
    let desk = TestHome::new();
    let token = user(&desk, &[], "ann", &[]);
    user(&desk, &[], "bob", &[]);
    let served = serve(&desk, &[]);
    let it = post(&served, &token, "/v1/runs?wait=55", None, &json!({"question": ASKED})).await;
    assert_eq!(it.status, 200, "{}", it.body);
    ibid(&desk, &[], &["admin", "user", "rm", "ann"]);
    let command = desk.command(&["admin", "user", "add", "ann"]).output();
    let told = command.unwrap();
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(!told.status.success(), "{stderr}");
    assert!(stderr.contains("an earlier user `ann` still has stored runs"), "{stderr}");
    // Who left nothing behind may come back.
    ibid(&desk, &[], &["admin", "user", "rm", "bob"]);
    ibid(&desk, &[], &["admin", "user", "add", "bob"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lets_anybody_in_asks_for_tokens_once_there_are_users() {
    let desk = TestHome::new();
    let served = serve(&desk, &[]);
    let rows = get(&served, "any", "/v1/runs").await;
    assert!(rows["data"].is_array(), "{rows}");
    let token = user(&desk, &[], "ann", &[]);
    let closed = async {
        while get(&served, "any", "/v1/runs").await["data"].is_array() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed).await.unwrap();
    let rows = get(&served, &token, "/v1/runs").await;
    assert!(rows["data"].is_array(), "{rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_on_two_routes_is_two_requests() {
    let desk = TestHome::new();
    let token = user(&desk, &[], "ann", &[]);
    let served = serve(&desk, &[]);
    let asked = json!({"model": "ibid", "input": ASKED, "messages": [{"role": "user", "content": "What is cork?"}]});
    let first = post(&served, &token, "/v1/responses", Some("k"), &asked).await;
    let second = post(&served, &token, "/v1/chat/completions", Some("k"), &asked).await;
    // Whatever a route makes of the fields that are not its own, no answer is the other question's.
    assert!(
        second.status == 422 || !second.body.contains("annual rainfall"),
        "{} {}",
        first.body,
        second.body
    );
}
