//! Who reads what the engines find.
use std::path::PathBuf;
use std::sync::Arc;

use super::{container, reading, web};
use crate::adapters::documents::Limits;
use crate::adapters::reader::{
    Chromium, Drafts, Embedded, Given, Kept, OpenText, Remote, Row, SERVERS,
};
use crate::adapters::search::Lookups;
use crate::adapters::service::Paces;
use crate::adapters::web::cache::WebCache;
use crate::adapters::web::kept::Keeping;
use crate::adapters::web::manners::OwnManners;
use crate::config::Settings;
use crate::error::{Error, Kind, Result};
use crate::seams::{Egress, PageReader};

/// Words of the setting that name no server.
const EMBEDDED: &str = "embedded";
const CHROMIUM: &str = "chromium";
const GIVEN: &str = "given";

/// What is kept of the web; `None` where nothing is to be kept.
///
/// # Errors
/// `Setup` where the file cannot be written.
pub(super) async fn cache(settings: &Settings) -> Result<Option<Arc<WebCache>>> {
    let web = &settings.web;
    if web.page_cache.is_zero() && web.search_cache.is_zero() {
        return Ok(None);
    }
    let path = WebCache::path(&settings.cache_dir);
    let cache = WebCache::open(&path, web.cache_bytes).await?;
    Ok(Some(Arc::new(cache)))
}

/// The readers that the setting `readers` stands for, in the order in which they try.
///
/// # Errors
/// `Usage` for a word that names none, and for a browser that nobody comes before; `Setup` for a server without address or key.
pub(super) fn open(
    settings: &Settings,
    limits: Limits,
    manners: OwnManners,
    paces: &Paces,
    cache: Option<Arc<WebCache>>,
    egress: &Egress,
) -> Result<Vec<Arc<dyn PageReader>>> {
    let fetcher = web::fetcher_among(settings, manners)?
        .noted(egress.clone())
        .remembering(cache.clone());
    let fetcher = Arc::new(fetcher);
    let drafts = Drafts::new(cache.clone(), settings.web.page_cache, settings.web.fresh);
    let age = settings.web.page_cache;
    let keeping = || {
        let keeping = Keeping::new(Arc::clone(&fetcher), cache.clone(), age);
        keeping.fresh(settings.web.fresh)
    };
    let names = resolve(settings)?;
    // An old page is better than the engine's few words, and worse than what any reader gets of it now.
    let has_old = cache.is_some() && names.contains(&EMBEDDED) && !settings.web.fresh;
    let mut opened: Vec<Arc<dyn PageReader>> = Vec::new();
    for name in names {
        if name == GIVEN && has_old {
            opened.push(Arc::new(Kept::new(keeping(), limits.clone())));
        }
        let reader: Arc<dyn PageReader> = match name {
            EMBEDDED => {
                let embedded = Arc::new(Embedded::new(keeping(), limits.clone()));
                if settings.web.lookups {
                    let contact = Some(settings.contact.as_str()).filter(|it| !it.is_empty());
                    let lookups = Lookups::open(contact, &web::agent(settings), paces, egress)?;
                    opened.push(Arc::new(OpenText::new(lookups, Arc::clone(&embedded))));
                }
                embedded
            }
            GIVEN => Arc::new(Given),
            CHROMIUM => {
                let program = &settings.web.chromium;
                let (gate, limits) = (Arc::clone(&fetcher), limits.clone());
                let browser = Chromium::open(program, gate, limits, egress)?;
                Arc::new(browser.keeping(drafts.clone()))
            }
            name => {
                let row = server(name).ok_or_else(|| unknown(name))?;
                let (key, base_url) = given(settings, row);
                let (gate, limits) = (Arc::clone(&fetcher), limits.clone());
                let remote = Remote::open(row, key, base_url, gate, limits, egress)?;
                Arc::new(remote.keeping(drafts.clone()))
            }
        };
        opened.push(reader);
    }
    Ok(opened)
}

/// The readers that the setting stands for besides our own and what engines give: servers, and a browser.
///
/// # Errors
/// `Usage` for a word that names none.
pub(super) fn asked(settings: &Settings) -> Result<Vec<&'static str>> {
    let mut names = resolve(settings)?;
    names.retain(|it| ![EMBEDDED, GIVEN].contains(it));
    Ok(names)
}

/// A browser that is on the machine and that the setting leaves out.
pub(super) fn idle_browser(settings: &Settings) -> Option<PathBuf> {
    let named = asked(settings).ok()?.contains(&CHROMIUM);
    (!named).then(|| Chromium::find(&settings.web.chromium))?
}

/// Has the reader of this name read one small page, to see that it does; what it came to, in words.
///
/// # Errors
/// What it failed with, with the exact fix as its hint where it is known.
pub(super) async fn try_out(settings: &Settings, name: &str, egress: &Egress) -> Result<String> {
    let gate = Arc::new(web::fetcher(settings)?.noted(egress.clone()));
    let limits = reading::limits(settings);
    if name == CHROMIUM {
        let browser = Chromium::open(&settings.web.chromium, gate, limits, egress)?;
        browser.trial().await?;
        return Ok(format!("{} runs", browser.program().display()));
    }
    let row = server(name).ok_or_else(|| unknown(name))?;
    let (key, base_url) = given(settings, row);
    let remote = Remote::open(row, key, base_url, gate, limits, egress)?;
    remote.trial().await.map_err(|fault| {
        let hint = match fault.kind() {
            Kind::Setup | Kind::Usage => {
                format!("check the key in {}, and {}", row.key_var, row.base_var)
            }
            Kind::Transient => match base_url {
                Some(url) => container::to_reach(row.base_var, url),
                None => "try again later, or see whether this machine may reach it".to_owned(),
            },
            _ => format!(
                "see whether {} leads to what it should, and in the server's log",
                row.base_var
            ),
        };
        Error::new(fault.kind(), format!("trying {name}"))
            .because(fault.chain())
            .hint(hint)
    })?;
    Ok(format!("{name} reads"))
}

/// The names that the setting stands for, each once.
fn resolve(settings: &Settings) -> Result<Vec<&'static str>> {
    let ready = |row: &&Row| {
        let (key, base_url) = given(settings, row);
        row.is_ready(key, base_url)
    };
    let mut names: Vec<&'static str> = Vec::new();
    for word in &settings.web.readers {
        match word.trim().to_lowercase().as_str() {
            "" => {}
            "auto" => {
                names.push(EMBEDDED);
                names.extend(SERVERS.iter().filter(ready).map(|it| it.name));
                names.push(GIVEN);
            }
            EMBEDDED => names.push(EMBEDDED),
            CHROMIUM => names.push(CHROMIUM),
            GIVEN => names.push(GIVEN),
            word => names.push(server(word).ok_or_else(|| unknown(word))?.name),
        }
    }
    // What is named behind `auto` still comes before what an engine gave, which is the last resort.
    let last = names.contains(&GIVEN) && settings.web.readers.iter().any(|it| it.trim() == "auto");
    if last {
        names.retain(|it| *it != GIVEN);
        names.push(GIVEN);
    }
    let mut once: Vec<&'static str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    let place = |name| once.iter().position(|it| *it == name);
    if let Some(browser) = place(CHROMIUM)
        && place(EMBEDDED).is_none_or(|it| it > browser)
    {
        return Err(Error::new(
            Kind::Usage,
            "the reader chromium reads what another found empty, and none comes before it",
        )
        .hint("set readers to auto,chromium or embedded,chromium,given"));
    }
    Ok(once)
}

fn server(name: &str) -> Option<&'static Row> {
    SERVERS.iter().find(|it| it.name == name)
}

/// The key and the address of a server, as they are set.
fn given<'a>(settings: &'a Settings, row: &Row) -> (Option<&'a str>, Option<&'a str>) {
    let variable = |name: &str| settings.variables.get(name);
    (variable(row.key_var), variable(row.base_var))
}

fn unknown(name: &str) -> Error {
    let servers: Vec<&str> = SERVERS.iter().map(|it| it.name).collect();
    Error::new(Kind::Usage, format!("there is no reader `{name}`")).hint(format!(
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
        settings.web.readers = words.iter().map(|it| (*it).to_owned()).collect();
        let owned = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
        settings.variables = variables.iter().map(owned).collect();
        settings
    }

    #[test]
    fn auto_is_our_own_reader_then_who_is_set_up_then_what_was_given() {
        let of = |words: &[&str], variables: &[(&str, &str)]| resolve(&settings(words, variables));
        assert_eq!(of(&["auto"], &[]).unwrap(), [EMBEDDED, GIVEN]);
        let set = [
            ("JINA_API_KEY", "k"),
            ("STEEL_URL", "http://127.0.0.1:3000"),
        ];
        assert_eq!(
            of(&["auto"], &set).unwrap(),
            [EMBEDDED, "steel", "jina", GIVEN]
        );
        let order = of(&["jina", "Embedded", "given"], &[]).unwrap();
        assert_eq!(order, ["jina", EMBEDDED, GIVEN]);
        let browser = of(&["auto", "chromium"], &[]).unwrap();
        assert_eq!(browser, [EMBEDDED, CHROMIUM, GIVEN]);
        assert_eq!(
            of(&["chromium", "auto"], &[]).unwrap_err().kind(),
            Kind::Usage
        );
        assert_eq!(of(&["netscape"], &[]).unwrap_err().kind(), Kind::Usage);
    }

    #[tokio::test]
    async fn a_server_that_is_named_and_not_set_up_is_told() {
        let open = |words: &[&str]| {
            open(
                &settings(words, &[]),
                Limits::default(),
                OwnManners::default(),
                &Paces::default(),
                None,
                &Egress::default(),
            )
        };
        let fault = open(&["embedded", "crawl4ai"]).err().unwrap();
        assert_eq!(fault.kind(), Kind::Setup);
        assert!(fault.help().unwrap().contains("CRAWL4AI_URL"));
        assert_eq!(open(&["auto"]).unwrap().len(), 3);
    }
}
