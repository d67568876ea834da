//! A web on loopback that fails as a script says: an engine, pages, and hosts whose names nobody knows.
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::ports::read_key;
use super::script::Port;
use super::world::{Books, PAGES, Sent};
use crate::Fault;

/// What goes wrong in a run of the program, a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    EngineCut,
    EngineGarbage,
    PageCut,
    PageHuge,
    PageStalls,
    NoSuchName,
    NetworkCut,
    ChildKilled,
    Stopped,
    Killed,
    DiskFull,
    PowerLoss,
}

impl Trouble {
    pub(super) const ALL: [Trouble; 12] = [
        Trouble::EngineCut,
        Trouble::EngineGarbage,
        Trouble::PageCut,
        Trouble::PageHuge,
        Trouble::PageStalls,
        Trouble::NoSuchName,
        Trouble::NetworkCut,
        Trouble::ChildKilled,
        Trouble::Stopped,
        Trouble::Killed,
        Trouble::DiskFull,
        Trouble::PowerLoss,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Trouble::EngineCut => "engine: answer cut off",
            Trouble::EngineGarbage => "engine: answer is no JSON",
            Trouble::PageCut => "page: connection cut in its middle",
            Trouble::PageHuge => "page: 1 GB",
            Trouble::PageStalls => "page: nothing comes for 3 s",
            Trouble::NoSuchName => "DNS: a name that does not resolve",
            Trouble::NetworkCut => "network: every connection cut for 1 s",
            Trouble::ChildKilled => "child: SIGKILL while it parses",
            Trouble::Stopped => "program: SIGSTOP for 2 s",
            Trouble::Killed => "program: SIGKILL",
            Trouble::DiskFull => "store: disk full",
            Trouble::PowerLoss => "power loss: unsynced writes dropped",
        }
    }

    /// Whether it happens to searches, not to pages.
    fn is_of_search(self) -> bool {
        matches!(self, Trouble::EngineCut | Trouble::EngineGarbage | Trouble::NoSuchName)
    }

    /// Whether the driver of the script must do it.
    fn is_of_process(self) -> bool {
        matches!(
            self,
            Trouble::ChildKilled
                | Trouble::Stopped
                | Trouble::Killed
                | Trouble::DiskFull
                | Trouble::PowerLoss
        )
    }
}

/// The web of one script.
pub(super) struct Web {
    /// What goes wrong at which search or page, from 1.
    troubles: Vec<(Trouble, u32)>,
    state: Mutex<State>,
    /// Tells the driver what it must do.
    orders: Sender<Trouble>,
    pub(super) port: u16,
}

#[derive(Default)]
pub(super) struct State {
    counts: BTreeMap<bool, u32>,
    pub(super) books: Books,
    pub(super) session: u32,
    /// What happened.
    pub(super) fired: Vec<Trouble>,
    cut: bool,
}

impl Web {
    /// Serves the web from threads of this program, for as long as it lives.
    pub(super) fn serve(
        troubles: Vec<(Trouble, u32)>,
        orders: Sender<Trouble>,
    ) -> Result<Arc<Web>, Fault> {
        let listener = TcpListener::bind("0.0.0.0:0")?;
        let port = listener.local_addr()?.port();
        let mut state = State { session: 1, ..State::default() };
        for (nth, page) in PAGES.iter().enumerate() {
            let text = format!("{}\n{}", page.1, page.3);
            state.books.served.insert(address(port, nth), vec![text]);
        }
        let web = Arc::new(Web { troubles, state: Mutex::new(state), orders, port });
        let served = Arc::clone(&web);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let web = Arc::clone(&served);
                std::thread::spawn(move || web.answer(socket));
            }
        });
        Ok(web)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the requests of a connection; `None` when it is cut or ends.
    fn answer(&self, mut socket: TcpStream) -> Option<()> {
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
            let nth = path.strip_prefix("/page/").and_then(|rest| rest.parse::<usize>().ok());
            let is_search = path.starts_with("/searxng/search?");
            if self.state().cut {
                return None;
            }
            let trouble = match (is_search, nth) {
                (false, None) => None,
                _ => self.book(is_search, nth),
            };
            let (kind, body) = match (is_search, nth) {
                (true, _) => ("application/json", self.hits(trouble)),
                (_, Some(nth)) => ("text/html; charset=utf-8", page(PAGES.get(nth)?)),
                _ => {
                    respond(&mut socket, "404 Not Found", "text/plain", "")?;
                    continue;
                }
            };
            match trouble {
                Some(Trouble::EngineCut | Trouble::PageCut) => {
                    return cut(&mut socket, kind, &body);
                }
                Some(Trouble::PageHuge) => return huge(&mut socket),
                Some(Trouble::PageStalls) => std::thread::sleep(Duration::from_secs(3)),
                Some(Trouble::NetworkCut) => {
                    self.state().cut = true;
                    std::thread::sleep(Duration::from_secs(1));
                    self.state().cut = false;
                    return None;
                }
                _ => {}
            }
            respond(&mut socket, "200 OK", kind, &body)?;
        }
    }

    /// Books a request, tells the driver what is its to do, and returns what the web must do.
    fn book(&self, is_search: bool, page: Option<usize>) -> Option<Trouble> {
        let mut state = self.state();
        let count = state.counts.entry(is_search).or_default();
        *count += 1;
        let nth = *count;
        if let Some(page) = page {
            let (session, key) = (state.session, read_key(&address(self.port, page)));
            state.books.sent.push(Sent { session, port: Port::Page, key });
        }
        let mut own = None;
        for (trouble, at) in &self.troubles {
            if trouble.is_of_search() != is_search || *at != nth {
                continue;
            }
            if trouble.is_of_process() {
                // Without a driver the script is over.
                self.orders.send(*trouble).ok();
            } else {
                state.fired.push(*trouble);
                own = own.or(Some(*trouble));
            }
        }
        own
    }

    fn hits(&self, trouble: Option<Trouble>) -> String {
        if trouble == Some(Trouble::EngineGarbage) {
            return "<html>{\"results\": [\u{0}".repeat(50);
        }
        let hit = |(nth, page): (usize, &(&str, &str, &str, &str))| {
            let url = match trouble {
                Some(Trouble::NoSuchName) => format!("http://h{nth}.invalid/page/{nth}"),
                _ => address(self.port, nth),
            };
            json!({"url": url, "title": page.1, "content": page.3.lines().next()})
        };
        let hits: Vec<Value> = PAGES.iter().enumerate().map(hit).collect();
        json!({ "results": hits }).to_string()
    }
}

/// Where a page is. All of 127.0.0.0/8 is this machine, so that each has a host of its own.
fn address(port: u16, nth: usize) -> String {
    format!("http://{}:{port}/page/{nth}", Ipv4Addr::new(127, 1, 0, nth as u8 + 1))
}

fn page((_, title, day, text): &(&str, &str, &str, &str)) -> String {
    let text: String = text.lines().map(|line| format!("<p>{line}</p>")).collect();
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><title>{title}</title><meta name=\"date\" content=\"{day}\"></head><body><main><h1>{title}</h1>{text}</main></body></html>"
    )
}

fn respond(socket: &mut TcpStream, status: &str, kind: &str, body: &str) -> Option<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(body.as_bytes()).ok()
}

/// Promises a body and closes the connection in its middle.
fn cut(socket: &mut TcpStream, kind: &str, body: &str) -> Option<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(&body.as_bytes()[..length / 2]).ok()?;
    None
}

/// Sends a page of 1 GB, or as much of it as is taken.
fn huge(socket: &mut TcpStream) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>";
    socket.write_all(head.as_bytes()).ok()?;
    let line = "Cork and more cork. ".repeat(52_429);
    for _ in 0..1_024 {
        socket.write_all(line.as_bytes()).ok()?;
    }
    None
}
