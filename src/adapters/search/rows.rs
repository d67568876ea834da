//! The one list of engines.
use std::time::Duration;

use super::{
    Api, Given, arxiv, brave, crossref, duckduckgo, europepmc, exa, firecrawl, github, hackernews,
    jina, kagi, openalex, pubmed, searxng, semanticscholar, serper, stackexchange, tavily,
    wikipedia,
};
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
        base_url: "", base_var: "SEARXNG_URL", longest: 1000, distance: ms(100), keyed_distance: ms(100), by_itself: true, seen: true,
        about: "SearXNG, hosted by yourself", api: searxng::api },
    Row { name: "serper", verticals: WEB_NEWS_SCHOLAR, key: Key::Needed, key_var: "SERPER_API_KEY", header: ("x-api-key", ""),
        base_url: "https://google.serper.dev", base_var: "SERPER_BASE_URL", longest: 2048, distance: ms(20), keyed_distance: ms(20), by_itself: true, seen: true,
        about: "Google's results, by Serper", api: serper::api },
    Row { name: "tavily", verticals: WEB_NEWS, key: Key::Needed, key_var: "TAVILY_API_KEY", header: BEARER,
        base_url: "https://api.tavily.com", base_var: "TAVILY_BASE_URL", longest: 400, distance: ms(100), keyed_distance: ms(100), by_itself: true, seen: true,
        about: "Tavily, a search engine for agents", api: tavily::api },
    Row { name: "exa", verticals: WEB_NEWS_SCHOLAR, key: Key::Needed, key_var: "EXA_API_KEY", header: ("x-api-key", ""),
        base_url: "https://api.exa.ai", base_var: "EXA_BASE_URL", longest: 2000, distance: ms(200), keyed_distance: ms(200), by_itself: true, seen: false,
        about: "Exa, which finds by meaning", api: exa::api },
    Row { name: "brave", verticals: WEB_NEWS, key: Key::Needed, key_var: "BRAVE_API_KEY", header: ("x-subscription-token", ""),
        base_url: "https://api.search.brave.com", base_var: "BRAVE_BASE_URL", longest: 400, distance: ms(25), keyed_distance: ms(25), by_itself: true, seen: false,
        about: "Brave, with an index of its own", api: brave::api },
    Row { name: "jina", verticals: WEB, key: Key::Needed, key_var: "JINA_API_KEY", header: BEARER,
        base_url: "https://s.jina.ai", base_var: "JINA_SEARCH_BASE_URL", longest: 1000, distance: ms(600), keyed_distance: ms(600), by_itself: false, seen: false,
        about: "Jina, a search engine for agents; its key is the reranker's too, so it is asked only by name", api: jina::api },
    Row { name: "firecrawl", verticals: WEB_NEWS, key: Key::Needed, key_var: "FIRECRAWL_API_KEY", header: BEARER,
        base_url: "https://api.firecrawl.dev", base_var: "FIRECRAWL_API_URL", longest: 500, distance: ms(1000), keyed_distance: ms(1000), by_itself: true, seen: false,
        about: "Firecrawl's search", api: firecrawl::api },
    Row { name: "kagi", verticals: WEB, key: Key::Needed, key_var: "KAGI_API_KEY", header: ("authorization", "Bot "),
        base_url: "https://kagi.com/api/v1", base_var: "KAGI_BASE_URL", longest: 1000, distance: ms(200), keyed_distance: ms(200), by_itself: true, seen: false,
        about: "Kagi, which its readers pay", api: kagi::api },
    Row { name: "wikipedia", verticals: WEB, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://en.wikipedia.org", base_var: "WIKIPEDIA_BASE_URL", longest: 300, distance: ms(100), keyed_distance: ms(100), by_itself: true, seen: true,
        about: "Wikipedia", api: wikipedia::api },
    Row { name: "pubmed", verticals: PUBMED, key: Key::Helps, key_var: "NCBI_API_KEY", header: NOWHERE,
        base_url: "https://eutils.ncbi.nlm.nih.gov/entrez/eutils", base_var: "PUBMED_BASE_URL", longest: 2000, distance: ms(340), keyed_distance: ms(105), by_itself: true, seen: true,
        about: "PubMed, the medical literature", api: pubmed::api },
    Row { name: "openalex", verticals: SCHOLAR, key: Key::Helps, key_var: "OPENALEX_API_KEY", header: NOWHERE,
        base_url: "https://api.openalex.org", base_var: "OPENALEX_BASE_URL", longest: 1000, distance: ms(200), keyed_distance: ms(20), by_itself: true, seen: true,
        about: "OpenAlex, the open catalogue of scholarly works", api: openalex::api },
    Row { name: "europepmc", verticals: SCHOLAR, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://www.ebi.ac.uk/europepmc/webservices/rest", base_var: "EUROPEPMC_BASE_URL", longest: 1000, distance: ms(200), keyed_distance: ms(200), by_itself: true, seen: false,
        about: "Europe PMC, the life sciences with preprints and open text", api: europepmc::api },
    Row { name: "arxiv", verticals: SCHOLAR, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://export.arxiv.org", base_var: "ARXIV_BASE_URL", longest: 500, distance: ms(3000), keyed_distance: ms(3000), by_itself: true, seen: true,
        about: "arXiv, preprints of physics, mathematics and computing", api: arxiv::api },
    Row { name: "crossref", verticals: SCHOLAR, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://api.crossref.org", base_var: "CROSSREF_BASE_URL", longest: 1000, distance: ms(200), keyed_distance: ms(200), by_itself: true, seen: true,
        about: "Crossref, where publishers register what they publish", api: crossref::api },
    Row { name: "semanticscholar", verticals: SCHOLAR, key: Key::Helps, key_var: "SEMANTIC_SCHOLAR_API_KEY", header: ("x-api-key", ""),
        base_url: "https://api.semanticscholar.org", base_var: "SEMANTIC_SCHOLAR_BASE_URL", longest: 300, distance: ms(3000), keyed_distance: ms(1050), by_itself: true, seen: true,
        about: "Semantic Scholar, a catalogue of papers and who cites them", api: semanticscholar::api },
    Row { name: "stackexchange", verticals: WEB, key: Key::Helps, key_var: "STACKEXCHANGE_API_KEY", header: NOWHERE,
        base_url: "https://api.stackexchange.com", base_var: "STACKEXCHANGE_BASE_URL", longest: 240, distance: ms(200), keyed_distance: ms(100), by_itself: false, seen: false,
        about: "Stack Overflow's questions and answers", api: stackexchange::api },
    Row { name: "hackernews", verticals: WEB, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://hn.algolia.com", base_var: "HACKERNEWS_BASE_URL", longest: 300, distance: ms(400), keyed_distance: ms(400), by_itself: false, seen: false,
        about: "Hacker News, what is posted there and said of it", api: hackernews::api },
    Row { name: "github", verticals: WEB, key: Key::Helps, key_var: "GITHUB_TOKEN", header: BEARER,
        base_url: "https://api.github.com", base_var: "GITHUB_API_URL", longest: 200, distance: ms(6000), keyed_distance: ms(2000), by_itself: false, seen: false,
        about: "GitHub's repositories and issues", api: github::api },
    Row { name: "duckduckgo", verticals: WEB, key: Key::None, key_var: "", header: NOWHERE,
        base_url: "https://html.duckduckgo.com", base_var: "DUCKDUCKGO_BASE_URL", longest: 400, distance: ms(5000), keyed_distance: ms(5000), by_itself: false, seen: false,
        about: "DuckDuckGo's page without scripts; it soon shuts out who asks often", api: duckduckgo::api },
];

/// The engine of this name.
pub fn named(name: &str) -> Option<&'static Row> {
    ENGINES.iter().find(|it| it.name == name)
}
