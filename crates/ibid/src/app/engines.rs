//! Search engines: which ones a question names, which are ready, and opening them.
use std::sync::Arc;

use super::{container, web};
use crate::config::Settings;
use ibid_core::domain::Vertical;
use ibid_core::ports::{Egress, MCP_PREFIX, SearchProvider};
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::service::RateLimiters;
use ibid_net::service_error::ServiceError;
use ibid_net::web::cache::WebCache;
use ibid_sources::mcp::{McpSource, McpSourceConfig};
use ibid_sources::search::{
    CachedSearch, ENGINES, EngineConfig, EngineInfo, KeyRequirement, SearchEngine, by_limited_name,
    by_name, limited_name,
};

/// Words that name all ready engines of a vertical.
pub const GROUPS: &[(&str, Vertical)] =
    &[("web", Vertical::Web), ("news", Vertical::News), ("scholar", Vertical::Scholar)];

/// The key, address and contact that are set for an engine.
fn engine_params(settings: &Settings, row: &EngineInfo) -> EngineConfig {
    let variable = |name: &str| settings.variables.get(name).map(str::to_owned);
    EngineConfig {
        key: variable(row.key_var),
        base_url: variable(row.base_var),
        contact: Some(settings.contact.clone()).filter(|it| !it.is_empty()),
    }
}

/// Whether an engine has the key and the address that it needs.
fn is_ready(settings: &Settings, row: &EngineInfo) -> bool {
    let given = engine_params(settings, row);
    let has_address = !row.base_url.is_empty() || given.base_url.is_some();
    has_address
        && (row.key != KeyRequirement::Needed || given.key.is_some() || given.base_url.is_some())
}

/// The names of the engines that `words` select, each once, in the order in which they are searched. A word is the name of an engine,
/// `web`, `news`, `scholar`, `auto` for all that are ready, or `none`.
///
/// # Errors
/// `Usage` for any other word, with the list of valid ones.
pub fn resolve(settings: &Settings, words: &[String]) -> Result<Vec<String>> {
    let ready = |wanted: Option<Vertical>| {
        ENGINES
            .iter()
            .filter(|engine| engine.in_auto && is_ready(settings, engine))
            .filter(move |engine| wanted.is_none_or(|wanted| engine.verticals.contains(&wanted)))
            .map(move |engine| match wanted {
                // It is asked for news, not for the web that it searches as well.
                Some(only)
                    if only != Vertical::Web && engine.verticals.contains(&Vertical::Web) =>
                {
                    limited_name(engine, only)
                }
                _ => engine.name.to_owned(),
            })
    };
    let mut found: Vec<String> = Vec::new();
    for word in words.iter().map(|word| word.trim().to_lowercase()).filter(|it| !it.is_empty()) {
        if let Some(source) = mcp_source(settings, &word) {
            found.push(source.engine_name());
            continue;
        }
        match word.as_str() {
            "none" | "local" => {}
            "auto" => {
                found.extend(ready(None));
                found.extend(settings.mcp_sources.iter().map(McpSourceConfig::engine_name));
            }
            word => match (GROUPS.iter().find(|group| group.0 == word), by_limited_name(word)) {
                (Some((_, vertical)), _) => found.extend(ready(Some(*vertical))),
                (None, Some(_)) => found.push(word.to_owned()),
                (None, None) => {
                    let sources = settings.mcp_sources.iter().map(|it| it.name.as_str());
                    let names = ENGINES.iter().map(|engine| engine.name);
                    let names: Vec<&str> = names.chain(sources).collect();
                    return Err(Error::new(
                        ErrorKind::Usage,
                        format!("unknown search engine `{word}`"),
                    )
                    .with_hint(format!(
                        "name one of {}, or web, news, scholar, auto, none",
                        names.join(", ")
                    )));
                }
            },
        }
    }
    let mut unique: Vec<String> = Vec::new();
    for name in found {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    Ok(unique)
}

/// The configured MCP server that a word names, as `NAME` or `mcp:NAME`.
fn mcp_source<'a>(settings: &'a Settings, word: &str) -> Option<&'a McpSourceConfig> {
    let name = word.strip_prefix(MCP_PREFIX).unwrap_or(word);
    settings.mcp_sources.iter().find(|source| source.name == name)
}

/// The configured MCP servers of these names, each as a search engine and a reader. Starts nothing yet.
pub(super) fn open_mcp_sources(
    settings: &Settings,
    names: &[String],
    egress: &Egress,
) -> Vec<Arc<McpSource>> {
    let named = names.iter().filter(|name| name.starts_with(MCP_PREFIX));
    let configured = named.filter_map(|name| mcp_source(settings, name));
    configured.map(|it| Arc::new(McpSource::new(it.clone(), egress.clone()))).collect()
}

/// Starts or reaches an MCP server. Returns which of its tools would be called.
///
/// # Errors
/// The fault, with a hint on how to fix it.
pub async fn probe_mcp(source: &McpSourceConfig) -> Result<String> {
    McpSource::new(source.clone(), Egress::default()).health_check().await
}

/// Every word that [`resolve`] accepts.
pub fn selector_names() -> Vec<&'static str> {
    let groups = GROUPS.iter().map(|group| group.0);
    let names = ENGINES.iter().map(|engine| engine.name);
    names.chain(groups).chain(["auto", "none", "local"]).collect()
}

/// Opens the engines of these names.
///
/// # Errors
/// `Usage` for an unknown name, `Setup` for a missing key or address.
pub(super) fn open(
    settings: &Settings,
    names: &[String],
    rate_limiters: &RateLimiters,
    cache: Option<&Arc<WebCache>>,
    egress: &Egress,
) -> Result<Vec<Arc<dyn SearchProvider>>> {
    let mut opened: Vec<Arc<dyn SearchProvider>> = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with(MCP_PREFIX)) {
        let (row, only) = by_limited_name(name).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("unknown search engine `{name}`"))
        })?;
        let given = engine_params(settings, row);
        let engine =
            SearchEngine::open(row, &given, &web::user_agent(settings), rate_limiters, egress)?
                .only(only);
        let engine: Arc<dyn SearchProvider> = Arc::new(engine);
        let web = &settings.web;
        opened.push(match cache.filter(|_| !web.search_cache.is_zero()) {
            Some(cache) => {
                Arc::new(CachedSearch::new(engine, Arc::clone(cache), web.search_cache, web.fresh))
            }
            None => engine,
        });
    }
    Ok(opened)
}

/// An engine, and whether it is ready.
#[derive(Debug, Clone, Copy)]
pub struct EngineStatus {
    /// Its name.
    pub name: &'static str,
    /// A line that describes it.
    pub about: &'static str,
    /// The kinds of search that it serves.
    pub verticals: &'static [Vertical],
    /// The variable that holds its key; empty when it has none.
    pub key_var: &'static str,
    /// The variable that holds its address.
    pub base_var: &'static str,
    /// Whether it needs a key.
    pub needs_key: bool,
    /// Whether it has the key and the address that it needs.
    pub ready: bool,
    /// Whether a key or an address is set for it.
    pub configured: bool,
    /// Whether an address is set for it.
    pub base_set: bool,
    /// Whether `auto` includes it when it is ready.
    pub in_auto: bool,
    /// Whether the adapter was tested against the real service.
    pub verified: bool,
}

/// Every engine, in the order in which those of one kind are searched.
pub fn statuses(settings: &Settings) -> Vec<EngineStatus> {
    let status = |row: &'static EngineInfo| {
        let given = engine_params(settings, row);
        EngineStatus {
            name: row.name,
            about: row.about,
            verticals: row.verticals,
            key_var: row.key_var,
            base_var: row.base_var,
            needs_key: row.key == KeyRequirement::Needed,
            ready: is_ready(settings, row),
            configured: given.key.is_some() || given.base_url.is_some(),
            base_set: given.base_url.is_some(),
            in_auto: row.in_auto,
            verified: row.verified,
        }
    };
    ENGINES.iter().map(status).collect()
}

/// Sends one small search to an engine, to check that it works.
///
/// # Errors
/// The fault, with a hint on how to fix it.
pub async fn probe(settings: &Settings, name: &str) -> Result<()> {
    probe_with(settings, name, &Egress::default()).await
}

/// Like [`probe`], with its traffic counted in `egress`.
pub(super) async fn probe_with(settings: &Settings, name: &str, egress: &Egress) -> Result<()> {
    let row = by_name(name)
        .ok_or_else(|| Error::new(ErrorKind::Usage, format!("unknown search engine `{name}`")))?;
    let engine = SearchEngine::open(
        row,
        &engine_params(settings, row),
        &web::user_agent(settings),
        &RateLimiters::default(),
        egress,
    )?;
    engine.health_check().await.map_err(|fault| {
        let service = ServiceError::find_in(&fault);
        let set = engine_params(settings, row).base_url;
        let hint = match fault.kind() {
            ErrorKind::Setup if name == "searxng" && fault.status() == Some(403) => {
                "add `json` under `search.formats` in SearXNG's settings.yml, and restart it"
                    .to_owned()
            }
            ErrorKind::Setup if !row.key_var.is_empty() => {
                format!("check the key in {}", row.key_var)
            }
            ErrorKind::Transient if set.is_some() => {
                container::localhost_hint(row.base_var, set.as_deref().unwrap_or_default())
            }
            ErrorKind::Transient => {
                "try again later, or check whether this machine can reach it".to_owned()
            }
            // It answered, and says itself why it found nothing.
            ErrorKind::Malformed if service.is_none() && fault.hint().is_some() => {
                fault.hint().unwrap_or_default().to_owned()
            }
            _ => format!("check that {} is the address of the right server", row.base_var),
        };
        Error::new(fault.kind(), format!("checking {name}")).with_source(fault).with_hint(hint)
    })
}
