//! What one user, or somebody who is not known, cannot use up: places, streams, orders, counts, money.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::people::{asked, user};
use super::{Answer, Served};
use crate::cli::{ASKED, TestHome};
use crate::fetch::page;

const OPERATOR: (&str, &str) = ("IBID_TOKEN", "correct-horse");

async fn post(served: &Served, who: &str, path: &str, body: &Value) -> Answer {
    asked(served, "POST", path, Some(who), Some(body)).await
}

/// A run of `who` whose plan waits for approval.
async fn planned(served: &Served, who: &str) -> Answer {
    let body = json!({"question": ASKED, "plan": "require_approval"});
    post(served, who, "/v1/runs", &body).await
}

/// Waits until the run of this id is as `wanted`.
async fn until(served: &Served, who: &str, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let run = asked(served, "GET", &format!("/v1/runs/{id}"), Some(who), None).await;
        let run = run.json();
        if wanted(&run) {
            return run;
        }
        assert!(begun.elapsed() < Duration::from_secs(50), "{run}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn id(of: &Answer) -> String {
    assert!(of.status < 300, "{}", of.body);
    of.json()["id"].as_str().unwrap().to_owned()
}

fn code(of: &Answer) -> Value {
    of.json()["error"]["code"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_that_wait_for_approval_hold_no_place_and_are_bounded_by_user() {
    let desk = TestHome::new();
    let (ann, bob) = (user(&desk, "ann", &[]), user(&desk, "bob", &[]));
    let with = [
        OPERATOR,
        ("IBID_SERVE_CONCURRENCY", "1"),
        ("IBID_SERVE_WAITING_EACH", "2"),
        ("IBID_SERVE_INPUT_SECONDS", "3600"),
    ];
    let served = Served::start(&desk, &with);
    let plans = [planned(&served, &ann).await, planned(&served, &ann).await];
    for it in &plans {
        until(&served, &ann, &id(it), |it| it["waits_for"] == "approval").await;
    }
    let body = json!({"question": "What does a green roof weigh?"});
    let other = post(&served, &bob, "/v1/runs?wait=55", &body).await;
    assert_eq!(other.json()["status"], "completed", "{}", other.body);
    let third = planned(&served, &ann).await;
    assert_eq!(third.status, 429, "{}", third.body);
    // A question that asks nothing back is taken.
    let plain = post(&served, &ann, "/v1/runs?wait=55", &body).await;
    assert_eq!(plain.json()["status"], "completed", "{}", plain.body);
    // It goes on as soon as somebody speaks, and leaves room for another.
    let first = id(&plans[0]);
    let path = format!("/v1/runs/{first}/approve");
    let approved = post(&served, &ann, &path, &json!({})).await;
    assert_eq!(approved.status, 202, "{}", approved.body);
    until(&served, &ann, &first, |it| it["status"] == "completed").await;
    assert_eq!(planned(&served, &ann).await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_user_s_streams_leave_the_server_to_others() {
    let desk = TestHome::new();
    let (ann, bob) = (user(&desk, "ann", &[]), user(&desk, "bob", &[]));
    let with = [OPERATOR, ("IBID_SERVE_REQUESTS_EACH", "3")];
    let served = Served::start(&desk, &with);
    let run = id(&planned(&served, &ann).await);
    let stream = async || {
        let path = format!("{}/v1/runs/{run}/events", served.at);
        let request = served.client.get(path).bearer_auth(&ann);
        request.send().await.unwrap()
    };
    let mut open = Vec::new();
    for _ in 0..3 {
        let it = stream().await;
        assert_eq!(it.status().as_u16(), 200);
        open.push(it);
    }
    let refused = stream().await;
    assert_eq!(refused.status().as_u16(), 429);
    assert_eq!(refused.headers()["connection"], "close");
    assert!(refused.headers().contains_key("retry-after"));
    assert!(refused.text().await.unwrap().contains("too_many_open"));
    // Any other request is one more, too; others have their own.
    let own = asked(&served, "GET", "/v1/runs", Some(&ann), None).await;
    assert_eq!(own.status, 429, "{}", own.body);
    for who in [bob.as_str(), OPERATOR.1] {
        let it = asked(&served, "GET", "/v1/runs", Some(who), None).await;
        assert_eq!(it.status, 200, "{}", it.body);
    }
    assert_eq!(served.get("/healthz").await.status, 200);
    drop(open);
    let begun = Instant::now();
    while asked(&served, "GET", "/v1/runs", Some(&ann), None).await.status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(50), "still full");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_bounded_in_number_and_length_and_answers_go_to_who_asks() {
    let desk = TestHome::new();
    let ann = user(&desk, "ann", &[]);
    let served = Served::start(&desk, &[OPERATOR]);
    let run = id(&planned(&served, &ann).await);
    until(&served, &ann, &run, |it| it["waits_for"] == "approval").await;
    let order = async |act: &str, body: Value| {
        let path = format!("/v1/runs/{run}/{act}");
        post(&served, &ann, &path, &body).await
    };
    let change = order("approve", json!({"change": "z".repeat(900_000)})).await;
    assert_eq!((change.status, code(&change)), (422, json!("too_long")));
    for answers in [vec!["y".repeat(900_000)], vec!["y".to_owned(); 100_000], vec!["y".to_owned()]]
    {
        let it = order("answers", json!({"answers": answers})).await;
        assert_eq!((it.status, code(&it)), (409, json!("not_waiting")));
    }
    let mut taken = 0;
    let refused = loop {
        let it = order("steer", json!({"text": format!("also {taken}")})).await;
        if it.status != 202 {
            break it;
        }
        taken += 1;
        assert!(taken <= 100, "no end of it");
    };
    assert_eq!((taken, refused.status), (100, 429), "{}", refused.body);
    assert_eq!(code(&refused), json!("too_many_orders"));
    // Whoever wants an end gets it.
    assert_eq!(order("cancel", json!({})).await.status, 202);
    until(&served, &ann, &run, |it| it["status"] == "cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_methods_make_no_rows_of_counts() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    for nth in 0..30 {
        let method = reqwest::Method::from_bytes(format!("M{nth}").as_bytes()).unwrap();
        let path = format!("{}/made/up/{nth}", served.at);
        served.send(served.client.request(method, path)).await;
    }
    let told = served.get("/metrics").await.body;
    let made_up: Vec<&str> = told
        .lines()
        .filter(|it| it.starts_with("ibid_http_requests") && it.contains("\"other\""))
        .collect();
    assert_eq!(made_up.len(), 1, "{told}");
    assert!(made_up[0].ends_with(" 30"), "{made_up:?}");
    assert!(!told.contains("M17") && !told.contains("made"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_operator_loosens_bounds_that_are_set() {
    let desk = TestHome::new();
    let ann = user(&desk, "ann", &[]);
    let with = [
        OPERATOR,
        ("IBID_BUDGET_USD", "0.5"),
        ("IBID_BUDGET_SECONDS", "30"),
        ("IBID_BUDGET_CALLS", "10"),
    ];
    let served = Served::start(&desk, &with);
    let granted = async |who: &str, wanted: Value, more: Value| {
        let mut body = json!({"question": ASKED, "plan": "require_approval", "budget": wanted});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let run = id(&post(&served, who, "/v1/runs", &body).await);
        let path = format!("/v1/runs/{run}/events");
        let request = served.client.get(format!("{}{path}", served.at));
        let request = request.bearer_auth(who).header("accept", "application/json");
        let events = served.send(request).await.json();
        post(&served, who, &format!("/v1/runs/{run}/cancel"), &json!({})).await;
        let budget = &events["data"][0]["data"]["question"]["budget"];
        (budget["usd"].as_f64(), budget["seconds"].as_u64(), budget["calls"].as_u64())
    };
    let set = (Some(0.5), Some(30), Some(10));
    for loose in
        [json!({"usd": 5000}), json!({"usd": "none"}), json!({"seconds": "none", "calls": 100_000})]
    {
        assert_eq!(granted(&ann, loose, json!({})).await, set);
    }
    // Nor by an effort that stands for more.
    let deep = json!({"effort": "deep"});
    assert_eq!(granted(&ann, json!({}), deep).await, set);
    let tight = json!({"usd": 0.25, "seconds": 20, "calls": 5});
    let tighter = (Some(0.25), Some(20), Some(5));
    assert_eq!(granted(&ann, tight, json!({})).await, tighter);
    let loose = granted(OPERATOR.1, json!({"usd": 5000, "calls": 500}), json!({})).await;
    assert_eq!(loose, (Some(5000.0), Some(30), Some(500)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_s_webhook_reaches_nothing_inside_that_allow_net_opens() {
    let desk = TestHome::new();
    let ann = user(&desk, "ann", &[]);
    let with =
        [OPERATOR, ("IBID_WEBHOOK_SECRET", "whsec_c2VjcmV0"), ("IBID_ALLOW_NET", "127.0.0.0/8")];
    let served = Served::start(&desk, &with);
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", inside.local_addr().unwrap());
    let body = json!({"question": ASKED, "plan": "require_approval", "webhook_url": url});
    let refused = post(&served, &ann, "/v1/runs", &body).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert_eq!(refused.json()["error"]["param"], "webhook_url");
    let own = post(&served, OPERATOR.1, "/v1/runs", &body).await;
    assert_eq!(own.status, 202, "{}", own.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_guesses_tokens_at_the_door_is_told_to_wait() {
    let desk = TestHome::new();
    let ann = user(&desk, "ann", &[]);
    let none = [OPERATOR, ("IBID_SERVE_PROXIES", "192.0.2.1")];
    for (with, known) in [(&none[..1], 303), (&none[..], 429)] {
        let served = Served::start(&desk, with);
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let sign_in = async |token: &str| {
            let request = client.post(format!("{}/login", served.at));
            let request = request.header("origin", &served.at);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            served.send(request.body(format!("token={token}&next=/"))).await
        };
        for nth in 0..20 {
            let it = sign_in(&format!("guess{nth}")).await;
            assert_eq!(it.status, 400, "{nth}: {}", it.body);
        }
        let late = sign_in("guess20").await;
        assert_eq!(late.status, 429, "{}", late.body);
        let seconds: u64 = late.retry_after.unwrap().parse().unwrap();
        assert!((1..=61).contains(&seconds), "{seconds}");
        // Behind a proxy are others, who know theirs.
        assert_eq!(sign_in(&ann).await.status, known);
        // A token of its own is no guess.
        let it = asked(&served, "GET", "/v1/runs", Some(&ann), None).await;
        assert_eq!(it.status, 200, "{}", it.body);
    }
}

/// What a web says in which the engine finds pages about slate on three hosts, and small ones about cork.
fn web(port: u16, path: &str) -> Vec<u8> {
    let found = |name: &str, nth: usize| {
        let (host, text) = (1 + nth % 3, format!("How often {name} is harvested"));
        json!({"url": format!("http://127.0.0.{host}:{port}/{name}/{nth}"), "title": text, "content": text})
    };
    if path.starts_with("/searxng/search") {
        let results: Vec<_> = match path.to_lowercase().contains("slate") {
            true => (0..24).map(|nth| found("slate", nth)).collect(),
            false => (0..4).map(|nth| found("cork", nth)).collect(),
        };
        let body = json!({"results": results}).to_string();
        return page("content-type: application/json\r\n", body.as_bytes());
    }
    match path.starts_with("/cork/") {
        true => page("content-type: text/html\r\n", b"<html><body><main><h1>Cork</h1><p>A cork oak is harvested every 9 years. The bark is stripped by hand with an axe.</p></main></body></html>"),
        false => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
    }
}

/// Answers one connection of [`web`]; a page about slate is begun and does not end.
async fn answer(mut socket: TcpStream, port: u16, slow: Arc<AtomicUsize>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|it| it == b"\r\n\r\n") {
        match socket.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    if !path.starts_with("/slate/") {
        let _ = socket.write_all(&web(port, &path)).await;
        return;
    }
    slow.fetch_add(1, Ordering::SeqCst);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 90000\r\n\r\n";
    let _ = socket.write_all(head.as_bytes()).await;
    while socket.write_all(b"<p>Slate is raised.</p>").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Serves [`web`] at three addresses of this machine until what comes back is dropped; counts slow pages that are asked for.
async fn tarpit() -> (u16, Arc<AtomicUsize>, JoinSet<()>) {
    let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = first.local_addr().unwrap().port();
    let mut listeners = vec![first];
    for host in ["127.0.0.2", "127.0.0.3"] {
        listeners.push(TcpListener::bind((host, port)).await.unwrap());
    }
    let (slow, mut tasks) = (Arc::<AtomicUsize>::default(), JoinSet::new());
    for listener in listeners {
        let slow = Arc::clone(&slow);
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                open.spawn(answer(socket, port, Arc::clone(&slow)));
            }
        });
    }
    (port, slow, tasks)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn one_user_s_pages_that_never_end_leave_places_to_others() {
    let desk = TestHome::new();
    let (ann, bob) = (user(&desk, "ann", &[]), user(&desk, "bob", &[]));
    let (port, slow, _tasks) = tarpit().await;
    let engine = format!("http://127.0.0.1:{port}/searxng");
    let with = [
        OPERATOR,
        ("SEARXNG_URL", engine.as_str()),
        ("IBID_ENGINES", "searxng"),
        ("IBID_LOOKUPS", "false"),
        ("IBID_PAGE_CACHE_HOURS", "0"),
        ("IBID_SEARCH_CACHE_HOURS", "0"),
        ("IBID_ALLOW_NET", "127.0.0.0/8"),
        ("IBID_CONCURRENCY", "4"),
    ];
    let served = Served::start(&desk, &with);
    let cork = async || {
        let begun = Instant::now();
        let body = json!({"question": "How often is a cork oak harvested?"});
        let it = post(&served, &bob, "/v1/runs?wait=55", &body).await;
        assert!(it.body.contains("every 9 years"), "{}", it.body);
        begun.elapsed()
    };
    let alone = cork().await;
    let body = json!({"question": "How often is slate harvested?", "effort": "deep"});
    let run = id(&post(&served, &ann, "/v1/runs", &body).await);
    let begun = Instant::now();
    while slow.load(Ordering::SeqCst) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(50), "no slow pages were asked for");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let beside = cork().await;
    let state = until(&served, &ann, &run, |_| true).await;
    assert_eq!(state["status"], "in_progress", "the pages were not slow: {state}");
    // Generous, for the machine is shared with other tests; behind the slow pages it would take half a minute.
    assert!(beside < alone * 3 + Duration::from_secs(4), "{alone:?} alone, {beside:?} beside");
    post(&served, &ann, &format!("/v1/runs/{run}/cancel"), &json!({})).await;
}
