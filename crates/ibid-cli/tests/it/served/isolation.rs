//! Everybody against everything: each route and each tool, asked by whose run it is, by others, and by nobody.
use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::people::{asked, user};
use super::{Answer, Served};
use crate::cli::TestHome;

/// A word that stands in the owner's question, report and pages, and nowhere else.
const CANARY: &str = "Quokkafjord";

const QUESTION: &str = "How much rain does a Quokkafjord roof retain?";

const OPERATOR: &str = "correct-horse";

/// Who may do what on a route, and what they are answered.
#[derive(Clone, Copy)]
enum IsolationRow {
    /// Anybody, with or without a token that is known.
    Public(u16),
    /// Everybody who is known, on what is theirs.
    Known(u16),
    /// Whose run it is, and the operator. To others it is not there.
    Own(u16),
    /// The operator; other users are answered the second.
    Operator(u16, u16),
}

/// What each route answers. A route without a row here fails the test: whoever adds a route says whose it is.
fn expected(method: &str, path: &str) -> Option<IsolationRow> {
    use IsolationRow::{Known, Operator, Own, Public};
    Some(match (method, path) {
        ("GET", "/healthz" | "/readyz" | "/openapi.json" | "/llms.txt") => Public(200),
        (
            "GET",
            "/favicon.ico" | "/assets/style.css" | "/assets/script.js" | "/assets/icon.svg",
        ) => Public(200),
        ("GET", "/s/{token}") => Public(200),
        ("POST", "/login") => Public(400),
        ("GET", "/login") => Public(200),
        ("POST", "/logout") => Known(303),
        ("GET", "/metrics") => Operator(200, 403),
        ("GET" | "POST", "/doctor") => Operator(200, 404),
        ("POST", "/v1/runs" | "/v1/plan" | "/v1/responses" | "/v1/chat/completions") => Known(200),
        ("GET", "/v1/runs" | "/v1/models" | "/v1/models/{id}") => Known(200),
        ("GET", "/" | "/new" | "/costs") => Known(200),
        ("POST", "/new") => Known(303),
        ("POST" | "GET" | "DELETE", "/mcp") => Known(200),
        ("GET", "/v1/runs/{id}" | "/v1/runs/{id}/events" | "/v1/runs/{id}/evidence") => Own(200),
        ("GET", "/v1/runs/{id}/sources" | "/v1/runs/{id}/coverage" | "/v1/runs/{id}/plan") => {
            Own(200)
        }
        ("GET", "/v1/runs/{id}/trace" | "/v1/runs/{id}/egress" | "/v1/runs/{id}/share") => Own(200),
        ("GET", "/v1/runs/{id}/pages/{hash}" | "/v1/runs/{id}/{file}") => Own(200),
        ("GET", "/v1/runs/{a}/diff/{b}" | "/v1/responses/{id}") => Own(200),
        ("POST", "/v1/runs/{id}/finish" | "/v1/runs/{id}/cancel" | "/v1/runs/{id}/steer") => {
            Own(409)
        }
        ("POST", "/v1/schedules") => Known(201),
        ("GET", "/v1/schedules") => Known(200),
        ("POST" | "GET" | "DELETE", path) if path.starts_with("/v1/schedules/{id}") => Own(200),
        ("POST", "/v1/traces") => Known(201),
        ("GET", "/v1/traces") => Known(200),
        ("GET", "/v1/traces/{id}") => Own(200),
        ("POST", "/v1/traces/{id}") => Own(409),
        ("POST", "/v1/runs/{id}/approve" | "/v1/runs/{id}/answers") => Own(409),
        ("POST", "/v1/responses/{id}/cancel") => Own(200),
        ("POST", "/v1/responses/{id}/finish" | "/v1/responses/{id}/steer") => Own(409),
        ("POST", "/v1/runs/{id}/rating") => Own(200),
        ("POST", "/v1/runs/{id}/share") => Own(201),
        ("DELETE", "/v1/runs/{id}" | "/v1/responses/{id}" | "/v1/runs/{id}/share") => Own(200),
        ("GET", "/r/{id}" | "/r/{id}/live" | "/r/{id}/report" | "/r/{id}/quote/{k}") => Own(200),
        ("GET", "/r/{id}/evidence" | "/r/{id}/sources" | "/r/{id}/timeline") => Own(200),
        ("GET", "/r/{id}/trace" | "/r/{id}/trace/{n}" | "/r/{id}/share") => Own(200),
        ("POST", "/r/{id}/finish" | "/r/{id}/cancel" | "/r/{id}/steer" | "/r/{id}/approve") => {
            Own(409)
        }
        ("POST", "/r/{id}/answers") => Own(409),
        ("POST", "/r/{id}/rate" | "/r/{id}/unshare") => Own(303),
        // What the run has searched is served no more.
        ("POST", "/r/{id}/follow") => Own(422),
        ("POST", "/r/{id}/share") => Own(200),
        ("GET", "/runs/export" | "/runs/delete" | "/diff/{a}/{b}") => Own(200),
        ("POST", "/runs/delete") => Own(303),
        _ => return None,
    })
}

/// What ends or removes what other requests look at: asked by its owner last, each on a run of its own.
fn ends(method: &str, path: &str) -> bool {
    method == "DELETE" || path == "/r/{id}/unshare" || (method, path) == ("POST", "/runs/delete")
}

/// The body that a route takes.
fn body(method: &str, path: &str, id: &str) -> Option<String> {
    if method == "GET" {
        return None;
    }
    let form = path == "/login" || path.starts_with("/r/") || path.starts_with("/runs/");
    if form || ["/new", "/logout", "/doctor"].contains(&path) {
        let asked = "question=How+much+does+a+green+roof+weigh%3F";
        return Some(match path {
            // A form in which no folder is ticked asks engines outside, which a test must not.
            "/new" => format!("{asked}&folder=docs&do=start"),
            "/runs/delete" => format!("run={id}"),
            "/r/{id}/rate" => "vote=up".to_owned(),
            "/r/{id}/follow" => asked.to_owned(),
            "/r/{id}/steer" => "text=and+wind".to_owned(),
            _ => "days=1".to_owned(),
        });
    }
    let question = "How much does a green roof weigh?";
    let value = match path.rsplit('/').next().unwrap_or_default() {
        "runs" | "plan" => json!({"question": question}),
        "responses" => json!({"input": question, "background": true}),
        "completions" => json!({"messages": [{"role": "user", "content": question}]}),
        "mcp" => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}),
        "schedules" => json!({"request": {"question": question}, "every": "7d"}),
        "traces" => json!({"tool": "tidy", "input": {}}),
        "rating" => json!({"vote": "up"}),
        "answers" => json!({"answers": []}),
        "steer" => json!({"text": "and wind"}),
        _ => json!({}),
    };
    Some(value.to_string())
}

/// A server with users, one of whom has a run whose documents are served no more.
struct Town {
    desk: TestHome,
    served: Served,
    /// Asks for what it is told to ask, and follows nobody elsewhere.
    client: reqwest::Client,
    /// Name and token of those with an account, the owner first; the one who is disabled last.
    people: Vec<(&'static str, String)>,
}

impl Town {
    fn token(&self, who: &str) -> &str {
        let found = self.people.iter().find(|it| it.0 == who);
        &found.unwrap().1
    }

    /// Status and all that came, headers too.
    async fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<&str>,
    ) -> Answer {
        let url = format!("{}{path}", self.served.at);
        let method: reqwest::Method = method.parse().unwrap();
        let mut it = self.client.request(method, url);
        if let Some(token) = token {
            it = it.header("authorization", format!("Bearer {token}"));
        }
        let form = body.is_some_and(|it| !it.starts_with('{'));
        if let Some(body) = body {
            let kind = match form {
                true => "application/x-www-form-urlencoded",
                false => "application/json",
            };
            it = it.header("content-type", kind).body(body.to_owned());
        }
        if form {
            it = it.header("origin", &self.served.at);
        }
        if path == "/mcp" {
            it = it.header("accept", "application/json, text/event-stream");
        }
        let came = it.send().await.unwrap();
        let headers = format!("{:?}", came.headers());
        let status = came.status().as_u16();
        let bytes = came.bytes().await.unwrap();
        Answer { status, retry_after: None, body: headers + &String::from_utf8_lossy(&bytes) }
    }

    /// The id of an ended run of `token`.
    async fn run(&self, token: &str, question: &str) -> String {
        let body = json!({"question": question}).to_string();
        let it = self
            .served
            .send(
                self.served
                    .client
                    .post(format!("{}/v1/runs?wait=55", self.served.at))
                    .header("authorization", format!("Bearer {token}"))
                    .header("content-type", "application/json")
                    .body(body),
            )
            .await;
        assert_eq!(it.status, 200, "{}", it.body);
        it.json()["id"].as_str().unwrap().to_owned()
    }

    /// The id of a schedule of `token`.
    async fn schedule(&self, token: &str, question: &str) -> String {
        let body = json!({"request": {"question": question}, "every": "7d"});
        let it = asked(&self.served, "POST", "/v1/schedules", Some(token), Some(&body)).await;
        assert_eq!(it.status, 201, "{}", it.body);
        it.json()["id"].as_str().unwrap().to_owned()
    }

    async fn json(&self, path: &str, token: &str) -> Value {
        let it = self.served.client.get(format!("{}{path}", self.served.at));
        let it = it.header("authorization", format!("Bearer {token}"));
        self.served.send(it).await.json()
    }

    /// One request of the protocol for agents, as its answer.
    async fn mcp(&self, token: &str, method: &str, params: &Value) -> Value {
        self.served.mcp(Some(token), method, params).await
    }
}

/// The town, the owner's run, and a page of it.
async fn town() -> (Town, String, String) {
    let desk = TestHome::new();
    for org in ["roofs", "walls"] {
        assert_eq!(desk.ibid(&["admin", "org", "add", org]).code, 0);
    }
    let people = vec![
        ("alice", user(&desk, "alice", &["--org", "roofs"])),
        ("bob", user(&desk, "bob", &["--org", "roofs"])),
        ("carol", user(&desk, "carol", &["--org", "walls"])),
        ("gone", user(&desk, "gone", &[])),
    ];
    assert_eq!(desk.ibid(&["admin", "user", "disable", "gone"]).code, 0);
    desk.write(
        "private/canary.md",
        "# The Quokkafjord roof\n\nA Quokkafjord roof retained 56 % of annual rainfall on average.\n",
    );
    let private = desk.path("private").to_string_lossy().into_owned();
    let env = [("IBID_TOKEN", OPERATOR)];
    let served = Served::start_on(&desk, &[&private], &env);
    let client = reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .timeout(Duration::from_secs(60))
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let first = Town { client, served, desk, people };
    let id = first.run(first.token("alice"), QUESTION).await;
    let cited = first.json(&format!("/v1/runs/{id}/report.json"), first.token("alice")).await;
    let page = cited["citations"][0]["page"].as_str().unwrap().to_owned();
    let Town { desk, served, people, client } = first;
    served.stop().await;
    // From now on nobody may search what the run has read.
    let town = Town { client, served: Served::start(&desk, &env), desk, people };
    (town, id, page)
}

/// Every route that the server says it has: method and path.
async fn routes(town: &Town) -> Vec<(String, String)> {
    let document = town.json("/openapi.json", OPERATOR).await;
    let mut all = vec![("POST".to_owned(), "/mcp".to_owned())];
    for part in ["paths", "x-pages"] {
        for (path, methods) in document[part].as_object().unwrap() {
            let methods = methods.as_object().unwrap().keys();
            all.extend(methods.map(|it| (it.to_uppercase(), path.clone())));
        }
    }
    all
}

fn real(path: &str, id: &str, page: &str, share: &str) -> String {
    let real = path
        .replace("/v1/models/{id}", "/v1/models/ibid")
        .replace("{id}", id)
        .replace("{a}", id)
        .replace("{b}", id)
        .replace("{file}", "report.md")
        .replace("{hash}", page)
        .replace("{token}", share)
        .replace("{k}", "1")
        .replace("{n}", "1");
    match path {
        "/runs/export" => format!("{real}?run={id}&form=md"),
        "/runs/delete" => format!("{real}?run={id}"),
        "/v1/runs" => format!("{real}?wait=20"),
        _ => real,
    }
}

#[tokio::test]
async fn every_route_answers_everybody_as_its_row_says_and_tells_others_nothing() {
    let (town, id, page) = town().await;
    let alice = town.token("alice").to_owned();
    let schedule = town.schedule(&alice, QUESTION).await;
    let link = town.ask("POST", &format!("/v1/runs/{id}/share"), Some(&alice), Some("{}")).await;
    assert_eq!(link.status, 201, "{}", link.body);
    let share = link.body.split("\"/s/").nth(1).unwrap();
    let share = share.split('"').next().unwrap().to_owned();
    let place = town.desk.path("").to_string_lossy().into_owned();
    let place = place.trim_end_matches('/');
    let (mut requests, mut routes_seen) = (0, 0);
    let all = routes(&town).await;
    let document = town.json("/openapi.json", OPERATOR).await;
    assert!(all.len() > 60, "{}", all.len());
    for (method, path) in &all {
        let Some(row) = expected(method, path) else {
            panic!("{method} {path} has no row: say whose it is");
        };
        routes_seen += 1;
        let id = if path.starts_with("/v1/schedules/") { &schedule } else { &id };
        let url = real(path, id, &page, &share);
        let sent = body(method, path, id);
        let everybody = [
            ("carol", Some(town.token("carol"))),
            ("bob", Some(town.token("bob"))),
            ("gone", Some(town.token("gone"))),
            ("wrong", Some("ibid_0000")),
            ("nobody", None),
            ("operator", Some(OPERATOR)),
            ("alice", Some(alice.as_str())),
        ];
        for (who, token) in everybody {
            let is_owner = ["alice", "operator"].contains(&who);
            if is_owner && ends(method, path) {
                continue;
            }
            let stranger = ["gone", "wrong", "nobody"].contains(&who);
            let wanted = match (row, who) {
                (IsolationRow::Public(it), "nobody") => it,
                (_, _) if stranger => 401,
                // Who is in is sent on.
                (IsolationRow::Public(_), _) if path == "/login" => 303,
                (IsolationRow::Public(it) | IsolationRow::Known(it), _) => it,
                (IsolationRow::Operator(it, _), "operator") => it,
                (IsolationRow::Operator(_, it), _) => it,
                (IsolationRow::Own(it), _) if is_owner => it,
                (IsolationRow::Own(_), _) => 404,
            };
            if path == "/login" && method == "POST" && who != "nobody" {
                continue;
            }
            let it = town.ask(method, &url, token, sent.as_deref()).await;
            requests += 1;
            let told = it.body.chars().take(600).collect::<String>();
            assert_eq!(it.status, wanted, "{who} {method} {path}: {told}");
            let described = &document["paths"][path][method.to_lowercase()]["responses"];
            if let Some(all) = described.as_object() {
                let status = it.status.to_string();
                assert!(all.contains_key(&status), "{method} {path}: {status}");
            }
            let shared = path == "/s/{token}";
            if !is_owner && !shared {
                assert!(!it.body.contains(CANARY), "{who} {method} {path}: {told}");
            }
            if who != "operator" {
                let at = it.body.find(place);
                let around = at.map(|at| {
                    it.body[at.saturating_sub(200)..].chars().take(400).collect::<String>()
                });
                assert_eq!(around, None, "{who} {method} {path} is told a path");
            }
        }
    }
    // What ends something, by those who may.
    for (method, path) in all.iter().filter(|it| ends(&it.0, &it.1)) {
        let Some(IsolationRow::Own(wanted)) = expected(method, path) else {
            panic!("{method} {path}")
        };
        for token in [OPERATOR, alice.as_str()] {
            let question = "How much does a green roof weigh?";
            let own = if path.starts_with("/v1/schedules/") {
                town.schedule(&alice, question).await
            } else {
                town.run(&alice, question).await
            };
            let url = real(path, &own, &page, &share);
            let sent = body(method, path, &own);
            let it = town.ask(method, &url, Some(token), sent.as_deref()).await;
            requests += 1;
            assert_eq!(it.status, wanted, "{method} {path}: {}", it.body);
        }
    }
    println!("{routes_seen} routes, {requests} requests of 7 identities");
    assert!(requests > 450, "{requests}");
}

/// What a tool is called with, and whether it reaches into the owner's run.
fn call(tool: &str, id: &str) -> Option<(Value, bool)> {
    let question = "How much does a green roof weigh?";
    Some(match tool {
        "deep_research" | "agentic_search" => (json!({"query": question}), false),
        "research" => (json!({"question": question}), false),
        "research_wait" => (json!({"run_id": id, "wait_s": 1}), true),
        "research_result" => (json!({"run_id": id}), true),
        "fetch" => (json!({"id": format!("{id}:1")}), true),
        "search" => (json!({"query": "Quokkafjord roof rainfall retained"}), false),
        "check_claims" => (
            json!({"text": "A roof retained 56 % of annual rainfall on average [1].\n\n[1]: folder:private/canary.md\n"}),
            false,
        ),
        _ => return None,
    })
}

#[tokio::test]
async fn every_tool_resource_and_task_is_its_callers_own() {
    let (town, id, _) = town().await;
    let place = town.desk.path("").to_string_lossy().into_owned();
    let place = place.trim_end_matches('/').to_owned();
    let tools = town.mcp(OPERATOR, "tools/list", &json!({})).await;
    let tools: Vec<String> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(tools.len() >= 8, "{tools:?}");
    let mut asked = 0;
    for who in ["alice", "bob", "carol", "operator"] {
        let token = match who {
            "operator" => OPERATOR,
            who => town.token(who),
        };
        let is_owner = ["alice", "operator"].contains(&who);
        let mut told = Vec::new();
        for tool in &tools {
            let Some((arguments, own)) = call(tool, &id) else {
                panic!("{tool} has no row: say what it reaches");
            };
            // `deep_research` calls the field `question`, the other tools call it `query`.
            let arguments = match (&**tool, arguments["query"].as_str()) {
                ("deep_research", Some(it)) => json!({"question": it}),
                _ => arguments,
            };
            let params = json!({"name": tool, "arguments": arguments});
            let it = town.mcp(token, "tools/call", &params).await;
            let failed = it["result"]["isError"] == true || it["error"].is_object();
            let words = it.to_string();
            if own {
                assert_eq!(failed, !is_owner, "{who} {tool}: {words}");
                assert_eq!(words.contains(CANARY), is_owner, "{who} {tool}: {words}");
            } else {
                assert!(!failed, "{who} {tool}: {words}");
            }
            told.push((tool.clone(), words));
        }
        let resources = town.mcp(token, "resources/list", &json!({})).await;
        assert_eq!(resources.to_string().contains(&id), is_owner, "{resources}");
        told.push(("resources/list".to_owned(), resources.to_string()));
        for part in ["report.md", "evidence.jsonl", "sources.json"] {
            let uri = format!("ibid://runs/{id}/{part}");
            let it = town.mcp(token, "resources/read", &json!({"uri": uri})).await;
            assert_eq!(it["error"].is_null(), is_owner, "{who} {part}: {it}");
            told.push((part.to_owned(), it.to_string()));
        }
        for method in ["tasks/get", "tasks/cancel"] {
            let can = json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
            let params = json!({"taskId": id, "_meta": can});
            let it = town.mcp(token, method, &params).await;
            assert_eq!(it["error"].is_null(), is_owner, "{who} {method}: {it}");
            told.push((method.to_owned(), it.to_string()));
        }
        for (what, words) in told {
            asked += 1;
            if !is_owner {
                // That nobody has the words of a question is no secret of its owner.
                let said = words.replace("Quokkafjord roof rainfall retained", "");
                assert!(!said.contains(CANARY), "{who} {what}: {words}");
            }
            if who != "operator" {
                assert!(!words.contains(&place), "{who} {what}: {words}");
            }
        }
    }
    for token in [town.token("gone"), "ibid_0000"] {
        let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let it = town.ask("POST", "/mcp", Some(token), Some(&sent.to_string())).await;
        assert_eq!(it.status, 401);
    }
    println!("{} tools, {asked} calls of 4 identities", tools.len());
}

/// A small generator, so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn roll<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        &of[((it ^ (it >> 31)) % of.len() as u64) as usize]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_random_requests_of_two_users_at_once_bring_no_foreign_byte() {
    const TIMES: usize = 1_000;
    let (town, of_alice, page) = town().await;
    let bob = town.token("bob").to_owned();
    // Words that only the other has, in the question and so in the report.
    let of_bob = town.run(&bob, "How heavy is a Wombatholm green roof?").await;
    let both = [("alice", town.token("alice").to_owned(), "Wombatholm"), ("bob", bob, CANARY)];
    let reads: Vec<String> = routes(&town)
        .await
        .into_iter()
        .filter(|it| it.0 == "GET" && !it.1.starts_with("/s/") && it.1 != "/metrics")
        .map(|it| it.1)
        .collect();
    let mut dice = Dice(20_261_123);
    let (mut served, mut refused) = (0, 0);
    let mut requests = Vec::new();
    for _ in 0..TIMES {
        let who = dice.roll(&both).clone();
        let id = dice.roll(&[&of_alice, &of_bob]).to_string();
        let path = real(dice.roll::<String>(&reads).as_str(), &id, &page, "none");
        let file = *dice.roll(&["report.md", "report.json", "report.html", "report.bib"]);
        requests.push((who, path.replace("report.md", file)));
    }
    for batch in requests.chunks(8) {
        let all = batch.iter().map(|((who, token, foreign), path)| {
            let town = &town;
            async move {
                let it = town.ask("GET", path, Some(token), None).await;
                assert!(it.status < 500, "{who} {path}: {}", it.body);
                assert!(!it.body.contains(foreign), "{who} {path}: {}", it.body);
                it.status < 400
            }
        });
        for done in futures_util::future::join_all(all).await {
            match done {
                true => served += 1,
                false => refused += 1,
            }
        }
    }
    println!("{served} answered, {refused} refused, 0 foreign bytes");
    assert!(served > 200 && refused > 200, "{served} {refused}");
    let left: BTreeSet<u16> = [town.ask("GET", "/readyz", None, None).await.status].into();
    assert_eq!(left, [200].into());
}
