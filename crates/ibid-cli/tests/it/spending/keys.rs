//! One key, one run, however many ask at once.
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use super::{Counted, post, serve, user};
use crate::cli::{ASKED, TestHome};

async fn one_run_of_one_key(desk: &TestHome, env: &[(String, String)]) {
    let token = user(desk, env, "kim", &["--concurrency", "1"]);
    // A queue without room for a second run: the first answer stands for all.
    let mut env = env.to_vec();
    env.extend(
        [("IBID_SERVE_QUEUE", "0"), ("IBID_SERVE_CONCURRENCY", "1")]
            .map(|(a, b)| (a.to_owned(), b.to_owned())),
    );
    let servers = [serve(desk, &env), serve(desk, &env)];
    let asked = json!({"question": ASKED, "plan": "require_approval"});
    let sent = (0..160).map(|n| post(&servers[n % 2], &token, "/v1/runs", Some("k"), &asked));
    let mut runs = BTreeSet::new();
    for it in join_all(sent).await {
        assert_eq!(it.status, 202, "{}", it.body);
        runs.insert(it.json()["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(runs.len(), 1, "{runs:?}");
    // Another request under the key is told so, and what was refused burns no key.
    let other = json!({"question": "Something else?"});
    let it = post(&servers[0], &token, "/v1/runs", Some("k"), &other).await;
    assert_eq!(it.status, 422, "{}", it.body);
    let it = post(&servers[0], &token, "/v1/runs", Some("k2"), &other).await;
    assert_eq!(it.status, 429, "{}", it.body);
    let run = runs.first().unwrap();
    let it = post(&servers[1], &token, &format!("/v1/runs/{run}/cancel"), None, &json!({})).await;
    assert!(it.status < 300, "{}", it.body);
    super::ended(&servers[0], &token).await;
    let it = post(&servers[0], &token, "/v1/runs?wait=55", Some("k2"), &other).await;
    assert_eq!(it.status, 200, "{}", it.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_with_one_key_at_once_are_one_run_on_sqlite() {
    one_run_of_one_key(&TestHome::new(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn many_requests_with_one_key_at_once_are_one_run_on_postgres() {
    let url = crate::postgres::database().await;
    one_run_of_one_key(&TestHome::new(), &[("DATABASE_URL".to_owned(), url)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_cancelled_while_a_call_is_out_is_charged_for_it() {
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_secs(30)).await;
    let env = model.env();
    let token = user(&desk, &env, "liv", &["--daily-usd", "0.2", "--concurrency", "1"]);
    let served = serve(&desk, &env);
    let mut accepted = 0;
    for _ in 0..20 {
        let before = model.calls();
        let it = post(&served, &token, "/v1/runs", None, &json!({"question": ASKED})).await;
        if it.status == 402 {
            break;
        }
        assert_eq!(it.status, 202, "{}", it.body);
        accepted += 1;
        let run = it.json()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/runs/{run}?wait=55");
        let ended = tokio::select! {
            () = model.until(before + 1) => None,
            it = super::get(&served, &token, &path) => Some(it),
        };
        if let Some(it) = ended {
            // What is left is less than one call can cost at most.
            assert_eq!(it["status"], "completed", "{it}");
            assert!(accepted > 1, "{it}");
            assert!(model.usd() <= 0.2 + 1e-6, "billed ${}", model.usd());
            return;
        }
        post(&served, &token, &format!("/v1/runs/{run}/cancel"), None, &json!({})).await;
        super::ended(&served, &token).await;
    }
    // Each call was billed, and none was answered.
    assert!(accepted < 20, "calls whose answers never came cost nothing");
    assert!(model.usd() <= 0.2 + 1e-6, "billed ${}", model.usd());
}
