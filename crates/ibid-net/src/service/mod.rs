//! Requests to configured servers.
//!
//! Embedding services, rerankers, search engines and page readers all use this client, which handles keys, timeouts,
//! retries, rate limits and the record of outgoing traffic. It does not follow redirects, because the key would be
//! sent along.
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::http::Timeouts;
use crate::http::{
    are_others_unreachable, build_client, connection_error, is_offline, note_unreachable,
    read_body, response_headers, timeout_error, unreachable_message,
};
use crate::redact::SecretRedactor;
use crate::retry_after::ResponseHeaders;
use crate::secret::ApiKey;
use crate::service_error::ServiceError;
use crate::web::decode_body;
use ibid_core::ports::{Egress, host_and_port};
use ibid_core::retry::RetryPolicy;
use ibid_core::{Error, ErrorKind, FailureReason, Result};

pub use crate::rate_limit::{RateLimiter, RateLimiters};

/// Maximum size of a response, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Delays of 1 and 3 s after a transient error, unless the server asks for another.
const SERVICE_RETRY: RetryPolicy = RetryPolicy {
    tries: 3,
    first: Duration::from_secs(1),
    factor: 3,
    longest: MAX_RETRY_AFTER,
    deadline: Duration::MAX,
};
/// How often a server that cannot be reached is tried.
const MAX_UNREACHABLE: u32 = 2;
/// How long a server is not called after it was unreachable in all attempts.
const DOWN_COOLDOWN: Duration = Duration::from_secs(30);
/// Maximum delay that a server may request.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Address and key of a server.
#[derive(Debug, Clone)]
pub struct ServiceAccess {
    /// Base URL without trailing slash.
    pub base_url: String,
    /// The header for the key, and the prefix of its value.
    pub header: (&'static str, &'static str),
    /// The key, if needed.
    pub key: Option<ApiKey>,
}

impl ServiceAccess {
    /// Creates access with a bearer token, if there is a key.
    pub fn bearer(base_url: &str, key: Option<&str>) -> ServiceAccess {
        ServiceAccess {
            base_url: base_url.trim_end_matches('/').to_owned(),
            header: ("authorization", "Bearer "),
            key: key.map(ApiKey::new),
        }
    }
}

/// Status, headers and body of a response.
type RawResponse = (u16, ResponseHeaders, Vec<u8>);

/// A request to a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path below the base URL, with the query.
    pub path: String,
    /// The JSON body; null for none.
    pub body: Value,
    /// Headers besides those of the client.
    pub headers: Vec<(&'static str, String)>,
}

impl ServiceRequest {
    /// Creates a GET request for `path` with `query` appended.
    pub fn get(path: &str, query: &[(&str, &str)]) -> ServiceRequest {
        let mut written = url::form_urlencoded::Serializer::new(String::new());
        written.extend_pairs(query);
        let written = written.finish();
        ServiceRequest {
            method: Method::GET,
            path: match written.as_str() {
                "" => path.to_owned(),
                query => format!("{path}?{query}"),
            },
            body: Value::Null,
            headers: Vec::new(),
        }
    }

    /// Creates a POST request of `body` to `path`.
    pub fn post(path: &str, body: Value) -> ServiceRequest {
        ServiceRequest { method: Method::POST, path: path.to_owned(), body, headers: Vec::new() }
    }
}

/// A client for a configured server.
pub struct ServiceClient {
    name: String,
    access: ServiceAccess,
    client: Client,
    headers: Vec<(&'static str, String)>,
    rate_limit: Option<Arc<RateLimiter>>,
    egress: Egress,
    largest: usize,
    /// Removes secrets from responses.
    redactor: SecretRedactor,
    timeout: Duration,
    retry: RetryPolicy,
    /// Until when no requests are sent because the server was unreachable.
    down: watch::Sender<Option<Instant>>,
}

impl ServiceClient {
    /// Creates a client, called `name` in errors. Sends nothing yet.
    ///
    /// # Errors
    /// `Setup` if the system's certificates cannot be read.
    pub fn open(name: &str, access: ServiceAccess) -> Result<ServiceClient> {
        let mut redactor = SecretRedactor::default();
        redactor.add_url_password(&access.base_url);
        if let Some(key) = &access.key {
            redactor.add_secret(key.expose());
        }
        Ok(ServiceClient {
            redactor,
            client: build_client(&access.base_url, name, Timeouts::default().connect)?,
            name: name.to_owned(),
            access,
            headers: Vec::new(),
            rate_limit: None,
            egress: Egress::default(),
            largest: MAX_BYTES,
            timeout: TIMEOUT,
            retry: SERVICE_RETRY,
            down: watch::Sender::default(),
        })
    }

    /// Limits the rate of requests.
    #[must_use]
    pub fn with_rate_limit(mut self, limiter: Arc<RateLimiter>) -> ServiceClient {
        self.rate_limit = Some(limiter);
        self
    }

    /// Records outgoing traffic in `egress`.
    #[must_use]
    pub fn with_egress(mut self, egress: Egress) -> ServiceClient {
        self.egress = egress;
        self
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> ServiceClient {
        self.headers.push((name, value.into()));
        self
    }

    /// Also removes this key from responses, if it is sent in another place than the header.
    #[must_use]
    pub fn with_hidden_key(mut self, key: Option<&str>) -> ServiceClient {
        if let Some(key) = key {
            self.redactor.add_secret(key);
        }
        self
    }

    /// Sets the timeout of a request and the maximum size of a response in bytes.
    #[must_use]
    pub fn with_limits(mut self, timeout: Duration, largest: usize) -> ServiceClient {
        self.timeout = timeout;
        self.largest = largest;
        self
    }

    /// Disables retries.
    #[must_use]
    pub fn without_retries(mut self) -> ServiceClient {
        self.retry.tries = 1;
        self
    }

    /// The name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The base URL without trailing slash.
    pub fn base_url(&self) -> &str {
        &self.access.base_url
    }

    /// Blocks requests for the next `wait`, if the server asked for a pause in a successful response.
    pub fn pause_for(&self, wait: Duration) {
        if let Some(limiter) = &self.rate_limit {
            limiter.pause_for(wait);
        }
    }

    /// Sends `body` to `path` and parses the response with `read`; transient errors are retried.
    pub async fn post_json<T>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        read: impl Fn(u16, &ResponseHeaders, &[u8]) -> std::result::Result<T, ServiceError>,
    ) -> Result<T> {
        let ask = ServiceRequest { method, ..ServiceRequest::post(path, body.clone()) };
        self.request(&ask, read).await
    }

    /// Sends a request and parses the response with `read`; transient errors are retried.
    ///
    /// # Errors
    /// The error of the service or of `read`; it names the service.
    pub async fn request<T>(
        &self,
        ask: &ServiceRequest,
        read: impl Fn(u16, &ResponseHeaders, &[u8]) -> std::result::Result<T, ServiceError>,
    ) -> Result<T> {
        let mut backoff = self.retry.begin();
        let mut unreachable = 0;
        loop {
            // A request that did not reach the server did not take its turn there.
            if unreachable == 0 {
                self.wait_for_turn().await.map_err(|fault| self.error(fault))?;
            }
            // One server that cannot be reached may be starting; several are a machine without a network.
            let offline = is_offline() || are_others_unreachable(&self.access.base_url);
            let sent = timeout(self.timeout, self.send(ask)).await;
            let late = sent.is_err();
            let answer = sent
                .unwrap_or_else(|_| Err(timeout_error("the service did not answer in time")))
                .and_then(|(status, headers, body)| read(status, &headers, &body));
            let fault = match answer {
                Ok(it) => return Ok(it),
                Err(fault) => fault,
            };
            if let (Some(limiter), Some(wait)) = (&self.rate_limit, fault.retry_after) {
                limiter.pause_for(wait);
            }
            // A timeout usually repeats, and callers have other providers to try.
            let again = fault.kind == ErrorKind::Transient && !late;
            // If the requested delay is too long, the call fails.
            let again =
                again && fault.retry_after.is_none_or(|retry_after| retry_after <= MAX_RETRY_AFTER);
            note_unreachable(&self.access.base_url, &fault);
            unreachable += u32::from(fault.reason == Some(FailureReason::Unreachable));
            let again = again && (unreachable == 0 || unreachable < MAX_UNREACHABLE && !offline);
            match backoff.next_delay(fault.retry_after, None).filter(|_| again) {
                Some(wait) => sleep(wait).await,
                None => {
                    if fault.reason == Some(FailureReason::Unreachable) {
                        self.down.send_replace(Some(Instant::now() + DOWN_COOLDOWN));
                    }
                    return Err(self.error(fault));
                }
            }
        }
    }

    /// Waits until the rate limit allows a request.
    ///
    /// # Errors
    /// If the server asked not to be called for long, or could not be reached moments ago.
    async fn wait_for_turn(&self) -> std::result::Result<(), ServiceError> {
        let is_down = |until: &Option<Instant>| until.is_some_and(|it| it > Instant::now());
        let down = || ServiceError {
            reason: Some(FailureReason::Unreachable),
            unsent: true,
            ..ServiceError::transient(unreachable_message())
        };
        let mut watched = self.down.subscribe();
        let Some(limiter) = &self.rate_limit else {
            let until = *watched.borrow();
            return if is_down(&until) { Err(down()) } else { Ok(()) };
        };
        tokio::select! {
            biased;
            _ = watched.wait_for(is_down) => Err(down()),
            turn = limiter.acquire() => turn.map_err(|wait| {
                let seconds = wait.as_secs();
                ServiceError::rate_limited(format!("rate limited for another {seconds} s"))
            }),
        }
    }

    async fn send(&self, ask: &ServiceRequest) -> std::result::Result<RawResponse, ServiceError> {
        let url = format!("{}{}", self.access.base_url, ask.path);
        let mut request = self.client.request(ask.method.clone(), url);
        let mut bytes = 0;
        if !ask.body.is_null() {
            let json = ("content-type", "application/json");
            let body = ask.body.to_string();
            bytes = body.len();
            request = request.header(json.0, json.1).body(body);
        }
        for (name, value) in self.headers.iter().chain(&ask.headers) {
            request = request.header(*name, value);
        }
        if let Some(key) = &self.access.key {
            let (name, before) = self.access.header;
            let value = format!("{before}{}", key.expose());
            let mut value = reqwest::header::HeaderValue::from_str(&value)
                .map_err(|_| ServiceError::setup("the key contains an invalid character"))?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let host = host_and_port(&self.access.base_url);
        self.egress.record_sent(&host, bytes);
        let response = request.send().await.map_err(connection_error)?;
        let (status, headers) = (response.status().as_u16(), response_headers(&response));
        if let Some(theirs) = headers.date() {
            let ours = jiff::Timestamp::now().as_second();
            self.egress.record_clock_offset(&host, ours - theirs);
        }
        let body = read_body(response, self.largest).await?;
        self.egress.record_received(&host, body.len());
        // Compression is not requested; Stack Exchange compresses anyway.
        let body = match headers.get("content-encoding") {
            Some(how) => decode_body(how, &body, self.largest).map_err(|error| {
                ServiceError::malformed(format!("decoding the response: {}", error.message()))
            })?,
            None => body,
        };
        Ok((status, headers, self.redactor.redact(body)))
    }

    fn error(&self, fault: ServiceError) -> Error {
        let hint = match fault.kind {
            _ if fault.reason == Some(FailureReason::Unreachable) && is_offline() => {
                "check the connection of this machine, or search a folder with --folder"
            }
            ErrorKind::Transient => "check that the server is up, and try again",
            _ => "check the address, the key and the model's name",
        };
        fault.into_error(format!("asking {}", self.name)).with_hint(hint)
    }
}
