//! Traces over HTTP: tools keep theirs, runs have one by themselves, and nobody sees those of another.
use ibid_core::domain::RunId;
use serde_json::{Value, json};
use sqlx::Connection as _;

use super::Served;
use super::people::{asked, user};
use crate::cli::{ASKED, TestHome};

const OPERATOR: &str = "correct-horse";

#[tokio::test]
async fn a_tool_keeps_its_trace_from_its_beginning_to_its_end() {
    let desk = TestHome::new();
    let (ann, bob) = (user(&desk, "ann", &[]), user(&desk, "bob", &[]));
    let served = Served::start(&desk, &[("IBID_TOKEN", OPERATOR)]);
    let post = async |who: &str, path: &str, body: Value| {
        asked(&served, "POST", path, Some(who), Some(&body)).await
    };
    let get = async |who: &str, path: &str| asked(&served, "GET", path, Some(who), None).await;
    let made = post(&ann, "/v1/traces", json!({"tool": "tidy", "input": {"of": "a\u{0}b"}})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    assert_eq!((&made["status"], &made["user_id"]), (&json!("pending"), &json!("ann")));
    assert_eq!(made["input_params"], json!({"of": "a\u{FFFD}b"}));
    let at = format!("/v1/traces/{}", made["id"].as_str().unwrap());
    let sent = json!({"stage": "dusting", "progress": 0.5, "state": {"room": "file:///attic"}});
    let half = post(&ann, &at, sent).await;
    assert_eq!(half.status, 200, "{}", half.body);
    let half = half.json();
    assert_eq!((&half["status"], &half["progress"]), (&json!("in_progress"), &json!(0.5)));
    // What a tool wrote stays as it is, and what it leaves out as it was.
    let half = post(&ann, &at, json!({"metrics": {"n": 1}})).await.json();
    assert_eq!(half["state"], json!({"room": "file:///attic"}));
    assert_eq!((&half["current_stage"], &half["metrics"]["n"]), (&json!("dusting"), &json!(1)));
    for (body, param, hint) in [
        (json!({"progres": 1}), "progres", "did you mean progress?"),
        (json!({"progress": 1.5}), "progress", ""),
        (json!({"status": "done"}), "status", ""),
        (json!({"stage": "x".repeat(101)}), "stage", ""),
        (json!({"result": 1}), "result", ""),
        (json!({"status": "completed", "error": "no"}), "error", ""),
    ] {
        let it = post(&ann, &at, body).await;
        assert_eq!((it.status, it.json()["error"]["param"].as_str()), (400, Some(param)));
        assert!(it.body.contains(hint), "{}", it.body);
    }
    let sent = json!({"state": "x".repeat(1 << 20)});
    assert_eq!(post(&ann, &at, sent).await.status, 413, "the default limit of bodies");
    for tool in ["deep_research", "agentic_search", " ", "a\u{0}b"] {
        let it = post(&ann, "/v1/traces", json!({"tool": tool})).await;
        assert_eq!(it.json()["error"]["param"], "tool", "{}", it.body);
    }
    let list = async |who: &str, tool: &str| {
        let it = get(who, &format!("/v1/traces?tool={tool}")).await.json();
        it["data"].as_array().unwrap().len()
    };
    assert_eq!((list(&ann, "tidy").await, list(&ann, "other").await), (1, 0));
    assert_eq!((list(&bob, "tidy").await, list(OPERATOR, "tidy").await), (0, 1));
    assert_eq!(get(&bob, &at).await.status, 404);
    assert_eq!(post(&bob, &at, json!({"status": "failed"})).await.status, 404);
    for id in ["none", "%00", "00000000-0000-0000-0000-000000000000"] {
        assert_eq!(get(&ann, &format!("/v1/traces/{id}")).await.status, 404, "{id}");
    }
    assert_eq!(get(&ann, "/v1/traces?tool=%00").await.status, 400);
    let done = post(&ann, &at, json!({"status": "completed", "result": [1]})).await.json();
    assert_eq!((&done["progress"], &done["result"]), (&json!(1.0), &json!([1])));
    let late = post(&ann, &at, json!({"status": "failed", "error": "late"})).await;
    assert_eq!((late.status, &late.json()["error"]["code"]), (409, &json!("ended")));
    assert_eq!(get(&ann, &at).await.json(), done);
    for _ in 0..2 {
        post(&ann, "/v1/traces", json!({"tool": "mop"})).await;
    }
    let page = get(&ann, "/v1/traces?limit=2").await.json();
    assert_eq!((&page["data"][1]["tool_name"], &page["has_more"]), (&json!("mop"), &json!(true)));
    assert!(page["data"][0]["created_at"].as_str() >= page["data"][1]["created_at"].as_str());
    // Whoever gets the name of a removed user gets none of their traces.
    assert_eq!(desk.ibid(&["admin", "user", "rm", "ann"]).code, 0);
    let ann = user(&desk, "ann", &[]);
    assert_eq!((list(&ann, "tidy").await, get(&ann, &at).await.status), (0, 404));
}

#[tokio::test]
async fn a_user_may_have_a_thousand_open_traces() {
    let desk = TestHome::new();
    let ann = user(&desk, "ann", &[]);
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(desk.path("home/.local/share/ibid/ibid.db"));
    let mut db = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 999)
         insert into tool_traces (id, user_id, tool_name, created_at)
         select printf('00000000-0000-0000-0000-%012d', i), 'ann', 'tidy', '2026' from n",
    )
    .execute(&mut db)
    .await
    .unwrap();
    db.close().await.unwrap();
    let served = Served::start(&desk, &[("IBID_TOKEN", OPERATOR)]);
    let body = json!({"tool": "tidy"});
    let it = asked(&served, "POST", "/v1/traces", Some(&ann), Some(&body)).await;
    assert_eq!(it.status, 201, "{}", it.body);
    let last = it.json()["id"].as_str().unwrap().to_owned();
    let it = asked(&served, "POST", "/v1/traces", Some(&ann), Some(&body)).await;
    assert_eq!((it.status, &it.json()["error"]["code"]), (429, &json!("too_many_traces")));
    let end = json!({"status": "failed", "error": "no broom"});
    let at = format!("/v1/traces/{last}");
    assert_eq!(asked(&served, "POST", &at, Some(&ann), Some(&end)).await.status, 200);
    let it = asked(&served, "POST", "/v1/traces", Some(&ann), Some(&body)).await;
    assert_eq!(it.status, 201, "{}", it.body);
}

#[tokio::test]
async fn the_trace_of_a_run_tells_its_user_no_path_and_is_written_by_the_run_alone() {
    let desk = TestHome::new();
    let (ann, bob) = (user(&desk, "ann", &[]), user(&desk, "bob", &[]));
    let served = Served::start(&desk, &[("IBID_TOKEN", OPERATOR)]);
    let question = json!({"question": ASKED});
    let it = asked(&served, "POST", "/v1/runs?wait=55", Some(&ann), Some(&question)).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let id = it.json()["id"].as_str().unwrap().to_owned();
    let uuid = id.parse::<RunId>().unwrap().uuid();
    let list = asked(&served, "GET", "/v1/traces?tool=deep_research", Some(&ann), None).await;
    assert_eq!(list.json()["data"][0]["id"], json!(uuid), "{}", list.body);
    let place = desk.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let mut seen = Vec::new();
    for name in [&id, &uuid, &uuid.to_uppercase()] {
        let at = format!("/v1/traces/{name}");
        let it = asked(&served, "GET", &at, Some(&ann), None).await;
        assert_eq!(it.status, 200, "{}", it.body);
        assert!(!it.body.contains(&place) && !it.body.contains("file:"), "{}", it.body);
        let trace = it.json();
        let url = trace["state"]["knowledge_base"]["sources"][0]["url"].as_str().unwrap();
        assert!(url.starts_with("folder:docs/"), "{url}");
        let url = trace["result"]["sources"][0]["url"].as_str().unwrap();
        assert!(url.starts_with("folder:docs/"), "{url}");
        assert!(!trace["state"]["checklist"].as_array().unwrap().is_empty());
        seen.push(trace);
        assert_eq!(asked(&served, "GET", &at, Some(&bob), None).await.status, 404);
        // The operator sees the row as it is stored.
        let whole = asked(&served, "GET", &at, Some(OPERATOR), None).await;
        assert!(whole.body.contains("file:///") && whole.body.contains(&place), "{}", whole.body);
        for (who, status) in [(&*ann, 409), (OPERATOR, 409), (&*bob, 404)] {
            let body = json!({"status": "failed", "error": "by hand", "state": {}});
            let it = asked(&served, "POST", &at, Some(who), Some(&body)).await;
            assert_eq!(it.status, status, "{}", it.body);
        }
    }
    assert!(seen.iter().all(|it| *it == seen[0]), "the same by each name, and unchanged");
    assert_eq!((&seen[0]["status"], &seen[0]["progress"]), (&json!("completed"), &json!(1.0)));
    assert_eq!(seen[0]["input_params"]["question"], ASKED);
    // A folder that is served no more has a name still.
    served.stop().await;
    let other = desk.path("other");
    std::fs::create_dir_all(&other).unwrap();
    let served = Served::start_on(&desk, &[&other.to_string_lossy()], &[("IBID_TOKEN", OPERATOR)]);
    let it = asked(&served, "GET", &format!("/v1/traces/{id}"), Some(&ann), None).await;
    assert_eq!(it.json()["state"]["knowledge_base"], seen[0]["state"]["knowledge_base"]);
    assert!(!it.body.contains(&place) && !it.body.contains("file:"), "{}", it.body);
}
