//! Fetching from the open web: every address, every answer of a name service and every redirect through the guard.
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Response, redirect};
use tokio::time::{Instant, timeout};
use url::Url;

use super::cache::{WebCache, What};
use super::guard::{Guard, Target};
use super::manners::{Courtesy, Host, OwnManners, Told};
use super::outcome::refused;
pub use super::outcome::{Bounds, Fetched, Unfetched, Validators};
use super::robots::{Robots, TOKEN};
use super::unpack::{ACCEPTED, Unpacking};
use crate::adapters::fair::FairPermit;
use crate::adapters::model::ModelFault;
use crate::adapters::model::http::headers;
use crate::adapters::tls;
use crate::record::FailReason;
use crate::seams::{Egress, host_of};

/// The longest rest that a host may ask for and is asked again after it, for the same page.
const SHORT_REST: Duration = Duration::from_secs(10);
/// For a robots.txt.
const ROBOTS_PATIENCE: Duration = Duration::from_secs(10);
/// How long a robots.txt is believed, at most: RFC 9309, 2.4.
const ROBOTS_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long a server that could not give its robots.txt is not asked again.
const ROBOTS_REST: Duration = Duration::from_secs(600);

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

/// What one question to a server came to.
enum Step {
    /// It leads elsewhere.
    To(Target),
    /// What is there.
    Page(Fetched),
    /// What was there before.
    Unchanged,
    /// A refusal, with how long the server wants to be left alone where it says so.
    Refused(u16, Option<Duration>),
}

/// Fetches pages. No cookies, no Referer, no proxy of the environment, no redirect that was not judged.
pub struct Fetcher {
    guard: Guard,
    names: Arc<dyn Names>,
    bounds: Bounds,
    agent: String,
    egress: Egress,
    manners: Option<(OwnManners, Courtesy)>,
    cache: Option<Arc<WebCache>>,
    clients: Mutex<VecDeque<(Key, Client)>>,
}

/// The name service of a client: it knows the addresses that were checked and asks nobody, however the name is spelt. With a
/// list of exceptions in its place, `example.org.` would be looked up again, and the second answer be checked by nobody.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let checked: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(checked)))
    }
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
            manners: None,
            cache: None,
            clients: Mutex::default(),
        }
    }

    /// The same, with what leaves the machine noted in `egress`.
    #[must_use]
    pub fn noted(mut self, egress: Egress) -> Fetcher {
        self.egress = egress;
        self
    }

    /// The same, that treats hosts with `courtesy`; without it every host is asked at once.
    #[must_use]
    pub fn with_manners(mut self, manners: OwnManners, courtesy: Courtesy) -> Fetcher {
        self.manners = Some((manners, courtesy));
        self
    }

    /// The same, that keeps what robots.txt says in `cache`.
    #[must_use]
    pub fn remembering(mut self, cache: Option<Arc<WebCache>>) -> Fetcher {
        self.cache = cache;
        self
    }

    /// What we call ourselves.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// What judges addresses.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// What is at `url`.
    ///
    /// # Errors
    /// Why nothing came: a blocked address, an answer that is no page, too much, too late.
    pub async fn fetch(&self, url: &str) -> Result<Fetched, Unfetched> {
        let fetched = self.followed(url, None, true).await?;
        fetched.ok_or_else(|| refused(304))
    }

    /// What is at `url`, or `None` where it is what was at `had` when the server told `validators` of it.
    ///
    /// # Errors
    /// Those of [`Fetcher::fetch`].
    pub async fn fetch_changed(
        &self,
        url: &str,
        had: &str,
        validators: &Validators,
    ) -> Result<Option<Fetched>, Unfetched> {
        self.followed(url, Some((had, validators)), true).await
    }

    /// Whether somebody else may be sent to `url`: its address and those of its name are of the open web, robots.txt lets us
    /// read it, and its host has a turn for us. Gives the address as it was judged, and where its name was found to be.
    ///
    /// # Errors
    /// Why it may not be asked for.
    pub async fn may_ask(&self, url: &str) -> Result<(Url, Vec<SocketAddr>), Unfetched> {
        let target = self.guard.target(url)?;
        let found = self.checked(&target).await?;
        drop(self.turn(&target).await?);
        Ok((target.url().clone(), found))
    }

    /// Sends `body` to `url` with these headers, once: the status of the answer, which is not read. Redirects are not followed.
    ///
    /// # Errors
    /// Why it could not be sent: a blocked address, no connection, no answer in time.
    pub async fn deliver(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: String,
    ) -> Result<u16, Unfetched> {
        let target = self.guard.target(url)?;
        let found = self.checked(&target).await?;
        let client = self.client(target.name().unwrap_or_default(), found)?;
        let mut request = client
            .post(target.url().clone())
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let sent = request.body(body).send();
        match timeout(self.bounds.connect + self.bounds.silence, sent).await {
            Ok(Ok(answer)) => Ok(answer.status().as_u16()),
            Ok(Err(fault)) => Err(Unfetched::new(FailReason::Broken, told(&fault))),
            Err(_) => Err(Unfetched::new(FailReason::Timeout, "no answer in time")),
        }
    }

    async fn followed(
        &self,
        url: &str,
        had: Option<(&str, &Validators)>,
        politely: bool,
    ) -> Result<Option<Fetched>, Unfetched> {
        let mut target = self.guard.target(url)?;
        let mut redirects = 0;
        let mut rested = false;
        // Waiting for a turn is no fault of the page's.
        let mut left = self.bounds.whole;
        loop {
            let turn = match politely {
                true => self.turn(&target).await?,
                false => None,
            };
            let begun = Instant::now();
            let step = timeout(left, self.step(&target, had, redirects)).await;
            left = left.saturating_sub(begun.elapsed());
            let step = step.unwrap_or_else(|_| {
                let why = format!("it took more than {} s", self.bounds.whole.as_secs());
                Err(Unfetched::new(FailReason::Timeout, why))
            });
            match step? {
                Step::To(next) => {
                    redirects += 1;
                    target = next;
                }
                Step::Page(page) => return Ok(Some(page)),
                Step::Unchanged => return Ok(None),
                Step::Refused(status, rest) => {
                    if let (Some((host, _)), Some(rest)) = (&turn, rest) {
                        host.rest(rest);
                        if rest <= SHORT_REST && !rested {
                            rested = true;
                            continue;
                        }
                    }
                    return Err(refused(status));
                }
            }
        }
    }

    /// Waits until `target` may be asked, and holds its place at its host; an error where robots.txt says no.
    async fn turn(&self, target: &Target) -> Result<Option<(Arc<Host>, FairPermit)>, Unfetched> {
        let Some((manners, courtesy)) = &self.manners else {
            return Ok(None);
        };
        let name = host_of(target.url().as_str());
        let (host, owner) = manners.host(&name, courtesy.at_once);
        let mut distance = courtesy.distance;
        if courtesy.robots {
            let robots = self.robots(target, &host).await?;
            let path = match target.url().query() {
                Some(query) => format!("{}?{query}", target.url().path()),
                None => target.url().path().to_owned(),
            };
            if !robots.allows(&path) {
                let why = "robots.txt of its host does not let us read it".to_owned();
                return Err(Unfetched::new(FailReason::Robots, why));
            }
            distance = distance.max(robots.pace().unwrap_or_default());
        }
        match host.turn(distance, owner).await {
            Ok(place) => Ok(Some((host, place))),
            Err(wait) => Err(Unfetched::new(
                FailReason::Timeout,
                format!("{name} is not to be asked for another {} s", wait.as_secs()),
            )),
        }
    }

    /// What robots.txt of a target's origin says to us.
    async fn robots(&self, target: &Target, host: &Host) -> Result<Arc<Robots>, Unfetched> {
        let scheme = target.url().scheme();
        let mut told = host.told(scheme).lock().await;
        if let Some(it) = told.as_ref().filter(|it| it.until > Instant::now()) {
            return Ok(Arc::clone(&it.robots));
        }
        let mut url = target.url().clone();
        url.set_path("/robots.txt");
        url.set_query(None);
        url.set_fragment(None);
        let origin = url.origin().ascii_serialization();
        if let Some(cache) = &self.cache
            && let Some(kept) = cache.get::<()>(What::Robots, &origin).await
            && let Some(left) = ROBOTS_AGE.checked_sub(kept.age)
        {
            let robots = Arc::new(Robots::of(&kept.body, TOKEN));
            let until = Instant::now() + left;
            *told = Some(Told {
                robots: Arc::clone(&robots),
                until,
            });
            return Ok(robots);
        }
        // It is asked for without its own leave.
        let asked = Box::pin(self.followed(url.as_str(), None, false));
        let late = |_| {
            Err(Unfetched::new(
                FailReason::Timeout,
                "it did not come in time",
            ))
        };
        let body = match timeout(ROBOTS_PATIENCE, asked).await.unwrap_or_else(late) {
            Ok(fetched) => fetched.map(|it| it.bytes).unwrap_or_default(),
            Err(it) if it.status.is_some_and(|it| it / 100 == 4) => Vec::new(),
            Err(it) if it.status.is_some() => {
                let robots = Arc::new(Robots::closed());
                let until = Instant::now() + ROBOTS_REST;
                *told = Some(Told {
                    robots: Arc::clone(&robots),
                    until,
                });
                return Ok(robots);
            }
            // A server that does not answer lets nothing be read (RFC 9309, 2.3.1.4), and why says more than that.
            Err(it) => {
                let why = format!("asking for robots.txt: {}", it.why);
                return Err(Unfetched { why, ..it });
            }
        };
        let body = &body[..body.len().min(super::robots::MOST_BYTES)];
        if let Some(cache) = &self.cache {
            cache.put(What::Robots, &origin, &(), body).await;
        }
        let robots = Arc::new(Robots::of(body, TOKEN));
        let until = Instant::now() + ROBOTS_AGE;
        *told = Some(Told {
            robots: Arc::clone(&robots),
            until,
        });
        Ok(robots)
    }

    /// One question to one checked address, and what its answer comes to.
    async fn step(
        &self,
        target: &Target,
        had: Option<(&str, &Validators)>,
        redirects: usize,
    ) -> Result<Step, Unfetched> {
        let had = had.filter(|it| it.0 == target.url().as_str());
        let answer = self.ask(target, had.map(|it| it.1)).await?;
        let location = answer.headers().get("location");
        let location = location.map(|it| it.as_bytes().to_vec());
        let status = answer.status().as_u16();
        if status == 304 && had.is_some() {
            return Ok(Step::Unchanged);
        }
        if let (3, Some(location)) = (status / 100, location) {
            let location = String::from_utf8_lossy(&location);
            let next = self
                .guard
                .redirected(target, status, &location, redirects)?;
            if let Some(next) = next {
                return Ok(Step::To(next));
            }
        }
        if !answer.status().is_success() {
            let rest = ModelFault::of_answer(status, &headers(&answer), b"").retry_after;
            let rest = rest.filter(|_| matches!(status, 429 | 503));
            return Ok(Step::Refused(status, rest));
        }
        self.taken(target, answer, redirects).await.map(Step::Page)
    }

    /// Where the name of a target is, each address judged; none for a host that is an address, which was judged as such.
    async fn checked(&self, target: &Target) -> Result<Vec<SocketAddr>, Unfetched> {
        let Some(name) = target.name() else {
            return Ok(Vec::new());
        };
        let answers = match timeout(self.bounds.lookup, self.names.addresses(name)).await {
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
        Ok(self.guard.addresses(target, &answers)?)
    }

    /// One question to one checked address.
    async fn ask(&self, target: &Target, had: Option<&Validators>) -> Result<Response, Unfetched> {
        let checked = self.checked(target).await?;
        let client = self.client(target.name().unwrap_or_default(), checked)?;
        self.egress.sent(&host_of(target.url().as_str()), 0);
        let mut request = client
            .get(target.url().clone())
            .header("accept", WANTED)
            .header("accept-encoding", ACCEPTED);
        if let Some(had) = had {
            let pairs = [
                ("if-none-match", &had.etag),
                ("if-modified-since", &had.modified),
            ];
            for (name, value) in pairs {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
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
        let secured = tls::config()
            .map_err(|it| Unfetched::new(FailReason::Broken, format!("preparing HTTPS: {it}")))?;
        let built = Client::builder()
            .tls_backend_preconfigured(secured)
            .user_agent(&self.agent)
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(self.bounds.connect)
            .dns_resolver(Pinned(key.1.clone()))
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
        let validators = Validators {
            etag: header("etag").filter(|it| it.len() < 1024),
            modified: header("last-modified").filter(|it| it.len() < 100),
        };
        let may_be_kept = !header("cache-control").is_some_and(|it| it.contains("no-store"));
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
        // What is left to unpack takes its time, and a fault of the unpacker is a fault of this page alone.
        let whole = tokio::task::spawn_blocking(move || body.finish()).await;
        let bytes = whole.unwrap_or(Err(super::unpack::Amiss::Torn));
        Ok(Fetched {
            url: target.url().to_string(),
            content_type,
            bytes: bytes.map_err(amiss)?,
            redirects,
            validators,
            may_be_kept,
        })
    }
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
