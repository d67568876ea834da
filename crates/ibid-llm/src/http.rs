//! Language models over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use reqwest::{Client, Response};
use tokio::time::{Instant, timeout, timeout_at};

use super::adaptive::LearnedModel;
use super::capabilities::SchemaMode;
use super::providers::{Auth, ModelTarget};
use super::request::ModelSettings;
use ibid_core::ports::{
    Completion, Egress, LanguageModel, Prompt, TextSink, host_and_port, is_loopback_url,
};
use ibid_core::{Error, ErrorKind, FailureReason, Result};
pub use ibid_net::http::{
    HttpResult, Timeouts, build_client, connection_error, read_body, response_headers,
    too_large_error,
};
use ibid_net::http::{note_unreachable, timeout_error};
use ibid_net::redact::SecretRedactor;
use ibid_net::service_error::ServiceError;

/// Maximum size of a response, bytes.
const MAX_BYTES: usize = 32 << 20;

/// Maximum size of an error response that is read, bytes.
const MAX_REFUSAL_BYTES: usize = 1 << 20;

/// A model with an HTTP API. Sends one request per call; retries, limits and cost accounting are wrappers.
#[derive(Debug)]
pub struct HttpModel {
    name: String,
    target: ModelTarget,
    learned: Arc<LearnedModel>,
    client: Client,
    deadlines: Timeouts,
    egress: Egress,
    /// Removes secrets from responses and errors: a server may quote the key that it rejects.
    redactor: SecretRedactor,
}

impl HttpModel {
    /// Creates a client for `target`. Sends nothing yet.
    ///
    /// # Errors
    /// `Setup` if the system's certificates cannot be read.
    pub fn open(target: ModelTarget, deadlines: Timeouts) -> Result<HttpModel> {
        let settings = target.provider.settings(&target.model);
        let learned = Arc::new(LearnedModel::new(target.provider.dialect, settings, None));
        HttpModel::open_with(target, deadlines, learned)
    }

    /// As [`HttpModel::open`]; requests are written with the settings of `learned`.
    ///
    /// # Errors
    /// Those of [`HttpModel::open`].
    pub fn open_with(
        target: ModelTarget,
        deadlines: Timeouts,
        learned: Arc<LearnedModel>,
    ) -> Result<HttpModel> {
        let mut redactor = SecretRedactor::default();
        redactor.add_url_password(&target.base_url);
        if let Some(key) = &target.key {
            redactor.add_secret(key.expose());
        }
        Ok(HttpModel {
            name: target.name(),
            learned,
            client: build_client(&target.base_url, &target.name(), deadlines.connect)?,
            target,
            deadlines,
            egress: Egress::default(),
            redactor,
        })
    }

    /// Records outgoing traffic in `egress`.
    #[must_use]
    pub fn with_egress(mut self, egress: Egress) -> HttpModel {
        self.egress = egress;
        self
    }

    async fn send(
        &self,
        prompt: &Prompt,
        settings: &ModelSettings,
        stream: bool,
    ) -> HttpResult<Response> {
        let dialect = self.target.provider.dialect;
        let outgoing = dialect.request(prompt, settings, stream);
        let url = format!("{}{}", self.target.base_url, outgoing.path);
        let body = outgoing.body.to_string();
        self.egress.record_sent(&host_and_port(&self.target.base_url), body.len());
        let mut request =
            self.client.post(url).header("content-type", "application/json").body(body);
        for (name, value) in outgoing.headers {
            request = request.header(name, value);
        }
        if let Some(key) = &self.target.key {
            let (name, value) = match self.target.provider.auth {
                Auth::Bearer => ("authorization", format!("Bearer {}", key.expose())),
                Auth::Header(name) => (name, key.expose().to_owned()),
            };
            let mut value =
                reqwest::header::HeaderValue::from_str(&value).map_err(|_| ServiceError {
                    unsent: true,
                    ..ServiceError::setup("the key contains an invalid character")
                })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(connection_error);
        let response =
            response.inspect_err(|fault| note_unreachable(&self.target.base_url, fault))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        if response.status().is_redirection() {
            return Err(ServiceError {
                status: Some(status),
                ..ServiceError::setup(
                    "the server redirects requests, which is not followed because of the key",
                )
            });
        }
        let headers = response_headers(&response);
        // An error response is an error even if its body cannot be read.
        let body = read_body(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
        let body = self.redactor.redact(body);
        Err(ServiceError::from_response(status, &headers, &body))
    }

    async fn whole(&self, prompt: &Prompt) -> HttpResult<Completion> {
        let settings = self.learned.settings();
        let response = self.send(prompt, &settings, false).await?;
        let (status, headers) = (response.status().as_u16(), response_headers(&response));
        let body = read_body(response, MAX_BYTES).await?;
        self.egress.record_received(&host_and_port(&self.target.base_url), body.len());
        let body = self.redactor.redact(body);
        let dialect = self.target.provider.dialect;
        dialect.parse(status, &headers, &body, answer_tool(prompt, &settings))
    }

    async fn streamed(&self, prompt: &Prompt, sink: TextSink<'_>) -> HttpResult<Completion> {
        let settings = self.learned.settings();
        let first = Instant::now() + self.deadlines.first_byte;
        let silent = || timeout_error("the response did not start in time");
        let response =
            timeout_at(first, self.send(prompt, &settings, true)).await.map_err(|_| silent())??;
        let mut stream = self.target.provider.dialect.stream(answer_tool(prompt, &settings));
        let mut pieces = response.bytes_stream();
        // Redacts the raw bytes and the decoded text: a model may spell a key in separate pieces.
        let (mut line, mut words) = (self.redactor.redact_stream(), self.redactor.redact_stream());
        let mut taken = 0;
        let mut streamed = String::new();
        let answer = loop {
            let next = if taken == 0 {
                timeout_at(first, pieces.next()).await.map_err(|_| silent())?
            } else {
                let wait = timeout(self.deadlines.idle, pieces.next()).await;
                wait.map_err(|_| timeout_error("the response timed out before its end"))?
            };
            let piece = match next {
                None => {
                    let _heard_with_the_answer = stream.feed(&line.finish())?;
                    break stream.finish()?;
                }
                // A server may close the connection right after the end marker.
                Some(Err(fault)) => {
                    let _heard_with_the_answer = stream.feed(&line.finish())?;
                    break stream.finish().map_err(|known| match known.kind {
                        ErrorKind::Transient => ServiceError::transient(format!(
                            "{}: {}",
                            known.message,
                            connection_error(fault).message
                        )),
                        _ => known,
                    })?;
                }
                Some(Ok(piece)) => piece,
            };
            taken += piece.len();
            if taken > MAX_BYTES {
                return Err(too_large_error(MAX_BYTES));
            }
            let fresh = words.push(stream.feed(&line.push(&piece))?.as_bytes());
            let fresh = String::from_utf8_lossy(&fresh);
            if !fresh.is_empty() {
                sink(&fresh);
                streamed.push_str(&fresh);
            }
        };
        let answer = Completion {
            text: self.redactor.redact_text(&answer.text),
            reasoning: answer.reasoning.map(|reasoning| self.redactor.redact_text(&reasoning)),
            refusal: answer.refusal.map(|refusal| self.redactor.redact_text(&refusal)),
            ..answer
        };
        // Text that could have been the start of a tag or key was held back, and an answer through a tool arrives
        // only as a whole.
        match answer.text.strip_prefix(&streamed) {
            Some(rest) if !rest.is_empty() => sink(rest),
            _ => {}
        }
        Ok(answer)
    }

    /// Converts the fault to an error with a hint.
    fn error(&self, mut fault: ServiceError) -> Error {
        fault.message = self.redactor.redact_text(&fault.message);
        let name = self.target.provider.name;
        let hint = self.hint(&fault);
        let error = fault.into_error(format!("asking {} at {name}", self.target.model));
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    fn hint(&self, fault: &ServiceError) -> Option<String> {
        let provider = self.target.provider;
        let keys = provider.key_vars.join(" or ");
        let moved = provider.base_vars.first().copied().unwrap_or_default();
        match fault.reason {
            Some(FailureReason::PromptTooLong { .. }) => {
                return Some("Choose a model with a longer context, or fewer sources.".to_owned());
            }
            Some(FailureReason::Quota) => {
                return Some(format!("Add credit to your account at {}.", provider.name));
            }
            _ => {}
        }
        let lower = fault.message.to_lowercase();
        match (fault.kind, fault.status) {
            (ErrorKind::Setup, Some(300..=399 | 405)) => {
                Some(format!("set {moved} to the server's own URL"))
            }
            (ErrorKind::Setup, _) if lower.contains("model") && !lower.contains("key") => {
                Some(format!("check the model's name, and {moved} if it is set"))
            }
            (ErrorKind::Setup, Some(404)) => {
                Some(format!("check the model's name, and {moved} if it is set"))
            }
            (ErrorKind::Setup, _) => Some(format!("check the key in {keys}")),
            (ErrorKind::Transient, None) if is_loopback_url(&self.target.base_url) => {
                Some(format!("start the server at {}, or set {moved}", self.target.base_url))
            }
            _ => None,
        }
    }

    async fn within<T>(&self, call: impl Future<Output = HttpResult<T>> + Send) -> Result<T> {
        let late = |_| timeout_error("the model did not answer in time");
        let answer = timeout(self.deadlines.total, call).await.map_err(late);
        answer.and_then(|answer| answer).map_err(|error| self.error(error))
    }
}

/// The tool that the model must answer with, if any.
fn answer_tool<'a>(prompt: &'a Prompt, settings: &ModelSettings) -> Option<&'a str> {
    let by_tool = settings.schemas == SchemaMode::Tool;
    prompt.schema.as_ref().filter(|_| by_tool).map(|schema| schema.name.as_str())
}

#[async_trait]
impl LanguageModel for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        match sink {
            None => self.within(self.whole(prompt)).await,
            Some(sink) => self.within(self.streamed(prompt, sink)).await,
        }
    }
}
