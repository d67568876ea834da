//! The server as its callers meet it: the program on a port of its own, spoken to over HTTP.
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::{ASKED, TestHome};

mod bounds;
mod clarification;
mod failing;
mod found;
mod isolation;
mod limited;
mod mcp;
mod neighbours;
mod openai;
mod others;
mod people;
mod schedules;
mod strangers;
mod told;
mod traced;

/// The program serving, until this is dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) at: String,
    pub(crate) client: reqwest::Client,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer: status, headers that matter, body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|it| panic!("{it}: {}", self.body))
    }
}

impl Served {
    pub(crate) fn start(desk: &TestHome, with: &[(&str, &str)]) -> Served {
        Served::start_on(desk, &[&desk.docs()], with)
    }

    /// The same over these folders.
    pub(crate) fn start_on(desk: &TestHome, folders: &[&str], with: &[(&str, &str)]) -> Served {
        let mut args = vec!["serve", "--addr", "127.0.0.1:0", "-q"];
        args.extend(folders.iter().flat_map(|it| ["--folder", *it]));
        let mut child = desk
            .command(&args)
            .envs(with.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut at = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut at).unwrap();
        // Another test of this process may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Served {
            child,
            at: at.trim().to_owned(),
            client: reqwest::Client::builder()
                .no_proxy()
                // A connection that the server has closed after a refusal must not be taken again.
                .pool_max_idle_per_host(0)
                .timeout(Duration::from_secs(60))
                .build()
                .unwrap(),
        }
    }

    /// Sends it a signal by its name: `HUP`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let done = std::process::Command::new("kill").args(["-s", name, &pid]).status();
        assert!(done.unwrap().success());
    }

    /// Stops it in order, as a supervisor of services would.
    pub(crate) async fn stop(mut self) {
        self.signal("TERM");
        let ended = tokio::task::spawn_blocking(move || self.child.wait().unwrap());
        assert!(ended.await.unwrap().success());
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let it = request.send().await.unwrap();
        let retry_after = it.headers().get("retry-after");
        Answer {
            status: it.status().as_u16(),
            retry_after: retry_after.map(|it| it.to_str().unwrap().to_owned()),
            body: it.text().await.unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.client.get(format!("{}{path}", self.at))).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.client.post(format!("{}{path}", self.at));
        self.send(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// The messages of a stream of events, until it ends: name, id, data.
    pub(crate) async fn stream(&self, path: &str) -> Vec<(String, String, String)> {
        messages(&self.get(path).await.body)
    }
}

/// The messages of a stream of events: name, id, data.
pub(crate) fn messages(text: &str) -> Vec<(String, String, String)> {
    text.split("\n\n")
        .filter(|it| it.contains("data:"))
        .map(|it| {
            let field = |name: &str| {
                let line = it.lines().find_map(|it| it.strip_prefix(name));
                line.unwrap_or_default().trim_start().to_owned()
            };
            (field("event:"), field("id:"), field("data:"))
        })
        .collect()
}

#[tokio::test]
async fn a_question_is_accepted_worked_on_and_told_event_by_event() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let accepted = served.post("/v1/runs", &json!({"question": ASKED})).await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    let id = accepted.json()["id"].as_str().unwrap().to_owned();
    let so_far = &accepted.json()["progress"]["completeness"];
    assert_eq!(so_far.to_string(), "0.0");
    let told = served.stream(&format!("/v1/runs/{id}/events")).await;
    let numbers: Vec<u64> = told.iter().map(|it| it.1.parse().unwrap()).collect();
    assert_eq!(numbers, (1..=told.len() as u64).collect::<Vec<_>>());
    assert_eq!(told[0].0, "run.created");
    assert_eq!(told[1].0, "run.queued");
    assert_eq!(told[2].0, "run.started");
    assert_eq!(told.last().unwrap().0, "run.completed");
    // Who comes back hears the rest, and no event twice.
    let rest = served.stream(&format!("/v1/runs/{id}/events?after={}", told.len() - 3)).await;
    assert_eq!(rest, told[told.len() - 3..]);
    // Other names of the same events.
    let aliased = served.stream(&format!("/v1/runs/{id}/events?aliases=true")).await;
    assert_eq!(aliased.len(), told.len());
    for (alias, own) in aliased.iter().zip(&told) {
        assert_eq!((&alias.1, &alias.2), (&own.1, &own.2));
        let expected = match own.0.as_str() {
            "search.started" => "tool-call-started",
            "read.completed" => "tool-call-completed",
            "coverage.updated" => "research-progress",
            "run.completed" => "run.completed",
            _ => continue,
        };
        assert_eq!(alias.0, expected);
    }
    let named = |name: &str| aliased.iter().any(|it| it.0 == name);
    assert!(named("tool-call-started") && named("research-progress"));
    let listed = served
        .send(
            served
                .client
                .get(format!("{}/v1/runs/{id}/events?limit=2", served.at))
                .header("accept", "application/json"),
        )
        .await;
    assert_eq!(listed.json()["data"].as_array().unwrap().len(), 2);
    assert_eq!(listed.json()["has_more"], true);
    let path = format!("/v1/runs/{id}/events?limit=1001");
    assert_eq!(served.get(&path).await.json()["error"]["param"], "limit");
    let row = &served.get("/v1/runs").await.json()["data"][0];
    assert_eq!((&row["id"], &row["run_id"]), (&json!(id), &json!(id)));
    let run = served.get(&format!("/v1/runs/{id}")).await.json();
    assert_eq!(run["status"], "completed");
    assert_eq!(run["result"]["is_error"], false);
    let quotes = &run["result"]["checks"]["quotes"];
    assert_eq!(quotes["verified"], quotes["total"]);
    for part in ["evidence", "sources", "coverage", "trace"] {
        let it = served.get(&format!("/v1/runs/{id}/{part}")).await;
        assert_eq!(it.status, 200, "{part}: {}", it.body);
        assert!(!it.json()["data"].as_array().unwrap().is_empty(), "{part}");
    }
    let report = served.get(&format!("/v1/runs/{id}/report.md")).await;
    assert!(report.body.contains("56 %"), "{}", report.body);
    let cited = served.get(&format!("/v1/runs/{id}/report.json")).await.json();
    let page = cited["citations"][0]["page"].as_str().unwrap().to_owned();
    let quote = cited["citations"][0]["quote"].as_str().unwrap().to_owned();
    let page = served.get(&format!("/v1/runs/{id}/pages/{page}")).await;
    assert!(page.body.contains(&quote), "{}", page.body);
    let same = served.get(&format!("/v1/runs/{id}/diff/{id}")).await;
    assert_eq!(same.status, 200, "{}", same.body);
    let rated = served.post(&format!("/v1/runs/{id}/rating"), &json!({"vote": "up"})).await;
    assert_eq!(rated.status, 200, "{}", rated.body);
    let late = served.post(&format!("/v1/runs/{id}/finish"), &json!({})).await;
    assert_eq!(late.status, 409, "{}", late.body);
    let gone = served.send(served.client.delete(format!("{}/v1/runs/{id}", served.at))).await;
    assert_eq!(gone.json()["deleted"], true);
    assert_eq!(served.get(&format!("/v1/runs/{id}")).await.status, 404);
}

#[tokio::test]
async fn a_run_outlives_its_client_and_a_killed_server() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("IBID_SERVE_CONCURRENCY", "1")]);
    let mut ids = Vec::new();
    for _ in 0..6 {
        let it = served.post("/v1/runs", &json!({"question": ASKED})).await;
        ids.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    let heard = served
        .send(
            served
                .client
                .get(format!("{}/v1/runs/{}/events?limit=1000", served.at, ids[0]))
                .header("accept", "application/json"),
        )
        .await;
    served.kill();
    let served = Served::start(&desk, &[]);
    for id in &ids {
        let it = served.get(&format!("/v1/runs/{id}?wait=55")).await.json();
        assert_eq!(it["status"], "completed", "{it}");
        let told = served.stream(&format!("/v1/runs/{id}/events")).await;
        let numbers: Vec<u64> = told.iter().map(|it| it.1.parse().unwrap()).collect();
        assert_eq!(numbers, (1..=told.len() as u64).collect::<Vec<_>>());
    }
    // What was heard before the end is as it was.
    let before = heard.json();
    let now = served.stream(&format!("/v1/runs/{}/events", ids[0])).await;
    for (nth, it) in before["data"].as_array().unwrap().iter().enumerate() {
        let again: Value = serde_json::from_str(&now[nth].2).unwrap();
        assert_eq!(&again, it);
    }
}

#[tokio::test]
async fn too_many_are_told_when_to_come_again() {
    let desk = TestHome::new();
    let served =
        Served::start(&desk, &[("IBID_SERVE_CONCURRENCY", "1"), ("IBID_SERVE_QUEUE", "1")]);
    let asked = json!({"question": ASKED, "plan": "require_approval"});
    let (mut taken, mut refused) = (Vec::new(), 0);
    for _ in 0..6 {
        let it = served.post("/v1/runs", &asked).await;
        match it.status {
            202 => taken.push(it.json()["id"].as_str().unwrap().to_owned()),
            429 => {
                refused += 1;
                assert_eq!(it.json()["error"]["type"], "rate_limit_error");
                assert!(it.retry_after.unwrap().parse::<u64>().unwrap() > 0);
            }
            other => panic!("{other}: {}", it.body),
        }
    }
    assert!(refused >= 4, "{refused}");
    // Those that were taken go on when somebody says so.
    for id in &taken {
        let mut tries = 0;
        loop {
            let it = served.get(&format!("/v1/runs/{id}?wait=1")).await.json();
            if it["waits_for"] == "approval" {
                break;
            }
            tries += 1;
            assert!(tries < 60, "{it}");
        }
        let it = served.post(&format!("/v1/runs/{id}/approve"), &json!({})).await;
        assert_eq!(it.status, 202, "{}", it.body);
        let it = served.get(&format!("/v1/runs/{id}?wait=55")).await.json();
        assert_eq!(it["status"], "completed", "{it}");
    }
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_does_not_keep_others_waiting() {
    let desk = TestHome::new();
    let with = [("IBID_SERVE_CONCURRENCY", "1"), ("IBID_SERVE_INPUT_SECONDS", "1")];
    let served = Served::start(&desk, &with);
    let asked = json!({"question": ASKED, "plan": "require_approval"});
    let waiting = served.post("/v1/runs", &asked).await.json();
    let waiting = waiting["id"].as_str().unwrap().to_owned();
    let next = served.post("/v1/runs?wait=50", &json!({"question": ASKED})).await;
    assert_eq!(next.status, 200, "{}", next.body);
    let it = served.get(&format!("/v1/runs/{waiting}")).await.json();
    assert_eq!(it["waits_for"], "approval", "{it}");
    // Who listens hears nothing new and is not let go; whoever says go is heard at once.
    let path = format!("/v1/runs/{waiting}/approve");
    assert_eq!(served.post(&path, &json!({})).await.status, 202);
    let it = served.get(&format!("/v1/runs/{waiting}?wait=50")).await;
    assert_eq!(it.json()["status"], "completed", "{}", it.body);
    let told = served.stream(&format!("/v1/runs/{waiting}/events")).await;
    let numbers: Vec<u64> = told.iter().map(|it| it.1.parse().unwrap()).collect();
    assert_eq!(numbers, (1..=told.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn who_may_come_in_is_asked_on_every_route() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let port = served.at.rsplit(':').next().unwrap().to_owned();
    let routes = served.get("/openapi.json").await.json();
    let open = [
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/llms.txt",
        "/login",
        "/favicon.ico",
        "/assets/style.css",
        "/assets/script.js",
        "/assets/icon.svg",
        // A link that was shared tells by itself, wherever it was found.
        "/s/{token}",
    ];
    let mut asked = 0;
    let all = ["paths", "x-pages"].map(|it| routes[it].as_object().unwrap());
    for (path, methods) in all.into_iter().flatten() {
        for method in methods.as_object().unwrap().keys() {
            let real = path
                .replace("{id}", "r_01JD0000000000000000000000")
                .replace("{a}", "r_01JD0000000000000000000000")
                .replace("{b}", "r_01JD0000000000000000000000")
                .replace("{file}", "report.md")
                .replace("{hash}", "00")
                .replace("{k}", "1")
                .replace("{n}", "1");
            for host in ["ours", "evil.test", "localhost.evil.test:80"] {
                for origin in [None, Some("ours"), Some("http://evil.test"), Some("null")] {
                    for token in [None, Some("correct-horse"), Some("wrong"), Some("")] {
                        let method = method.to_uppercase().parse().unwrap();
                        let mut it = served.client.request(method, format!("{}{real}", served.at));
                        if host != "ours" {
                            it = it.header("host", host);
                        }
                        let own = format!("http://127.0.0.1:{port}");
                        if let Some(origin) = origin {
                            it = it.header("origin", if origin == "ours" { &own } else { origin });
                        }
                        if let Some(token) = token {
                            it = it.header("authorization", format!("Bearer {token}"));
                        }
                        let status = served.send(it).await.status;
                        asked += 1;
                        let what = format!("{path} {host} {origin:?} {token:?}: {status}");
                        if host != "ours" {
                            assert_eq!(status, 421, "{what}");
                        } else if !matches!(origin, None | Some("ours")) && path != "/s/{token}" {
                            assert_eq!(status, 403, "{what}");
                        } else if token == Some("correct-horse")
                            || token.is_none() && open.contains(&path.as_str())
                        {
                            assert!(![401, 403, 421].contains(&status), "{what}");
                        } else {
                            assert_eq!(status, 401, "{what}");
                        }
                    }
                }
            }
        }
    }
    assert!(asked > 1_000, "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shape_of_a_report_has_its_markdown_whatever_the_mode() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    for mode in ["report", "answer"] {
        let body = json!({"question": ASKED, "mode": mode, "context": "for a school essay"});
        let it = served.post("/v1/runs?wait=50&shape=report", &body).await.json();
        let markdown = it["markdown"].as_str().unwrap();
        assert!(markdown.contains("56 %"), "{mode}: {markdown}");
        assert_eq!(markdown.contains("[1]"), mode == "report", "{markdown}");
        let line = it["one_line_answer"].as_str().unwrap();
        assert!(line.chars().count() <= 140 && it["answer"] == line, "{it}");
        assert!(!it["sources"].as_array().unwrap().is_empty());
        let run = served.get("/v1/runs?limit=1").await.json();
        let id = run["data"][0]["id"].as_str().unwrap();
        // What the question is for is no subject of it.
        let events = served.stream(&format!("/v1/runs/{id}/events")).await;
        let after = events.iter().filter(|event| !event.0.starts_with("run."));
        assert!(after.clone().any(|event| event.0 == "search.completed"));
        for (name, _, data) in after {
            assert!(!data.contains("essay"), "{name}: {data}");
        }
    }
}

#[tokio::test]
async fn what_is_off_is_named_with_its_field() {
    let desk = TestHome::new();
    // A body that fits the buffers on its way is refused without a race for the connection.
    let served = Served::start(&desk, &[("IBID_SERVE_MAX_BODY_BYTES", "4096")]);
    for (body, field) in [
        (json!({}), Some("question")),
        (json!({"question": ""}), Some("question")),
        (json!({"question": "why?", "breadth": 11}), Some("breadth")),
        (json!({"question": "why?", "depth": "many"}), Some("depth")),
        (json!({"question": "why?", "mode": "poem"}), Some("mode")),
        (json!({"question": "why?", "budget": {"usd": -1}}), Some("budget")),
        (json!({"question": "why?", "folders": ["/etc"]}), Some("folders")),
        (json!({"question": "why?", "model": "openai:x"}), Some("model")),
        (json!({"question": "why?", "since": "soon"}), Some("since")),
        (json!({"question": "why?", "engines": ["nowhere"]}), Some("engines")),
        (json!({"question": "why?", "base_url": "http://10.0.0.1/"}), None),
        (json!([1]), None),
    ] {
        let it = served.post("/v1/runs", &body).await;
        // In the right form, and nothing that there is: said apart from what is in the wrong one.
        let unmeant = ["folders", "model", "since", "engines"].map(Some);
        let status = if unmeant.contains(&field) { 422 } else { 400 };
        assert_eq!(it.status, status, "{body}: {}", it.body);
        let error = &it.json()["error"];
        assert_eq!(error["type"], "invalid_request_error");
        if let Some(field) = field {
            assert_eq!(error["param"], field, "{body}: {error}");
        }
    }
    let it = served.client.post(format!("{}/v1/runs", served.at));
    let form = it.header("content-type", "text/plain").body("{}");
    assert_eq!(served.send(form).await.status, 415);
    let it = served.client.post(format!("{}/v1/runs", served.at));
    let broken = it.header("content-type", "application/json").body("{\"question\": ");
    assert_eq!(served.send(broken).await.status, 400);
    let it = served.client.post(format!("{}/v1/runs", served.at));
    let long = it.header("content-type", "application/json").body("x".repeat(32 << 10));
    assert_eq!(served.send(long).await.status, 413);
    assert_eq!(served.get("/v1/runs/r_nothing").await.status, 404);
    assert_eq!(served.get("/v1/nothing").await.status, 404);
    assert_eq!(served.get("/v1/plan").await.status, 405);
    assert_eq!(served.get("/v1/runs?limit=0").await.status, 400);
}

#[test]
fn others_are_not_let_in_without_a_token() {
    let desk = TestHome::new();
    let it = desk.ibid(&["serve", "--addr", "0.0.0.0:0", "--folder", &desk.docs()]);
    assert_eq!(it.code, 4, "{}", it.err);
    assert!(it.err.contains("IBID_TOKEN"), "{}", it.err);
}

/// What is told to `ear` next, and taken if `answered`.
async fn hear(ear: &tokio::net::TcpListener, answered: bool) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (mut stream, _) = ear.accept().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\"data\"") {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).await.unwrap();
        assert!(n > 0, "{heard}");
        heard.push_str(std::str::from_utf8(&piece[..n]).unwrap());
    }
    if answered {
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    }
    heard
}

#[tokio::test]
async fn an_end_that_nobody_was_told_of_is_told_by_the_next_start() {
    let desk = TestHome::new();
    let ear = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", ear.local_addr().unwrap());
    let asked = json!({"question": ASKED, "webhook_url": url});
    let with = [("IBID_WEBHOOK_SECRET", "whsec_c2VjcmV0"), ("IBID_ALLOW_NET", "127.0.0.1/32")];
    let id = |heard: &str| {
        let line = heard.lines().find_map(|it| it.strip_prefix("webhook-id: "));
        line.unwrap().to_owned()
    };
    let first = Served::start(&desk, &with);
    first.post("/v1/runs", &asked).await;
    let missed = id(&hear(&ear, false).await);
    first.kill();
    let second = Served::start(&desk, &with);
    assert_eq!(id(&hear(&ear, true).await), missed);
    second.post("/v1/runs", &asked).await;
    let next = id(&hear(&ear, true).await);
    assert_ne!(next, missed);
    // Told once, it is told. Of the last one it may not have been noted yet, and then it is told again under its id.
    second.stop().await;
    let third = Served::start(&desk, &with);
    let made = third.post("/v1/runs", &asked).await.json();
    let made = made["id"].as_str().unwrap().trim_start_matches("r_");
    let mut last = id(&hear(&ear, true).await);
    if last == next {
        last = id(&hear(&ear, true).await);
    }
    let all = (missed, next);
    assert_eq!(last, format!("evt_{made}"), "{all:?}");
}

#[tokio::test]
async fn limits_are_read_again_while_it_serves() {
    let desk = TestHome::new();
    desk.write("ibid.toml", "[serve]\nconcurrency = 1\nqueue = 0\n");
    let served = Served::start(&desk, &[]);
    let asked = json!({"question": ASKED, "plan": "require_approval"});
    assert_eq!(served.post("/v1/runs", &asked).await.status, 202);
    assert_eq!(served.post("/v1/runs", &asked).await.status, 429);
    for (text, then) in
        [("[serve]\nqueue = \"many\"\n", 429), ("[serve]\nconcurrency = 1\nqueue = 1\n", 202)]
    {
        desk.write("ibid.toml", text);
        served.signal("HUP");
        let mut last = 0;
        let until =
            std::time::Instant::now() + Duration::from_secs(if then == 202 { 30 } else { 1 });
        while last != 202 && std::time::Instant::now() < until {
            last = served.post("/v1/runs", &asked).await.status;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(last, then);
    }
}

#[tokio::test]
async fn who_wants_to_hear_of_the_end_is_told_signed_and_only_where_the_guard_lets_it() {
    let desk = TestHome::new();
    let ear = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", ear.local_addr().unwrap());
    let asked = json!({"question": ASKED, "webhook_url": url});
    let without = Served::start(&desk, &[("IBID_ALLOW_NET", "127.0.0.1/32")]);
    let it = without.post("/v1/runs", &asked).await;
    assert_eq!(it.status, 422, "no key is set: {}", it.body);
    drop(without);
    let secret = ("IBID_WEBHOOK_SECRET", "whsec_c2VjcmV0");
    let closed = Served::start(&desk, &[secret]);
    let it = closed.post("/v1/runs", &asked).await;
    assert_eq!(it.status, 422, "{}", it.body);
    assert!(!it.body.contains("loopback"), "what is inside is not told: {}", it.body);
    drop(closed);
    let served = Served::start(&desk, &[secret, ("IBID_ALLOW_NET", "127.0.0.1/32")]);
    let it = served.post("/v1/runs", &asked).await;
    assert_eq!(it.status, 202, "{}", it.body);
    let heard = hear(&ear, true).await;
    assert!(heard.contains("\"type\":\"response.completed\""), "{heard}");
    for header in ["webhook-id: evt_", "webhook-timestamp: ", "webhook-signature: v1,"] {
        assert!(heard.contains(header), "{heard}");
    }
    // What was done is counted, without the words of anybody.
    let metrics = served.get("/metrics").await;
    assert!(metrics.body.contains("ibid_runs_total{status=\"completed\""), "{}", metrics.body);
    assert!(metrics.body.contains("ibid_quotes_total{match=\"exact\"}"), "{}", metrics.body);
    assert!(!metrics.body.contains("green"), "{}", metrics.body);
}
