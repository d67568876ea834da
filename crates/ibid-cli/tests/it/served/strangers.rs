//! People who have not shown who they are, and send slowly or not at all: nobody else waits for them.
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::Served;
use crate::cli::{ASKED, TestHome};
use crate::fetch::{Site, page};

const TOKEN: &str = "a-long-token-of-the-operator";

fn served(desk: &TestHome, with: &[(&str, &str)]) -> (Served, SocketAddr) {
    let mut all = vec![("IBID_TOKEN", TOKEN)];
    all.extend(with);
    let served = Served::start(desk, &all);
    let addr = served.at.strip_prefix("http://").unwrap().parse().unwrap();
    (served, addr)
}

/// A connection to `server` from the address `from` of this machine.
async fn from(from: &str, server: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(format!("{from}:0").parse().unwrap())?;
    socket.connect(server).await
}

/// What comes until the other end closes, at most for so long; `None` where it does not close.
async fn until_closed(stream: &mut TcpStream, within: Duration) -> Option<String> {
    let mut said = Vec::new();
    let read = tokio::time::timeout(within, stream.read_to_end(&mut said)).await;
    // A reset is an end as well.
    read.ok().map(|_| String::from_utf8_lossy(&said).into_owned())
}

/// Whether the server answers a request from this address.
async fn is_answered(address: &str, server: SocketAddr) -> bool {
    let Ok(mut stream) = from(address, server).await else {
        return false;
    };
    let head = format!("GET /healthz HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\r\n");
    if stream.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    let said = until_closed(&mut stream, Duration::from_secs(10)).await;
    said.is_some_and(|it| it.starts_with("HTTP/1.1 200"))
}

fn half(path: &str, server: SocketAddr, kind: &str, token: bool) -> String {
    let token = match token {
        true => format!("authorization: Bearer {TOKEN}\r\n"),
        false => String::new(),
    };
    format!(
        "POST {path} HTTP/1.1\r\nhost: {server}\r\norigin: http://{server}\r\n{token}content-type: {kind}\r\naccept: application/json, text/event-stream\r\ncontent-length: 500\r\n\r\n{{\"model\""
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_is_not_waited_for_on_any_route() {
    let desk = TestHome::new();
    let (_served, server) = served(&desk, &[("IBID_SERVE_BODY_SECONDS", "1")]);
    let (json, form) = ("application/json", "application/x-www-form-urlencoded");
    for (path, kind, token) in [
        ("/v1/responses", json, true),
        ("/v1/chat/completions", json, true),
        ("/v1/runs", json, true),
        ("/v1/plan", json, true),
        ("/mcp", json, true),
        ("/login", form, false),
    ] {
        let mut stream = from("127.0.0.1", server).await.unwrap();
        let half = half(path, server, kind, token);
        stream.write_all(half.as_bytes()).await.unwrap();
        let begun = Instant::now();
        let said = until_closed(&mut stream, Duration::from_secs(10)).await;
        let said = said.unwrap_or_else(|| panic!("{path} waits on"));
        assert!(said.starts_with("HTTP/1.1 408"), "{path}: {said}");
        // A browser is shown a page.
        assert!(!token || said.contains("slow_body"), "{path}: {said}");
        assert!(begun.elapsed() >= Duration::from_millis(900), "{path}");
    }
    // One that comes in pieces, in time, is heard.
    let mut stream = from("127.0.0.1", server).await.unwrap();
    let head = format!(
        "POST /v1/plan HTTP/1.1\r\nhost: {server}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 32\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for piece in ["{\"question\":", "\"What is", " rain now?\"}"] {
        stream.flush().await.unwrap();
        tokio::task::yield_now().await;
        stream.write_all(piece.as_bytes()).await.unwrap();
    }
    let said = until_closed(&mut stream, Duration::from_secs(30)).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_has_so_many_strangers_and_the_next_is_served() {
    let desk = TestHome::new();
    let (_served, server) = served(&desk, &[("IBID_SERVE_CONNECTIONS_PER_ADDRESS", "4")]);
    let mut kept = Vec::new();
    for _ in 0..4 {
        let mut stream = from("127.0.0.9", server).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        kept.push(stream);
    }
    let mut fifth = from("127.0.0.9", server).await.unwrap();
    let said = until_closed(&mut fifth, Duration::from_secs(5)).await;
    assert_eq!(said.as_deref(), Some(""), "one too many is closed at once");
    assert!(is_answered("127.0.0.8", server).await);
    // A proxy on this machine has many people behind it.
    let mut many = Vec::new();
    for _ in 0..12 {
        let mut stream = from("127.0.0.1", server).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        many.push(stream);
    }
    assert!(is_answered("127.0.0.1", server).await);
    drop(kept);
    let begun = Instant::now();
    while !is_answered("127.0.0.9", server).await {
        assert!(begun.elapsed() < Duration::from_secs(10), "its places come back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_who_take_every_place_keep_nobody_out() {
    let desk = TestHome::new();
    let (_served, server) = served(&desk, &[("IBID_SERVE_CONNECTIONS", "24")]);
    // Somebody who has shown a token stays connected through all of it.
    let mut known = from("127.0.0.1", server).await.unwrap();
    let ask = format!(
        "GET /v1/models HTTP/1.1\r\nhost: {server}\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    );
    known.write_all(ask.as_bytes()).await.unwrap();
    let mut first = [0; 4096];
    assert!(known.read(&mut first).await.unwrap() > 0);
    assert!(first.starts_with(b"HTTP/1.1 200"));
    let mut strangers = Vec::new();
    for nth in 0..120 {
        let mut stream = from("127.0.0.1", server).await.unwrap();
        let form = "application/x-www-form-urlencoded";
        let half = half("/login", server, form, false);
        // Who had to make room already does not hear it.
        let _ = stream.write_all(half.as_bytes()).await;
        strangers.push(stream);
        if nth % 20 == 19 {
            assert!(is_answered("127.0.0.1", server).await, "after {nth}");
        }
    }
    for _ in 0..5 {
        assert!(is_answered("127.0.0.7", server).await);
    }
    known.write_all(ask.as_bytes()).await.unwrap();
    let mut again = [0; 4096];
    let read = tokio::time::timeout(Duration::from_secs(10), known.read(&mut again)).await;
    assert!(read.unwrap().unwrap() > 0, "who is known was not sent away");
    assert!(again.starts_with(b"HTTP/1.1 200"));
    drop(strangers);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_never_led_to_ask_itself() {
    let own = Arc::new(Mutex::new(String::new()));
    let known = Arc::clone(&own);
    let site = Site::open_with(move |port, path| {
        let found = |url: String| json!({"url": url, "title": "How much rain a green roof retains", "content": "rain"});
        let at = known.lock().unwrap().clone();
        let (name, port_of_ours) = at.rsplit_once(':').unwrap_or_default();
        match path.split('?').next() {
            Some("/searxng/search") => {
                let body = json!({"results": [
                    found(format!("{at}/llms.txt")),
                    found(format!("http://127.1:{port_of_ours}/openapi.json")),
                    found(format!("http://127.0.0.1:{port}/moved")),
                    found(format!("http://127.0.0.1:{port}/rain")),
                ], "server": name});
                page("content-type: application/json\r\n", body.to_string().as_bytes())
            }
            Some("/moved") => format!("HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\nlocation: {at}/healthz\r\n\r\n").into_bytes(),
            Some("/rain") => page("content-type: text/html\r\n", b"<title>Rain</title><main><h1>Rain</h1><p>A green roof retained 56 % of annual rainfall on average.</p></main>"),
            _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
        }
    })
    .await;
    let desk = TestHome::new();
    let searxng = site.url("/searxng");
    let served = Served::start(
        &desk,
        &[
            ("IBID_ALLOW_NET", "127.0.0.0/8"),
            ("IBID_WEBHOOK_SECRET", "whsec_c2VjcmV0"),
            ("SEARXNG_URL", &searxng),
            ("IBID_LOOKUPS", "false"),
        ],
    );
    own.lock().unwrap().clone_from(&served.at);
    let hook = json!({"question": ASKED, "webhook_url": format!("{}/v1/runs", served.at)});
    let refused = served.post("/v1/runs", &hook).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    let asked = json!({"question": ASKED, "engines": ["searxng"]});
    let accepted = served.post("/v1/runs", &asked).await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    let id = accepted.json()["id"].as_str().unwrap().to_owned();
    let told = served.stream(&format!("/v1/runs/{id}/events")).await;
    let read: Vec<&String> = told
        .iter()
        .filter(|it| it.0 == "read.failed" || it.0 == "read.completed")
        .map(|it| &it.2)
        .collect();
    let blocked = read.iter().filter(|it| it.contains("blocked_address"));
    assert_eq!(blocked.count(), 3, "{read:?}");
    assert!(read.iter().any(|it| it.contains("/rain")), "{read:?}");
}
