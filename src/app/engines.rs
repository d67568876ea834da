//! Search engines and page readers as doors: those that a question names, or those that can be asked as things are.
use std::sync::Arc;

use super::{container, web};
use crate::adapters::search::{CachedSearch, ENGINES, Engine, Given, Key, Row, named};
use crate::adapters::service::Paces;
use crate::adapters::web::cache::WebCache;
use crate::config::Settings;
use crate::domain::Vertical;
use crate::error::{Error, Kind, Result};
use crate::seams::{Egress, SearchProvider};

/// Words that name more than one engine, with what they stand for.
pub const GROUPS: &[(&str, Vertical)] = &[
    ("web", Vertical::Web),
    ("news", Vertical::News),
    ("scholar", Vertical::Scholar),
];

/// What an engine is opened with.
fn given(settings: &Settings, row: &Row) -> Given {
    let variable = |name: &str| settings.variables.get(name).map(str::to_owned);
    Given {
        key: variable(row.key_var),
        base_url: variable(row.base_var),
        contact: Some(settings.contact.clone()).filter(|it| !it.is_empty()),
    }
}

/// Whether an engine can be asked with what is set.
fn is_ready(settings: &Settings, row: &Row) -> bool {
    let given = given(settings, row);
    let placed = !row.base_url.is_empty() || given.base_url.is_some();
    placed && (row.key != Key::Needed || given.key.is_some() || given.base_url.is_some())
}

/// The names of the engines that `words` stand for, in the order in which they are asked: names of engines, `web`, `news`,
/// `scholar`, `auto` for all that are ready, and `none`.
///
/// # Errors
/// `Usage` for a word that is none of these, with the names there are.
pub fn resolve(settings: &Settings, words: &[String]) -> Result<Vec<String>> {
    let ready = |wanted: Option<Vertical>| {
        ENGINES
            .iter()
            .filter(|it| it.by_itself && is_ready(settings, it))
            .filter(move |it| wanted.is_none_or(|wanted| it.verticals.contains(&wanted)))
            .map(|it| it.name)
    };
    let mut found: Vec<&str> = Vec::new();
    for word in words
        .iter()
        .map(|it| it.trim().to_lowercase())
        .filter(|it| !it.is_empty())
    {
        match word.as_str() {
            "none" | "local" => {}
            "auto" => found.extend(ready(None)),
            word => match (GROUPS.iter().find(|it| it.0 == word), named(word)) {
                (Some((_, vertical)), _) => found.extend(ready(Some(*vertical))),
                (None, Some(row)) => found.push(row.name),
                (None, None) => {
                    let names: Vec<&str> = ENGINES.iter().map(|it| it.name).collect();
                    return Err(Error::new(
                        Kind::Usage,
                        format!("there is no search engine `{word}`"),
                    )
                    .hint(format!(
                        "name one of {}, or web, news, scholar, auto, none",
                        names.join(", ")
                    )));
                }
            },
        }
    }
    let mut once: Vec<String> = Vec::new();
    for it in found {
        if !once.iter().any(|had| had == it) {
            once.push(it.to_owned());
        }
    }
    Ok(once)
}

/// Every word that [`resolve`] knows.
pub fn words() -> Vec<&'static str> {
    let groups = GROUPS.iter().map(|it| it.0);
    let names = ENGINES.iter().map(|it| it.name);
    names
        .chain(groups)
        .chain(["auto", "none", "local"])
        .collect()
}

/// Opens the engines of these names.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a key or an address that is missing.
pub(super) fn open(
    settings: &Settings,
    names: &[String],
    paces: &Paces,
    cache: Option<&Arc<WebCache>>,
    egress: &Egress,
) -> Result<Vec<Arc<dyn SearchProvider>>> {
    let mut opened: Vec<Arc<dyn SearchProvider>> = Vec::new();
    for name in names {
        let row = named(name).ok_or_else(|| {
            Error::new(Kind::Usage, format!("there is no search engine `{name}`"))
        })?;
        let given = given(settings, row);
        let engine = Engine::open(row, &given, &web::agent(settings), paces, egress)?;
        let engine: Arc<dyn SearchProvider> = Arc::new(engine);
        let web = &settings.web;
        opened.push(match cache.filter(|_| !web.search_cache.is_zero()) {
            Some(cache) => Arc::new(CachedSearch::new(
                engine,
                Arc::clone(cache),
                web.search_cache,
                web.fresh,
            )),
            None => engine,
        });
    }
    Ok(opened)
}

/// One engine as things stand.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What it finds.
    pub verticals: &'static [Vertical],
    /// The variable that holds its key; empty where it has none.
    pub key_var: &'static str,
    /// The variable that says where it is.
    pub base_var: &'static str,
    /// Whether nothing comes without a key.
    pub needs_key: bool,
    /// Whether it can be asked with what is set.
    pub ready: bool,
    /// Whether somebody has set a key or an address for it.
    pub configured: bool,
    /// Whether somebody has set an address for it.
    pub base_set: bool,
    /// Whether `auto` asks it where it is ready.
    pub by_itself: bool,
    /// Whether what is sent was compared with answers of the real service.
    pub seen: bool,
}

/// Every engine, in the order in which those of one kind are asked.
pub fn standing(settings: &Settings) -> Vec<Standing> {
    let of = |row: &'static Row| {
        let given = given(settings, row);
        Standing {
            name: row.name,
            about: row.about,
            verticals: row.verticals,
            key_var: row.key_var,
            base_var: row.base_var,
            needs_key: row.key == Key::Needed,
            ready: is_ready(settings, row),
            configured: given.key.is_some() || given.base_url.is_some(),
            base_set: given.base_url.is_some(),
            by_itself: row.by_itself,
            seen: row.seen,
        }
    };
    ENGINES.iter().map(of).collect()
}

/// Sends one small search to the engine of this name, to see that it answers as it should.
///
/// # Errors
/// What it failed with, with the exact fix as its hint where it is known.
pub async fn try_out(settings: &Settings, name: &str) -> Result<()> {
    tried(settings, name, &Egress::default()).await
}

/// The same, noted in `egress`.
pub(super) async fn tried(settings: &Settings, name: &str, egress: &Egress) -> Result<()> {
    let row = named(name)
        .ok_or_else(|| Error::new(Kind::Usage, format!("there is no search engine `{name}`")))?;
    let engine = Engine::open(
        row,
        &given(settings, row),
        &web::agent(settings),
        &Paces::default(),
        egress,
    )?;
    engine.trial().await.map_err(|fault| {
        let said = fault.chain();
        let set = given(settings, row).base_url;
        let hint = match fault.kind() {
            Kind::Setup if said.contains("JSON is off") => {
                "add `json` under `search.formats` in SearXNG's settings.yml, and restart it"
                    .to_owned()
            }
            Kind::Setup if !row.key_var.is_empty() => format!("check the key in {}", row.key_var),
            Kind::Transient if set.is_some() => {
                container::to_reach(row.base_var, set.as_deref().unwrap_or_default())
            }
            Kind::Transient => {
                "try again later, or see whether this machine may reach it".to_owned()
            }
            Kind::Malformed if said.contains("did not answer") => {
                "see in its own log why the engines behind it are not reached".to_owned()
            }
            _ => format!("see whether {} leads to what it should", row.base_var),
        };
        Error::new(fault.kind(), format!("trying {name}"))
            .because(fault)
            .hint(hint)
    })
}
