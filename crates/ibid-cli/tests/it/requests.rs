//! One request, three ways: `ibid run --input`, `POST /v1/runs`, and the tool `deep_research`.
use serde_json::{Value, json};

use crate::cli::{ASKED, TestHome};
use crate::served::Served;

/// What each way says of `request`: `None` if it is accepted, else the error.
async fn tried(desk: &TestHome, served: &Served, request: &Value) -> [Option<String>; 3] {
    desk.write("request.json", &request.to_string());
    let folder = ["--folder", "docs"];
    let with_folder = if request.get("folders").is_some() { &[][..] } else { &folder[..] };
    let cli = desk.ibid(&[&["run", "--input", "request.json", "--jsonl"], with_folder].concat());
    assert!([0, 2].contains(&cli.code), "{request}: {} {}", cli.code, cli.err);
    let http = served.post("/v1/runs", request).await;
    let params = json!({"name": "deep_research", "arguments": request});
    let mcp = served.mcp(None, "tools/call", &params).await;
    let mcp_said = mcp["result"]["content"][0]["text"].as_str().unwrap_or_default();
    [
        (cli.code != 0).then_some(cli.err),
        (http.status >= 400).then_some(http.body),
        (mcp["result"]["isError"] != false && mcp["result"]["structuredContent"].is_null()
            || mcp["result"]["isError"] == true)
            .then(|| mcp_said.to_owned()),
    ]
}

/// The question with this field besides.
fn with(field: &str, value: &Value) -> Value {
    json!({"question": ASKED, field: value})
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_accepts_the_same_fields() {
    let desk = TestHome::new();
    let plan = desk.ibid(&["plan", ASKED, "--folder", "docs", "--json"]).json();
    let served = Served::start(&desk, &[]);
    let earlier = served.post("/v1/runs?wait=55", &json!({"question": ASKED})).await.json();
    for request in [
        json!({"query": ASKED, "question": null, "output": "answer", "summaryTokens": 200}),
        with("breadth", &json!(3.0)),
        json!({
            "question": ASKED, "mode": "evidence", "context": "Of Bergen.", "effort": "quick",
            "strategy": "checklist", "depth": "1", "max_iterations": 2, "max_sources": 5,
            "completeness_threshold": 0.5, "summary_tokens": 300, "fresh": true, "language": "en",
            "only_local": true, "folders": [desk.docs()], "not_domains": ["example.org"],
            "since": "2001", "until": "1d", "model": "none", "ask": false, "plan": "auto",
            "budget": {"seconds": 60, "usd": null, "calls": 5, "searches": 9, "pages": 9, "tokens": 9000},
            "followUpDialogue": [{"assistant": "Which climate?", "user": "A wet one."}]
        }),
        json!({"question": ASKED, "plan": plan, "mode": null, "engines": [], "domains": []}),
        json!({"question": "And how much does a green roof weigh?", "follows": earlier["id"]}),
    ] {
        for (way, said) in tried(&desk, &served, &request).await.iter().enumerate() {
            assert!(said.is_none(), "way {way}: {request}: {said:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_refuses_the_same_requests_and_names_the_field() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let long = "long ".repeat(1_000);
    for (request, field) in [
        (json!({}), "question"),
        (json!({"question": " "}), "question"),
        (json!({"question": 5}), "question"),
        (json!({"question": ASKED, "query": ASKED}), "question"),
        (with("context", &json!(long)), "context"),
        (with("mode", &json!("poem")), "mode"),
        (with("output", &json!(1)), "output"),
        (with("effort", &json!("huge")), "effort"),
        (with("strategy", &json!("luck")), "strategy"),
        (with("breadth", &json!(11)), "breadth"),
        (with("depth", &json!([2])), "depth"),
        (with("max_iterations", &json!(0)), "max_iterations"),
        (with("completeness_threshold", &json!(2)), "completeness_threshold"),
        (with("summaryTokens", &json!(99)), "summary_tokens"),
        (with("max_sources", &json!(2.5)), "max_sources"),
        (with("fresh", &json!("yes")), "fresh"),
        (with("engines", &json!("web")), "engines"),
        (with("only_local", &json!("yes")), "only_local"),
        (with("folders", &json!(["/nowhere"])), "folders"),
        (with("domains", &json!([" "])), "domains"),
        (with("not_domains", &json!({})), "not_domains"),
        (with("since", &json!("soon")), "since"),
        (with("language", &json!("english")), "language"),
        (with("model", &json!(7)), "model"),
        (with("followUpDialogue", &json!([{"user": ""}])), "followUpDialogue"),
        (with("followUpDialogue", &json!([{"user": 7}])), "followUpDialogue"),
        (with("ask", &json!("no")), "ask"),
        (with("plan", &json!("maybe")), "plan"),
        (with("webhook_url", &json!(5)), "webhook_url"),
        (with("webhook_url", &json!("https://example.org/")), "webhook_url"),
        (with("follows", &json!(1)), "follows"),
        (with("budget", &json!([1])), "budget"),
        (with("budget", &json!({"usd": -1})), "budget"),
        (with("budget", &json!({"euros": 1})), "budget"),
        (with("bugdet", &json!({"usd": 1})), "bugdet"),
    ] {
        for (way, said) in tried(&desk, &served, &request).await.into_iter().enumerate() {
            let Some(said) = said else { panic!("way {way} accepts {request}") };
            assert!(said.contains(field), "way {way}: {request}: {said}");
        }
    }
    // The nearest known field is named, else all of them.
    let said = tried(&desk, &served, &with("bugdet", &json!(1))).await;
    assert!(
        said.iter().all(|it| it.as_ref().unwrap().contains("did you mean budget?")),
        "{said:?}"
    );
    let said = tried(&desk, &served, &with("budget", &json!({"euros": 1}))).await;
    assert!(said.iter().all(|it| it.as_ref().unwrap().contains("usd, seconds, calls")), "{said:?}");
}

#[tokio::test]
async fn a_tool_and_the_api_describe_the_same_fields() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let document = served.get("/openapi.json").await.json();
    let tools = served.mcp(None, "tools/list", &json!({})).await;
    let tools = tools["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|it| it["name"] == "deep_research").unwrap();
    let names = |schema: &Value| -> Vec<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let question = &document["components"]["schemas"]["Question"];
    assert_eq!(names(&tool["inputSchema"]), names(question));
    let range = &question["properties"]["breadth"];
    assert_eq!((&range["minimum"], &range["maximum"]), (&json!(2), &json!(10)), "{range}");
    let days = &document["components"]["schemas"]["ShareAsked"]["properties"]["days"];
    assert_eq!((&days["maximum"], &days["default"]), (&json!(365), &json!(7)), "{days}");
}
