//! Servers on one PostgreSQL that call models with the same key.
use std::time::Duration;

use serde_json::json;

use super::{Counted, get, post, serve, user};
use crate::cli::{ASKED, TestHome};

/// The calls that the key allows at once.
const LIMIT: u64 = 4;
/// The runs of all servers together: twice as many as calls.
const RUNS: usize = 9;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn servers_together_never_have_more_calls_in_flight_than_a_key_allows() {
    let url = crate::postgres::database().await;
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_millis(400)).await;
    let mut env = model.env();
    env.push(("DATABASE_URL".to_owned(), url));
    env.push(("IBID_SERVE_CONCURRENCY".to_owned(), "4".to_owned()));
    env.push(("IBID_MODEL_CONCURRENCY".to_owned(), LIMIT.to_string()));
    let token = user(&desk, &env, "joe", &[]);
    let servers = [serve(&desk, &env), serve(&desk, &env), serve(&desk, &env)];
    let mut runs = Vec::new();
    for nth in 0..RUNS {
        let server = &servers[nth % servers.len()];
        let it = post(server, &token, "/v1/runs", None, &json!({"question": ASKED})).await;
        assert_eq!(it.status, 202, "{}", it.body);
        runs.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    for run in &runs {
        loop {
            let it = get(&servers[0], &token, &format!("/v1/runs/{run}?wait=20")).await;
            if it["status"] == "completed" {
                break;
            }
            assert!(it["status"] == "pending" || it["status"] == "in_progress", "{it}");
        }
    }
    // Each server alone would have used the whole limit.
    assert_eq!(model.most_at_once(), LIMIT);
}
