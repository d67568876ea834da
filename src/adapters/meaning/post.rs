//! One request with JSON to a server that somebody configured, and its answer.
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::adapters::model::http::{client, headers, lost, whole};
use crate::adapters::model::providers::Secret;
use crate::adapters::model::{Deadlines, Headers, ModelFault};
use crate::error::{Error, Kind, Result};

/// The largest answer taken in, bytes.
const LARGEST: usize = 64 << 20;
/// For one request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Waits before a request is sent again after a transient fault, where the server asks for no other.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
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
pub(super) type Answer = (u16, Headers, Vec<u8>);

/// Sends JSON to one server.
pub(super) struct Post {
    name: String,
    access: Access,
    client: Client,
}

impl Post {
    pub(super) fn open(name: &str, access: Access) -> Result<Post> {
        Ok(Post {
            client: client(&access.base_url, name, Deadlines::default().connect)?,
            name: name.to_owned(),
            access,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sends `body` to `path` and reads the answer with `read`; a transient fault is tried again.
    pub(super) async fn ask<T>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        read: impl Fn(u16, &Headers, &[u8]) -> std::result::Result<T, ModelFault>,
    ) -> Result<T> {
        let mut waits = WAITS.iter();
        loop {
            let sent = timeout(PATIENCE, self.send(method.clone(), path, body)).await;
            let answer = sent
                .unwrap_or_else(|_| Err(ModelFault::transient("the answer did not come in time")))
                .and_then(|(status, headers, body)| read(status, &headers, &body));
            let fault = match answer {
                Ok(it) => return Ok(it),
                Err(fault) => fault,
            };
            match waits.next().filter(|_| fault.kind == Kind::Transient) {
                Some(wait) => sleep(fault.retry_after.map_or(*wait, |it| it.min(LONGEST))).await,
                None => return Err(self.error(fault)),
            }
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> std::result::Result<Answer, ModelFault> {
        let url = format!("{}{path}", self.access.base_url);
        let mut request = self.client.request(method, url);
        if !body.is_null() {
            let json = ("content-type", "application/json");
            request = request.header(json.0, json.1).body(body.to_string());
        }
        if let Some(key) = &self.access.key {
            let (name, before) = self.access.header;
            let value = format!("{before}{}", key.expose());
            let mut value = reqwest::header::HeaderValue::from_str(&value)
                .map_err(|_| ModelFault::setup("the key holds a character that no key has"))?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(lost)?;
        let (status, headers) = (response.status().as_u16(), headers(&response));
        Ok((status, headers, whole(response, LARGEST).await?))
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
