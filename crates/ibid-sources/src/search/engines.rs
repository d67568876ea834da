//! The list of engines.
use std::time::Duration;

use super::engine_api::{EngineApi, EngineConfig};
use super::{
    arxiv, brave, crossref, duckduckgo, europepmc, exa, firecrawl, github, hackernews, jina, kagi,
    openalex, pubmed, searxng, semanticscholar, serper, stackexchange, tavily, wikipedia,
};
use ibid_core::domain::Vertical;

/// Whether an engine takes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    /// It needs a key.
    Needed,
    /// It allows more requests with a key.
    Helps,
    /// It takes no key.
    None,
}

/// One engine, as opening it, `ibid engines`, `ibid doctor` and the documentation describe it.
pub struct EngineInfo {
    /// The name in settings, events and reports.
    pub name: &'static str,
    /// What it finds, most suitable first.
    pub verticals: &'static [Vertical],
    /// Whether it takes a key.
    pub key: KeyRequirement,
    /// The variable that holds the key.
    pub key_var: &'static str,
    /// The header that carries the key, and the prefix of its value; empty when the key is sent elsewhere.
    pub header: (&'static str, &'static str),
    /// The address; empty for engines that users host themselves.
    pub base_url: &'static str,
    /// The variable that sets another address.
    pub base_var: &'static str,
    /// Maximum length of a query that it accepts, in characters.
    pub max_query_chars: usize,
    /// The least time between two calls without a key.
    pub min_interval: Duration,
    /// The least time between two calls with a key.
    pub min_interval_with_key: Duration,
    /// Whether `auto` uses it when its key and address are set or not needed.
    pub in_auto: bool,
    /// Whether its parser was checked against answers of the real service.
    pub verified: bool,
    /// A line of description.
    pub about: &'static str,
    pub(super) api: fn(&EngineConfig) -> Box<dyn EngineApi>,
}

const WEB: &[Vertical] = &[Vertical::Web];
const WEB_NEWS: &[Vertical] = &[Vertical::Web, Vertical::News];
const WEB_NEWS_SCHOLAR: &[Vertical] = &[Vertical::Web, Vertical::News, Vertical::Scholar];
const SCHOLAR: &[Vertical] = &[Vertical::Scholar];
const PUBMED: &[Vertical] = &[Vertical::Pubmed];

const BEARER: (&str, &str) = ("authorization", "Bearer ");
const NO_HEADER: (&str, &str) = ("", "");

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// All engines, in the order in which those for the same vertical are asked.
#[rustfmt::skip]
pub static ENGINES: &[EngineInfo] = &[
    EngineInfo { name: "searxng", verticals: WEB_NEWS_SCHOLAR, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "", base_var: "SEARXNG_URL", max_query_chars: 1000, min_interval: ms(100), min_interval_with_key: ms(100), in_auto: true, verified: true,
        about: "SearXNG, hosted by yourself", api: searxng::api },
    EngineInfo { name: "serper", verticals: WEB_NEWS_SCHOLAR, key: KeyRequirement::Needed, key_var: "SERPER_API_KEY", header: ("x-api-key", ""),
        base_url: "https://google.serper.dev", base_var: "SERPER_BASE_URL", max_query_chars: 2048, min_interval: ms(20), min_interval_with_key: ms(20), in_auto: true, verified: true,
        about: "Google's results, by Serper", api: serper::api },
    EngineInfo { name: "tavily", verticals: WEB_NEWS, key: KeyRequirement::Needed, key_var: "TAVILY_API_KEY", header: BEARER,
        base_url: "https://api.tavily.com", base_var: "TAVILY_BASE_URL", max_query_chars: 400, min_interval: ms(100), min_interval_with_key: ms(100), in_auto: true, verified: true,
        about: "Tavily, a search engine for agents", api: tavily::api },
    EngineInfo { name: "exa", verticals: WEB_NEWS_SCHOLAR, key: KeyRequirement::Needed, key_var: "EXA_API_KEY", header: ("x-api-key", ""),
        base_url: "https://api.exa.ai", base_var: "EXA_BASE_URL", max_query_chars: 2000, min_interval: ms(200), min_interval_with_key: ms(200), in_auto: true, verified: false,
        about: "Exa, semantic search", api: exa::api },
    EngineInfo { name: "brave", verticals: WEB_NEWS, key: KeyRequirement::Needed, key_var: "BRAVE_API_KEY", header: ("x-subscription-token", ""),
        base_url: "https://api.search.brave.com", base_var: "BRAVE_BASE_URL", max_query_chars: 400, min_interval: ms(25), min_interval_with_key: ms(25), in_auto: true, verified: false,
        about: "Brave, independent index", api: brave::api },
    EngineInfo { name: "jina", verticals: WEB, key: KeyRequirement::Needed, key_var: "JINA_API_KEY", header: BEARER,
        base_url: "https://s.jina.ai", base_var: "JINA_SEARCH_BASE_URL", max_query_chars: 1000, min_interval: ms(600), min_interval_with_key: ms(600), in_auto: false, verified: false,
        about: "Jina, a search engine for agents; used only by name, because the reranker uses the same key", api: jina::api },
    EngineInfo { name: "firecrawl", verticals: WEB_NEWS, key: KeyRequirement::Needed, key_var: "FIRECRAWL_API_KEY", header: BEARER,
        base_url: "https://api.firecrawl.dev", base_var: "FIRECRAWL_API_URL", max_query_chars: 500, min_interval: ms(1000), min_interval_with_key: ms(1000), in_auto: true, verified: false,
        about: "Firecrawl's search", api: firecrawl::api },
    EngineInfo { name: "kagi", verticals: WEB, key: KeyRequirement::Needed, key_var: "KAGI_API_KEY", header: ("authorization", "Bot "),
        base_url: "https://kagi.com/api/v1", base_var: "KAGI_BASE_URL", max_query_chars: 1000, min_interval: ms(200), min_interval_with_key: ms(200), in_auto: true, verified: false,
        about: "Kagi (paid)", api: kagi::api },
    EngineInfo { name: "wikipedia", verticals: WEB, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "https://en.wikipedia.org", base_var: "WIKIPEDIA_BASE_URL", max_query_chars: 300, min_interval: ms(100), min_interval_with_key: ms(100), in_auto: true, verified: true,
        about: "Wikipedia", api: wikipedia::api },
    EngineInfo { name: "pubmed", verticals: PUBMED, key: KeyRequirement::Helps, key_var: "NCBI_API_KEY", header: NO_HEADER,
        base_url: "https://eutils.ncbi.nlm.nih.gov/entrez/eutils", base_var: "PUBMED_BASE_URL", max_query_chars: 2000, min_interval: ms(340), min_interval_with_key: ms(105), in_auto: true, verified: true,
        about: "PubMed, the medical literature", api: pubmed::api },
    EngineInfo { name: "openalex", verticals: SCHOLAR, key: KeyRequirement::Helps, key_var: "OPENALEX_API_KEY", header: NO_HEADER,
        base_url: "https://api.openalex.org", base_var: "OPENALEX_BASE_URL", max_query_chars: 1000, min_interval: ms(200), min_interval_with_key: ms(20), in_auto: true, verified: true,
        about: "OpenAlex, the open catalogue of scholarly works", api: openalex::api },
    EngineInfo { name: "europepmc", verticals: SCHOLAR, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "https://www.ebi.ac.uk/europepmc/webservices/rest", base_var: "EUROPEPMC_BASE_URL", max_query_chars: 1000, min_interval: ms(200), min_interval_with_key: ms(200), in_auto: true, verified: false,
        about: "Europe PMC, the life sciences with preprints and open text", api: europepmc::api },
    EngineInfo { name: "arxiv", verticals: SCHOLAR, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "https://export.arxiv.org", base_var: "ARXIV_BASE_URL", max_query_chars: 500, min_interval: ms(3000), min_interval_with_key: ms(3000), in_auto: true, verified: true,
        about: "arXiv, preprints of physics, mathematics and computing", api: arxiv::api },
    EngineInfo { name: "crossref", verticals: SCHOLAR, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "https://api.crossref.org", base_var: "CROSSREF_BASE_URL", max_query_chars: 1000, min_interval: ms(200), min_interval_with_key: ms(200), in_auto: true, verified: true,
        about: "Crossref, publishers' registrations", api: crossref::api },
    EngineInfo { name: "semanticscholar", verticals: SCHOLAR, key: KeyRequirement::Helps, key_var: "SEMANTIC_SCHOLAR_API_KEY", header: ("x-api-key", ""),
        base_url: "https://api.semanticscholar.org", base_var: "SEMANTIC_SCHOLAR_BASE_URL", max_query_chars: 300, min_interval: ms(3000), min_interval_with_key: ms(1050), in_auto: true, verified: true,
        about: "Semantic Scholar, papers and their citations", api: semanticscholar::api },
    EngineInfo { name: "stackexchange", verticals: WEB, key: KeyRequirement::Helps, key_var: "STACKEXCHANGE_API_KEY", header: NO_HEADER,
        base_url: "https://api.stackexchange.com", base_var: "STACKEXCHANGE_BASE_URL", max_query_chars: 240, min_interval: ms(200), min_interval_with_key: ms(100), in_auto: false, verified: false,
        about: "Stack Overflow's questions and answers", api: stackexchange::api },
    EngineInfo { name: "hackernews", verticals: WEB, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "https://hn.algolia.com", base_var: "HACKERNEWS_BASE_URL", max_query_chars: 300, min_interval: ms(400), min_interval_with_key: ms(400), in_auto: false, verified: false,
        about: "Hacker News posts and comments", api: hackernews::api },
    EngineInfo { name: "github", verticals: WEB, key: KeyRequirement::Helps, key_var: "GITHUB_TOKEN", header: BEARER,
        base_url: "https://api.github.com", base_var: "GITHUB_API_URL", max_query_chars: 200, min_interval: ms(6000), min_interval_with_key: ms(2000), in_auto: false, verified: false,
        about: "GitHub's repositories and issues", api: github::api },
    EngineInfo { name: "duckduckgo", verticals: WEB, key: KeyRequirement::None, key_var: "", header: NO_HEADER,
        base_url: "https://html.duckduckgo.com", base_var: "DUCKDUCKGO_BASE_URL", max_query_chars: 400, min_interval: ms(5000), min_interval_with_key: ms(5000), in_auto: false, verified: false,
        about: "DuckDuckGo's HTML page; blocks frequent requests", api: duckduckgo::api },
];

/// The engine of this name.
pub fn by_name(name: &str) -> Option<&'static EngineInfo> {
    ENGINES.iter().find(|engine| engine.name == name)
}
