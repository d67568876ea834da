//! How fast many pages of the web come, beside the slowest of them, and how much memory that takes: a web of our own on
//! loopback, each page on a host of its own, each with a wait of its own.
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ibid_core::domain::Hit;
use ibid_core::ports::PageReader as _;
use ibid_extract::ExtractLimits;
use ibid_net::web::cache::WebCache;
use ibid_net::web::caching::CachingFetcher;
use ibid_net::web::fetch::{FetchLimits, Fetcher, NameResolver};
use ibid_net::web::guard::SsrfGuard;
use ibid_net::web::host_limit::{HostPolicy, OwnerHostLimiter};
use ibid_sources::reader::EmbeddedReader;
use serde_json::{Value, json};

use crate::memory::Numbers;
use crate::program::{self, Home};
use crate::speed::watched;
use crate::{Fault, Measured, Outcome};

/// The most that all pages may take, as a share of the slowest.
const SLOWER: f64 = 1.2;
/// The most memory, MB.
const MAX_MB: f64 = 60.0;
/// The shortest and the longest wait of a page, milliseconds.
const WAITS: (u64, u64) = (500, 3000);
/// What an engine takes to answer, milliseconds.
const SEARCH: u64 = 300;
/// Bytes of a page, about.
const PAGE: usize = 200_000;

/// The name by which this program calls itself to read the pages in a process of its own: `PORT PAGES`.
pub(crate) const READER: &str = "__web";

/// Runs `evals web [--pages N] [--ibid PATH]`: N (100) pages of some 200 kB, each on a host of its own that waits between half
/// a second and three, read all at once by the reader of web pages; then a run of the program over an engine that finds them.
pub(crate) fn run(args: &[String]) -> Outcome {
    let pages = program::number(args, "--pages", 100)?;
    match measure(args, Site { pages, hurry: 1 })? {
        (read, true) => Ok(Measured::new(read, "pages")),
        (_, false) => Err("a bound is not kept".into()),
    }
}

/// Few pages that are a tenth as large and wait a tenth as long; how long they take is only printed.
pub(crate) fn small(args: &[String]) -> Outcome {
    let (read, _) = measure(args, Site { pages: 8, hurry: 10 })?;
    Ok(Measured::new(read, "pages"))
}

/// The pages of the web that is served here.
#[derive(Clone, Copy)]
struct Site {
    pages: usize,
    /// By how much the pages are smaller and their waits shorter.
    hurry: usize,
}

impl Site {
    /// How long the host of a page waits: spread evenly, in no order.
    fn wait_of(self, nth: usize) -> Duration {
        let (least, most) = WAITS;
        Duration::from_millis(least + (nth as u64 * 619) % (most - least + 1)) / self.hurry as u32
    }
}

/// Prints the table; how many pages were read, and whether the bounds are kept.
fn measure(args: &[String], site: Site) -> Result<(usize, bool), Fault> {
    let pages = site.pages;
    let binary = program::binary(args)?;
    let port = serve(site)?;
    let slowest =
        (0..pages).map(|index| site.wait_of(index)).max().unwrap_or_default().as_secs_f64();
    println!("{pages} pages of {} kB, the slowest {slowest:.2} s", PAGE / 1000 / site.hurry);
    println!(
        "| what | s | of the slowest | bound | MB | bound |\n| --- | --- | --- | --- | --- | --- |"
    );
    let mut child = Command::new(std::env::current_exe()?);
    let (port, many) = (port.to_string(), pages.to_string());
    child.args([READER, &port, &many]);
    let (said, peak) = watched(&mut child)?;
    let took: f64 = said.trim().parse()?;
    let mut kept = told("read at once, by the library", took, slowest, peak);
    let (took, slowest, read, peak) = researched(&binary, &port, site)?;
    kept &= told(&format!("{read} pages read in one round of a run"), took, slowest, peak);
    match read {
        0 => Err("the run read no page".into()),
        _ => Ok((pages + read, kept)),
    }
}

fn told(what: &str, took: f64, slowest: f64, peak: f64) -> bool {
    let share = took / slowest;
    println!("| {what} | {took:.2} | {share:.2} | {SLOWER} | {peak:.1} | {MAX_MB} |");
    share <= SLOWER && peak <= MAX_MB
}

/// Reads every page at once, as a run does but without its journal, and prints the seconds that it took.
pub(crate) fn read_all(args: &[String]) -> Result<(), Fault> {
    let [port, pages] = args else {
        return Err(format!("usage: evals {READER} PORT PAGES").into());
    };
    let (port, pages): (u16, usize) = (port.parse()?, pages.parse()?);
    let dir = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse()?]);
        let fetcher = Fetcher::new(guard, Arc::new(Hosts), FetchLimits::default(), "ibid-evals");
        let fetcher = fetcher.with_host_limits(OwnerHostLimiter::default(), HostPolicy::default());
        let cache = Arc::new(WebCache::open(&WebCache::path(dir.path()), 1 << 30).await?);
        let keeping =
            CachingFetcher::new(Arc::new(fetcher), Some(cache), Duration::from_secs(3600));
        let reader = Arc::new(EmbeddedReader::new(keeping, ExtractLimits::default()));
        let begun = Instant::now();
        let mut reading = tokio::task::JoinSet::new();
        for nth in 0..pages {
            let reader = Arc::clone(&reader);
            let hit =
                Hit::new("evals", &format!("http://h{nth}.example:{port}/page/{nth}"), "", "");
            // What is read goes to whoever asked; what is held here is what fetching holds.
            reading.spawn(async move { reader.read(&hit).await.map(drop) });
        }
        for page in reading.join_all().await {
            page.map_err(|error| error.chain())?;
        }
        println!("{:.3}", begun.elapsed().as_secs_f64());
        Ok(())
    })
}

/// One run of the program: seconds from the first page asked for to the last that came, the wait of the slowest of them, how
/// many there were, and peak memory.
fn researched(binary: &Path, port: &str, site: Site) -> Result<(f64, f64, usize, f64), Fault> {
    let home = Home::new(binary)?;
    let question = "What is known of the wabc, of its wdef and of the wghi?";
    let mut command = home.command(&["run", question, "--engine", "searxng", "--jsonl"]);
    let found = (site.pages / 2).clamp(1, 100).to_string();
    command
        .env("SEARXNG_URL", format!("http://127.0.0.1:{port}/searxng"))
        .env("IBID_ALLOW_NET", "127.0.0.0/8")
        .env("IBID_LOOKUPS", "false")
        .env("IBID_DEPTH", "1")
        .env("IBID_RESULTS_PER_QUERY", found)
        .env("IBID_BUDGET_CALLS", "none");
    let (said, peak) = watched(&mut command)?;
    let mut asked: BTreeMap<String, f64> = BTreeMap::new();
    let (mut first, mut last, mut read) = (f64::MAX, 0.0_f64, 0);
    for line in said.lines() {
        let event: Value = serde_json::from_str(line)?;
        let at = || seconds(event["ts"].as_str().unwrap_or_default());
        match event["type"].as_str() {
            Some("read.started") => {
                first = first.min(at()?);
                let url = event["data"]["url"].as_str().unwrap_or_default().to_owned();
                asked.insert(url, 0.0);
            }
            Some("read.completed") => {
                last = last.max(at()?);
                read += 1;
            }
            Some("read.failed") => return Err(format!("a page was not read: {line}").into()),
            _ => {}
        }
    }
    let of = |url: &String| url.rsplit('/').next().and_then(|part| part.parse().ok());
    let slowest = asked
        .keys()
        .filter_map(of)
        .map(|it| site.wait_of(it))
        .max()
        .ok_or("no page was asked for")?;
    Ok((last - first, slowest.as_secs_f64(), read, peak))
}

/// Seconds of the day in an event's time.
fn seconds(ts: &str) -> Result<f64, Fault> {
    let time = ts.split('T').nth(1).ok_or("an event without a time")?;
    let mut sum = 0.0;
    for part in time.trim_end_matches('Z').split(':') {
        sum = sum * 60.0 + part.parse::<f64>()?;
    }
    Ok(sum)
}

/// A name service for the names of the hosts, as the open web has names.
struct Hosts;

#[async_trait]
impl NameResolver for Hosts {
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let nth = name.strip_prefix('h').and_then(|rest| rest.split('.').next());
        let nth: usize = nth.and_then(|nth| nth.parse().ok()).unwrap_or_default();
        Ok(vec![host(nth).into()])
    }
}

/// Where a page is. All of 127.0.0.0/8 is this machine, so that each has a host of its own.
fn address(port: u16, nth: usize) -> String {
    format!("http://{}:{port}/page/{nth}", host(nth))
}

fn host(nth: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 1, (nth / 250) as u8, (nth % 250 + 1) as u8)
}

/// Serves all hosts from threads of this program; the port.
fn serve(site: Site) -> Result<u16, Fault> {
    let listener = TcpListener::bind("0.0.0.0:0")?;
    let port = listener.local_addr()?.port();
    let bodies: Arc<Vec<String>> =
        Arc::new((0..site.pages).map(|nth| page(nth, PAGE / site.hurry)).collect());
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let bodies = Arc::clone(&bodies);
            std::thread::spawn(move || answer(socket, port, site, &bodies));
        }
    });
    Ok(port)
}

/// Answers requests on one connection until it ends.
fn answer(mut socket: TcpStream, port: u16, site: Site, bodies: &[String]) -> Option<()> {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            match socket.read(&mut buffer).ok()? {
                0 => return None,
                read => request.extend_from_slice(&buffer[..read]),
            }
        }
        let text = String::from_utf8_lossy(&request).into_owned();
        request.clear();
        let path = text.split(' ').nth(1)?;
        let (status, kind, body) = if let Some(query) = path.strip_prefix("/searxng/search?") {
            std::thread::sleep(Duration::from_millis(SEARCH));
            ("200 OK", "application/json", found(port, query, bodies.len()))
        } else if let Some(nth) = path.strip_prefix("/page/").and_then(|rest| rest.parse().ok()) {
            std::thread::sleep(site.wait_of(nth));
            ("200 OK", "text/html; charset=utf-8", bodies.get(nth)?.clone())
        } else {
            ("404 Not Found", "text/plain", String::new())
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).ok()?;
        socket.write_all(body.as_bytes()).ok()?;
    }
}

/// What the engine finds: half of all pages, other ones for every other query.
fn found(port: u16, query: &str, pages: usize) -> String {
    let begin = query.bytes().map(usize::from).sum::<usize>() % pages;
    let hit = |nth: usize| {
        let nth = (begin + nth) % pages;
        json!({"url": address(port, nth), "title": format!("The wabc and its wdef, part {nth}"),
            "content": "What is known of the wabc, of its wdef and of the wghi."})
    };
    let hits: Vec<Value> = (0..pages.div_ceil(2)).map(hit).collect();
    json!({ "results": hits }).to_string()
}

/// A page of paragraphs with links, a list of links before and after them.
fn page(nth: usize, size: usize) -> String {
    let mut numbers = Numbers::new(nth as u64 + 1);
    let links: String =
        (0..60).map(|_| format!("<li><a href=\"/{0}\">{0}</a></li>", numbers.text(2))).collect();
    let mut body = String::new();
    while body.len() + 2 * links.len() < size {
        body += &format!(
            "<p class=\"text\">The wabc and its wdef, by <a href=\"/x\">{}</a>: {}.</p>\n",
            numbers.text(3),
            numbers.text(70)
        );
    }
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><title>The wabc and its wdef, part {nth}</title></head><body><nav><ul>{links}</ul></nav><main><h1>The wabc and its wdef, part {nth}</h1>{body}</main><footer><ul>{links}</ul></footer></body></html>"
    )
}
