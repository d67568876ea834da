//! Tests with a server on loopback: host limits, robots.txt and caching.
use std::sync::Mutex;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::super::fetch::{FetchLimits, SystemResolver};
use super::super::guard::SsrfGuard;
use super::super::host_limit::HostPolicy;
use super::*;
use ibid_core::ReadFailure;

/// The response to a request, given its path and its head in lower case.
type SiteHandler = fn(&str, &str) -> String;

struct TestSite {
    base: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl TestSite {
    async fn open(says: SiteHandler) -> TestSite {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut request = vec![0; 8192];
                    let read = socket.read(&mut request).await.unwrap_or(0);
                    let request = String::from_utf8_lossy(&request[..read]).to_lowercase();
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    kept.lock().unwrap().push(path.clone());
                    let _ = socket.write_all(says(&path, &request).as_bytes()).await;
                });
            }
        });
        TestSite { base, heard }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().unwrap())
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn fetcher(distance: u64, cache: Option<Arc<WebCache>>) -> Arc<Fetcher> {
    let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse().unwrap()]);
    let policy = HostPolicy { interval: Duration::from_millis(distance), ..HostPolicy::default() };
    let fetcher =
        Fetcher::new(guard, Arc::new(SystemResolver), FetchLimits::default(), "ibid-test");
    let fetcher = fetcher.with_host_limits(Default::default(), policy);
    Arc::new(fetcher.with_cache(cache))
}

fn plain(path: &str, _: &str) -> String {
    match path {
        "/robots.txt" => {
            answer("200 OK", "", "user-agent: ibid\ndisallow: /secret\ncrawl-delay: 0.1\n")
        }
        "/to-secret" => answer("302 Found", "location: /secret/a\r\n", ""),
        path => answer("200 OK", "content-type: text/plain\r\n", path),
    }
}

#[tokio::test]
async fn robots_txt_is_asked_for_once_and_holds_for_redirects_too() {
    let dir = tempfile::tempdir().unwrap();
    let cache = WebCache::open(&WebCache::path(dir.path()), 1 << 20).await.unwrap();
    let cache = Arc::new(cache);
    let site = TestSite::open(plain).await;
    let polite = fetcher(0, Some(Arc::clone(&cache)));
    let begun = Instant::now();
    assert!(polite.fetch(&site.url("/a")).await.is_ok());
    assert!(polite.fetch(&site.url("/b")).await.is_ok());
    assert!(begun.elapsed() >= Duration::from_millis(100), "its pace is kept");
    for closed in ["/secret/a", "/to-secret"] {
        let fault = polite.fetch(&site.url(closed)).await.unwrap_err();
        assert_eq!(fault.reason, ReadFailure::Robots, "{}", fault.why);
    }
    assert_eq!(site.heard(), ["/robots.txt", "/a", "/b", "/to-secret"]);
    // The next process finds it in the cache.
    let next = fetcher(0, Some(cache));
    assert!(next.fetch(&site.url("/c")).await.is_ok());
    assert_eq!(site.heard(), ["/c"]);
}

#[tokio::test]
async fn a_server_that_cannot_give_its_robots_txt_lets_nothing_be_read_and_one_without_everything()
{
    let broken = TestSite::open(|_, _| answer("503 No", "", "")).await;
    let polite = fetcher(0, None);
    for _ in 0..2 {
        let fault = polite.fetch(&broken.url("/a")).await.unwrap_err();
        assert_eq!(fault.reason, ReadFailure::Robots);
    }
    assert_eq!(broken.heard(), ["/robots.txt"]);
    let without = TestSite::open(|path, _| match path {
        "/robots.txt" => answer("404 Not Found", "", "gone"),
        _ => answer("200 OK", "", "words"),
    })
    .await;
    assert!(polite.fetch(&without.url("/a")).await.is_ok());
}

#[tokio::test]
async fn a_host_is_asked_at_a_distance_and_rests_when_it_asks_for_it() {
    let site = TestSite::open(plain).await;
    let polite = fetcher(150, None);
    let begun = Instant::now();
    let (first, second, third) = (site.url("/1"), site.url("/2"), site.url("/3"));
    let all = tokio::join!(polite.fetch(&first), polite.fetch(&second), polite.fetch(&third));
    assert!(all.0.is_ok() && all.1.is_ok() && all.2.is_ok());
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let busy = TestSite::open(|path, _| match path {
        "/robots.txt" => answer("404 No", "", ""),
        "/long" => answer("429 Too Many", "retry-after: 3600\r\n", ""),
        _ => answer("503 Busy", "retry-after: 1\r\n", ""),
    })
    .await;
    let begun = Instant::now();
    let fault = polite.fetch(&busy.url("/short")).await.unwrap_err();
    assert_eq!(fault.reason, ReadFailure::BotBlock);
    assert!(begun.elapsed() >= Duration::from_secs(1), "it was left alone");
    assert_eq!(busy.heard(), ["/robots.txt", "/short", "/short"]);
    // One second of the earlier pause is left.
    let fault = polite.fetch(&busy.url("/long")).await.unwrap_err();
    assert_eq!(fault.status, Some(429));
    let fault = polite.fetch(&busy.url("/later")).await.unwrap_err();
    assert_eq!((fault.reason, fault.status), (ReadFailure::Timeout, None));
    assert_eq!(busy.heard(), ["/long"]);
}

fn dated(path: &str, request: &str) -> String {
    match path {
        "/robots.txt" => answer("404 No", "", ""),
        "/private" => answer("200 OK", "cache-control: no-store\r\n", "words"),
        _ if request.contains("if-none-match: \"v1\"") => answer("304 Not Modified", "", ""),
        _ => answer("200 OK", "etag: \"v1\"\r\n", "words"),
    }
}

#[tokio::test]
async fn a_page_is_used_while_it_is_fresh_and_asked_about_when_it_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let cache = WebCache::open(&WebCache::path(dir.path()), 1 << 20).await.unwrap();
    let cache = Arc::new(cache);
    let site = TestSite::open(dated).await;
    let open = |age| CachingFetcher::new(fetcher(0, None), Some(Arc::clone(&cache)), age);
    let day = open(Duration::from_secs(86_400));
    let url = site.url("/a?utm_source=x#top");
    let page = day.fetch(&url).await.unwrap();
    day.keep(&url, &page).await;
    assert_eq!(site.heard().len(), 2);
    // The same page under another URL: nothing is requested.
    let again = day.fetch(&site.url("/a")).await.unwrap();
    assert_eq!((again.bytes, again.url), (page.bytes.clone(), page.url));
    assert!(site.heard().is_empty());
    // Too old: the server confirms that it is unchanged, and it is fresh again.
    cache.age_entries(Duration::from_secs(2)).await;
    let second = open(Duration::from_secs(1));
    assert_eq!(second.fetch(&url).await.unwrap().bytes, page.bytes);
    assert_eq!(site.heard(), ["/robots.txt", "/a?utm_source=x"]);
    second.fetch(&url).await.unwrap();
    assert!(site.heard().is_empty());
    // A refresh ignores the cache.
    open(Duration::from_secs(86_400)).with_refresh(true).fetch(&url).await.unwrap();
    assert_eq!(site.heard().len(), 2);
    let url = site.url("/private");
    let page = day.fetch(&url).await.unwrap();
    day.keep(&url, &page).await;
    day.fetch(&url).await.unwrap();
    let asked = site.heard();
    assert_eq!(asked.iter().filter(|it| *it == "/private").count(), 2);
    // A blocked address is not looked up either.
    assert!(day.fetch("http://10.0.0.1/").await.is_err());
}

/// A resolver that maps every name to this machine.
struct LoopbackResolver;

#[async_trait::async_trait]
impl super::super::fetch::NameResolver for LoopbackResolver {
    async fn addresses(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

#[tokio::test]
async fn what_was_checked_is_connected_to_however_the_name_is_spelt() {
    let site = TestSite::open(plain).await;
    let port = site.base.rsplit(':').next().unwrap();
    let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse().unwrap()]);
    let fetcher =
        Fetcher::new(guard, Arc::new(LoopbackResolver), FetchLimits::default(), "ibid-test");
    // The system's resolver knows none of these names.
    for name in ["pinned.example", "pinned.example.", "PINNED.example"] {
        let came = fetcher.fetch(&format!("http://{name}:{port}/a")).await;
        assert!(came.is_ok(), "{name}: {came:?}");
    }
    assert_eq!(site.heard().len(), 3);
}
