//! One request to a server that somebody configured, and its answer.
//!
//! Embedders, rerankers, search engines and page readers over HTTP all ask through here: one place for keys, deadlines,
//! repeated tries, pace and the book of what leaves the machine. Redirects are not followed, for the key would follow too.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::adapters::model::http::{client, headers, lost, whole};
use crate::adapters::model::providers::Secret;
use crate::adapters::model::{Deadlines, Headers, ModelFault};
use crate::adapters::veil::Veil;
use crate::adapters::web::unpacked;
use crate::error::{Error, Kind, Result};
use crate::seams::{Egress, host_of};

mod listing;

pub use crate::adapters::pace::{Pace, Paces};
pub use listing::{Listing, listed};

/// The largest answer taken in, bytes.
const LARGEST: usize = 64 << 20;
/// For one request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Waits before a request is sent again after a transient fault, where the server asks for no other.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// How long a server that could not be reached, after all tries, is left alone.
const DOWN: Duration = Duration::from_secs(30);
/// The longest wait that a server may ask for.
const LONGEST: Duration = Duration::from_secs(30);

/// A server and what opens it.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where it is, without a slash at the end.
    pub base_url: String,
    /// The header that shows the key and what stands before the key in it.
    pub header: (&'static str, &'static str),
    /// The key, where one is needed.
    pub key: Option<Secret>,
}

impl Access {
    /// A server at `base_url` that takes a bearer token, where there is one.
    pub fn bearer(base_url: &str, key: Option<&str>) -> Access {
        Access {
            base_url: base_url.trim_end_matches('/').to_owned(),
            header: ("authorization", "Bearer "),
            key: key.map(Secret::new),
        }
    }
}

/// The body of an answer, with its status and headers.
type Answer = (u16, Headers, Vec<u8>);

/// What is asked of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// How.
    pub method: Method,
    /// Where, below the server's address, with the query.
    pub path: String,
    /// What is sent; null for nothing.
    pub body: Value,
}

impl Ask {
    /// What is at `path`, with `query` written behind it.
    pub fn get(path: &str, query: &[(&str, &str)]) -> Ask {
        let mut written = url::form_urlencoded::Serializer::new(String::new());
        written.extend_pairs(query);
        let written = written.finish();
        Ask {
            method: Method::GET,
            path: match written.as_str() {
                "" => path.to_owned(),
                query => format!("{path}?{query}"),
            },
            body: Value::Null,
        }
    }

    /// `body` sent to `path`.
    pub fn post(path: &str, body: Value) -> Ask {
        Ask {
            method: Method::POST,
            path: path.to_owned(),
            body,
        }
    }
}

/// A server that somebody configured.
pub struct Service {
    name: String,
    access: Access,
    client: Client,
    headers: Vec<(&'static str, String)>,
    pace: Option<Arc<Pace>>,
    egress: Egress,
    largest: usize,
    /// What its answers must not say.
    veil: Veil,
    patience: Duration,
    waits: &'static [Duration],
    /// Until when nobody asks again, because nothing could be sent.
    down: Mutex<Option<Instant>>,
}

impl Service {
    /// The server behind `access`, known as `name`. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` when the system's certificates cannot be read.
    pub fn open(name: &str, access: Access) -> Result<Service> {
        let mut veil = Veil::default();
        veil.hide_password(&access.base_url);
        if let Some(key) = &access.key {
            veil.hide(key.expose());
        }
        Ok(Service {
            veil,
            client: client(&access.base_url, name, Deadlines::default().connect)?,
            name: name.to_owned(),
            access,
            headers: Vec::new(),
            pace: None,
            egress: Egress::default(),
            largest: LARGEST,
            patience: PATIENCE,
            waits: &WAITS,
            down: Mutex::default(),
        })
    }

    /// The same, asked no faster than `pace`.
    #[must_use]
    pub fn paced(mut self, pace: Arc<Pace>) -> Service {
        self.pace = Some(pace);
        self
    }

    /// The same, with what leaves the machine noted in `egress`.
    #[must_use]
    pub fn noted(mut self, egress: Egress) -> Service {
        self.egress = egress;
        self
    }

    /// The same, with a header on every request.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Service {
        self.headers.push((name, value.into()));
        self
    }

    /// The same, with a key that is sent elsewhere than in its header: its answers are rid of it, too.
    #[must_use]
    pub fn knowing(mut self, key: Option<&str>) -> Service {
        if let Some(key) = key {
            self.veil.hide(key);
        }
        self
    }

    /// The same, that gives an answer at most `patience` and `largest` bytes.
    #[must_use]
    pub fn within(mut self, patience: Duration, largest: usize) -> Service {
        self.patience = patience;
        self.largest = largest;
        self
    }

    /// The same, that is asked once, whatever comes of it.
    #[must_use]
    pub fn once(mut self) -> Service {
        self.waits = &[];
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, without a slash at the end.
    pub fn base_url(&self) -> &str {
        &self.access.base_url
    }

    /// Lets nobody ask it for the next `wait`, as it wished in an answer that was sound.
    pub fn rest(&self, wait: Duration) {
        if let Some(pace) = &self.pace {
            pace.rest(wait);
        }
    }

    /// Sends `body` to `path` and reads the answer with `read`; a transient fault is tried again.
    pub(super) async fn ask<T>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        read: impl Fn(u16, &Headers, &[u8]) -> std::result::Result<T, ModelFault>,
    ) -> Result<T> {
        let ask = Ask {
            method,
            path: path.to_owned(),
            body: body.clone(),
        };
        self.answered(&ask, read).await
    }

    /// Sends `ask` and reads the answer with `read`; a transient fault is tried again.
    ///
    /// # Errors
    /// What the service failed with, or what `read` makes of its answer; the error names the service.
    pub async fn answered<T>(
        &self,
        ask: &Ask,
        read: impl Fn(u16, &Headers, &[u8]) -> std::result::Result<T, ModelFault>,
    ) -> Result<T> {
        let mut waits = self.waits.iter();
        if self.is_down() {
            return Err(self.error(ModelFault::transient(
                "it could not be reached a moment ago",
            )));
        }
        loop {
            if let Some(pace) = &self.pace
                && let Err(wait) = pace.turn().await
            {
                let seconds = wait.as_secs();
                return Err(self.error(ModelFault::transient(format!(
                    "it asked to be left alone for another {seconds} s"
                ))));
            }
            let sent = timeout(self.patience, self.send(ask)).await;
            let late = sent.is_err();
            let answer = sent
                .unwrap_or_else(|_| Err(ModelFault::transient("the answer did not come in time")))
                .and_then(|(status, headers, body)| read(status, &headers, &body));
            let fault = match answer {
                Ok(it) => return Ok(it),
                Err(fault) => fault,
            };
            if let (Some(pace), Some(wait)) = (&self.pace, fault.retry_after) {
                pace.rest(wait);
            }
            let wait = |it: &Duration| fault.retry_after.unwrap_or(*it);
            // Who was late once is mostly late again, and whoever waits has somebody else to ask.
            let again = fault.kind == Kind::Transient && !late;
            match waits.next().filter(|_| again) {
                // Who is asked to wait for long goes on without.
                Some(it) if wait(it) <= LONGEST => sleep(wait(it)).await,
                _ => {
                    if fault.unsent && fault.kind == Kind::Transient {
                        *self.down.lock().unwrap_or_else(PoisonError::into_inner) =
                            Some(Instant::now() + DOWN);
                    }
                    return Err(self.error(fault));
                }
            }
        }
    }

    fn is_down(&self) -> bool {
        let until = *self.down.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|it| it > Instant::now())
    }

    async fn send(&self, ask: &Ask) -> std::result::Result<Answer, ModelFault> {
        let url = format!("{}{}", self.access.base_url, ask.path);
        let mut request = self.client.request(ask.method.clone(), url);
        let mut bytes = 0;
        if !ask.body.is_null() {
            let json = ("content-type", "application/json");
            let body = ask.body.to_string();
            bytes = body.len();
            request = request.header(json.0, json.1).body(body);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(key) = &self.access.key {
            let (name, before) = self.access.header;
            let value = format!("{before}{}", key.expose());
            let mut value = reqwest::header::HeaderValue::from_str(&value)
                .map_err(|_| ModelFault::setup("the key holds a character that no key has"))?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let host = host_of(&self.access.base_url);
        self.egress.sent(&host, bytes);
        let response = request.send().await.map_err(lost)?;
        let (status, headers) = (response.status().as_u16(), headers(&response));
        if let Some(theirs) = headers.date() {
            let ours = jiff::Timestamp::now().as_second();
            self.egress.told_time(&host, ours - theirs);
        }
        let body = whole(response, self.largest).await?;
        self.egress.received(&host, body.len());
        // Nobody is asked to pack; Stack Exchange does so all the same.
        let body = match headers.get("content-encoding") {
            Some(how) => unpacked(how, &body, self.largest)
                .map_err(|it| ModelFault::malformed(format!("of its answer, {}", it.why())))?,
            None => body,
        };
        Ok((status, headers, self.veil.over(body)))
    }

    fn error(&self, fault: ModelFault) -> Error {
        let hint = match fault.kind {
            Kind::Transient => "look whether the server is up, and try again",
            _ => "compare the address, the key and the model's name with what the server expects",
        };
        Error::new(fault.kind, format!("asking {}", self.name))
            .because(fault)
            .hint(hint)
    }
}
