//! What every surface says of one run or plan is the same.
use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::Served;
use super::people::{asked, user};
use crate::cli::{ASKED, Outcome, TestHome};
use crate::model::http::{answer, read_request};

const UNANSWERED: &str = "Who won the chess olympiad in 1978?";

#[tokio::test]
async fn a_plan_is_the_same_object_on_the_command_line_and_over_http() {
    let desk = TestHome::new();
    desk.write("ibid.toml", "model = \"openai:gpt-5.1\"\n");
    let key = [("OPENAI_API_KEY", "sk-test")];
    let args = ["plan", ASKED, "--json", "--folder", &desk.docs()];
    let printed = desk.command(&args).envs(key).output().unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let served = Served::start(&desk, &key);
    let body = json!({"question": ASKED, "folders": [desk.docs()], "engines": []});
    let told = served.post("/v1/plan", &body).await.json();
    let names = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&printed), names(&told));
    for name in ["made_by", "planner_failed", "reasoning_effort"] {
        assert_eq!(printed[name], told[name], "{name}");
    }
    assert_eq!(told["made_by"], "words");
    assert!(!told["reasoning_effort"].as_object().unwrap().is_empty(), "{told}");
}

#[tokio::test]
async fn topics_are_told_from_the_plan_before_the_first_round_ends() {
    let desk = TestHome::new();
    // It takes the connection, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", silent.local_addr().unwrap());
    let env = [("SEARXNG_URL", at.as_str()), ("IBID_ALLOW_NET", "127.0.0.0/8")];
    let served = Served::start(&desk, &env);
    let body = json!({
        "question": ASKED, "mode": "evidence", "folders": [], "engines": ["searxng"],
    });
    let id = served.post("/v1/runs", &body).await.json()["id"].clone();
    let wait = json!({"name": "research_wait", "arguments": {"run_id": id, "wait_s": 1}});
    let mut state = json!(null);
    for _ in 0..10 {
        let told = served.mcp(None, "tools/call", &wait).await;
        state = told["result"]["structuredContent"].clone();
        if state["topics"].as_array().is_some_and(|it| !it.is_empty()) {
            break;
        }
    }
    assert_eq!(state["status"], "in_progress", "{state}");
    let topics = state["topics"].as_array().unwrap();
    assert!(topics.len() >= 3 && topics.iter().all(|it| it["covered"] == false), "{state}");
    assert_eq!(state["progress"]["coverage"], format!("0/{}", topics.len()));
}

#[tokio::test]
async fn a_run_without_an_answer_is_told_alike_everywhere() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let body = json!({"question": UNANSWERED});
    let run = served.post("/v1/runs?wait=50", &body).await.json();
    let id = run["id"].as_str().unwrap();
    let result = &run["result"];
    assert_eq!((&result["status"], &result["subtype"]), (&json!("error"), &json!("no_answer")));
    let report = served.get(&format!("/v1/runs/{id}?shape=report")).await.json();
    assert_eq!(report["error"], result["error"]);
    assert_eq!(report["error"]["kind"], "not_found", "{report}");
    let wait = json!({"name": "research_wait", "arguments": {"run_id": id}});
    let told = served.mcp(None, "tools/call", &wait).await;
    let state = &told["result"]["structuredContent"];
    for name in ["status", "trace_id", "error", "checklist_coverage"] {
        assert!(!state[name].is_null() && state[name] == result[name], "{name}: {state}");
    }
    let listed = desk.ibid(&["ls"]);
    assert!(listed.out.contains("no answer") && !listed.out.contains("failed"), "{}", listed.out);
    let rows = served.get("/v1/runs").await.json();
    assert_eq!(rows["data"][0]["failure"], "not_found", "{rows}");
    let page = served.get("/").await.body;
    assert!(page.contains("no answer"), "{page}");
}

#[tokio::test]
async fn an_answer_line_does_not_answer_something_else() {
    let desk = TestHome::new();
    let question = "How many kilograms does a green roof weigh?";
    std::fs::create_dir_all(desk.path("other")).unwrap();
    let cost = "An extensive green roof costs 60 to 100 euros per square metre.\nA green roof adds weight.\n";
    desk.write("other/cost.md", cost);
    let folder = desk.path("other").display().to_string();
    let it = desk.ibid(&["answer", question, "--folder", &folder]);
    assert_eq!((it.code, it.out.trim()), (3, ""), "{}", it.err);
    assert!(it.err.contains("no answer"), "{}", it.err);
    let served = Served::start_on(&desk, &[&folder], &[]);
    let body = json!({"question": question, "mode": "answer"});
    let run = served.post("/v1/runs?wait=50&shape=result", &body).await.json();
    assert_eq!(run["subtype"], "no_answer", "{run}");
    assert!(run["one_line_answer"].is_null() && run["error"]["kind"] == "not_found", "{run}");
}

#[tokio::test]
async fn why_an_index_was_rebuilt_is_for_the_operator_alone() {
    const OPERATOR: &str = "correct-horse";
    let desk = TestHome::new();
    let alice = user(&desk, "alice", &[]);
    let indexed = desk.ibid(&["index", "add", &desk.docs()]);
    assert_eq!(indexed.code, 0, "{}", indexed.err);
    let index = desk.path("home/.cache/ibid/index");
    for folder in fs::read_dir(&index).unwrap().flatten() {
        fs::write(folder.path().join("rows/meta.json"), "CANARY").unwrap();
    }
    let served = Served::start(&desk, &[("IBID_TOKEN", OPERATOR)]);
    let body = json!({"question": ASKED});
    let run = asked(&served, "POST", "/v1/runs?wait=50", Some(&alice), Some(&body)).await.json();
    let events = format!("/v1/runs/{}/events", run["id"].as_str().unwrap());
    let told = asked(&served, "GET", &events, Some(&alice), None).await.body;
    let line = " was rebuilt because it could not be used\"";
    assert!(told.contains(line) && !told.contains(" was rebuilt: "), "{told}");
    let told = asked(&served, "GET", &events, Some(OPERATOR), None).await.body;
    assert!(told.contains(" was rebuilt: "), "{told}");
}

/// A model that answers nothing until `speaks`, and then refuses everything; how many requests it has heard.
async fn mute(speaks: Arc<AtomicBool>) -> (u16, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (speaks, count) = (Arc::clone(&speaks), Arc::clone(&count));
            tokio::spawn(async move {
                if read_request(&mut socket).await.is_none() {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                while !speaks.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                let body = json!({"error": {"message": "no", "type": "bad"}}).to_string();
                let json = "content-type: application/json\r\n";
                let _ = socket.write_all(answer("400 Bad Request", json, &body).as_bytes()).await;
            });
        }
    });
    (port, heard)
}

/// The settings of a model at `base` that costs ten dollars a million tokens, without engines.
fn priced_model(base: &str) -> [(&str, &str); 5] {
    [
        ("IBID_MODEL", "openai:m-1"),
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_BASE_URL", base),
        ("IBID_PRICE", "10/10"),
        ("IBID_ENGINES", "none"),
    ]
}

/// Starts a command, and kills it when it has called the model.
async fn kill_when_called<const N: usize>(
    desk: &TestHome,
    args: &[&str],
    env: [(&str, &str); N],
    heard: &AtomicUsize,
) {
    let before = heard.load(Ordering::SeqCst);
    let mut begun = desk.command(args).envs(env).spawn().unwrap();
    while heard.load(Ordering::SeqCst) == before {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.kill().unwrap();
    begun.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_charged_each_time_that_its_answer_is_lost() {
    let mut charged = Vec::new();
    for kills in [1, 3] {
        let desk = TestHome::new();
        let speaks = Arc::new(AtomicBool::new(false));
        let (port, heard) = mute(Arc::clone(&speaks)).await;
        let base = format!("http://127.0.0.1:{port}/v1");
        let env = priced_model(&base);
        let docs = desk.docs();
        kill_when_called(&desk, &["run", ASKED, "--folder", &docs, "-q"], env, &heard).await;
        for _ in 1..kills {
            kill_when_called(&desk, &["resume", "last", "-q"], env, &heard).await;
        }
        speaks.store(true, Ordering::SeqCst);
        let resumed = desk.command(&["resume", "last", "--json"]).envs(env).output().unwrap();
        let result = Outcome::from(resumed).json();
        charged.push(result["charged_usd_at_most"].as_f64().unwrap_or_default());
    }
    // One or two calls are lost by each kill, because two are sent at once.
    assert!(charged[1] > charged[0] * 1.4, "{charged:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_call_is_charged_at_most_is_told() {
    let desk = TestHome::new();
    let speaks = Arc::new(AtomicBool::new(false));
    let (port, heard) = mute(Arc::clone(&speaks)).await;
    let base = format!("http://127.0.0.1:{port}/v1");
    let env = priced_model(&base);
    let docs = desk.docs();
    kill_when_called(&desk, &["run", ASKED, "--folder", &docs, "-q"], env, &heard).await;
    speaks.store(true, Ordering::SeqCst);
    let resumed = desk.command(&["resume", "last", "--json"]).envs(env).output().unwrap();
    let resumed = Outcome::from(resumed);
    let result = resumed.json();
    let charged = result["charged_usd_at_most"].as_f64().unwrap_or_default();
    assert!(charged > result["total_cost_usd"].as_f64().unwrap_or_default(), "{}", resumed.err);
    assert!(resumed.err.contains("is charged for calls whose answer was lost"), "{}", resumed.err);
    assert!(resumed.err.contains("charged at most $"), "{}", resumed.err);
    let served = Served::start(&desk, &env);
    let id = result["run_id"].as_str().unwrap();
    let shown = served.get(&format!("/v1/runs/{id}")).await.json();
    assert_eq!(shown["charged_usd_at_most"], result["charged_usd_at_most"]);
    assert!(served.get(&format!("/r/{id}")).await.body.contains("at most $"));
}
