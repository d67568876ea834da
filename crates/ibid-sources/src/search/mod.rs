//! Search engines: the web, PubMed, scholarly catalogues and forums, one file each.
//!
//! The file of an engine builds its requests and parses its answers. `search_engine` does what is the same for all: it
//! shortens long queries, removes hits without an address, and applies filters that an engine does not have. Keys, rate
//! limits, retries and the accounting of traffic belong to `ibid_net::service`.
mod arxiv;
mod brave;
mod cached;
mod crossref;
mod duckduckgo;
mod engine_api;
mod engines;
mod europepmc;
mod eutils;
mod exa;
mod firecrawl;
mod github;
mod hackernews;
mod jina;
mod kagi;
mod lookups;
mod openalex;
mod pubmed;
mod query_text;
mod recorded;
mod response;
mod search_engine;
mod searxng;
mod semanticscholar;
mod serper;
mod stackexchange;
mod tavily;
mod wikipedia;
mod xml;

pub use cached::CachedSearch;
pub use engine_api::EngineConfig;
pub use engines::{ENGINES, EngineInfo, KeyRequirement, by_name};
pub use eutils::EsearchIds;
pub use lookups::CatalogueClient;
pub use recorded::{RecordedAnswer, read_recorded};
pub use response::ReadResult;
pub use search_engine::{SearchEngine, by_limited_name, limited_name, verticals_of};

#[cfg(test)]
mod docs_tests;
