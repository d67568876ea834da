//! Fetching from the open web: every address, every answer of a name service and every redirect through the guard.
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use reqwest::{Client, Response, redirect};
use tokio::time::{Instant, timeout, timeout_at};

use super::guard::{Blocked, Guard, Target};
use super::unpack::{ACCEPTED, Unpacking};
use crate::adapters::model::http::install_tls;
use crate::record::FailReason;
use crate::seams::{Egress, host_of};

/// Clients kept, each for a name and the addresses that were checked for it.
const MOST_CLIENTS: usize = 64;

/// What is asked for first; what else comes is taken too, if a reader here knows it.
const WANTED: &str =
    "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5";

/// Says which addresses a name has.
#[async_trait]
pub trait Names: Send + Sync {
    /// The addresses of `name`, in the order of preference; none for a name that there is not.
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The system's name service. Search domains are not tried.
pub struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        // The final dot says that the name is whole.
        let absolute = match name.contains('.') {
            true => format!("{name}."),
            false => name.to_owned(),
        };
        let found = tokio::net::lookup_host((absolute, 0)).await?;
        let mut addresses: Vec<IpAddr> = Vec::new();
        for it in found.map(|it| it.ip()) {
            if !addresses.contains(&it) {
                addresses.push(it);
            }
        }
        Ok(addresses)
    }
}

/// How long is waited and how much is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// For a name's addresses.
    pub lookup: Duration,
    /// For a connection.
    pub connect: Duration,
    /// Between two pieces of an answer, and before the first.
    pub silence: Duration,
    /// For the page, with all redirects.
    pub whole: Duration,
    /// Of a page, bytes after unpacking.
    pub page_bytes: usize,
    /// Of a PDF or another document, bytes.
    pub document_bytes: usize,
}

impl Default for Bounds {
    /// 5 s for a name, 8 s to connect, 10 s of silence, 25 s in all; 8 MiB of a page, 32 MiB of a document.
    fn default() -> Bounds {
        Bounds {
            lookup: Duration::from_secs(5),
            connect: Duration::from_secs(8),
            silence: Duration::from_secs(10),
            whole: Duration::from_secs(25),
            page_bytes: 8 << 20,
            document_bytes: 32 << 20,
        }
    }
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it came from in the end.
    pub url: String,
    /// What the server says it is.
    pub content_type: Option<String>,
    /// The body, unpacked.
    pub bytes: Vec<u8>,
    /// Redirects followed.
    pub redirects: usize,
}

/// Why nothing came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfetched {
    /// What a reader of events is told.
    pub reason: FailReason,
    /// What happened, for the operator. Of a blocked address strangers are told no more than that it is blocked.
    pub why: String,
}

impl Unfetched {
    fn new(reason: FailReason, why: impl Into<String>) -> Unfetched {
        let why = why.into();
        Unfetched { reason, why }
    }
}

impl From<Blocked> for Unfetched {
    fn from(it: Blocked) -> Unfetched {
        let why = format!("{}: {}", it.at.word(), it.why);
        Unfetched::new(FailReason::BlockedAddress, why)
    }
}

/// Fetches pages. No cookies, no Referer, no proxy of the environment, no redirect that was not judged.
pub struct Fetcher {
    guard: Guard,
    names: Arc<dyn Names>,
    bounds: Bounds,
    agent: String,
    egress: Egress,
    clients: Mutex<VecDeque<(Key, Client)>>,
}

/// What a connection is good for: a name, and where it was found to be.
type Key = (String, Vec<SocketAddr>);

impl Fetcher {
    /// One that asks where `guard` lets it and calls itself `agent`.
    pub fn new(guard: Guard, names: Arc<dyn Names>, bounds: Bounds, agent: &str) -> Fetcher {
        Fetcher {
            guard,
            names,
            bounds,
            agent: agent.to_owned(),
            egress: Egress::default(),
            clients: Mutex::default(),
        }
    }

    /// The same, with what leaves the machine noted in `egress`.
    #[must_use]
    pub fn noted(mut self, egress: Egress) -> Fetcher {
        self.egress = egress;
        self
    }

    /// What is at `url`.
    ///
    /// # Errors
    /// Why nothing came: a blocked address, an answer that is no page, too much, too late.
    pub async fn fetch(&self, url: &str) -> Result<Fetched, Unfetched> {
        let until = Instant::now() + self.bounds.whole;
        timeout_at(until, self.followed(url))
            .await
            .unwrap_or_else(|_| {
                let seconds = self.bounds.whole.as_secs();
                Err(Unfetched::new(
                    FailReason::Timeout,
                    format!("it took more than {seconds} s"),
                ))
            })
    }

    async fn followed(&self, url: &str) -> Result<Fetched, Unfetched> {
        let mut target = self.guard.target(url)?;
        let mut redirects = 0;
        loop {
            let answer = self.ask(&target).await?;
            let location = answer
                .headers()
                .get("location")
                .map(|it| it.as_bytes().to_vec());
            let status = answer.status().as_u16();
            if let (3, Some(location)) = (status / 100, location) {
                let location = String::from_utf8_lossy(&location);
                if let Some(next) = self
                    .guard
                    .redirected(&target, status, &location, redirects)?
                {
                    redirects += 1;
                    target = next;
                    continue;
                }
            }
            if !answer.status().is_success() {
                return Err(refused(status));
            }
            return self.taken(&target, answer, redirects).await;
        }
    }

    /// One question to one checked address.
    async fn ask(&self, target: &Target) -> Result<Response, Unfetched> {
        let client = match target.name() {
            Some(name) => {
                let found = timeout(self.bounds.lookup, self.names.addresses(name)).await;
                let answers = match found {
                    Ok(Ok(answers)) => answers,
                    Ok(Err(fault)) => {
                        let why = format!("looking up {name}: {fault}");
                        return Err(Unfetched::new(FailReason::NotFound, why));
                    }
                    Err(_) => {
                        let why = format!("looking up {name} took too long");
                        return Err(Unfetched::new(FailReason::Timeout, why));
                    }
                };
                let checked = self.guard.addresses(target, &answers)?;
                self.client(name, checked)?
            }
            // An address was judged as such.
            None => self.client("", Vec::new())?,
        };
        self.egress.sent(&host_of(target.url().as_str()), 0);
        let request = client
            .get(target.url().clone())
            .header("accept", WANTED)
            .header("accept-encoding", ACCEPTED);
        match timeout(self.bounds.connect + self.bounds.silence, request.send()).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) if fault.is_timeout() => {
                Err(Unfetched::new(FailReason::Timeout, "no connection in time"))
            }
            Ok(Err(fault)) => Err(Unfetched::new(FailReason::Broken, told(&fault))),
            Err(_) => Err(Unfetched::new(FailReason::Timeout, "no answer in time")),
        }
    }

    /// The client that connects `name` to nothing but `checked`.
    fn client(&self, name: &str, checked: Vec<SocketAddr>) -> Result<Client, Unfetched> {
        let key = (name.to_owned(), checked);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|it| it.0 == key) {
            return Ok(client.clone());
        }
        install_tls();
        let built = Client::builder()
            .user_agent(&self.agent)
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(self.bounds.connect)
            .resolve_to_addrs(name, &key.1)
            .build();
        let client = built.map_err(|it| Unfetched::new(FailReason::Broken, told(&it)))?;
        if clients.len() >= MOST_CLIENTS {
            clients.pop_front();
        }
        clients.push_back((key, client.clone()));
        Ok(client)
    }

    async fn taken(
        &self,
        target: &Target,
        answer: Response,
        redirects: usize,
    ) -> Result<Fetched, Unfetched> {
        let header = |name: &str| {
            let value = answer.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let content_type = header("content-type");
        let kind = content_type.as_deref().unwrap_or("text/html");
        let most = match kind.starts_with("text/") || kind.contains("html") || kind.contains("xml")
        {
            true => self.bounds.page_bytes,
            false => self.bounds.document_bytes,
        };
        let amiss = |it: super::unpack::Amiss| {
            use super::unpack::Amiss::{Packing, Swells, TooLarge, Torn};
            let reason = match it {
                TooLarge | Swells => FailReason::TooLarge,
                Packing => FailReason::Unsupported,
                Torn => FailReason::Broken,
            };
            Unfetched::new(reason, it.why())
        };
        let mut body = Unpacking::of(header("content-encoding").as_deref(), most).map_err(amiss)?;
        let mut pieces = answer.bytes_stream();
        let host = host_of(target.url().as_str());
        loop {
            match timeout(self.bounds.silence, pieces.next()).await {
                Ok(Some(Ok(piece))) => {
                    self.egress.received(&host, piece.len());
                    body.take(&piece).map_err(amiss)?;
                }
                Ok(Some(Err(fault))) => {
                    return Err(Unfetched::new(FailReason::Broken, told(&fault)));
                }
                Ok(None) => break,
                Err(_) => {
                    return Err(Unfetched::new(
                        FailReason::Timeout,
                        "the answer stopped coming",
                    ));
                }
            }
        }
        Ok(Fetched {
            url: target.url().to_string(),
            content_type,
            bytes: body.finish().map_err(amiss)?,
            redirects,
        })
    }
}

/// What an answer that is no page means.
fn refused(status: u16) -> Unfetched {
    let reason = match status {
        401 | 402 | 407 => FailReason::Paywall,
        403 | 406 | 418 | 429 | 503 => FailReason::BotBlock,
        404 | 410 => FailReason::NotFound,
        408 | 504 => FailReason::Timeout,
        413 => FailReason::TooLarge,
        451 => FailReason::Unsupported,
        _ => FailReason::Broken,
    };
    Unfetched::new(reason, format!("the server answered {status}"))
}

/// A fault with its causes, without the address: that is told beside it.
fn told(fault: &reqwest::Error) -> String {
    let mut told = Vec::new();
    let mut cause = std::error::Error::source(fault);
    while let Some(it) = cause {
        told.push(it.to_string());
        cause = it.source();
    }
    match told.is_empty() {
        true => "the connection failed".to_owned(),
        false => told.join(": "),
    }
}
