//! Pages as a server reads them that somebody configured: it is told the address and answers with Markdown.
//!
//! No server is sent where we would not go ourselves: the guard judges the address and those of its name, and robots.txt is
//! heeded. A server looks names up by itself and follows redirects by itself; where it says that it ended at an address that the
//! guard refuses, its answer is thrown away. What it reads counts as of the address that it was asked for.
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    Drafts, addresses, crawl4ai, firecrawl, is_outside, jina, soft, steel, unparsed, unread,
};
use crate::adapters::documents::{self, Limits, Origin, dates};
use crate::adapters::model::providers::Secret;
use crate::adapters::model::{Headers, ModelFault};
use crate::adapters::service::{Access, Pace, Service};
use crate::adapters::web::fetch::{Fetcher, Unfetched};
use crate::adapters::web::outcome::refused;
use crate::domain::{Hit, Page, PageDraft};
use crate::error::{Error, Kind, Result};
use crate::record::FailReason;
use crate::seams::{Egress, PageReader};

/// The longest wait for one answer: a server waits for the page in turn.
const PATIENCE: Duration = Duration::from_secs(45);
/// The longest wait for a page, with repeated tries.
const WHOLE: Duration = Duration::from_secs(100);
/// The largest answer, bytes.
const LARGEST: usize = 16 << 20;
/// A small page that is kept for such uses (RFC 2606), so that a trial costs next to nothing.
const TRIAL: &str = "https://example.com/";
/// The longest wait for it.
const TRIAL_PATIENCE: Duration = Duration::from_secs(30);

/// A server that reads pages: all that opening it and telling of it need to know.
pub struct Row {
    /// Its name in settings, events and reports.
    pub name: &'static str,
    /// The variable that holds its key.
    pub key_var: &'static str,
    /// The variable that says where it is.
    pub base_var: &'static str,
    /// Where it is unless that variable says otherwise; empty for what people host themselves.
    pub base_url: &'static str,
    /// The least time between two calls.
    distance: Duration,
    /// The header that shows the key, and what stands before the key in it.
    header: (&'static str, &'static str),
    /// Headers on every request.
    headers: &'static [(&'static str, &'static str)],
    api: &'static dyn Api,
}

/// Every server that reads pages, in the order in which `auto` asks them: those that people host themselves first.
#[rustfmt::skip]
pub static SERVERS: &[Row] = &[
    Row { name: "steel", key_var: "STEEL_API_KEY", base_var: "STEEL_URL", base_url: "",
        distance: Duration::from_millis(100), header: ("steel-api-key", ""), headers: &[], api: &steel::Steel },
    Row { name: "crawl4ai", key_var: "CRAWL4AI_API_TOKEN", base_var: "CRAWL4AI_URL", base_url: "",
        distance: Duration::from_millis(100), header: ("authorization", "Bearer "), headers: &[], api: &crawl4ai::Crawl4Ai },
    Row { name: "firecrawl", key_var: "FIRECRAWL_API_KEY", base_var: "FIRECRAWL_API_URL", base_url: "https://api.firecrawl.dev",
        distance: Duration::from_millis(200), header: ("authorization", "Bearer "), headers: &[], api: &firecrawl::Firecrawl },
    Row { name: "jina", key_var: "JINA_API_KEY", base_var: "JINA_READER_URL", base_url: "https://r.jina.ai",
        distance: Duration::from_millis(150), header: ("authorization", "Bearer "),
        headers: &[("accept", "application/json"), ("x-return-format", "markdown")], api: &jina::Jina },
];

impl Row {
    /// Whether it can be asked with these.
    pub fn is_ready(&self, key: Option<&str>, base_url: Option<&str>) -> bool {
        base_url.is_some() || (key.is_some() && !self.base_url.is_empty())
    }
}

/// What an interface is: the call that reads one page.
#[async_trait]
pub(super) trait Api: Send + Sync {
    /// What the server makes of `url`.
    async fn scrape(&self, service: &Service, url: &str) -> Result<Scraped>;
}

/// What a server makes of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scraped {
    pub(super) markdown: String,
    pub(super) title: Option<String>,
    /// As the server writes it.
    pub(super) date: Option<String>,
    pub(super) lang: Option<String>,
    /// The status that the page's own server answered with.
    pub(super) status: Option<u16>,
    /// Where it ended.
    pub(super) url: Option<String>,
}

/// A reader behind a server.
pub struct Remote {
    row: &'static Row,
    service: Service,
    gate: Arc<Fetcher>,
    limits: Limits,
    drafts: Drafts,
}

impl Remote {
    /// The server of `row`, with what opens it. It is sent only where `gate` would go itself. Nothing is sent yet.
    ///
    /// # Errors
    /// `Setup` where its key or address is missing, or the system's certificates cannot be read.
    pub fn open(
        row: &'static Row,
        key: Option<&str>,
        base_url: Option<&str>,
        gate: Arc<Fetcher>,
        limits: Limits,
        egress: &Egress,
    ) -> Result<Remote> {
        if !row.is_ready(key, base_url) {
            let (what, variable) = match row.base_url {
                "" => ("address", row.base_var),
                _ => ("key", row.key_var),
            };
            return Err(Error::new(
                Kind::Setup,
                format!("no {what} is known for the reader {}", row.name),
            )
            .hint(format!("set {variable}, or leave it out of readers")));
        }
        let base_url = base_url.unwrap_or(row.base_url);
        let access = Access {
            base_url: base_url.trim_end_matches('/').to_owned(),
            header: row.header,
            key: key.map(Secret::new),
        };
        let service = Service::open(row.name, access)?
            .paced(Arc::new(Pace::every(row.distance)))
            .noted(egress.clone())
            .within(PATIENCE, LARGEST);
        let headed = |service: Service, it: &(&'static str, &str)| service.with_header(it.0, it.1);
        let service = row.headers.iter().fold(service, headed);
        Ok(Remote {
            row,
            service,
            gate,
            limits,
            drafts: Drafts::default(),
        })
    }

    /// The same, that keeps what it reads in `drafts` and uses it again.
    #[must_use]
    pub fn keeping(mut self, drafts: Drafts) -> Remote {
        self.drafts = drafts;
        self
    }

    /// Has it read one small page, once, to see that it answers as it should.
    ///
    /// # Errors
    /// What it failed with; `Malformed` where it answers with no words.
    pub async fn trial(self) -> Result<()> {
        let service = self.service.within(TRIAL_PATIENCE, LARGEST).once();
        let scraped = self.row.api.scrape(&service, TRIAL).await?;
        let amiss = |why: String| {
            let doing = format!("having {} read {TRIAL}", self.row.name);
            Err(Error::new(Kind::Malformed, doing).because(why))
        };
        match scraped.status {
            Some(status) if status >= 400 => amiss(format!("it was answered with {status}")),
            _ if scraped.markdown.is_empty() => amiss("no words came".to_owned()),
            _ => Ok(()),
        }
    }

    async fn at(&self, url: &str) -> Result<PageDraft> {
        let fault = |reason, why: &str| unread(url, reason, why);
        let judged = self.gate.guard().target(url).map_err(Unfetched::from);
        judged.map_err(|it| fault(it.reason, &it.why))?;
        if let Some(draft) = self.drafts.get(self.row.name, url).await {
            return Ok(draft);
        }
        let leave = self.gate.may_ask(url).await;
        let (mut target, _) = leave.map_err(|it| fault(it.reason, &it.why))?;
        target.set_fragment(None);
        let asked = timeout(WHOLE, self.row.api.scrape(&self.service, target.as_str())).await;
        let scraped = asked
            .map_err(|_| {
                fault(
                    FailReason::Timeout,
                    &format!("{} took too long", self.row.name),
                )
            })?
            .map_err(|it| fault(reason_of(&it), &it.chain()))?;
        if let Some(status) = scraped.status.filter(|it| *it >= 400) {
            let refused = refused(status);
            return Err(fault(refused.reason, &refused.why));
        }
        // Where it says that it ended cannot be verified, so the page stays one of the address that was asked for.
        if let Some(told) = scraped.url.filter(|it| *it != target.as_str()) {
            let judged = self.gate.guard().target(&told);
            judged.map_err(|it| {
                let why = format!("it ended at {}: {}", it.at.word(), it.why);
                fault(FailReason::BlockedAddress, &why)
            })?;
        }
        let markdown = "text/markdown; charset=utf-8".to_owned();
        let origin = Origin::fetched(target.as_str(), Some(markdown));
        let bytes = scraped.markdown.into_bytes();
        let read = documents::fetched(bytes, origin, &self.limits).await;
        let mut draft = read.map_err(|it| unparsed(url, target.as_str(), &it))?;
        if let Some(title) = scraped.title {
            draft.title = title;
        }
        if let Some(date) = scraped.date.as_deref().and_then(dates::normalise) {
            draft.date = Some(date);
            draft.date_source = Some(self.row.name.to_owned());
        }
        if let Some(lang) = scraped.lang.filter(|it| it.is_char_boundary(2)) {
            draft.lang = Some(lang[..2].to_lowercase());
        }
        draft
            .warnings
            .push(format!("read by {}, not by Ibid itself", self.row.name));
        if let Some((reason, said)) = soft::amiss(&draft) {
            return Err(fault(reason, &format!("the page says `{said}`")));
        }
        self.drafts.put(self.row.name, url, &draft).await;
        Ok(draft)
    }
}

#[async_trait]
impl PageReader for Remote {
    fn name(&self) -> &str {
        self.row.name
    }

    fn reads(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    fn reads_after(&self, _: &Hit, reason: FailReason) -> bool {
        // What is not there is not there for anybody.
        reason != FailReason::NotFound
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        // The best address alone: each costs somebody something.
        let url = addresses(hit).first().map_or(hit.url.as_str(), |it| it.0);
        self.at(url).await.map(Page::new)
    }
}

/// What a server's fault means for a page.
fn reason_of(fault: &Error) -> FailReason {
    let said = fault.chain().to_lowercase();
    let says = |words: &[&str]| words.iter().any(|it| said.contains(it));
    match fault.kind() {
        _ if says(&["captcha", "bot detection", "anti-bot", "access denied"]) => {
            FailReason::BotBlock
        }
        _ if says(&["larger than"]) => FailReason::TooLarge,
        Kind::Transient => FailReason::Timeout,
        // A key that is refused, or an allowance that is used up.
        Kind::Setup | Kind::Usage => FailReason::Unsupported,
        _ => FailReason::Broken,
    }
}

/// The JSON of an answer, or the fault that it tells.
pub(super) fn json(
    status: u16,
    headers: &Headers,
    body: &[u8],
) -> std::result::Result<Value, ModelFault> {
    if !(200..300).contains(&status) {
        return Err(ModelFault::of_answer(status, headers, body));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| ModelFault::malformed("its answer is not JSON"))?;
    match value.get("success") {
        Some(Value::Bool(false)) => Err(ModelFault::of_value(Some(status), headers, &value)),
        _ => Ok(value),
    }
}

/// The text at `path`, where it is one and has words.
pub(super) fn word(value: &Value, path: &str) -> Option<String> {
    let text = value.pointer(path)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The HTTP status at `path`.
pub(super) fn status(value: &Value, path: &str) -> Option<u16> {
    let status = value.pointer(path)?.as_u64()?;
    u16::try_from(status).ok()
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
