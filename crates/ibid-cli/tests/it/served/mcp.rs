//! The tools as an agent's host calls them: over stdio, and over HTTP.
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::{Served, messages};
use crate::cli::{ASKED, TestHome};

impl Served {
    /// One request of the protocol over HTTP, as its answer.
    pub(crate) async fn mcp(&self, token: Option<&str>, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut it = self.client.post(format!("{}/mcp", self.at));
        if let Some(token) = token {
            it = it.header("authorization", format!("Bearer {token}"));
        }
        let it = it
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let it = self.send(it.body(body.to_string())).await;
        let last = messages(&it.body).pop().map(|it| it.2);
        serde_json::from_str(last.as_deref().unwrap_or(&it.body))
            .unwrap_or_else(|fault| panic!("{fault}: {}", it.body))
    }
}

/// A host that speaks the protocol of 2025 over stdio: it initializes, then calls.
pub(super) struct Host {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Host {
    fn start(desk: &TestHome) -> Host {
        Host::start_with(desk, &["--folder", &desk.docs()], &[])
    }

    pub(super) fn start_with(desk: &TestHome, args: &[&str], env: &[(&str, &str)]) -> Host {
        let mut child = desk
            .command(&[&["mcp"], args].concat())
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut host = Host {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
        };
        let it = host.request("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}));
        assert_eq!(it["serverInfo"]["name"], "ibid", "{it}");
        host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        host
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
        self.to.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "it has gone away");
            let it: Value = serde_json::from_str(&line).unwrap();
            if it["id"] == id {
                assert!(it["error"].is_null(), "{it}");
                return it["result"].clone();
            }
        }
    }

    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let began = Instant::now();
        let it = self.request("tools/call", &json!({"name": name, "arguments": arguments}));
        assert!(began.elapsed().as_secs() < 28, "a host would have cut it off");
        it
    }
}

#[test]
fn a_host_over_stdio_researches_waits_and_reads() {
    let desk = TestHome::new();
    let mut host = Host::start(&desk);
    let tools = host.request("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "deep_research",
            "agentic_search",
            "research",
            "research_wait",
            "research_result",
            "search",
            "fetch",
            "check_claims"
        ]
    );
    let it = host.call("research", &json!({"question": ASKED}));
    let run = it["structuredContent"]["run_id"].as_str().unwrap().to_owned();
    let mut state = it["structuredContent"].clone();
    while ["pending", "in_progress"].contains(&state["status"].as_str().unwrap()) {
        state =
            host.call("research_wait", &json!({"run_id": run, "wait_s": 20}))["structuredContent"]
                .clone();
    }
    assert_eq!(state["status"], "completed", "{state}");
    assert!(state["summary"].as_str().unwrap().contains("56 %"), "{state}");
    let quotes = &state["checks"]["quotes"];
    assert_eq!(quotes["verified"], quotes["total"]);
    let part = host.call("research_result", &json!({"run_id": run, "max_chars": 100}))["structuredContent"].clone();
    assert_eq!(part["text"].as_str().unwrap().chars().count(), 100);
    assert_eq!(part["next_offset"], 100);
    let read =
        host.request("resources/read", &json!({"uri": format!("ibid://runs/{run}/report.md")}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("56 %"));
    let listed = host.request("resources/list", &json!({}));
    assert_eq!(listed["resources"].as_array().unwrap().len(), 1);
    let prompts = host.request("prompts/list", &json!({}));
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 4);
    let prompt =
        host.request("prompts/get", &json!({"name": "brief", "arguments": {"question": "why?"}}));
    assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("why?"));
}

#[test]
fn an_operator_may_leave_a_tool_out_or_have_http_spoken_instead() {
    let desk = TestHome::new();
    desk.write("ibid.toml", "[mcp]\nagentic_search = false\n");
    let mut host = Host::start(&desk);
    let tools = host.request("tools/list", &json!({}));
    let tools = tools["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 7);
    assert!(!tools.iter().any(|it| it["name"] == "agentic_search"));
    let mut http = desk
        .command(&["mcp", "--folder", &desk.docs()])
        .envs([("TRANSPORT", "http"), ("IBID_ADDR", "127.0.0.1:0")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut at = String::new();
    BufReader::new(http.stdout.take().unwrap()).read_line(&mut at).unwrap();
    http.kill().unwrap();
    http.wait().unwrap();
    assert!(at.starts_with("http://127.0.0.1:"), "{at}");
}

#[test]
fn the_tools_of_the_rows_answer_in_their_shapes() {
    let desk = TestHome::new();
    let mut host = Host::start(&desk);
    let it = host.call(
        "agentic_search",
        &json!({"query": ASKED, "completeness_threshold": 0.4}),
    )["structuredContent"]
        .clone();
    assert_eq!(it["success"], true, "{it}");
    let first = &it["results"][0];
    for field in ["url", "title", "content", "score"] {
        assert!(!first[field].is_null(), "{field}: {first}");
    }
    let it = host.call(
        "deep_research",
        &json!({"question": ASKED, "max_iterations": 2}),
    )["structuredContent"]
        .clone();
    assert_eq!(it["status"], "completed", "{it}");
    assert!(it["checklist_coverage"]["satisfied"].is_array(), "{it}");
    assert!(it["answer"].as_str().unwrap().contains("56 % of annual rainfall"), "{it}");
    assert!(it["answer"].as_str().unwrap().contains("[1]"), "{it}");
    assert!(it["one_line_answer"].as_str().unwrap().chars().count() <= 140, "{it}");
    let report = host.call("research_result", &json!({"run_id": it["run_id"], "part": "sources"}));
    let report = report["structuredContent"]["text"].as_str().unwrap();
    for source in it["sources"].as_array().unwrap() {
        assert!(!source["snippet"].as_str().unwrap().is_empty(), "{source}");
        assert!(report.contains(&format!("\"id\": {}", source["id"])), "{source} of {report}");
    }
    // ChatGPT's contract: one text that holds the JSON, and nothing else.
    let found = host.call("search", &json!({"query": "annual rainfall retained"}));
    assert_eq!(found["content"].as_array().unwrap().len(), 1);
    assert!(found["structuredContent"].is_null());
    let results: Value =
        serde_json::from_str(found["content"][0]["text"].as_str().unwrap()).unwrap();
    let id = results["results"][0]["id"].clone();
    let fetched = host.call("fetch", &json!({"id": id}));
    let page: Value =
        serde_json::from_str(fetched["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(page["id"], id);
    assert!(page["text"].as_str().unwrap().contains("56 %"), "{page}");
    assert!(page["next_offset"].is_null() && page["total_chars"].is_null(), "{page}");
    let whole = page["text"].as_str().unwrap();
    let mut part = |arguments: &Value| -> Value {
        let fetched = host.call("fetch", arguments);
        serde_json::from_str(fetched["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    let mut read = String::new();
    let mut next = json!(0);
    while !next.is_null() {
        let piece = part(&json!({"id": id, "offset": next, "max_chars": 100}));
        assert_eq!(piece["total_chars"], whole.chars().count());
        read += piece["text"].as_str().unwrap();
        next = piece["next_offset"].clone();
    }
    assert_eq!(read, whole);
    let found = part(&json!({"id": id, "find": "annual rainfall retained"}));
    let passage = &found["passages"][0];
    assert!(passage["text"].as_str().unwrap().contains("56 %"), "{found}");
    let offset = passage["offset"].as_u64().unwrap() as usize;
    let there: String = whole.chars().skip(offset).collect();
    assert!(there.starts_with(passage["text"].as_str().unwrap()), "{found}");
    assert_eq!(part(&json!({"id": id, "find": "zeppelins"}))["found"], 0);
    let wrong = host.call("fetch", &json!({"id": "s_nothing"}));
    assert_eq!(wrong["isError"], true);
    let checked = host.call("check_claims", &json!({"text": "A green roof retained 56 % of annual rainfall [rain](rain.md). A green roof retained 99 % of annual rainfall [rain](rain.md)."}));
    let claims = checked["structuredContent"]["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2, "{checked}");
    let off = host.call("research", &json!({"question": ""}));
    assert_eq!(off["isError"], true);
    assert!(off["content"][0]["text"].as_str().unwrap().contains("question"), "{off}");
}

#[tokio::test]
async fn the_same_tools_are_served_over_http() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let call = |message: Value, token: Option<&str>| {
        let mut it = served
            .client
            .post(format!("{}/mcp", served.at))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = token {
            it = it.header("authorization", format!("Bearer {token}"));
        }
        served.send(it.body(message.to_string()))
    };
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(call(list.clone(), None).await.status, 401);
    let it = call(list, Some("correct-horse")).await;
    assert_eq!(it.status, 200, "{}", it.body);
    assert!(it.body.contains("deep_research"));
    let asked = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "deep_research", "arguments": {"question": ASKED}, "_meta": {"progressToken": "p"}}});
    let it = call(asked, Some("correct-horse")).await;
    let told: Vec<Value> =
        messages(&it.body).iter().map(|it| serde_json::from_str(&it.2).unwrap()).collect();
    let last = told.last().unwrap();
    assert_eq!(last["result"]["structuredContent"]["status"], "completed", "{}", it.body);
    assert!(told.iter().any(|it| it["method"] == "notifications/progress"), "{}", it.body);
}
