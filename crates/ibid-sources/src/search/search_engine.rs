//! A search engine: what all engines have in common.
use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use super::engine_api::{EngineApi, EngineConfig};
use super::engines::{EngineInfo, KeyRequirement, by_name};
use super::query_text;
use ibid_core::domain::work::{canonical_url, is_within_domains};
use ibid_core::domain::{Hit, Hits, Query, Vertical};
use ibid_core::ports::{Egress, MCP_PREFIX, SearchProvider};
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::secret::ApiKey;
use ibid_net::service::{RateLimiters, ServiceAccess, ServiceClient};

/// Maximum wait for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(12);
/// The largest answer, in bytes.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// A search engine that was opened with its settings.
pub struct SearchEngine {
    info: &'static EngineInfo,
    service: ServiceClient,
    api: Box<dyn EngineApi>,
    /// The only kind of search that it is used for, if any, and its name then.
    only: Option<(Vertical, String)>,
}

impl SearchEngine {
    /// Opens the engine `info`. Sends nothing.
    ///
    /// # Errors
    /// `Setup` when its key or address is missing.
    pub fn open(
        info: &'static EngineInfo,
        config: &EngineConfig,
        agent: &str,
        limiters: &RateLimiters,
        egress: &Egress,
    ) -> Result<SearchEngine> {
        let base_url = config.base_url.as_deref().unwrap_or(info.base_url);
        if base_url.is_empty() {
            let what = format!("no address is set for the search engine {}", info.name);
            return Err(Error::new(ErrorKind::Setup, what)
                .with_hint(format!("set {} to its URL", info.base_var)));
        }
        if config.key.is_none() && info.key == KeyRequirement::Needed && config.base_url.is_none() {
            let what = format!("no key is set for the search engine {}", info.name);
            return Err(Error::new(ErrorKind::Setup, what)
                .with_hint(format!("set {} to your key", info.key_var)));
        }
        let (key_header, _) = info.header;
        let access = ServiceAccess {
            base_url: base_url.trim_end_matches('/').to_owned(),
            header: info.header,
            key: config.key.as_deref().filter(|_| !key_header.is_empty()).map(ApiKey::new),
        };
        let distance =
            if config.key.is_some() { info.min_interval_with_key } else { info.min_interval };
        let limiter = limiters.get(&format!("{} {base_url}", info.name), distance);
        let api = (info.api)(config);
        let service = ServiceClient::open(info.name, access)?
            .with_rate_limit(limiter)
            .with_egress(egress.clone())
            .with_header("user-agent", agent)
            .with_hidden_key(config.key.as_deref())
            .with_limits(TIMEOUT, MAX_BYTES);
        let service = api
            .headers()
            .iter()
            .fold(service, |service, (name, value)| service.with_header(name, *value));
        Ok(SearchEngine { info, service, api, only: None })
    }

    /// The engine for one kind of search only.
    #[must_use]
    pub fn only(mut self, vertical: Option<Vertical>) -> SearchEngine {
        self.only = vertical.map(|it| (it, limited_name(self.info, it)));
        self
    }

    /// Searches for a word that every engine finds, to check that the engine works.
    ///
    /// # Errors
    /// Those of the search; `Malformed` when it finds nothing.
    pub async fn health_check(&self) -> Result<()> {
        let query = Query::from_static("water", self.info.verticals[0], 1);
        let found = self.search(&query).await?;
        if !found.hits.is_empty() {
            return Ok(());
        }
        let fault = Error::new(
            ErrorKind::Malformed,
            format!("{} found nothing on `water`", self.info.name),
        )
        .with_source(found.remarks.join("; "));
        Err(if found.remarks.is_empty() {
            fault
        } else {
            fault.with_hint("see its log for why the engines behind it cannot be reached")
        })
    }
}

/// The kinds of search to which an engine that also searches the web can be limited, and the words for them.
const LIMITS: [(Vertical, &str); 2] = [(Vertical::News, "news"), (Vertical::Scholar, "scholar")];

/// The name of an engine that is used for one kind of search only: `serper-news`.
pub fn limited_name(engine: &EngineInfo, vertical: Vertical) -> String {
    let word = LIMITS.iter().find(|limit| limit.0 == vertical).map_or("", |limit| limit.1);
    format!("{}-{word}", engine.name)
}

/// The engine that `name` stands for, and the only kind of search that it is used for, if the name says one.
pub fn by_limited_name(name: &str) -> Option<(&'static EngineInfo, Option<Vertical>)> {
    if let Some(engine) = by_name(name) {
        return Some((engine, None));
    }
    let (engine, word) = name.rsplit_once('-')?;
    let (engine, limit) = (by_name(engine)?, LIMITS.iter().find(|limit| limit.1 == word)?);
    let can_be = engine.verticals.contains(&Vertical::Web) && engine.verticals.contains(&limit.0);
    can_be.then_some((engine, Some(limit.0)))
}

/// The verticals of the engine `name`; local documents if there is no such engine.
pub fn verticals_of(name: &str) -> &'static [Vertical] {
    match by_limited_name(name) {
        Some((_, Some(only))) => limited_verticals(only),
        Some((engine, None)) => engine.verticals,
        None if name.starts_with(MCP_PREFIX) => &[Vertical::Web],
        None => &[Vertical::Local],
    }
}

/// What an engine limited to `only` serves. Questions that do not ask for news have no query for them, so an engine of news takes
/// those for the web.
fn limited_verticals(only: Vertical) -> &'static [Vertical] {
    match only {
        Vertical::Scholar => &[Vertical::Scholar],
        _ => &[Vertical::Web],
    }
}

#[async_trait]
impl SearchProvider for SearchEngine {
    fn name(&self) -> &str {
        self.only.as_ref().map_or(self.info.name, |only| &only.1)
    }

    fn verticals(&self) -> &[Vertical] {
        self.only.as_ref().map_or(self.info.verticals, |only| limited_verticals(only.0))
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        let limited = self.only.as_ref().map(|only| query.for_vertical(only.0));
        let query = limited.as_ref().unwrap_or(query);
        let most = self.info.max_query_chars;
        let shortened = query.shortened(&query_text::shorten(query.text(), most));
        let mut found = self.api.search(&self.service, &shortened).await?;
        if shortened.text().len() < query.text().trim().len() {
            found.remarks.push(format!("the query was cut to {most} characters"));
        }
        found.hits = clean_hits(found.hits, query);
        Ok(found)
    }
}

/// Keeps the hits that have an address and match the filters of `query`, each once, up to its limit.
fn clean_hits(hits: Vec<Hit>, query: &Query) -> Vec<Hit> {
    let mut seen = BTreeSet::new();
    let kept = hits.into_iter().filter_map(|mut hit| {
        let url = Url::parse(hit.url.trim()).ok()?;
        let is_web = url.host_str().is_some() && matches!(url.scheme(), "http" | "https");
        if !is_web || !matches_filters(&hit, url.as_str(), query) {
            return None;
        }
        hit.url = url.to_string();
        hit.doc_id = hit.work.key();
        hit.vertical = query.vertical();
        let key = hit.doc_id.clone().unwrap_or_else(|| canonical_url(&hit.url));
        seen.insert(key).then_some(hit)
    });
    let numbered = kept.take(query.limit as usize).zip(1..);
    numbered.map(|(hit, rank)| Hit { rank, ..hit }).collect()
}

/// Whether a hit at `url` is within the domains and dates of `query`. A hit without a date matches any dates.
fn matches_filters(hit: &Hit, url: &str, query: &Query) -> bool {
    let allowed = is_within_domains(url, &query.domains, &query.not_domains);
    let date = hit.date.as_ref();
    let early = date.zip(query.since.as_ref()).is_some_and(|(date, since)| date < since);
    let late = date.zip(query.until.as_ref()).is_some_and(|(date, until)| date > until);
    allowed && !early && !late
}

#[cfg(test)]
#[path = "search_engine_tests.rs"]
mod tests;
