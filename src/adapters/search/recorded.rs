//! Any answer of an interface that is asked here, read by what its address asks for: for `evals recordings`, which reads
//! recorded calls of others, of whom many ask for more than we do.
use serde_json::Value;
use url::Url;

use super::answer::{self, Named, Read, cut, word};
use super::eutils::{Ids, Links};
use super::lookups::{self, Negotiated};
use super::{
    arxiv, bibtex, brave, crossref, duckduckgo, europepmc, eutils, exa, firecrawl, github,
    hackernews, jina, kagi, openalex, pubmed, searxng, semanticscholar, serper, stackexchange,
    tavily, wikipedia,
};
use crate::adapters::documents::{self, Limits, Origin};
use crate::adapters::model::{Headers, ModelFault};
use crate::domain::{Hit, Hits, Work};

/// What an answer comes to.
#[doc(hidden)]
#[derive(Debug)]
pub enum Reading {
    /// Works, pages, posts.
    Hits(Hits),
    /// Ids that a search found.
    Ids(Ids),
    /// Records that others lead to.
    Links(Vec<Links>),
    /// What is no work.
    Named(Vec<Named>),
    /// Ids of works that are one.
    Works(Vec<Work>),
    /// Where the server has kept something: its name and number.
    Kept(String, String),
    /// Where the answer is instead.
    Elsewhere(String),
}

/// What a recorded answer of `api` comes to, that was asked at `url`; `None` for an interface that is not known.
#[doc(hidden)]
pub fn reading_of(
    api: &str,
    url: &str,
    status: u16,
    headers: &Headers,
    body: &[u8],
) -> Option<Read<Reading>> {
    let parsed = Url::parse(url).ok();
    let path = parsed.as_ref().map_or("", Url::path);
    let hits = |read: fn(u16, &Headers, &[u8]) -> Read<Hits>| {
        Some(read(status, headers, body).map(Reading::Hits))
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
        "unpaywall" => hits(lookups::unpaywall),
        "pmc-ids" => Some(lookups::converted(status, headers, body).map(Reading::Works)),
        "openalex" => Some(of_openalex(path, status, headers, body)),
        "crossref" => Some(of_crossref(path, status, headers, body)),
        "doi-content-negotiation" => Some(of_resolver(status, headers, body)),
        "semanticscholar" => Some(of_semantic(path, status, headers, body)),
        "wikipedia" => Some(of_wikipedia(url, path, status, headers, body)),
        "pubmed" | "pubmed-eutils" => Some(of_eutils(path, status, headers, body)),
        _ => None,
    }
}

fn of_eutils(path: &str, status: u16, headers: &Headers, body: &[u8]) -> Read<Reading> {
    let call = path.rsplit('/').next().unwrap_or_default();
    match call.trim_end_matches(".fcgi").trim_end_matches(".cgi") {
        "esearch" => eutils::ids(status, headers, body).map(Reading::Ids),
        "efetch" => pubmed::records(status, headers, body).map(|it| Reading::Hits(it.into())),
        "esummary" => eutils::summaries(status, headers, body).map(|it| Reading::Hits(it.into())),
        "elink" => eutils::links(status, headers, body).map(Reading::Links),
        "epost" => eutils::posted(status, headers, body).map(|it| Reading::Kept(it.0, it.1)),
        "einfo" => eutils::described(status, headers, body).map(Reading::Named),
        _ => {
            eutils::tree(status, headers, body)?;
            Err(ModelFault::malformed(
                "an answer to a call that is not made",
            ))
        }
    }
}

fn of_openalex(path: &str, status: u16, headers: &Headers, body: &[u8]) -> Read<Reading> {
    if path.starts_with("/works") || path.is_empty() {
        return openalex::read(status, headers, body).map(Reading::Hits);
    }
    let value = answer::json(status, headers, body)?;
    let rows = value.get("results").and_then(Value::as_array);
    let one = std::slice::from_ref(&value);
    named(rows.map_or(one, Vec::as_slice), &["id"], &["display_name"])
}

fn of_crossref(path: &str, status: u16, headers: &Headers, body: &[u8]) -> Read<Reading> {
    if path.contains("/transform") {
        return of_resolver(status, headers, body);
    }
    let message = crossref::message(status, headers, body)?;
    if let Some(agency) = message.get("agency") {
        let name = word(agency, "label").or_else(|| word(agency, "id"));
        return Ok(Reading::Named(vec![Named {
            id: word(&message, "DOI").unwrap_or_default().to_owned(),
            name: cut(name.unwrap_or_default(), 200),
        }]));
    }
    let is_of_works = path.contains("/works") || message.get("DOI").is_some();
    if is_of_works {
        return crossref::read(status, headers, body).map(Reading::Hits);
    }
    let rows = message.get("items").and_then(Value::as_array);
    let one = std::slice::from_ref(&message);
    let names = ["primary-name", "title", "label", "name"];
    named(
        rows.map_or(one, Vec::as_slice),
        &["id", "prefix", "ISSN", "URL"],
        &names,
    )
}

fn of_resolver(status: u16, headers: &Headers, body: &[u8]) -> Read<Reading> {
    // Somebody may have asked for BibTeX that stands behind blanks.
    if (200..300).contains(&status) && body.trim_ascii_start().starts_with(b"@") {
        let hit = bibtex::work(&answer::text(status, headers, body)?)?;
        return Ok(Reading::Hits(vec![hit].into()));
    }
    Ok(match lookups::negotiated(status, headers, body)? {
        Negotiated::Elsewhere(url) => Reading::Elsewhere(url),
        Negotiated::Record(hit) => Reading::Hits(vec![*hit].into()),
    })
}

fn of_semantic(path: &str, status: u16, headers: &Headers, body: &[u8]) -> Read<Reading> {
    let of_people = path.contains("/author") && !path.ends_with("/papers");
    if !of_people && !path.starts_with("/datasets") && !path.ends_with("/autocomplete") {
        return semanticscholar::read(status, headers, body).map(Reading::Hits);
    }
    let value = answer::json(status, headers, body)?;
    let lists = ["data", "matches", "datasets", "diffs"];
    let rows = value
        .as_array()
        .or_else(|| lists.iter().find_map(|it| value.get(it)?.as_array()));
    // What finds nobody has no list.
    let is_none = answer::count(&value, "total") == Some(0);
    let one = if is_none {
        &[][..]
    } else {
        std::slice::from_ref(&value)
    };
    named(
        rows.map_or(one, Vec::as_slice),
        &[
            "authorId",
            "id",
            "release_id",
            "dataset",
            "name",
            "from_release",
        ],
        &["name", "title", "description"],
    )
}

fn of_wikipedia(
    url: &str,
    path: &str,
    status: u16,
    headers: &Headers,
    body: &[u8],
) -> Read<Reading> {
    if !path.starts_with("/wiki/") {
        return wikipedia::read(url, status, headers, body).map(Reading::Hits);
    }
    // A page itself goes through the reader of pages.
    answer::text(status, headers, body)?;
    let origin = Origin::fetched(url, headers.get("content-type").map(str::to_owned));
    let page = documents::read_bytes(body, &origin, &Limits::default());
    let page = page.map_err(|it| ModelFault::malformed(cut(&it.chain(), 300)))?;
    let mut hit = Hit::new("wikipedia", url, &page.title, "");
    hit.date = page.date;
    let text: Vec<&str> = page.blocks.iter().map(|it| it.text.as_str()).collect();
    hit.text = answer::whole(&text.join("\n"));
    Ok(Reading::Hits(vec![hit].into()))
}

/// Rows that are no works, by the first field that each has of those named.
fn named(rows: &[Value], ids: &[&str], names: &[&str]) -> Read<Reading> {
    let told = |it: &Value, fields: &[&str]| {
        let found = fields.iter().find_map(|name| spelt(it.get(name)?));
        found.map(|it| cut(&it, 200)).unwrap_or_default()
    };
    let rows_are_none = rows.is_empty();
    let rows = rows.iter().map(|it| match spelt(it) {
        Some(id) => Named {
            id,
            name: String::new(),
        },
        None => Named {
            id: told(it, ids),
            name: told(it, names),
        },
    });
    let found: Vec<Named> = rows.filter(|it| *it != Named::default()).collect();
    match found.is_empty() && !rows_are_none {
        true => Err(ModelFault::malformed("its answer names nothing")),
        false => Ok(Reading::Named(found)),
    }
}

/// A text, a number, or the first of a list of texts.
fn spelt(it: &Value) -> Option<String> {
    match it {
        Value::String(text) => Some(cut(text, 200)).filter(|it| !it.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(all) => all.first()?.as_str().map(|it| cut(it, 200)),
        _ => None,
    }
}
