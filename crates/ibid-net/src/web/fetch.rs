//! Fetches pages from the open web. The guard checks every URL, every resolved address and every redirect.
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

use super::cache::{CacheKind, WebCache};
use super::decode::{ACCEPTED, BodyDecoder};
use super::guard::{CheckedUrl, SsrfGuard};
use super::host_limit::{CachedRobots, HostPolicy, HostState, OwnerHostLimiter};
use super::outcome::status_error;
pub use super::outcome::{FetchError, FetchLimits, FetchedPage, Validators};
use super::robots::{Robots, TOKEN};
use crate::http::response_headers;
use crate::service_error::ServiceError;
use crate::tls;
use ibid_core::ReadFailure;
use ibid_core::fair_semaphore::FairPermit;
use ibid_core::ports::{Egress, host_and_port};

/// Maximum delay requested by a host after which the page is requested again.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Timeout for robots.txt.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum age of a robots.txt: RFC 9309, 2.4.
const ROBOTS_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long a failed robots.txt request is not repeated.
const ROBOTS_RETRY_DELAY: Duration = Duration::from_secs(600);

/// Maximum cached clients, each for a name and its checked addresses.
const MAX_CLIENTS: usize = 64;

/// Preferred content types; others are accepted if a reader supports them.
const WANTED: &str =
    "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5";

/// Resolves host names.
#[async_trait]
pub trait NameResolver: Send + Sync {
    /// Returns the addresses of `name`, in order of preference; none if it does not exist.
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The system's resolver. Search domains are not tried.
pub struct SystemResolver;

#[async_trait]
impl NameResolver for SystemResolver {
    async fn addresses(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        // The final dot marks the name as absolute.
        let absolute = if name.contains('.') { format!("{name}.") } else { name.to_owned() };
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

/// The result of one request.
enum FetchStep {
    /// A redirect.
    To(CheckedUrl),
    /// A page.
    Page(FetchedPage),
    /// The page is unchanged.
    Unchanged,
    /// An error status, and the delay that the server asks for.
    Refused(u16, Option<Duration>),
}

/// Fetches pages. Sends no cookies and no Referer, uses no proxy from the environment, and follows only checked
/// redirects.
pub struct Fetcher {
    guard: SsrfGuard,
    resolver: Arc<dyn NameResolver>,
    bounds: FetchLimits,
    agent: String,
    egress: Egress,
    host_limits: Option<(OwnerHostLimiter, HostPolicy)>,
    cache: Option<Arc<WebCache>>,
    clients: Mutex<VecDeque<(ClientKey, Client)>>,
}

/// A resolver that returns the checked addresses, however the name is spelled. With reqwest's override list,
/// `example.org.` would be resolved again, and the second answer would not be checked.
struct PinnedResolver(Vec<SocketAddr>);

impl Resolve for PinnedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let checked: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(checked)))
    }
}

/// A name and its checked addresses.
type ClientKey = (String, Vec<SocketAddr>);

impl Fetcher {
    /// Creates a fetcher that is restricted by `guard` and sends `agent` as its user agent.
    pub fn new(
        guard: SsrfGuard,
        names: Arc<dyn NameResolver>,
        bounds: FetchLimits,
        agent: &str,
    ) -> Fetcher {
        Fetcher {
            guard,
            resolver: names,
            bounds,
            agent: agent.to_owned(),
            egress: Egress::default(),
            host_limits: None,
            cache: None,
            clients: Mutex::default(),
        }
    }

    /// Records outgoing traffic in `egress`.
    #[must_use]
    pub fn with_egress(mut self, egress: Egress) -> Fetcher {
        self.egress = egress;
        self
    }

    /// Where outgoing traffic is recorded.
    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Applies `policy` to each host; without it, requests are sent immediately.
    #[must_use]
    pub fn with_host_limits(mut self, limiter: OwnerHostLimiter, policy: HostPolicy) -> Fetcher {
        self.host_limits = Some((limiter, policy));
        self
    }

    /// Caches robots.txt files in `cache`.
    #[must_use]
    pub fn with_cache(mut self, cache: Option<Arc<WebCache>>) -> Fetcher {
        self.cache = cache;
        self
    }

    /// The user agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The guard.
    pub fn guard(&self) -> &SsrfGuard {
        &self.guard
    }

    /// Fetches `url`.
    ///
    /// # Errors
    /// Why it could not be fetched: a blocked address, an error status, too large, too slow.
    pub async fn fetch(&self, url: &str) -> Result<FetchedPage, FetchError> {
        let fetched = self.follow_redirects(url, None, true).await?;
        fetched.ok_or_else(|| status_error(304))
    }

    /// Fetches `url`, or returns `None` if the page at `had` is unchanged according to `validators`.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    pub(crate) async fn fetch_changed(
        &self,
        url: &str,
        had: &str,
        validators: &Validators,
    ) -> Result<Option<FetchedPage>, FetchError> {
        self.follow_redirects(url, Some((had, validators)), true).await
    }

    /// Checks whether `url` may be passed to an external reader: the guard allows its address, robots.txt allows it,
    /// and its host has a free turn. Returns the checked URL and its addresses.
    ///
    /// # Errors
    /// Why it is not allowed.
    pub async fn check_allowed(&self, url: &str) -> Result<(Url, Vec<SocketAddr>), FetchError> {
        let target = self.guard.check(url)?;
        let found = self.resolve_checked(&target).await?;
        drop(self.wait_turn(&target).await?);
        Ok((target.url().clone(), found))
    }

    /// Posts `body` to `url` with these headers, once, and returns the status. The response is not read; redirects
    /// are not followed.
    ///
    /// # Errors
    /// Why it could not be sent: a blocked address, no connection, a timeout.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: String,
    ) -> Result<u16, FetchError> {
        let target = self.guard.check(url)?;
        let found = self.resolve_checked(&target).await?;
        let client = self.client(target.name().unwrap_or_default(), found)?;
        let mut request =
            client.post(target.url().clone()).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let sent = request.body(body).send();
        match timeout(self.bounds.connect + self.bounds.silence, sent).await {
            Ok(Ok(answer)) => Ok(answer.status().as_u16()),
            Ok(Err(fault)) => Err(FetchError::new(ReadFailure::Broken, describe_error(&fault))),
            Err(_) => {
                Err(FetchError::new(ReadFailure::Timeout, "the server did not answer in time"))
            }
        }
    }

    async fn follow_redirects(
        &self,
        url: &str,
        had: Option<(&str, &Validators)>,
        politely: bool,
    ) -> Result<Option<FetchedPage>, FetchError> {
        let mut target = self.guard.check(url)?;
        let mut redirects = 0;
        let mut rested = false;
        // Waiting for a turn does not count.
        let mut left = self.bounds.whole;
        loop {
            let turn = if politely { self.wait_turn(&target).await? } else { None };
            let begun = Instant::now();
            let step = timeout(left, self.step(&target, had, redirects)).await;
            left = left.saturating_sub(begun.elapsed());
            let step = step.unwrap_or_else(|_| {
                let why = format!("timed out after {} s", self.bounds.whole.as_secs());
                Err(FetchError::new(ReadFailure::Timeout, why))
            });
            match step? {
                FetchStep::To(next) => {
                    redirects += 1;
                    target = next;
                }
                FetchStep::Page(page) => return Ok(Some(page)),
                FetchStep::Unchanged => return Ok(None),
                FetchStep::Refused(status, rest) => {
                    if let (Some((host, _)), Some(rest)) = (&turn, rest) {
                        host.pause_for(rest);
                        if rest <= MAX_RETRY_AFTER && !rested {
                            rested = true;
                            continue;
                        }
                    }
                    return Err(status_error(status));
                }
            }
        }
    }

    /// Waits for a turn at the host of `target`. Fails if robots.txt disallows it.
    async fn wait_turn(
        &self,
        target: &CheckedUrl,
    ) -> Result<Option<(Arc<HostState>, FairPermit)>, FetchError> {
        let Some((limiter, policy)) = &self.host_limits else {
            return Ok(None);
        };
        let name = host_and_port(target.url().as_str());
        let (host, owner) = limiter.host(&name, policy.max_concurrent);
        let mut distance = policy.interval;
        if policy.robots {
            let robots = self.robots(target, &host).await?;
            let path = match target.url().query() {
                Some(query) => format!("{}?{query}", target.url().path()),
                None => target.url().path().to_owned(),
            };
            if !robots.allows(&path) {
                let why = "disallowed by the robots.txt of the host".to_owned();
                return Err(FetchError::new(ReadFailure::Robots, why));
            }
            distance = distance.max(robots.crawl_delay().unwrap_or_default());
        }
        match host.acquire(distance, owner).await {
            Ok(place) => Ok(Some((host, place))),
            Err(wait) => Err(FetchError::new(
                ReadFailure::Timeout,
                format!("{name} is rate limited for another {} s", wait.as_secs()),
            )),
        }
    }

    /// Returns the robots.txt rules for the origin of a target.
    async fn robots(
        &self,
        target: &CheckedUrl,
        host: &HostState,
    ) -> Result<Arc<Robots>, FetchError> {
        let scheme = target.url().scheme();
        let mut cached = host.cached_robots(scheme).lock().await;
        if let Some(it) = cached.as_ref().filter(|cached| cached.until > Instant::now()) {
            return Ok(Arc::clone(&it.robots));
        }
        let mut url = target.url().clone();
        url.set_path("/robots.txt");
        url.set_query(None);
        url.set_fragment(None);
        let origin = url.origin().ascii_serialization();
        if let Some(cache) = &self.cache
            && let Some(cached_file) = cache.get::<()>(CacheKind::Robots, &origin).await
            && let Some(left) = ROBOTS_AGE.checked_sub(cached_file.age)
        {
            return Ok(remember_robots(&mut cached, Robots::parse(&cached_file.body, TOKEN), left));
        }
        // robots.txt itself needs no permission.
        let request = Box::pin(self.follow_redirects(url.as_str(), None, false));
        let late = |_| Err(FetchError::new(ReadFailure::Timeout, "timed out"));
        let body = match timeout(ROBOTS_TIMEOUT, request).await.unwrap_or_else(late) {
            Ok(fetched) => fetched.map(|fetched| fetched.bytes).unwrap_or_default(),
            Err(it) if it.status.is_some_and(|status| status / 100 == 4) => Vec::new(),
            Err(it) if it.status.is_some() => {
                return Ok(remember_robots(&mut cached, Robots::deny_all(), ROBOTS_RETRY_DELAY));
            }
            // If the server does not answer, everything is disallowed (RFC 9309, 2.3.1.4); the error is more
            // specific.
            Err(it) => {
                let why = format!("fetching robots.txt: {}", it.why);
                return Err(FetchError { why, ..it });
            }
        };
        let body = &body[..body.len().min(super::robots::MAX_BYTES)];
        if let Some(cache) = &self.cache {
            cache.put(CacheKind::Robots, &origin, &(), body).await;
        }
        Ok(remember_robots(&mut cached, Robots::parse(body, TOKEN), ROBOTS_AGE))
    }

    /// Sends one request to a checked URL and interprets the response.
    async fn step(
        &self,
        target: &CheckedUrl,
        had: Option<(&str, &Validators)>,
        redirects: usize,
    ) -> Result<FetchStep, FetchError> {
        let had = had.filter(|pair| pair.0 == target.url().as_str());
        let answer = self.ask(target, had.map(|pair| pair.1), ACCEPTED).await?;
        let location = answer.headers().get("location");
        let location = location.map(|location| location.as_bytes().to_vec());
        let status = answer.status().as_u16();
        if status == 304 && had.is_some() {
            return Ok(FetchStep::Unchanged);
        }
        if let (3, Some(location)) = (status / 100, location) {
            let location = String::from_utf8_lossy(&location);
            let next = self.guard.check_redirect(target, status, &location, redirects)?;
            if let Some(next) = next {
                return Ok(FetchStep::To(next));
            }
        }
        if !answer.status().is_success() {
            let rest =
                ServiceError::from_response(status, &response_headers(&answer), b"").retry_after;
            let rest = rest.filter(|_| matches!(status, 429 | 503));
            return Ok(FetchStep::Refused(status, rest));
        }
        self.read_page(target, answer, redirects).await.map(FetchStep::Page)
    }

    /// Resolves the name of a target and checks each address. Returns none if the host is an IP address, which was
    /// checked before.
    async fn resolve_checked(&self, target: &CheckedUrl) -> Result<Vec<SocketAddr>, FetchError> {
        let Some(name) = target.name() else {
            return Ok(Vec::new());
        };
        let answers = match timeout(self.bounds.lookup, self.resolver.addresses(name)).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(fault)) => {
                let why = format!("resolving {name}: {fault}");
                return Err(FetchError::new(ReadFailure::NotFound, why));
            }
            Err(_) => {
                let why = format!("resolving {name} took too long");
                return Err(FetchError::new(ReadFailure::Timeout, why));
            }
        };
        Ok(self.guard.check_addresses(target, &answers)?)
    }

    /// The longest time between two pieces of a response.
    pub(super) fn silence(&self) -> Duration {
        self.bounds.silence
    }

    /// Sends one request to a checked URL, for an answer in one of these encodings.
    pub(super) async fn ask(
        &self,
        target: &CheckedUrl,
        had: Option<&Validators>,
        encodings: &str,
    ) -> Result<Response, FetchError> {
        let checked = self.resolve_checked(target).await?;
        let client = self.client(target.name().unwrap_or_default(), checked)?;
        self.egress.record_sent(&host_and_port(target.url().as_str()), 0);
        let mut request = client
            .get(target.url().clone())
            .header("accept", WANTED)
            .header("accept-encoding", encodings);
        if let Some(had) = had {
            let pairs = [("if-none-match", &had.etag), ("if-modified-since", &had.modified)];
            for (name, value) in pairs {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        match timeout(self.bounds.connect + self.bounds.silence, request.send()).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) if fault.is_timeout() => {
                Err(FetchError::new(ReadFailure::Timeout, "the connection timed out"))
            }
            Ok(Err(fault)) => Err(FetchError::new(ReadFailure::Broken, describe_error(&fault))),
            Err(_) => {
                Err(FetchError::new(ReadFailure::Timeout, "the server did not answer in time"))
            }
        }
    }

    /// Returns the client that connects `name` only to the addresses `checked`.
    fn client(&self, name: &str, checked: Vec<SocketAddr>) -> Result<Client, FetchError> {
        let key = (name.to_owned(), checked);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|client| client.0 == key) {
            return Ok(client.clone());
        }
        let secured = tls::client_config().map_err(|error| {
            FetchError::new(ReadFailure::Broken, format!("preparing HTTPS: {error}"))
        })?;
        let built = Client::builder()
            .tls_backend_preconfigured(secured)
            .user_agent(&self.agent)
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(self.bounds.connect)
            .dns_resolver(PinnedResolver(key.1.clone()))
            .build();
        let client =
            built.map_err(|error| FetchError::new(ReadFailure::Broken, describe_error(&error)))?;
        if clients.len() >= MAX_CLIENTS {
            clients.pop_front();
        }
        clients.push_back((key, client.clone()));
        Ok(client)
    }

    async fn read_page(
        &self,
        target: &CheckedUrl,
        answer: Response,
        redirects: usize,
    ) -> Result<FetchedPage, FetchError> {
        let header = |name: &str| {
            let value = answer.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let content_type = header("content-type");
        let validators = Validators {
            etag: header("etag").filter(|header| header.len() < 1024),
            modified: header("last-modified").filter(|header| header.len() < 100),
        };
        let may_be_kept =
            !header("cache-control").is_some_and(|header| header.contains("no-store"));
        let kind = content_type.as_deref().unwrap_or("text/html");
        let is_text = kind.starts_with("text/") || kind.contains("html") || kind.contains("xml");
        let most = if is_text { self.bounds.page_bytes } else { self.bounds.document_bytes };
        let decode_error = |error: super::decode::DecodeError| {
            use super::decode::DecodeError::{Bomb, Corrupt, TooLarge, UnexpectedEncoding};
            let reason = match error {
                TooLarge | Bomb => ReadFailure::TooLarge,
                UnexpectedEncoding => ReadFailure::Unsupported,
                Corrupt => ReadFailure::Broken,
            };
            FetchError::new(reason, error.message())
        };
        let mut body =
            BodyDecoder::new(header("content-encoding").as_deref(), most).map_err(decode_error)?;
        let mut pieces = answer.bytes_stream();
        let host = host_and_port(target.url().as_str());
        loop {
            match timeout(self.bounds.silence, pieces.next()).await {
                Ok(Some(Ok(piece))) => {
                    self.egress.record_received(&host, piece.len());
                    body.push(&piece).map_err(decode_error)?;
                }
                Ok(Some(Err(fault))) => {
                    return Err(FetchError::new(ReadFailure::Broken, describe_error(&fault)));
                }
                Ok(None) => break,
                Err(_) => {
                    return Err(FetchError::new(
                        ReadFailure::Timeout,
                        "timed out while reading the response",
                    ));
                }
            }
        }
        // Decompression takes time, and a panic in it should only affect this page.
        let whole = tokio::task::spawn_blocking(move || body.finish()).await;
        let bytes = whole.unwrap_or(Err(super::decode::DecodeError::Corrupt));
        Ok(FetchedPage {
            url: target.url().to_string(),
            content_type,
            bytes: bytes.map_err(decode_error)?,
            redirects,
            validators,
            may_be_kept,
        })
    }
}

/// Caches `robots` for `age`.
fn remember_robots(
    cached: &mut Option<CachedRobots>,
    robots: Robots,
    age: Duration,
) -> Arc<Robots> {
    let robots = Arc::new(robots);
    *cached = Some(CachedRobots { robots: Arc::clone(&robots), until: Instant::now() + age });
    robots
}

/// Describes an error with its causes, without the URL, which is reported separately.
pub(super) fn describe_error(fault: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next = std::error::Error::source(fault);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    if causes.is_empty() { "the connection failed".to_owned() } else { causes.join(": ") }
}
