//! The page readers of the settings: which are ready, and opening them in order.
use std::path::PathBuf;
use std::sync::Arc;

use super::{container, document_reader, web};
use crate::config::Settings;
use ibid_core::ports::{Egress, PageReader};
use ibid_core::{Error, ErrorKind, Result};
use ibid_extract::ExtractLimits;
use ibid_net::service::RateLimiters;
use ibid_net::web::cache::WebCache;
use ibid_net::web::caching::CachingFetcher;
use ibid_net::web::host_limit::OwnerHostLimiter;
use ibid_sources::reader::{
    Chromium, DraftCache, EmbeddedReader, HitTextReader, OpenAccessReader, ReaderInfo,
    RemoteReader, SERVERS, StalePageReader,
};
use ibid_sources::search::CatalogueClient;

/// Values of the setting `readers` that are not the name of a server.
const EMBEDDED: &str = "embedded";
const CHROMIUM: &str = "chromium";
const GIVEN: &str = "given";

/// The cache of pages and search results; `None` when the settings disable both.
///
/// # Errors
/// `Setup` when its file cannot be written.
pub(super) async fn open_cache(settings: &Settings) -> Result<Option<Arc<WebCache>>> {
    let web = &settings.web;
    if web.page_cache.is_zero() && web.search_cache.is_zero() {
        return Ok(None);
    }
    let path = WebCache::path(&settings.cache_dir);
    let cache = WebCache::open(&path, web.cache_bytes).await?;
    Ok(Some(Arc::new(cache)))
}

/// What the readers of one run share with others.
pub(super) struct ReaderResources<'a> {
    pub(super) limits: ExtractLimits,
    pub(super) host_limiter: OwnerHostLimiter,
    pub(super) rate_limiters: &'a RateLimiters,
    pub(super) cache: Option<Arc<WebCache>>,
}

/// Opens the readers of the setting `readers`, in the order in which they are tried.
///
/// # Errors
/// `Usage` for an unknown name, and for a browser without a reader before it; `Setup` for a server without address or key.
pub(super) fn open(
    settings: &Settings,
    resources: ReaderResources<'_>,
    egress: &Egress,
) -> Result<Vec<Arc<dyn PageReader>>> {
    let ReaderResources { limits, host_limiter, rate_limiters, cache } = resources;
    let fetcher = web::fetcher_with_limiter(settings, host_limiter)?
        .with_egress(egress.clone())
        .with_cache(cache.clone());
    let fetcher = Arc::new(fetcher);
    let drafts = DraftCache::new(cache.clone(), settings.web.page_cache, settings.web.fresh);
    let max_age = settings.web.page_cache;
    let caching_fetcher = || {
        CachingFetcher::new(Arc::clone(&fetcher), cache.clone(), max_age)
            .with_refresh(settings.web.fresh)
    };
    let names = resolve(settings)?;
    // A stale page is better than the engine's snippet, and worse than what any reader gets now.
    let use_stale = cache.is_some() && names.contains(&EMBEDDED) && !settings.web.fresh;
    let mut opened: Vec<Arc<dyn PageReader>> = Vec::new();
    for name in names {
        if name == GIVEN && use_stale {
            opened.push(Arc::new(StalePageReader::new(caching_fetcher(), limits.clone())));
        }
        let reader: Arc<dyn PageReader> = match name {
            EMBEDDED => {
                let embedded = Arc::new(EmbeddedReader::new(caching_fetcher(), limits.clone()));
                if settings.web.lookups {
                    let contact = Some(settings.contact.as_str()).filter(|it| !it.is_empty());
                    let lookups = CatalogueClient::open(
                        contact,
                        &web::user_agent(settings),
                        rate_limiters,
                        egress,
                    )?;
                    opened.push(Arc::new(OpenAccessReader::new(lookups, Arc::clone(&embedded))));
                }
                embedded
            }
            GIVEN => Arc::new(HitTextReader),
            CHROMIUM => {
                let program = &settings.web.chromium;
                let (fetcher, limits) = (Arc::clone(&fetcher), limits.clone());
                let browser = Chromium::open(program, fetcher, limits)?;
                Arc::new(browser.with_cache(drafts.clone()))
            }
            name => {
                let row = server_row(name).ok_or_else(|| unknown(name))?;
                let (key, base_url) = credentials(settings, row);
                let (fetcher, limits) = (Arc::clone(&fetcher), limits.clone());
                let remote = RemoteReader::open(row, key, base_url, fetcher, limits)?;
                Arc::new(remote.with_cache(drafts.clone()))
            }
        };
        opened.push(reader);
    }
    Ok(opened)
}

/// The servers and the browser of the setting `readers`.
///
/// # Errors
/// `Usage` for an unknown name.
pub(super) fn external_readers(settings: &Settings) -> Result<Vec<&'static str>> {
    let mut names = resolve(settings)?;
    names.retain(|name| ![EMBEDDED, GIVEN].contains(name));
    Ok(names)
}

/// A browser that is installed but not in the setting.
pub(super) fn idle_browser(settings: &Settings) -> Option<PathBuf> {
    let is_used = external_readers(settings).ok()?.contains(&CHROMIUM);
    (!is_used).then(|| Chromium::find(&settings.web.chromium, &settings.search_path))?
}

/// Lets a reader read one small page, to check that it works. Returns a message for the user.
///
/// # Errors
/// The fault, with a hint on how to fix it.
pub(super) async fn probe(settings: &Settings, name: &str, egress: &Egress) -> Result<String> {
    let fetcher = Arc::new(web::fetcher(settings)?.with_egress(egress.clone()));
    let limits = document_reader::document_limits(settings);
    if name == CHROMIUM {
        let browser = Chromium::open(&settings.web.chromium, fetcher, limits)?;
        browser.health_check().await?;
        return Ok(format!("{} runs", browser.program().display()));
    }
    let row = server_row(name).ok_or_else(|| unknown(name))?;
    let (key, base_url) = credentials(settings, row);
    let remote = RemoteReader::open(row, key, base_url, fetcher, limits)?;
    remote.health_check().await.map_err(|fault| {
        let hint = match fault.kind() {
            ErrorKind::Setup | ErrorKind::Usage => {
                format!("check the key in {}, and {}", row.key_var, row.base_var)
            }
            ErrorKind::Transient => match base_url {
                Some(url) => container::localhost_hint(row.base_var, url),
                None => "try again later, or check whether this machine can reach it".to_owned(),
            },
            _ => format!(
                "check that {} is the address of the right server, and see its log",
                row.base_var
            ),
        };
        Error::new(fault.kind(), format!("checking {name}"))
            .with_source(fault.chain())
            .with_hint(hint)
    })?;
    Ok(format!("{name} reads"))
}

/// The names of the readers that the setting selects, each once.
fn resolve(settings: &Settings) -> Result<Vec<&'static str>> {
    let is_ready = |row: &&ReaderInfo| {
        let (key, base_url) = credentials(settings, row);
        row.is_ready(key, base_url)
    };
    let mut names: Vec<&'static str> = Vec::new();
    for word in &settings.web.readers {
        match word.trim().to_lowercase().as_str() {
            "" => {}
            "auto" => {
                names.push(EMBEDDED);
                names.extend(SERVERS.iter().filter(is_ready).map(|server| server.name));
                names.push(GIVEN);
            }
            EMBEDDED => names.push(EMBEDDED),
            CHROMIUM => names.push(CHROMIUM),
            GIVEN => names.push(GIVEN),
            word => names.push(server_row(word).ok_or_else(|| unknown(word))?.name),
        }
    }
    // The engine's text is the last resort: readers named after `auto` come before it.
    let given_last =
        names.contains(&GIVEN) && settings.web.readers.iter().any(|reader| reader.trim() == "auto");
    if given_last {
        names.retain(|name| *name != GIVEN);
        names.push(GIVEN);
    }
    let mut unique: Vec<&'static str> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    let position = |name| unique.iter().position(|text| *text == name);
    if let Some(browser) = position(CHROMIUM)
        && position(EMBEDDED).is_none_or(|at| at > browser)
    {
        return Err(Error::new(
            ErrorKind::Usage,
            "the reader chromium reads only pages that another reader found empty, and none comes before it",
        )
        .with_hint("set readers to auto,chromium or embedded,chromium,given"));
    }
    Ok(unique)
}

fn server_row(name: &str) -> Option<&'static ReaderInfo> {
    SERVERS.iter().find(|server| server.name == name)
}

/// The key and the address that are set for a server.
fn credentials<'a>(settings: &'a Settings, row: &ReaderInfo) -> (Option<&'a str>, Option<&'a str>) {
    let variable = |name: &str| settings.variables.get(name);
    (variable(row.key_var), variable(row.base_var))
}

fn unknown(name: &str) -> Error {
    let servers: Vec<&str> = SERVERS.iter().map(|server| server.name).collect();
    Error::new(ErrorKind::Usage, format!("unknown reader `{name}`")).with_hint(format!(
        "name one of embedded, {}, chromium, given, or auto",
        servers.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[&str], variables: &[(&str, &str)]) -> Settings {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::defaults_in(dir.path()).unwrap();
        settings.web.readers = words.iter().map(|word| (*word).to_owned()).collect();
        let owned = |pair: &(&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
        settings.variables = variables.iter().map(owned).collect();
        settings
    }

    #[test]
    fn auto_is_the_embedded_reader_then_the_servers_then_the_given_text() {
        let of = |words: &[&str], variables: &[(&str, &str)]| resolve(&settings(words, variables));
        assert_eq!(of(&["auto"], &[]).unwrap(), [EMBEDDED, GIVEN]);
        let set = [("JINA_API_KEY", "k"), ("STEEL_URL", "http://127.0.0.1:3000")];
        assert_eq!(of(&["auto"], &set).unwrap(), [EMBEDDED, "steel", "jina", GIVEN]);
        let order = of(&["jina", "Embedded", "given"], &[]).unwrap();
        assert_eq!(order, ["jina", EMBEDDED, GIVEN]);
        let browser = of(&["auto", "chromium"], &[]).unwrap();
        assert_eq!(browser, [EMBEDDED, CHROMIUM, GIVEN]);
        assert_eq!(of(&["chromium", "auto"], &[]).unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(of(&["netscape"], &[]).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[tokio::test]
    async fn a_server_without_an_address_is_an_error() {
        let open = |words: &[&str]| {
            let resources = ReaderResources {
                limits: ExtractLimits::default(),
                host_limiter: OwnerHostLimiter::default(),
                rate_limiters: &RateLimiters::default(),
                cache: None,
            };
            open(&settings(words, &[]), resources, &Egress::default())
        };
        let fault = open(&["embedded", "crawl4ai"]).err().unwrap();
        assert_eq!(fault.kind(), ErrorKind::Setup);
        assert!(fault.hint().unwrap().contains("CRAWL4AI_URL"));
        assert_eq!(open(&["auto"]).unwrap().len(), 3);
    }
}
