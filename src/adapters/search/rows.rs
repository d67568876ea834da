//! The one list of engines.
use std::time::Duration;

use super::{Api, Given, openalex, pubmed, searxng, serper, tavily, wikipedia};
use crate::domain::Vertical;

/// Whether an engine wants a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Nothing comes without one.
    Needed,
    /// It allows more with one.
    Helps,
    /// There is none.
    None,
}

/// One engine: all that opening it, `ibid engines`, `doctor` and the documentation need to know.
pub struct Row {
    /// Its name in settings, events and reports.
    pub name: &'static str,
    /// What it finds, in the order of preference.
    pub verticals: &'static [Vertical],
    /// Whether it wants a key.
    pub key: Key,
    /// The variable that holds the key.
    pub key_var: &'static str,
    /// The header that shows the key, and what stands before the key in it; an empty name for a key that goes elsewhere.
    pub header: (&'static str, &'static str),
    /// Where it is; empty for what people host themselves.
    pub base_url: &'static str,
    /// The variable that says where it is instead.
    pub base_var: &'static str,
    /// The longest query it takes, characters.
    pub longest: usize,
    /// The least time between two calls without a key.
    pub distance: Duration,
    /// The same with one.
    pub keyed_distance: Duration,
    /// Whether `auto` asks it, where its key or address is set or not needed.
    pub by_itself: bool,
    /// Whether what it sends was compared with answers of the real service.
    pub seen: bool,
    /// One line for people.
    pub about: &'static str,
    pub(super) api: fn(&Given) -> Box<dyn Api>,
}

const WEB: &[Vertical] = &[Vertical::Web];
const WEB_NEWS: &[Vertical] = &[Vertical::Web, Vertical::News];
const WEB_NEWS_SCHOLAR: &[Vertical] = &[Vertical::Web, Vertical::News, Vertical::Scholar];
const SCHOLAR: &[Vertical] = &[Vertical::Scholar];
const PUBMED: &[Vertical] = &[Vertical::Pubmed];

const BEARER: (&str, &str) = ("authorization", "Bearer ");
const NOWHERE: (&str, &str) = ("", "");

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Every engine, in the order in which those of one kind are asked.
#[rustfmt::skip]
pub static ENGINES: &[Row] = &[
    Row { name: "searxng", verticals: WEB_NEWS_SCHOLAR, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "", base_var: "SEARXNG_URL", longest: 1000, distance: ms(100), keyed_distance: ms(100), by_itself: true, seen: false,
        about: "SearXNG, hosted by yourself", api: searxng::api },
    Row { name: "serper", verticals: WEB_NEWS_SCHOLAR, key: Key::Needed, key_var: "SERPER_API_KEY", header: ("x-api-key", ""),
        base_url: "https://google.serper.dev", base_var: "SERPER_BASE_URL", longest: 2048, distance: ms(20), keyed_distance: ms(20), by_itself: true, seen: true,
        about: "Google's results, by Serper", api: serper::api },
    Row { name: "tavily", verticals: WEB_NEWS, key: Key::Needed, key_var: "TAVILY_API_KEY", header: BEARER,
        base_url: "https://api.tavily.com", base_var: "TAVILY_BASE_URL", longest: 400, distance: ms(100), keyed_distance: ms(100), by_itself: true, seen: true,
        about: "Tavily, a search engine for agents", api: tavily::api },
    Row { name: "wikipedia", verticals: WEB, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://en.wikipedia.org", base_var: "WIKIPEDIA_BASE_URL", longest: 300, distance: ms(100), keyed_distance: ms(100), by_itself: true, seen: true,
        about: "Wikipedia", api: wikipedia::api },
    Row { name: "pubmed", verticals: PUBMED, key: Key::Helps, key_var: "NCBI_API_KEY", header: NOWHERE,
        base_url: "https://eutils.ncbi.nlm.nih.gov/entrez/eutils", base_var: "PUBMED_BASE_URL", longest: 2000, distance: ms(340), keyed_distance: ms(105), by_itself: true, seen: true,
        about: "PubMed, the medical literature", api: pubmed::api },
    Row { name: "openalex", verticals: SCHOLAR, key: Key::Helps, key_var: "OPENALEX_API_KEY", header: NOWHERE,
        base_url: "https://api.openalex.org", base_var: "OPENALEX_BASE_URL", longest: 1000, distance: ms(200), keyed_distance: ms(20), by_itself: true, seen: true,
        about: "OpenAlex, the open catalogue of scholarly works", api: openalex::api },
];

/// The engine of this name.
pub fn named(name: &str) -> Option<&'static Row> {
    ENGINES.iter().find(|it| it.name == name)
}
