//! What is another's, or is served no more, is not there: pages, files, folders, links, streams and settings.
use std::time::Duration;

use serde_json::{Value, json};

use super::people::{asked, user};
use super::{Answer, Served};
use crate::cli::{ASKED, TestHome};

const OPERATOR: &str = "correct-horse";

const SALARY: &str = "The salary of the director was 412 000 euros in the year 2024.";

fn by_operator(desk: &TestHome, folders: &[&str]) -> Served {
    Served::start_on(desk, folders, &[("IBID_TOKEN", OPERATOR)])
}

fn folder(desk: &TestHome, name: &str) -> String {
    desk.path(name).to_string_lossy().into_owned()
}

async fn ended(served: &Served, token: &str, body: &Value) -> Value {
    let it = asked(served, "POST", "/v1/runs?wait=55", Some(token), Some(body)).await;
    assert_eq!(it.status, 200, "{}", it.body);
    it.json()
}

async fn mcp(served: &Served, token: &str, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    served.mcp(Some(token), "tools/call", &params).await
}

/// What `check_claims` says of one claim that cites `address`: the verdict, and the reason where nothing was found.
async fn checked(
    served: &Served,
    token: &str,
    claim: &str,
    address: &str,
) -> (String, String, Value) {
    let text = format!("{claim} [1]\n\n[1]: {address}\n");
    let it = mcp(served, token, "check_claims", json!({"text": text})).await;
    let said = &it["result"]["structuredContent"];
    let verdict = said["claims"][0]["verdict"].as_str().unwrap_or_default();
    let reason = said["sources"][0]["reason"].as_str().unwrap_or_default();
    (verdict.to_owned(), reason.to_owned(), it.clone())
}

#[tokio::test]
async fn a_claim_is_checked_against_pages_of_ones_own_and_files_that_are_served_alone() {
    let desk = TestHome::new();
    let secret = desk.write("secret/salaries.md", &format!("# Salaries\n\n{SALARY}\n"));
    desk.write("elsewhere/notes.md", "# Notes\n\nNothing to see here at all.\n");
    let bob = user(&desk, "bob", &[]);
    let (docs, hidden) = (desk.docs(), folder(&desk, "secret"));
    // The operator reads it, with the server as with the program.
    let served = by_operator(&desk, &[&hidden]);
    let question = json!({"question": "What was the salary of the director?"});
    let run = ended(&served, OPERATOR, &question).await;
    assert!(run.to_string().contains("412"), "{run}");
    drop(served);
    let served = by_operator(&desk, &[&docs]);
    let forms = [
        format!("file://{secret}"),
        secret.clone(),
        "../secret/salaries.md".to_owned(),
        "folder:secret/salaries.md".to_owned(),
        "folder:docs/../secret/salaries.md".to_owned(),
        "folder:docs/%2e%2e/secret/salaries.md".to_owned(),
        format!("file://{}", desk.path("elsewhere/notes.md").display()),
        // What is not there, or nowhere near.
        format!("file://{}", desk.path("secret/none.md").display()),
        "folder:none/a.md".to_owned(),
        "folder:docs/none.md".to_owned(),
        "folder:docs/.hidden".to_owned(),
        "file:///etc/passwd".to_owned(),
        "file:///etc/passwd-that-is-none".to_owned(),
        "file:///etc".to_owned(),
    ];
    let mut reasons: Vec<String> = Vec::new();
    for address in &forms {
        let (verdict, reason, it) = checked(&served, &bob, SALARY, address).await;
        assert_ne!(verdict, "supported", "{address}: {it}");
        let quote = &it["result"]["structuredContent"]["claims"][0]["citations"][0]["quote"];
        assert!(quote.is_null(), "{address}: {it}");
        reasons.push(reason);
    }
    // One answer for all: none tells whether a file is there.
    reasons.dedup();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    // What is served is found by its name, and where it was found is told by its name.
    let rain = "A green roof retained 56 % of annual rainfall on average.";
    // How the folders above it are called cannot be tried out, not even where that leads back.
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let above = name(docs.trim_end_matches("/docs"));
    for address in [
        format!("folder:docs/../../{above}/docs/rain.md"),
        format!("folder:docs/..\\..\\{above}\\docs\\rain.md"),
        "folder:docs/../docs/rain.md".to_owned(),
        "folder:docs/%2E%2e/docs/rain.md".to_owned(),
    ] {
        let (verdict, _, it) = checked(&served, &bob, rain, &address).await;
        assert_ne!(verdict, "supported", "{address}: {it}");
    }
    let not_taken = json!({"query": ASKED, "folders": ["docs"]});
    let it = mcp(&served, &bob, "agentic_search", not_taken).await;
    assert!(it.to_string().contains("there is no field `folders`"), "{it}");
    let (verdict, _, it) = checked(&served, &bob, rain, "folder:docs/rain.md").await;
    assert_eq!(verdict, "supported", "{it}");
    assert!(!it.to_string().contains(&docs), "{it}");
    // A page that one's own run has read is found, and by nobody else.
    let own = ended(&served, &bob, &json!({"question": ASKED})).await;
    assert!(own["result"]["sources"].to_string().contains("folder:docs/"), "{own}");
}

#[tokio::test]
async fn a_follow_up_reaches_no_folder_that_is_served_no_more() {
    let desk = TestHome::new();
    desk.write("secret/salaries.md", &format!("# Salaries of the green roof firm\n\n{SALARY}\n"));
    let bob = user(&desk, "bob", &[]);
    let (docs, hidden) = (desk.docs(), folder(&desk, "secret"));
    let served = by_operator(&desk, &[&hidden, &docs]);
    let first = json!({"question": "What was the salary of the director?"});
    let run = ended(&served, &bob, &first).await;
    assert!(run["result"]["result"].to_string().contains("412"), "{run}");
    let alone = json!({"question": "What was the salary of the director?", "folders": ["secret"]});
    let only = ended(&served, &bob, &alone).await;
    drop(served);
    let served = by_operator(&desk, &[&docs]);
    let on = |run: &Value| json!({"question": "And the salary of the director in the year 2024?", "follows": run["id"]});
    let it = asked(&served, "POST", "/v1/runs?wait=55", Some(&bob), Some(&on(&run))).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let next = it.json();
    let id = next["id"].as_str().unwrap();
    let events = served.client.get(format!("{}/v1/runs/{id}/events", served.at));
    let events = events
        .header("authorization", format!("Bearer {bob}"))
        .header("accept", "application/json");
    let events = served.send(events).await.json();
    let created = &events["data"][0]["data"]["question"];
    assert_eq!(created["folders"], json!(["folder:docs"]), "{created}");
    for it in events["data"].as_array().unwrap() {
        let reads = ["read.completed", "evidence.added", "known.weighed", "report.ready"];
        if reads.contains(&it["type"].as_str().unwrap()) {
            let said = it["data"].to_string();
            assert!(!said.contains("412 000"), "{it}");
            assert!(!said.contains("salaries.md"), "{it}");
        }
    }
    // What it names takes the place of what the run before it searched: here nothing.
    let mut nowhere = on(&run);
    nowhere["folders"] = json!([]);
    nowhere["engines"] = json!([]);
    let next = ended(&served, &bob, &nowhere).await;
    let events = told(&served, &bob, next["id"].as_str().unwrap()).await;
    assert!(!events.contains("search.started") && !events.contains("read.started"), "{events}");
    let it = asked(&served, "POST", "/v1/runs", Some(&bob), Some(&on(&only))).await;
    assert_eq!(it.status, 422, "{}", it.body);
    assert_eq!(it.json()["error"]["param"], "follows");
}

/// The events of a run so far, as text.
async fn told(served: &Served, token: &str, id: &str) -> String {
    let it = served.client.get(format!("{}/v1/runs/{id}/events", served.at));
    let it =
        it.header("authorization", format!("Bearer {token}")).header("accept", "application/json");
    served.send(it).await.body
}

#[tokio::test]
async fn a_run_that_waits_searches_no_folder_that_is_served_no_more() {
    let desk = TestHome::new();
    desk.write("secret/salaries.md", &format!("# Salaries\n\n{SALARY}\n"));
    let bob = user(&desk, "bob", &[]);
    let (docs, hidden) = (desk.docs(), folder(&desk, "secret"));
    let served = by_operator(&desk, &[&hidden, &docs]);
    let mut runs = Vec::new();
    for (question, folders) in [
        ("What was the salary of the director?", json!(["secret"])),
        (ASKED, json!(["docs", "secret"])),
        (ASKED, json!(["docs"])),
    ] {
        let body = json!({"question": question, "folders": folders, "plan": "require_approval"});
        let it = asked(&served, "POST", "/v1/runs", Some(&bob), Some(&body)).await;
        assert_eq!(it.status, 202, "{}", it.body);
        runs.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    served.kill();
    let served = by_operator(&desk, &[&docs]);
    let go = json!({});
    for id in &runs {
        let at = format!("/v1/runs/{id}/approve");
        let it = asked(&served, "POST", &at, Some(&bob), Some(&go)).await;
        assert_eq!(it.status, 202, "{}", it.body);
    }
    let ended = async |served: &Served, id: &str| {
        let at = format!("/v1/runs/{id}?wait=55");
        asked(served, "GET", &at, Some(&bob), None).await.json()
    };
    let it = ended(&served, &runs[2]).await;
    assert_eq!(it["status"], "completed", "{it}");
    for id in &runs[..2] {
        let so_far = told(&served, &bob, id).await;
        for event in ["search.started", "run.completed", "run.failed"] {
            assert!(!so_far.contains(event), "{so_far}");
        }
    }
    // One is cancelled; where its folder is served again, the other goes on.
    let at = format!("/v1/runs/{}/cancel", runs[1]);
    let it = asked(&served, "POST", &at, Some(&bob), Some(&go)).await;
    assert_eq!(it.status, 202, "{}", it.body);
    served.stop().await;
    let served = by_operator(&desk, &[&hidden, &docs]);
    let it = ended(&served, &runs[0]).await;
    assert_eq!(it["status"], "completed", "{it}");
    assert!(told(&served, &bob, &runs[0]).await.contains("412 000"));
    assert_eq!(ended(&served, &runs[1]).await["status"], "cancelled");
}

#[tokio::test]
async fn callers_name_folders_by_their_names_and_strangers_are_told_none() {
    let desk = TestHome::new();
    desk.write(
        "other/docs/weight.md",
        "# Weight\n\nA green roof weighs 120 kg per square metre.\n",
    );
    let bob = user(&desk, "bob", &[]);
    let (docs, other) = (desk.docs(), folder(&desk, "other/docs"));
    let served = Served::start_on(
        &desk,
        &[&docs, &other],
        &[("IBID_TOKEN", OPERATOR), ("IBID_SERVE_MODELS", "openai:secret-model")],
    );
    let folders = |it: &Answer| it.json()["components"]["schemas"]["Folder"]["enum"].clone();
    let stranger = served.get("/openapi.json").await;
    assert!(folders(&stranger).is_null(), "{}", folders(&stranger));
    let place = folder(&desk, "");
    let place = place.trim_end_matches('/');
    assert!(!stranger.body.contains(place) && !stranger.body.contains("secret-model"));
    let known = asked(&served, "GET", "/openapi.json", Some(&bob), None).await;
    assert_eq!(folders(&known), json!(["docs", "docs-2"]));
    assert!(known.body.contains("secret-model"));
    let all = asked(&served, "GET", "/openapi.json", Some(OPERATOR), None).await;
    assert!(folders(&all).to_string().contains(&docs), "{}", folders(&all));
    for (named, status) in
        [("docs", 200), ("docs-2", 200), ("folder:docs", 200), (&*docs, 422), ("/etc", 422)]
    {
        let body = json!({"question": ASKED, "folders": [named]});
        let it = asked(&served, "POST", "/v1/plan", Some(&bob), Some(&body)).await;
        assert_eq!(it.status, status, "{named}: {}", it.body);
        assert!(!it.body.contains(place) || named == docs, "{}", it.body);
    }
    // The operator's own path is taken as ever, and shown as ever.
    let body = json!({"question": ASKED, "folders": [docs]});
    let it = ended(&served, OPERATOR, &body).await;
    let url = format!("file://{docs}/");
    assert!(it["result"]["sources"].to_string().contains(&url), "{it}");
}

#[tokio::test]
async fn a_link_ends_with_the_account_of_who_made_it() {
    let desk = TestHome::new();
    let (alice, bob) = (user(&desk, "alice", &[]), user(&desk, "bob", &[]));
    let served = by_operator(&desk, &[&desk.docs()]);
    let mut links = Vec::new();
    for (whose, maker) in [(&alice, &alice), (&bob, &bob), (&alice, &OPERATOR.to_owned())] {
        let run = ended(&served, whose, &json!({"question": ASKED})).await;
        let at = format!("/v1/runs/{}/share", run["id"].as_str().unwrap());
        let it = asked(&served, "POST", &at, Some(maker), Some(&json!({}))).await;
        links.push(it.json()["path"].as_str().unwrap().to_owned());
    }
    let opened = async |links: &[String]| {
        let mut all = Vec::new();
        for it in links {
            all.push(served.get(it).await.status);
        }
        all
    };
    assert_eq!(opened(&links).await, [200, 200, 200]);
    assert_eq!(desk.ibid(&["admin", "user", "disable", "alice"]).code, 0);
    assert_eq!(opened(&links).await, [404, 200, 200]);
    assert_eq!(desk.ibid(&["admin", "user", "disable", "alice", "--undo"]).code, 0);
    assert_eq!(opened(&links).await, [200, 200, 200]);
    assert_eq!(desk.ibid(&["admin", "user", "rm", "bob"]).code, 0);
    assert_eq!(opened(&links).await, [200, 404, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_within_seconds_of_their_account_or_token() {
    let desk = TestHome::new();
    let with = [("IBID_TOKEN", OPERATOR), ("IBID_SERVE_CONCURRENCY", "8")];
    let (alice, bob) = (user(&desk, "alice", &[]), user(&desk, "bob", &[]));
    let served = Served::start_on(&desk, &[&desk.docs()], &with);
    let waits = json!({"question": ASKED, "plan": "require_approval"});
    let mut open = tokio::task::JoinSet::new();
    for token in [&alice, &bob] {
        let it = asked(&served, "POST", "/v1/runs", Some(token), Some(&waits)).await;
        let id = it.json()["id"].as_str().unwrap().to_owned();
        let stream = json!({"input": ASKED, "stream": true, "ibid": {"plan": "require_approval"}});
        let chat = json!({"messages": [{"role": "user", "content": ASKED}], "stream": true, "ibid": {"plan": "require_approval"}});
        let wait = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "research_wait", "arguments": {"run_id": id, "wait_s": 25}}});
        for (method, path, body) in [
            ("GET", format!("/v1/runs/{id}/events"), None),
            ("GET", format!("/v1/runs/{id}?wait=55"), None),
            ("POST", "/v1/responses".to_owned(), Some(stream)),
            ("POST", "/v1/chat/completions".to_owned(), Some(chat)),
            ("POST", "/mcp".to_owned(), Some(wait)),
        ] {
            let mut it = served
                .client
                .request(method.parse().unwrap(), format!("{}{path}", served.at))
                .header("authorization", format!("Bearer {token}"))
                .header("accept", "application/json, text/event-stream");
            if path.ends_with("/events") {
                it = it.header("accept", "text/event-stream");
            }
            if let Some(body) = body {
                it = it.header("content-type", "application/json").body(body.to_string());
            }
            open.spawn(async move {
                let it = it.send().await.unwrap();
                let status = it.status().as_u16();
                (path, status, it.text().await.unwrap())
            });
        }
    }
    // All of them are heard before anybody is sent away.
    let counted = async || {
        let it = asked(&served, "GET", "/v1/runs", Some(OPERATOR), None).await;
        it.json()["data"].as_array().unwrap().len()
    };
    let begun = std::time::Instant::now();
    while counted().await < 6 {
        assert!(begun.elapsed() < Duration::from_secs(50), "not every run was heard");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(open.try_join_next().is_none(), "they wait for a word");
    assert_eq!(desk.ibid(&["admin", "user", "disable", "alice"]).code, 0);
    let prefix = &bob[..13];
    let revoked = desk.ibid(&["admin", "user", "token", "bob", "--revoke", prefix]);
    assert_eq!(revoked.code, 0, "{}", revoked.err);
    let began = std::time::Instant::now();
    let mut ended = 0;
    let all = async {
        while let Some(it) = open.join_next().await {
            let (path, status, body) = it.unwrap();
            ended += 1;
            assert!(!body.contains("56 %"), "{path} {status}: {body}");
        }
    };
    tokio::time::timeout(Duration::from_secs(15), all).await.expect("a stream goes on");
    assert_eq!(ended, 10);
    println!("{ended} streams ended within {:?}", began.elapsed());
}

#[tokio::test]
async fn what_the_operator_must_mend_is_told_to_the_operator_alone() {
    let desk = TestHome::new();
    let bob = user(&desk, "bob", &[]);
    let served = by_operator(&desk, &[&desk.docs()]);
    desk.write("ibid.toml", "breadth = 99\n");
    for (path, body) in [
        ("/v1/runs", json!({"question": ASKED})),
        ("/v1/plan", json!({"question": ASKED})),
        ("/v1/responses", json!({"input": ASKED})),
        ("/v1/chat/completions", json!({"messages": [{"role": "user", "content": ASKED}]})),
    ] {
        let it = asked(&served, "POST", path, Some(&bob), Some(&body)).await;
        assert_eq!(it.status, 503, "{path}: {}", it.body);
        assert!(!it.body.contains("breadth") && !it.body.contains("toml"), "{}", it.body);
    }
    let it = mcp(&served, &bob, "research", json!({"question": ASKED})).await;
    let words = it.to_string();
    assert_eq!(it["result"]["isError"], true, "{it}");
    assert!(!words.contains("breadth") && !words.contains("toml"), "{words}");
    // What is amiss with the caller's own words is told as ever.
    desk.write("ibid.toml", "breadth = 4\n");
    let body = json!({"question": ASKED, "breadth": 99});
    let it = asked(&served, "POST", "/v1/runs", Some(&bob), Some(&body)).await;
    assert_eq!((it.status, it.json()["error"]["param"].clone()), (400, json!("breadth")));
}

#[test]
fn nobody_is_called_what_the_program_calls_itself() {
    let desk = TestHome::new();
    for name in ["operator", "Operator", "nobody", "server", "webhooks", ""] {
        let it = desk.ibid(&["admin", "user", "add", name]);
        assert_eq!(it.code, 2, "{name}: {}", it.err);
    }
    assert_eq!(desk.ibid(&["admin", "user", "add", "operators"]).code, 0);
}
