//! Servers that read pages, played on loopback.
use ibid_core::FailureReason;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use ibid_net::web::fetch::{FetchLimits, SystemResolver};
use ibid_net::web::guard::SsrfGuard;
use ibid_net::web::host_limit::HostPolicy;

/// A server that gives `answers` by the first word of the path that is asked for, and notes what it hears.
async fn server(
    answers: &'static [(&'static str, u16, &'static str)],
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while let Ok(read) = socket.read(&mut buffer).await {
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request);
                let Some((head, body)) = text.split_once("\r\n\r\n") else {
                    continue;
                };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    let is_length = name.eq_ignore_ascii_case("content-length");
                    is_length.then(|| value.parse::<usize>().ok())?
                });
                if read == 0 || body.len() >= length.unwrap_or(0) {
                    break;
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
            kept.lock().unwrap().push(request);
            let found = answers.iter().find(|answer| path.starts_with(answer.0));
            let (status, body) = found.map_or((404, "gone"), |row| (row.1, row.2));
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    (base, heard)
}

fn reader(name: &str, base: &str, polite: bool) -> RemoteReader {
    let row = SERVERS.iter().find(|server| server.name == name).unwrap();
    let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse().unwrap()]);
    let gate = Fetcher::new(guard, Arc::new(SystemResolver), FetchLimits::default(), "ibid-test");
    let courtesy = HostPolicy { interval: Duration::ZERO, ..HostPolicy::default() };
    let gate = match polite {
        true => gate.with_host_limits(Default::default(), courtesy),
        false => gate,
    };
    let limits = ExtractLimits::default();
    RemoteReader::open(row, Some("secret"), Some(base), Arc::new(gate), limits).unwrap()
}

async fn read(reader: &RemoteReader, url: &str) -> std::result::Result<Page, ReadFailure> {
    let page = reader.read(&Hit::new("web", url, "", "")).await;
    page.map_err(|error| match error.reason() {
        Some(FailureReason::Read(reason)) => *reason,
        other => panic!("{other:?}"),
    })
}

const PAGE: &str = "http://127.0.0.1:9/cork?a=b";

#[tokio::test]
async fn each_server_is_asked_in_its_own_way_and_gives_a_page_with_the_pages_address() {
    let (base, heard) = server(&[
        ("/v1/scrape", 200, r##"{"content":{"markdown":"# Cork\n\nCork floats on water because its cells hold air."},"metadata":{"title":"On cork","language":"en-GB","statusCode":200,"urlSource":"http://127.0.0.1:9/cork?a=b"}}"##),
        ("/md", 200, r##"{"url":"http://127.0.0.1:9/cork?a=b","filter":"fit","markdown":"# On cork\n\nCork floats on water because its cells hold air.","success":true}"##),
        ("/v2/scrape", 200, r##"{"success":true,"data":{"markdown":"Cork floats on water because its cells hold air.","metadata":{"title":"On cork","sourceURL":"http://127.0.0.1:9/cork?a=b","statusCode":200,"publishedTime":"2024-03-05T10:00:00Z"}}}"##),
        ("/http", 200, r##"{"code":200,"status":20000,"data":{"title":"On cork","url":"http://127.0.0.1:9/cork?a=b","content":"Cork floats on water because its cells hold air.","publishedTime":"Tue, 05 Mar 2024 10:00:00 GMT"}}"##),
    ])
    .await;
    for (name, asked) in [
        ("steel", "POST /v1/scrape"),
        ("crawl4ai", "POST /md"),
        ("firecrawl", "POST /v2/scrape"),
        ("jina", "GET /http://127.0.0.1:9/cork?a=b"),
    ] {
        let page = read(&reader(name, &base, false), PAGE).await.unwrap();
        assert_eq!((page.url.as_str(), page.title.as_str()), (PAGE, "On cork"), "{name}");
        assert!(page.text().expose().contains("its cells hold air."), "{name}");
        let heard = heard.lock().unwrap().pop().unwrap();
        assert!(heard.starts_with(asked), "{heard}");
        assert!(heard.contains("secret"), "{heard}");
        let told = heard.contains(r#""url":"http://127.0.0.1:9/cork?a=b""#);
        assert!(name == "jina" || told, "{heard}");
        let dated = matches!(name, "firecrawl" | "jina");
        assert_eq!(page.date.as_deref() == Some("2024-03-05"), dated, "{name}: {:?}", page.date);
    }
}

#[tokio::test]
async fn no_server_is_sent_to_an_address_that_is_closed_or_that_robots_txt_closes() {
    let (base, heard) = server(&[
        ("/robots.txt", 200, "user-agent: *\ndisallow: /private"),
        (
            "/v1/scrape",
            200,
            r#"{"content":{"markdown":"Cork floats on water because its cells hold air."}}"#,
        ),
    ])
    .await;
    let reader = reader("steel", &base, true);
    for url in
        ["http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://user@127.0.0.1/"]
    {
        assert_eq!(read(&reader, url).await.unwrap_err(), ReadFailure::BlockedAddress, "{url}");
    }
    assert!(heard.lock().unwrap().is_empty());
    let closed = format!("{base}/private/a");
    assert_eq!(read(&reader, &closed).await.unwrap_err(), ReadFailure::Robots);
    assert_eq!(read(&reader, &closed).await.unwrap_err(), ReadFailure::Robots);
    assert_eq!(heard.lock().unwrap().len(), 1, "robots.txt is asked for once");
    assert!(read(&reader, &format!("{base}/open")).await.is_ok());
}

#[tokio::test]
async fn what_a_server_has_read_it_is_not_asked_for_again() {
    let (base, heard) = server(&[(
        "/md",
        200,
        r#"{"markdown":"Cork floats on water because its cells hold air."}"#,
    )])
    .await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.db");
    let cache = ibid_net::web::cache::WebCache::open(&path, 1 << 20).await;
    let cache = Arc::new(cache.unwrap());
    let hour = Duration::from_secs(3600);
    let open = |fresh| {
        let drafts = DraftCache::new(Some(Arc::clone(&cache)), hour, fresh);
        reader("crawl4ai", &base, false).with_cache(drafts)
    };
    let first = read(&open(false), PAGE).await.unwrap();
    let second = read(&open(false), PAGE).await.unwrap();
    assert_eq!((first.hash(), heard.lock().unwrap().len()), (second.hash(), 1));
    read(&open(true), PAGE).await.unwrap();
    assert_eq!(heard.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_a_server_could_not_read_has_the_pages_reason() {
    let (base, _) = server(&[
        ("/v1/scrape", 200, r#"{"content":{"markdown":"Cork floats."},"metadata":{"statusCode":403}}"#),
        ("/md", 200, r#"{"url":"http://10.0.0.1/","markdown":"Cork floats on water because its cells hold air."}"#),
        ("/v2/scrape", 402, r#"{"success":false,"error":"Insufficient credits"}"#),
        ("/http", 200, r#"{"data":{"content":""}}"#),
    ])
    .await;
    for (name, reason) in [
        ("steel", ReadFailure::BotBlock),
        ("crawl4ai", ReadFailure::BlockedAddress),
        ("firecrawl", ReadFailure::Unsupported),
        ("jina", ReadFailure::Empty),
    ] {
        assert_eq!(read(&reader(name, &base, false), PAGE).await.unwrap_err(), reason, "{name}");
    }
    let hit = Hit::new("web", PAGE, "", "");
    assert!(!reader("jina", &base, false).can_read_after(&hit, ReadFailure::NotFound));
    assert!(reader("jina", &base, false).can_read_after(&hit, ReadFailure::BotBlock));
}
