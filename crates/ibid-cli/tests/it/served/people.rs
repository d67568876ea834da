//! Many people at one server: each sees what is theirs, and nobody else's runs are there.
use serde_json::{Value, json};

use super::Served;
use crate::cli::{ASKED, TestHome};

/// A user with a token.
pub(super) fn user(desk: &TestHome, id: &str, more: &[&str]) -> String {
    let args: Vec<&str> = ["admin", "user", "add", id].iter().chain(more).copied().collect();
    let it = desk.ibid(&args);
    assert_eq!(it.code, 0, "{}", it.err);
    let it = desk.ibid(&["admin", "user", "token", id]);
    assert_eq!(it.code, 0, "{}", it.err);
    it.out.trim().to_owned()
}

pub(super) async fn asked(
    served: &Served,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> super::Answer {
    let method: reqwest::Method = method.parse().unwrap();
    let mut it = served.client.request(method, format!("{}{path}", served.at));
    if let Some(token) = token {
        it = it.header("authorization", format!("Bearer {token}"));
    }
    if let Some(body) = body {
        it = it.header("content-type", "application/json").body(body.to_string());
    }
    served.send(it).await
}

#[tokio::test]
async fn nobody_sees_or_touches_the_runs_of_another() {
    let desk = TestHome::new();
    for org in ["roofs", "walls"] {
        assert_eq!(desk.ibid(&["admin", "org", "add", org]).code, 0);
    }
    let alice = user(&desk, "alice", &["--org", "roofs"]);
    let bob = user(&desk, "bob", &["--org", "roofs"]);
    let carol = user(&desk, "carol", &["--org", "walls"]);
    let dan = user(&desk, "dan", &[]);
    let gone = user(&desk, "gone", &[]);
    assert_eq!(desk.ibid(&["admin", "user", "disable", "gone"]).code, 0);
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let question = json!({"question": ASKED});
    let it = asked(&served, "POST", "/v1/runs?wait=55", Some(&alice), Some(&question)).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let id = it.json()["id"].as_str().unwrap().to_owned();
    let page = asked(&served, "GET", &format!("/v1/runs/{id}/report.json"), Some(&alice), None)
        .await
        .json()["citations"][0]["page"]
        .as_str()
        .unwrap()
        .to_owned();
    let routes = served.get("/openapi.json").await.json();
    let mut refused = 0;
    let all = ["paths", "x-pages"].map(|it| routes[it].as_object().unwrap());
    for (path, methods) in all.into_iter().flatten() {
        let of_one = ["{id}", "{a}", "{b}"].iter().any(|it| path.contains(it));
        // Schedules have ids of their own; `isolation` asks for one.
        if !of_one || path.starts_with("/v1/models") || path.starts_with("/v1/schedules/") {
            continue;
        }
        let real = path
            .replace("{id}", &id)
            .replace("{a}", &id)
            .replace("{b}", &id)
            .replace("{file}", "report.md")
            .replace("{hash}", &page)
            .replace("{k}", "1")
            .replace("{n}", "1");
        for method in methods.as_object().unwrap().keys().map(|it| it.to_uppercase()) {
            let body = match real.rsplit('/').next().unwrap() {
                "rating" => Some(json!({"vote": "down"})),
                "answers" => Some(json!({"answers": []})),
                _ => None,
            };
            for (who, token, expected) in [
                ("bob", Some(&bob), 404),
                ("carol", Some(&carol), 404),
                ("dan", Some(&dan), 404),
                ("gone", Some(&gone), 401),
                ("nobody", None, 401),
            ] {
                let it =
                    asked(&served, &method, &real, token.map(String::as_str), body.as_ref()).await;
                assert_eq!(it.status, expected, "{who} {method} {path}: {}", it.body);
                assert!(!it.body.contains("56 %"), "{who} {method} {path}");
                refused += 1;
            }
            // The one whose it is, is never told that it is not there. What would end or remove it comes last.
            if method == "GET" && !real.ends_with("/events") {
                let it = asked(&served, &method, &real, Some(&alice), None).await;
                assert_eq!(it.status, 200, "{method} {path}: {}", it.body);
            }
        }
    }
    assert!(refused > 80, "{refused}");
    let seen = async |token: &str| {
        let it = asked(&served, "GET", "/v1/runs", Some(token), None).await.json();
        it["data"].as_array().unwrap().len()
    };
    assert_eq!(seen(&alice).await, 1);
    for other in [&bob, &carol, &dan] {
        assert_eq!(seen(other).await, 0);
    }
    assert_eq!(seen("correct-horse").await, 1);
    // It still stands, unrated and whole.
    let it = asked(&served, "GET", &format!("/v1/runs/{id}"), Some(&alice), None).await.json();
    assert_eq!(it["status"], "completed");
    assert!(it["result"]["rating"].is_null(), "{it}");
    // Following another's run is no way to it.
    let on = json!({"question": "And in winter?", "follows": id});
    let it = asked(&served, "POST", "/v1/runs", Some(&bob), Some(&on)).await;
    assert_eq!(it.status, 404, "{}", it.body);
    // Whose run it is may delete it, and so may the operator; the log tells who did.
    let it = asked(&served, "DELETE", &format!("/v1/runs/{id}"), Some("correct-horse"), None).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let log = desk.ibid(&["admin", "audit", "--json"]);
    let told = |who: &str, what: &str| {
        let mut lines = log.out.lines();
        lines.any(|it| it.contains(&format!("\"{who}\"")) && it.contains(&format!("\"{what}\"")))
    };
    assert!(told("alice", "run.create"), "{}", log.out);
    assert!(told("operator", "run.delete"), "{}", log.out);
    assert!(!told("alice", "run.delete"), "{}", log.out);
}

#[tokio::test]
async fn a_request_under_a_key_is_one_run_however_often_it_is_sent() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let send = |body: Value| {
        let it = served.client.post(format!("{}/v1/runs", served.at));
        let it = it.header("content-type", "application/json").header("idempotency-key", "k-1");
        served.send(it.body(body.to_string()))
    };
    let first = send(json!({"question": ASKED})).await.json()["id"].clone();
    let again = send(json!({"question": ASKED})).await.json()["id"].clone();
    assert_eq!(first, again);
    assert_eq!(send(json!({"question": "Something else?"})).await.status, 422);
    assert_eq!(served.get("/v1/runs").await.json()["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn who_has_as_many_runs_as_they_may_is_told_to_come_again() {
    let desk = TestHome::new();
    let token = user(&desk, "erin", &["--concurrency", "1"]);
    let served = Served::start(&desk, &[]);
    let question = json!({"question": ASKED, "plan": "require_approval"});
    let it = asked(&served, "POST", "/v1/runs", Some(&token), Some(&question)).await;
    assert_eq!(it.status, 202, "{}", it.body);
    let it = asked(&served, "POST", "/v1/runs", Some(&token), Some(&question)).await;
    assert_eq!(it.status, 429, "{}", it.body);
    // Where there are users, nobody is let in without a name, on loopback too.
    assert_eq!(served.get("/v1/runs").await.status, 401);
}
