//! Services inside that fail: whoever runs the server hears what they said and where they are, everybody else that they failed.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::Served;
use super::people::{asked, user};
use crate::cli::{ASKED, TestHome};
use crate::fetch::Site;
use crate::model::http::{answer, read_request};

const OPERATOR: &str = "correct-horse";

/// A word that services inside say, and nobody else.
const CANARY: &str = "CanaryInnerBody";

/// A model, a search engine, a reader of pages and a reranker at one port, each of which refuses with words of its own. The engine
/// finds one page about cork, at the port `web`, and says which engines behind it did not answer.
async fn services(web: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let calls = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let calls = Arc::clone(&calls);
            tokio::spawn(async move {
                let Some(request) = read_request(&mut socket).await else {
                    return;
                };
                let request = String::from_utf8_lossy(&request).to_lowercase();
                let path = request.split(' ').nth(1).unwrap_or_default();
                let nth = calls.fetch_add(1, Ordering::SeqCst);
                let text = said(path, nth, port, web);
                let _ = socket.write_all(text.as_bytes()).await;
            });
        }
    });
    port
}

fn said(path: &str, nth: usize, port: u16, web: u16) -> String {
    let inside = format!("{CANARY} at http://127.0.0.1:{port}/secret");
    let json = "content-type: application/json\r\nretry-after: 0\r\n";
    if path.starts_with("/searxng/search") && path.contains("cork") {
        let page = format!("http://127.0.0.2:{web}/cork");
        let text = "How often a cork oak is harvested";
        let body = json!({
            "results": [{"url": page, "title": text, "content": text}],
            "unresponsive_engines": [[CANARY, inside]],
        });
        return answer("200 OK", json, &body.to_string());
    }
    let body = json!({"error": {"message": inside, "type": "bad"}}).to_string();
    // What may pass later is asked again, what will not is not.
    match path.starts_with("/v1/") && nth.is_multiple_of(2) {
        true => answer("400 Bad Request", json, &body),
        false => answer("500 Internal Server Error", json, &body),
    }
}

/// A web without pages.
fn nothing(_: u16, _: &str) -> Vec<u8> {
    answer("404 Not Found", "", "").into_bytes()
}

/// A server over the documents of `desk` that asks these services.
fn serve(desk: &TestHome, port: u16) -> Served {
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let env = [
        ("IBID_TOKEN", OPERATOR.to_owned()),
        ("SEARXNG_URL", at("/searxng")),
        ("IBID_ENGINES", "searxng".to_owned()),
        ("IBID_READERS", "crawl4ai".to_owned()),
        ("CRAWL4AI_URL", at("/crawl")),
        ("IBID_RERANK_MODEL", "tei".to_owned()),
        ("IBID_RERANK_BASE_URL", at("/tei")),
        ("IBID_MODEL", "openai:m-1".to_owned()),
        ("OPENAI_BASE_URL", at("/v1")),
        ("OPENAI_API_KEY", "sk-test".to_owned()),
        ("IBID_PRICE", "10/10".to_owned()),
        ("IBID_ALLOW_NET", "127.0.0.0/8".to_owned()),
        ("IBID_LOOKUPS", "false".to_owned()),
        ("IBID_DEPTH", "1".to_owned()),
        ("IBID_BREADTH", "2".to_owned()),
        ("IBID_PAGE_CACHE_HOURS", "0".to_owned()),
        ("IBID_SEARCH_CACHE_HOURS", "0".to_owned()),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|it| (it.0, it.1.as_str())).collect();
    Served::start(desk, &env)
}

/// The id of a run of `token` that has ended.
async fn ended(served: &Served, token: &str, body: &Value) -> String {
    let it = asked(served, "POST", "/v1/runs", Some(token), Some(body)).await;
    let id = it.json()["id"].as_str().unwrap_or_default().to_owned();
    assert!(id.starts_with("r_"), "{}", it.body);
    let path = format!("/v1/runs/{id}?wait=50");
    for _ in 0..4 {
        let it = asked(served, "GET", &path, Some(token), None).await.json();
        if !["pending", "in_progress"].contains(&it["status"].as_str().unwrap()) {
            return id;
        }
    }
    panic!("{id} does not end");
}

/// Everything that can be read of the run, by route, tool and resource.
async fn read(served: &Served, token: &str, id: &str) -> Vec<(String, String)> {
    let get = async |path: &str| asked(served, "GET", path, Some(token), None).await;
    let routes = get("/openapi.json").await.json();
    let cited = get(&format!("/v1/runs/{id}/report.json")).await;
    let cited: Value = serde_json::from_str(&cited.body).unwrap_or_default();
    let page = cited["citations"][0]["page"].as_str().unwrap_or("none");
    let trace = get(&format!("/v1/runs/{id}/trace")).await.json();
    let calls = trace["data"].as_array().map_or(0, Vec::len);
    let mut paths = Vec::new();
    for part in ["paths", "x-pages"] {
        for (path, methods) in routes[part].as_object().unwrap() {
            if methods.get("get").is_none() || path == "/s/{token}" {
                continue;
            }
            let real = path
                .replace("/v1/models/{id}", "/v1/models/ibid")
                .replace("{id}", id)
                .replace("{a}", id)
                .replace("{b}", id)
                .replace("{hash}", page)
                .replace("{k}", "1");
            match path.as_str() {
                "/v1/runs/{id}/{file}" => {
                    for form in ["md", "json", "html"] {
                        paths.push(real.replace("{file}", &format!("report.{form}")));
                    }
                }
                "/r/{id}/trace/{n}" => {
                    for n in 1..=calls {
                        paths.push(real.replace("{n}", &n.to_string()));
                    }
                }
                "/v1/runs/{id}" => {
                    for shape in ["run", "result", "report"] {
                        paths.push(format!("{real}?shape={shape}"));
                    }
                }
                "/runs/export" => paths.push(format!("{real}?run={id}&form=md")),
                "/runs/delete" => paths.push(format!("{real}?run={id}")),
                _ => paths.push(real),
            }
        }
    }
    let mut all = Vec::new();
    for path in paths {
        all.push((path.clone(), get(&path).await.body));
    }
    let claim = "A green roof retained 12 % of annual rainfall on average. [1]\n\n[1]: folder:docs/rain.md\n";
    for (tool, arguments) in [
        ("research_wait", json!({"run_id": id, "wait_s": 1})),
        ("research_result", json!({"run_id": id})),
        ("research_result", json!({"run_id": id, "part": "sources"})),
        ("research_result", json!({"run_id": id, "part": "evidence"})),
        ("search", json!({"query": "annual rainfall retained"})),
        ("search", json!({"query": "slate quarries of the north"})),
        ("fetch", json!({"id": format!("{id}:1")})),
        ("check_claims", json!({"text": claim})),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        let it = served.mcp(Some(token), "tools/call", &params).await;
        all.push((tool.to_owned(), it.to_string()));
    }
    for part in ["report.md", "evidence.jsonl", "sources.json"] {
        let params = json!({"uri": format!("ibid://runs/{id}/{part}")});
        let it = served.mcp(Some(token), "resources/read", &params).await;
        all.push((part.to_owned(), it.to_string()));
    }
    all
}

/// What was read at `what`.
fn of<'a>(all: &'a [(String, String)], what: &str) -> &'a str {
    let found = all.iter().find(|it| it.0 == what);
    &found.unwrap_or_else(|| panic!("{what} was not read")).1
}

#[tokio::test(flavor = "multi_thread")]
async fn words_and_addresses_of_services_that_fail_reach_the_operator_alone() {
    let (desk, site) = (TestHome::new(), Site::open_with(nothing).await);
    let port = services(site.port).await;
    let inside = format!("127.0.0.1:{port}");
    let alice = user(&desk, "alice", &[]);
    let served = serve(&desk, port);
    // One with a report and without its model; one whose page cannot be read; one that fails altogether.
    let reported = ended(&served, &alice, &json!({"question": ASKED})).await;
    let cork = json!({"question": "How often is a cork oak harvested?", "folders": []});
    let unread = ended(&served, &alice, &cork).await;
    let slate = json!({"question": "Where is slate quarried?", "folders": []});
    let failed = ended(&served, &alice, &slate).await;
    for id in [&reported, &unread, &failed] {
        let own = read(&served, &alice, id).await;
        assert!(own.len() > 40, "{}", own.len());
        for (what, body) in &own {
            for word in [CANARY, inside.as_str()] {
                let around = body.find(word).map(|at| {
                    let before = body.floor_char_boundary(at.saturating_sub(300));
                    body[before..].chars().take(500).collect::<String>()
                });
                assert_eq!(around, None, "{what} tells {word}");
            }
        }
        let [events, egress] = ["events", "egress"].map(|it| format!("/v1/runs/{id}/{it}"));
        let told = of(&own, &events);
        assert!(told.contains("\"reason\":\"model: "), "{told}");
        let hosts = of(&own, &egress);
        assert!(hosts.contains("services of this server"), "{hosts}");
        // Whoever runs the server sees all of it.
        let trace = format!("/v1/runs/{id}/trace");
        for (path, word) in [(&events, CANARY), (&trace, CANARY), (&egress, inside.as_str())] {
            let it = asked(&served, "GET", path, Some(OPERATOR), None).await;
            assert!(it.body.contains(word), "{path} lacks {word}: {}", it.body);
        }
    }
    let get = async |path: String| asked(&served, "GET", &path, Some(&alice), None).await.body;
    let events = get(format!("/v1/runs/{reported}/events")).await;
    let why = "\"error\":\"engine searxng: unavailable (HTTP 500)\"";
    assert!(events.contains(why) && !events.contains("\"status\":500"), "{events}");
    // The journal and the operator's events have the status as a number.
    for part in ["events", "trace"] {
        let path = format!("/v1/runs/{reported}/{part}");
        let it = asked(&served, "GET", &path, Some(OPERATOR), None).await;
        assert!(it.body.contains("\"status\":500"), "{part}: {}", it.body);
        // An outage is no rate limit.
        assert!(!it.body.contains("rate_limited"), "{part}: {}", it.body);
    }
    let events = get(format!("/v1/runs/{unread}/events")).await;
    for told in ["\"message\":\"timed out\"", "searxng: the details are in the server's log"] {
        assert!(events.contains(told), "{told}: {events}");
    }
    let events = get(format!("/v1/runs/{failed}/events")).await;
    let why = "a service used by the run failed: unavailable (HTTP 500)";
    assert!(events.contains(why), "{events}");
    let search = json!({"name": "search", "arguments": {"query": "annual rainfall retained"}});
    for (token, word) in [(&*alice, "engine searxng: unavailable (HTTP 500)"), (OPERATOR, CANARY)] {
        let it = served.mcp(Some(token), "tools/call", &search).await.to_string();
        assert!(it.contains(word), "{it}");
    }
    // A stranger with a link to the report is told no more than its owner.
    let path = format!("/v1/runs/{reported}/share");
    for token in [&*alice, OPERATOR] {
        let link = asked(&served, "POST", &path, Some(token), Some(&json!({}))).await;
        let link = link.json()["path"].as_str().unwrap().to_owned();
        let shared = served.get(&link).await;
        assert_eq!(shared.status, 200, "{}", shared.body);
        assert!(!shared.body.contains(CANARY) && !shared.body.contains(&inside));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_runs_the_server_alone_sees_all_of_it() {
    let (desk, site) = (TestHome::new(), Site::open_with(nothing).await);
    let port = services(site.port).await;
    let served = serve(&desk, port);
    let id = ended(&served, OPERATOR, &json!({"question": ASKED})).await;
    for part in ["events", "trace"] {
        let path = format!("/v1/runs/{id}/{part}");
        let it = asked(&served, "GET", &path, Some(OPERATOR), None).await;
        assert!(it.body.contains(CANARY), "{part}: {}", it.body);
    }
    // A report may be passed on.
    let path = format!("/v1/runs/{id}/report.md");
    let it = asked(&served, "GET", &path, Some(OPERATOR), None).await;
    assert!(it.status == 200 && !it.body.contains(CANARY), "{}", it.body);
    // So does the command line.
    let told = desk.ibid(&["show", "last", "--egress", "--json"]);
    assert!(told.out.contains(&format!("127.0.0.1:{port}")), "{}", told.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_not_begun_while_the_cache_of_pages_cannot_be_opened() {
    let (desk, site) = (TestHome::new(), Site::open_with(nothing).await);
    desk.write("blocked", "a file where the cache should be a folder");
    let (engine, blocked) = (site.url("/searxng"), desk.path("blocked").display().to_string());
    let env = [
        ("IBID_TOKEN", OPERATOR),
        ("SEARXNG_URL", engine.as_str()),
        ("IBID_ENGINES", "searxng"),
        ("IBID_ALLOW_NET", "127.0.0.0/8"),
        ("IBID_CACHE_DIR", blocked.as_str()),
    ];
    let token = user(&desk, "eve", &[]);
    let served = Served::start_on(&desk, &[], &env);
    let question = json!({"question": "How often is a cork oak harvested?"});
    let it = asked(&served, "POST", "/v1/runs", Some(&token), Some(&question)).await;
    assert!(it.status >= 500 && !it.body.contains("blocked"), "{} {}", it.status, it.body);
    let it = asked(&served, "GET", "/v1/runs", Some(OPERATOR), None).await.json();
    assert_eq!(it["data"].as_array().map(Vec::len), Some(0), "{it}");
    served.stop().await;
}
