//! Money and places are walls: what is spent by runs and tools of an account, over any number of servers.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cli::{ASKED, TestHome};
use crate::model::http::{answer, read_request};
use crate::served::{Answer, Served, messages};

mod key_limit;
mod keys;
mod shut_out;
mod takeover;
mod unlimited;

/// US dollars that each call of the stand-in costs: 500 tokens sent and 500 received, at ten dollars a million.
const CALL_USD: f64 = 0.01;
const PRICE: &str = "10/10";

/// A model server that answers every request alike and counts them.
pub(crate) struct Counted {
    pub(crate) url: String,
    calls: watch::Sender<u64>,
    /// The requests that are being answered, and the most at the same time.
    at_once: Arc<(AtomicU64, AtomicU64)>,
}

impl Counted {
    pub(crate) async fn start(pause: Duration) -> Counted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = watch::Sender::new(0);
        let counted = calls.clone();
        let at_once: Arc<(AtomicU64, AtomicU64)> = Arc::default();
        let gauge = Arc::clone(&at_once);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (counted, gauge) = (counted.clone(), Arc::clone(&gauge));
                tokio::spawn(async move {
                    if read_request(&mut socket).await.is_none() {
                        return;
                    }
                    // What has come whole is billed, whether anybody waits for the answer or not.
                    counted.send_modify(|it| *it += 1);
                    let now = gauge.0.fetch_add(1, Ordering::SeqCst) + 1;
                    gauge.1.fetch_max(now, Ordering::SeqCst);
                    tokio::time::sleep(pause).await;
                    gauge.0.fetch_sub(1, Ordering::SeqCst);
                    let body = json!({
                        "id": "c", "object": "chat.completion", "model": "m-1",
                        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}],
                        "usage": {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000},
                    });
                    let json = "content-type: application/json\r\n";
                    let text = answer("200 OK", json, &body.to_string());
                    let _ = socket.write_all(text.as_bytes()).await;
                });
            }
        });
        Counted { url, calls, at_once }
    }

    /// The most requests that were answered at the same time.
    fn most_at_once(&self) -> u64 {
        self.at_once.1.load(Ordering::SeqCst)
    }

    pub(crate) fn calls(&self) -> u64 {
        *self.calls.borrow()
    }

    /// Waits until it was called so many times.
    async fn until(&self, calls: u64) {
        let mut counted = self.calls.subscribe();
        counted.wait_for(|it| *it >= calls).await.unwrap();
    }

    fn usd(&self) -> f64 {
        self.calls() as f64 * CALL_USD
    }

    /// What a server needs to ask it.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        [
            ("IBID_MODEL", "openai:m-1".to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", self.url)),
            ("OPENAI_API_KEY", "sk-test".to_owned()),
            ("IBID_PRICE", PRICE.to_owned()),
            ("IBID_ALLOW_NET", "127.0.0.1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// Starts a server with these variables.
pub(crate) fn serve(desk: &TestHome, env: &[(String, String)]) -> Served {
    let env: Vec<(&str, &str)> = env.iter().map(|it| (&*it.0, &*it.1)).collect();
    Served::start(desk, &env)
}

/// The command line with these variables.
fn ibid(desk: &TestHome, env: &[(String, String)], args: &[&str]) -> String {
    let command = desk.command(args).envs(env.iter().cloned()).output();
    let it = command.unwrap();
    assert!(it.status.success(), "{}", String::from_utf8_lossy(&it.stderr));
    String::from_utf8(it.stdout).unwrap()
}

/// A user with a token.
pub(crate) fn user(desk: &TestHome, env: &[(String, String)], id: &str, more: &[&str]) -> String {
    ibid(desk, env, &[&["admin", "user", "add", id], more].concat());
    let token = ibid(desk, env, &["admin", "user", "token", id]);
    token.trim().to_owned()
}

pub(crate) async fn post(
    served: &Served,
    token: &str,
    path: &str,
    key: Option<&str>,
    body: &Value,
) -> Answer {
    let mut it = served
        .client
        .post(format!("{}{path}", served.at))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(key) = key {
        it = it.header("idempotency-key", key);
    }
    served.send(it.body(body.to_string())).await
}

pub(crate) async fn get(served: &Served, token: &str, path: &str) -> Value {
    let it = served
        .client
        .get(format!("{}{path}", served.at))
        .header("authorization", format!("Bearer {token}"))
        .header("accept", "application/json");
    served.send(it).await.json()
}

/// What an MCP tool says over HTTP.
async fn tool(served: &Served, token: &str, name: &str, arguments: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let it = post(served, token, "/mcp", None, &call).await;
    let told = messages(&it.body);
    let last = told.last().map_or(&*it.body, |it| &*it.2);
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{}", it.body))
}

/// The ids of the user's runs once all have ended.
async fn ended(served: &Served, token: &str) -> Vec<Value> {
    loop {
        let rows = get(served, token, "/v1/runs?limit=100").await;
        let rows = rows["data"].as_array().unwrap().clone();
        let Some(it) = rows.iter().find(|it| is_open(it)) else {
            return rows;
        };
        let id = it["id"].as_str().unwrap();
        get(served, token, &format!("/v1/runs/{id}?wait=20")).await;
    }
}

#[tokio::test]
async fn model_none_asks_no_model_and_needs_no_money_on_every_surface() {
    let desk = TestHome::new();
    let model = Counted::start(Duration::ZERO).await;
    let env = model.env();
    let token = user(&desk, &env, "ann", &["--daily-usd", "0"]);
    let served = serve(&desk, &env);
    let asked = |model: &str| json!({"question": ASKED, "model": model});
    let it = post(&served, &token, "/v1/runs", None, &json!({"question": ASKED})).await;
    assert_eq!(it.status, 402, "{}", it.body);
    let it = post(&served, &token, "/v1/runs?wait=55", None, &asked("none")).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let first = it.json()["id"].as_str().unwrap().to_owned();
    let on = json!({"question": "And in winter?", "follows": first});
    let it = post(&served, &token, "/v1/runs?wait=55", None, &on).await;
    assert_eq!(it.status, 200, "a follow-up asks whom the run before it asked: {}", it.body);
    let told = tool(&served, &token, "deep_research", asked("none")).await;
    let told = &told["result"]["structuredContent"];
    assert_eq!(told["status"], "completed", "{told}");
    assert_eq!(model.calls(), 0);
    // The operator's runs may ask it, and a follow-up without one does not.
    drop(served);
    let mut open = env.clone();
    open.push(("IBID_TOKEN".to_owned(), "correct-horse".to_owned()));
    let served = serve(&desk, &open);
    let wait = "/v1/runs?wait=55";
    let it = post(&served, "correct-horse", wait, None, &json!({"question": ASKED})).await;
    let paid = it.json()["id"].as_str().unwrap().to_owned();
    let calls = model.calls();
    assert!(calls > 0, "{}", it.body);
    let on = json!({"question": "And in winter?", "follows": paid, "model": "none"});
    let it = post(&served, "correct-horse", wait, None, &on).await;
    assert_eq!(it.status, 200, "{}", it.body);
    assert_eq!(model.calls(), calls, "a follow-up that says none asks none");
}

/// The user's runs that have not ended, as one look at the store finds them, again and again; the most that there were goes to
/// `most`.
async fn watched(served: &Served, token: &str, most: &AtomicU64) {
    loop {
        let rows = get(served, token, "/v1/runs?limit=100").await;
        let rows = rows["data"].as_array().unwrap();
        let open = rows.iter().filter(|it| is_open(it)).count();
        most.fetch_max(open as u64, Ordering::SeqCst);
    }
}

fn is_open(row: &Value) -> bool {
    ["pending", "in_progress"].contains(&row["status"].as_str().unwrap())
}

/// 200 requests at once over two servers, again and again until the money is spent.
async fn spent_by_crowds(desk: &TestHome, env: &[(String, String)], model: &Counted) {
    const PLACES: u64 = 4;
    let token = user(desk, env, "bob", &["--daily-usd", "1", "--concurrency", &PLACES.to_string()]);
    let servers = [serve(desk, env), serve(desk, env)];
    let (mut accepted, mut refused) = (0, 0);
    let most = AtomicU64::new(0);
    let asked = json!({"question": ASKED});
    for _ in 0..6 {
        let asking = (0..200).map(|n| post(&servers[n % 2], &token, "/v1/runs", None, &asked));
        let answers = tokio::select! {
            it = join_all(asking) => it,
            () = watched(&servers[1], &token, &most) => unreachable!(),
        };
        for it in answers {
            match it.status {
                202 => accepted += 1,
                429 | 402 => refused += 1,
                _ => panic!("{} {}", it.status, it.body),
            }
        }
        let rows = ended(&servers[0], &token).await;
        assert_eq!(rows.len(), accepted);
        let usd = |it: &Value| it["usage"]["usd"].as_f64().unwrap_or_default();
        let usd: f64 = rows.iter().map(usd).sum();
        assert!(usd <= 1.0 + 1e-6, "told ${usd}");
        assert!(model.usd() <= 1.0 + 1e-6, "billed ${}", model.usd());
    }
    let most = most.load(Ordering::SeqCst);
    assert!((2..=PLACES).contains(&most), "{most} at once");
    assert!(accepted > 4 && refused > 200, "{accepted} {refused}");
    assert!(model.usd() > 0.5, "billed ${}: nothing was tried", model.usd());
    let billed = model.usd();
    // Forgetting what was bought does not bring the money back.
    for row in ended(&servers[0], &token).await {
        let path = format!("{}/v1/runs/{}", servers[0].at, row["id"].as_str().unwrap());
        let it = servers[0].client.delete(path);
        let it = it.header("authorization", format!("Bearer {token}"));
        assert_eq!(servers[0].send(it).await.status, 200);
    }
    let again = (0..8).map(|n| post(&servers[n % 2], &token, "/v1/runs", None, &asked));
    join_all(again).await;
    ended(&servers[0], &token).await;
    assert!(model.usd() <= 1.0 + 1e-6, "billed ${}", model.usd());
    #[allow(clippy::print_stderr, reason = "the figures of the property")]
    {
        eprintln!(
            "of 1200 accepted {accepted}, refused {refused}, {most} at once, billed ${billed:.2} of $1"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn crowds_at_two_servers_never_pass_the_budget_or_the_places_of_a_user_on_sqlite() {
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_millis(20)).await;
    spent_by_crowds(&desk, &model.env(), &model).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn crowds_at_two_servers_never_pass_the_budget_or_the_places_of_a_user_on_postgres() {
    let url = crate::postgres::database().await;
    let desk = TestHome::new();
    let model = Counted::start(Duration::from_millis(20)).await;
    let mut env = model.env();
    env.push(("DATABASE_URL".to_owned(), url));
    spent_by_crowds(&desk, &env, &model).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checking_claims_is_paid_by_the_account_and_stops_where_its_money_does() {
    let desk = TestHome::new();
    let model = Counted::start(Duration::ZERO).await;
    let env = model.env();
    let token = user(&desk, &env, "eve", &["--daily-usd", "0.1"]);
    let poor = user(&desk, &env, "max", &["--daily-usd", "0"]);
    let served = serve(&desk, &env);
    let claims: Vec<String> = (0..12)
        .map(|n| format!("A green roof retained {} % of annual rainfall on average [1].", 50 + n))
        .collect();
    let text = format!("{}\n\n[1]: folder:docs/rain.md\n", claims.join(" "));
    let check = async |token: &str| {
        let it = tool(&served, token, "check_claims", json!({"text": text})).await;
        assert!(model.usd() <= 0.1 + 1e-6, "billed ${}", model.usd());
        it["result"].clone()
    };
    // Until what is left is less than one more call can cost: then words alone decide.
    let mut before = u64::MAX;
    while model.calls() != before {
        before = model.calls();
        join_all((0..3).map(|_| check(&token))).await;
    }
    assert!(before > 0, "nothing was asked");
    let it = check(&poor).await;
    assert_eq!(it["isError"], true, "{it}");
    assert!(it.to_string().contains("budget is spent or reserved"), "{it}");
    assert_eq!(model.calls(), before);
    let log = ibid(&desk, &env, &["admin", "audit", "--json"]);
    assert!(log.contains("tool.check_claims"), "{log}");
    // What is left pays for no run, either, beyond the bound.
    let it = post(&served, &token, "/v1/runs?wait=55", None, &json!({"question": ASKED})).await;
    assert!([200, 402].contains(&it.status), "{}", it.body);
    assert!(model.usd() <= 0.1 + 1e-6, "billed ${}", model.usd());
}
