//! Language models over HTTP.
use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use reqwest::{Client, Response, redirect};
use tokio::time::{Instant, timeout, timeout_at};

use super::fault::{ModelFault, cut};
use super::providers::{Auth, Target};
use super::request::{ModelSettings, Schemas};
use super::retry_after::Headers;
use crate::adapters::tls;
use crate::adapters::veil::Veil;
use crate::error::{Error, Kind, Result};
use crate::seams::{Completion, Egress, LanguageModel, Prompt, Sink, host_of, is_local};

/// The largest answer taken in, bytes.
const LARGEST: usize = 32 << 20;

/// The most of a refusal that is read, bytes.
const LARGEST_REFUSAL: usize = 1 << 20;

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of a stream. An answer that is waited for as a whole has none before its last.
    pub first_byte: Duration,
    /// Between two pieces of a stream.
    pub silence: Duration,
    /// For the whole call.
    pub whole: Duration,
}

impl Default for Deadlines {
    /// 10 s to connect; 10 minutes to the first byte: reasoning may come before it, or others at a server of one's own; 2 minutes of silence; 20
    /// minutes in all.
    fn default() -> Deadlines {
        Deadlines {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            silence: Duration::from_secs(120),
            whole: Duration::from_secs(1200),
        }
    }
}

/// A model behind an HTTP interface. One request a call: retries, limits and the meter are wrappers.
#[derive(Debug)]
pub struct HttpModel {
    name: String,
    target: Target,
    settings: ModelSettings,
    client: Client,
    deadlines: Deadlines,
    egress: Egress,
    /// What neither answers nor faults must say: a server may quote the key that it does not like.
    veil: Veil,
}

impl HttpModel {
    /// Opens the door to `target`. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` when the system's certificates cannot be read.
    pub fn open(target: Target, deadlines: Deadlines) -> Result<HttpModel> {
        let mut veil = Veil::default();
        veil.hide_password(&target.base_url);
        if let Some(key) = &target.key {
            veil.hide(key.expose());
        }
        Ok(HttpModel {
            name: target.name(),
            settings: target.provider.settings(&target.model),
            client: client(&target.base_url, &target.name(), deadlines.connect)?,
            target,
            deadlines,
            egress: Egress::default(),
            veil,
        })
    }

    /// The same model, with what leaves the machine noted in `egress`.
    #[must_use]
    pub fn noted(mut self, egress: Egress) -> HttpModel {
        self.egress = egress;
        self
    }

    /// The same model, with another way of asking it.
    #[must_use]
    pub fn with_settings(mut self, settings: ModelSettings) -> HttpModel {
        self.settings = settings;
        self
    }

    async fn send(&self, prompt: &Prompt, stream: bool) -> Answer<Response> {
        let dialect = self.target.provider.dialect;
        let outgoing = dialect.request(prompt, &self.settings, stream);
        let url = format!("{}{}", self.target.base_url, outgoing.path);
        let body = outgoing.body.to_string();
        self.egress
            .sent(&host_of(&self.target.base_url), body.len());
        let mut request = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .body(body);
        for (name, value) in outgoing.headers {
            request = request.header(name, value);
        }
        if let Some(key) = &self.target.key {
            let (name, value) = match self.target.provider.auth {
                Auth::Bearer => ("authorization", format!("Bearer {}", key.expose())),
                Auth::Header(name) => (name, key.expose().to_owned()),
            };
            let mut value =
                reqwest::header::HeaderValue::from_str(&value).map_err(|_| ModelFault {
                    unsent: true,
                    ..ModelFault::setup("the key holds a character that no key has")
                })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(lost)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        if response.status().is_redirection() {
            return Err(ModelFault {
                status: Some(status),
                ..ModelFault::setup(
                    "the server sends requests elsewhere, and keys are not sent after it",
                )
            });
        }
        let headers = headers(&response);
        // What cannot be read of a refusal does not make it less of one.
        let body = whole(response, LARGEST_REFUSAL).await.unwrap_or_default();
        let body = self.veil.over(body);
        Err(ModelFault::of_answer(status, &headers, &body))
    }

    /// The tool that the model is made to answer through, if it is.
    fn answer_tool<'a>(&self, prompt: &'a Prompt) -> Option<&'a str> {
        let by_tool = self.settings.schemas == Schemas::Tool;
        prompt
            .schema
            .as_ref()
            .filter(|_| by_tool)
            .map(|it| it.name.as_str())
    }

    async fn whole(&self, prompt: &Prompt) -> Answer<Completion> {
        let response = self.send(prompt, false).await?;
        let (status, headers) = (response.status().as_u16(), headers(&response));
        let body = whole(response, LARGEST).await?;
        self.egress
            .received(&host_of(&self.target.base_url), body.len());
        let body = self.veil.over(body);
        let dialect = self.target.provider.dialect;
        dialect.parse(status, &headers, &body, self.answer_tool(prompt))
    }

    async fn streamed(&self, prompt: &Prompt, sink: Sink<'_>) -> Answer<Completion> {
        let first = Instant::now() + self.deadlines.first_byte;
        let silent = || ModelFault::transient("the first byte of the answer did not come in time");
        let response = timeout_at(first, self.send(prompt, true))
            .await
            .map_err(|_| silent())??;
        let mut stream = self
            .target
            .provider
            .dialect
            .stream(self.answer_tool(prompt));
        let mut pieces = response.bytes_stream();
        // As they come over the line, and as words: a model may say a key letter by letter.
        let (mut line, mut words) = (self.veil.over_pieces(), self.veil.over_pieces());
        let mut taken = 0;
        let mut told = String::new();
        let answer = loop {
            let next = if taken == 0 {
                timeout_at(first, pieces.next())
                    .await
                    .map_err(|_| silent())?
            } else {
                let wait = timeout(self.deadlines.silence, pieces.next()).await;
                wait.map_err(|_| ModelFault::transient("the answer fell silent before its end"))?
            };
            let piece = match next {
                None => {
                    let _heard_with_the_answer = stream.feed(&line.end())?;
                    break stream.finish()?;
                }
                // A server may drop the line right behind the last mark.
                Some(Err(fault)) => {
                    let _heard_with_the_answer = stream.feed(&line.end())?;
                    break stream.finish().map_err(|known| match known.kind {
                        Kind::Transient => ModelFault::transient(format!(
                            "{}: {}",
                            known.message,
                            lost(fault).message
                        )),
                        _ => known,
                    })?;
                }
                Some(Ok(piece)) => piece,
            };
            taken += piece.len();
            if taken > LARGEST {
                return Err(too_large(LARGEST));
            }
            let fresh = words.push(stream.feed(&line.push(&piece))?.as_bytes());
            let fresh = String::from_utf8_lossy(&fresh);
            if !fresh.is_empty() {
                sink(&fresh);
                told.push_str(&fresh);
            }
        };
        let answer = Completion {
            text: self.veil.over_text(&answer.text),
            reasoning: answer.reasoning.map(|it| self.veil.over_text(&it)),
            refusal: answer.refusal.map(|it| self.veil.over_text(&it)),
            ..answer
        };
        // What could have been the beginning of a tag or of a key was held back, and an answer through a tool comes as a whole.
        match answer.text.strip_prefix(&told) {
            Some(rest) if !rest.is_empty() => sink(rest),
            _ => {}
        }
        Ok(answer)
    }

    /// The fault as an error that says what to do.
    fn error(&self, mut fault: ModelFault) -> Error {
        fault.message = self.veil.over_text(&fault.message);
        let name = self.target.provider.name;
        let hint = self.hint(&fault);
        let error = Error::new(
            fault.kind,
            format!("asking {} at {name}", self.target.model),
        );
        match hint {
            Some(hint) => error.because(fault).hint(hint),
            None => error.because(fault),
        }
    }

    fn hint(&self, fault: &ModelFault) -> Option<String> {
        let provider = self.target.provider;
        let keys = provider.key_vars.join(" or ");
        let moved = provider.base_vars.first().copied().unwrap_or_default();
        if fault.context_too_long {
            return Some("Choose a model with a longer context, or fewer sources.".to_owned());
        }
        let said = fault.message.to_lowercase();
        match (fault.kind, fault.status) {
            (Kind::Setup, Some(300..=399 | 405)) => {
                Some(format!("Set {moved} to the server's own URL."))
            }
            (Kind::Setup, Some(402)) => {
                Some(format!("Add credit to your account at {}.", provider.name))
            }
            (Kind::Setup, _)
                if ["quota", "credit", "billing", "balance"]
                    .iter()
                    .any(|it| said.contains(it)) =>
            {
                Some(format!("Add credit to your account at {}.", provider.name))
            }
            (Kind::Setup, _) if said.contains("model") && !said.contains("key") => {
                Some(format!("Check the model's name, and {moved} if it is set."))
            }
            (Kind::Setup, Some(404)) => {
                Some(format!("Check the model's name, and {moved} if it is set."))
            }
            (Kind::Setup, _) => Some(format!("Check the key in {keys}.")),
            (Kind::Transient, None) if is_local(&self.target.base_url) => Some(format!(
                "Start the server at {}, or set {moved}.",
                self.target.base_url
            )),
            _ => None,
        }
    }

    async fn within<T>(&self, call: impl Future<Output = Answer<T>> + Send) -> Result<T> {
        let late = |_| ModelFault::transient("the answer did not come in time");
        let answer = timeout(self.deadlines.whole, call).await.map_err(late);
        answer.and_then(|it| it).map_err(|it| self.error(it))
    }
}

#[async_trait]
impl LanguageModel for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        self.within(self.whole(prompt)).await
    }

    async fn stream(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion> {
        self.within(self.streamed(prompt, sink)).await
    }
}

type Answer<T> = std::result::Result<T, ModelFault>;

/// A client for one server, called `name` where it cannot be made. It follows no redirects: keys are not sent after them.
///
/// # Errors
/// `Setup` when the system's certificates cannot be read.
pub(in crate::adapters) fn client(base_url: &str, name: &str, connect: Duration) -> Result<Client> {
    let amiss = || Error::new(Kind::Setup, format!("preparing HTTPS for {name}"));
    let mut client = Client::builder()
        .user_agent(concat!("ibid/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(connect);
    client = match base_url.starts_with("http://") {
        // Without encryption no certificates are needed, and a small container may have none.
        true => {
            tls::provider();
            client.tls_certs_only([])
        }
        false => client.tls_backend_preconfigured(tls::config().map_err(|it| amiss().because(it))?),
    };
    // What is on this machine is not behind a proxy.
    if is_local(base_url) {
        client = client.no_proxy();
    }
    client.build().map_err(|it| amiss().because(it))
}

/// The whole body, at most `most` bytes.
pub(in crate::adapters) async fn whole(response: Response, most: usize) -> Answer<Vec<u8>> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(lost)?);
        if body.len() > most {
            return Err(too_large(most));
        }
    }
    Ok(body)
}

pub(in crate::adapters) fn headers(response: &Response) -> Headers {
    let text =
        |it: &reqwest::header::HeaderValue| String::from_utf8_lossy(it.as_bytes()).into_owned();
    Headers(
        response
            .headers()
            .iter()
            .map(|(name, it)| (name.to_string(), text(it)))
            .collect(),
    )
}

fn too_large(most: usize) -> ModelFault {
    ModelFault::malformed(format!("the answer is larger than {most} bytes"))
}

/// What the library says of a lost connection: its causes, without the address.
pub(in crate::adapters) fn lost(fault: reqwest::Error) -> ModelFault {
    let fault = fault.without_url();
    let mut said = fault.to_string();
    let mut next = fault.source();
    while let Some(cause) = next {
        said = format!("{said}: {cause}");
        next = cause.source();
    }
    // What a resolver says is long and says little.
    let said = match said.contains("dns error") {
        true => "its name cannot be looked up; is this machine online?".to_owned(),
        false => cut(&said, 300),
    };
    let unsent = fault.is_builder() || fault.is_connect();
    let fault = if fault.is_builder() {
        ModelFault::setup(said)
    } else {
        ModelFault::transient(said)
    };
    ModelFault { unsent, ..fault }
}
