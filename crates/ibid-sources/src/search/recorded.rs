//! Parses a recorded answer of any service by the address of its request, for `evals recordings`.
use url::Url;

use super::eutils::{self, EsearchIds};
use super::response::{self, ReadResult, truncate};
use super::{
    arxiv, brave, crossref, duckduckgo, europepmc, exa, firecrawl, github, hackernews, jina, kagi,
    lookups, openalex, pubmed, searxng, semanticscholar, serper, stackexchange, tavily, wikipedia,
};
use ibid_core::domain::{Hit, Hits, Work};
use ibid_extract::{DocumentOrigin, ExtractLimits};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

/// A parsed answer.
#[doc(hidden)]
#[derive(Debug)]
pub enum RecordedAnswer {
    /// Works, pages or posts.
    Hits(Hits),
    /// The ids that a search found.
    Ids(EsearchIds),
    /// Works with their ids.
    Works(Vec<Work>),
}

/// Parses an answer of the service `api` to the request `url`. `None` for requests that Ibid does not make.
#[doc(hidden)]
pub fn read_recorded(
    api: &str,
    url: &str,
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> Option<ReadResult<RecordedAnswer>> {
    let parsed = Url::parse(url).ok();
    let path = parsed.as_ref().map_or("", Url::path);
    let hits = |read: fn(u16, &ResponseHeaders, &[u8]) -> ReadResult<Hits>| {
        Some(read(status, headers, body).map(RecordedAnswer::Hits))
    };
    match api {
        "searxng" => hits(searxng::read),
        "serper" => hits(serper::read),
        "tavily" => hits(tavily::read),
        "exa" => hits(exa::read),
        "brave" => hits(brave::read),
        "kagi" => hits(kagi::read),
        "jina" => hits(jina::read),
        "firecrawl" => hits(firecrawl::read),
        "duckduckgo" => hits(duckduckgo::read),
        "europepmc" => hits(europepmc::read),
        "arxiv" => hits(arxiv::read),
        "stackexchange" => hits(stackexchange::read),
        "hackernews" => hits(hackernews::read),
        "github" => hits(github::read),
        "unpaywall" => hits(lookups::parse_unpaywall),
        "pmc-ids" => {
            Some(lookups::parse_id_converter(status, headers, body).map(RecordedAnswer::Works))
        }
        "openalex" if path.starts_with("/works") || path.is_empty() => hits(openalex::read),
        "crossref" if is_crossref_work(path) => hits(crossref::read),
        "semanticscholar" if is_semantic_scholar_paper(path) => hits(semanticscholar::read),
        "wikipedia" if path.starts_with("/wiki/") => {
            Some(parse_wikipedia_page(url, status, headers, body))
        }
        "wikipedia" => Some(wikipedia::read(url, status, headers, body).map(RecordedAnswer::Hits)),
        "pubmed" | "pubmed-eutils" => parse_eutils(path, status, headers, body),
        _ => None,
    }
}

/// Whether a path of Crossref is that of works, as JSON.
fn is_crossref_work(path: &str) -> bool {
    path.contains("/works") && !path.contains("/transform") && !path.ends_with("/agency")
}

/// Whether a path of Semantic Scholar is that of papers.
fn is_semantic_scholar_paper(path: &str) -> bool {
    let is_author = path.contains("/author") && !path.ends_with("/papers");
    !is_author && !path.starts_with("/datasets") && !path.ends_with("/autocomplete")
}

/// Parses an answer of the E-utilities. Ibid asks `esearch` for JSON and `efetch` for XML.
fn parse_eutils(
    path: &str,
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> Option<ReadResult<RecordedAnswer>> {
    let call = path.rsplit('/').next().unwrap_or_default();
    match call.trim_end_matches(".fcgi").trim_end_matches(".cgi") {
        "esearch" if !body.trim_ascii_start().starts_with(b"<") => {
            Some(eutils::parse_ids(status, headers, body).map(RecordedAnswer::Ids))
        }
        "efetch" => {
            let hits = pubmed::parse_records(status, headers, body);
            Some(hits.map(|hits| RecordedAnswer::Hits(hits.into())))
        }
        _ => None,
    }
}

/// Parses a page of Wikipedia, which the page reader reads.
fn parse_wikipedia_page(
    url: &str,
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<RecordedAnswer> {
    response::parse_text(status, headers, body)?;
    let origin = DocumentOrigin::from_url(url, headers.get("content-type").map(str::to_owned));
    let page = ibid_extract::read_bytes(body, &origin, &ExtractLimits::default());
    let page = page.map_err(|cause| ServiceError::malformed(truncate(&cause.chain(), 300)))?;
    let mut hit = Hit::new("wikipedia", url, &page.title, "");
    hit.date = page.date;
    let text: Vec<&str> = page.blocks.iter().map(|block| block.text.as_str()).collect();
    hit.text = response::full_text(&text.join("\n"));
    Ok(RecordedAnswer::Hits(vec![hit].into()))
}
