//! Pages from the web, on loopback servers that the operator opened.
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ibid_core::ReadFailure;
use ibid_net::web::fetch::{FetchError, FetchLimits, Fetcher, NameResolver};
use ibid_net::web::guard::SsrfGuard;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cli::{Outcome, TestHome};

/// A server that answers every request by its path, and counts them.
pub(crate) struct Site {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn open(answer: fn(&str) -> Vec<u8>) -> Site {
        Site::open_with(move |_, path| answer(path)).await
    }

    /// A server whose answers know its port.
    pub(crate) async fn open_with(
        answer: impl Fn(u16, &str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Site {
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = first.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let mut listeners = vec![first];
        for host in ["127.0.0.2", "127.0.0.3"] {
            // Only Linux has all of 127.0.0.0/8 by itself.
            listeners.extend(TcpListener::bind((host, port)).await.ok());
        }
        for listener in listeners {
            let (kept, answer) = (Arc::clone(&heard), Arc::clone(&answer));
            tokio::spawn(async move {
                loop {
                    let (mut socket, _) = listener.accept().await.unwrap();
                    let mut request = Vec::new();
                    let mut buffer = [0; 4096];
                    while !request.windows(4).any(|it| it == b"\r\n\r\n") {
                        match socket.read(&mut buffer).await {
                            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
                            _ => break,
                        }
                    }
                    let request = String::from_utf8_lossy(&request).into_owned();
                    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                    kept.lock().unwrap().push(request);
                    let _ = socket.write_all(&answer(port, &path)).await;
                }
            });
        }
        Site { port, heard }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The paths that were asked for.
    pub(crate) fn paths(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let path = |it: &String| it.split(' ').nth(1).unwrap_or_default().to_owned();
        heard.iter().map(path).collect()
    }

    pub(crate) fn asked(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

pub(crate) fn page(headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn redirect(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\nlocation: {location}\r\n\r\n").into_bytes()
}

fn answer(path: &str) -> Vec<u8> {
    let packed = |bytes: &[u8]| {
        let mut it = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        it.write_all(bytes).unwrap();
        page("content-type: text/html\r\ncontent-encoding: gzip\r\n", &it.finish().unwrap())
    };
    match path {
        "/moved" => redirect("/page"),
        "/round" => redirect("/round"),
        "/inside" => redirect("http://10.0.0.1/secret"),
        "/file" => redirect("file:///etc/passwd"),
        "/packed" => packed(b"<p>Cork floats.</p>"),
        "/bomb" => packed(&vec![b' '; 64 << 20]),
        "/large" => page("content-type: text/html\r\n", &vec![b' '; 9 << 20]),
        "/compress" => page("content-encoding: compress\r\n", b"whatever"),
        "/gone" => {
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone".to_vec()
        }
        "/silent" => b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec(),
        _ => page("content-type: text/html; charset=utf-8\r\n", PAGE.as_bytes()),
    }
}

const PAGE: &str = "<html><head><title>Cork</title></head><body><main><h1>Cork</h1><p>Cork floats because its cells are closed \
    and filled with air, and it has floated on fishing nets since antiquity.</p></main></body></html>";

/// A name service that gives one answer after the other, and the last again and again.
struct SequenceResolver(Vec<IpAddr>, AtomicUsize);

#[async_trait]
impl NameResolver for SequenceResolver {
    async fn addresses(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        let nth = self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.get(nth).or(self.0.last()).copied().into_iter().collect())
    }
}

fn fetcher(blocks: &[&str], names: &[&str]) -> Fetcher {
    let guard = SsrfGuard::with_allowed(blocks.iter().map(|it| it.parse().unwrap()).collect());
    let names = names.iter().map(|it| it.parse().unwrap()).collect();
    let bounds = FetchLimits { silence: Duration::from_millis(500), ..FetchLimits::default() };
    Fetcher::new(guard, Arc::new(SequenceResolver(names, AtomicUsize::new(0))), bounds, "ibid-test")
}

fn reason<T: std::fmt::Debug>(it: Result<T, FetchError>) -> ReadFailure {
    it.unwrap_err().reason
}

#[tokio::test]
async fn a_page_comes_whole_and_nothing_but_the_agent_is_told() {
    let site = Site::open(answer).await;
    let it = fetcher(&["127.0.0.1"], &[]).fetch(&site.url("/moved")).await.unwrap();
    assert_eq!((it.url, it.redirects), (site.url("/page"), 1));
    assert_eq!(it.bytes, PAGE.as_bytes());
    assert_eq!(it.content_type.as_deref(), Some("text/html; charset=utf-8"));
    let heard = site.heard.lock().unwrap().join("").to_lowercase();
    assert!(heard.contains("user-agent: ibid-test"));
    for header in ["cookie:", "referer:", "authorization:"] {
        assert!(!heard.contains(header), "{heard}");
    }
    let packed = fetcher(&["127.0.0.1"], &[]).fetch(&site.url("/packed")).await.unwrap();
    assert_eq!(packed.bytes, b"<p>Cork floats.</p>");
}

#[tokio::test]
async fn what_is_no_page_is_told_by_its_reason() {
    let site = Site::open(answer).await;
    let fetcher = fetcher(&["127.0.0.1"], &[]);
    for (path, why) in [
        ("/inside", ReadFailure::BlockedAddress),
        ("/file", ReadFailure::BlockedAddress),
        ("/round", ReadFailure::BlockedAddress),
        ("/bomb", ReadFailure::TooLarge),
        ("/large", ReadFailure::TooLarge),
        ("/compress", ReadFailure::Unsupported),
        ("/gone", ReadFailure::NotFound),
        ("/silent", ReadFailure::Broken),
    ] {
        assert_eq!(reason(fetcher.fetch(&site.url(path)).await), why, "{path}");
    }
}

#[tokio::test]
async fn without_the_operator_nothing_is_sent_inside() {
    let site = Site::open(answer).await;
    assert_eq!(reason(fetcher(&[], &[]).fetch(&site.url("/")).await), ReadFailure::BlockedAddress);
    let by_name = format!("http://site.example.com:{}/", site.port);
    assert_eq!(
        reason(fetcher(&[], &["127.0.0.1"]).fetch(&by_name).await),
        ReadFailure::BlockedAddress
    );
    assert_eq!(site.asked(), 0);
}

#[tokio::test]
async fn a_name_that_turns_is_asked_where_it_was_checked_or_not_at_all() {
    let site = Site::open(answer).await;
    // The second look-up, for the redirect, answers with another address: it is judged anew and refused.
    let fetcher = fetcher(&["127.0.0.1"], &["127.0.0.1", "127.0.0.2"]);
    let url = format!("http://turning.example.com:{}/moved", site.port);
    assert_eq!(reason(fetcher.fetch(&url).await), ReadFailure::BlockedAddress);
    assert_eq!(site.asked(), 1);
}

#[test]
fn a_page_of_the_web_is_read_like_a_file() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let site = runtime.block_on(Site::open(answer));
    let desk = TestHome::new();
    let url = site.url("/moved");
    let mut command = desk.command(&["read", &url, "--json"]);
    let it = Outcome::from(command.env("IBID_ALLOW_NET", "127.0.0.0/8").output().unwrap());
    let row = it.json();
    assert_eq!(row["title"], "Cork", "{}", it.err);
    assert!(row["markdown"].as_str().unwrap().contains("fishing nets"));
    assert_eq!(row["url"], site.url("/page"));
    let it = desk.ibid(&["read", &url]);
    assert_eq!(it.code, 1);
    assert!(it.err.contains("127.0.0.1 is loopback"), "{}", it.err);
}

#[test]
fn what_a_text_cites_by_address_is_fetched_when_that_is_wanted() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let site = runtime.block_on(Site::open(answer));
    let desk = TestHome::new();
    let text = format!(
        "Cork floats because its cells are closed and filled with air [1]. Cork sinks like lead [2].\n\n\
         ## Sources\n\n[1] Cork, {}\n[2] Nothing, {}\n",
        site.url("/page"),
        site.url("/gone")
    );
    std::fs::write(desk.path("text.md"), text).unwrap();
    let check = |args: &[&str]| {
        let args = [&["check", "text.md", "--json"], args].concat();
        let mut command = desk.command(&args);
        Outcome::from(command.env("IBID_ALLOW_NET", "127.0.0.0/8").output().unwrap()).json()
    };
    let without = check(&[]);
    assert_eq!(site.asked(), 0);
    assert_eq!(without["claims"][0]["verdict"], "unreadable", "{without}");
    let with = check(&["--web"]);
    assert_eq!(with["claims"][0]["verdict"], "supported", "{with}");
    assert_eq!(with["claims"][1]["verdict"], "unreadable");
    assert!(with["sources"][1]["reason"].as_str().unwrap().contains("404"), "{with}");
}
