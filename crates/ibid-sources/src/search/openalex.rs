//! OpenAlex, the open catalogue of scholarly works.
use async_trait::async_trait;
use serde_json::Value;

use super::engine_api::{EngineApi, EngineConfig};
use super::response::{
    self, ReadResult, clean_title, count_field, date_from_parts, full_text, list_at, parse_date,
    text_field, truncate,
};
use ibid_core::Result;
use ibid_core::domain::work::{find_doi, parse_pmcid, parse_pmid};
use ibid_core::domain::{Hit, Hits, Query, Work};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service::{ServiceClient, ServiceRequest};

/// `GET /works?search=`.
struct OpenAlex {
    key: Option<String>,
    contact: Option<String>,
}

pub(super) fn api(given: &EngineConfig) -> Box<dyn EngineApi> {
    Box::new(OpenAlex { key: given.key.clone(), contact: given.contact.clone() })
}

#[async_trait]
impl EngineApi for OpenAlex {
    async fn search(&self, service: &ServiceClient, query: &Query) -> Result<Hits> {
        let telling = super::query_text::content_words(query.text());
        let limit = query.limit.min(100).to_string();
        let mut bounds = Vec::new();
        bounds.extend(query.since.as_ref().map(|it| format!("from_publication_date:{it}")));
        bounds.extend(query.until.as_ref().map(|it| format!("to_publication_date:{it}")));
        let bounds = bounds.join(",");
        let mut asked = vec![("search", telling.as_str()), ("per_page", limit.as_str())];
        if !bounds.is_empty() {
            asked.push(("filter", &bounds));
        }
        asked.extend(self.key.as_deref().map(|key| ("api_key", key)));
        asked.extend(self.contact.as_deref().map(|contact| ("mailto", contact)));
        service.request(&ServiceRequest::get("/works", &asked), read).await
    }
}

/// Parses the hits of an answer: a list, or one work.
pub(super) fn read(status: u16, headers: &ResponseHeaders, body: &[u8]) -> ReadResult<Hits> {
    let value = response::parse_json(status, headers, body)?;
    let found: Vec<Hit> = match value.get("results") {
        None if value.get("id").is_some() || value.get("doi").is_some() => {
            work(&value).into_iter().collect()
        }
        _ => list_at(&value, "/results")?.iter().filter_map(work).collect(),
    };
    Ok(found.into())
}

fn work(it: &Value) -> Option<Hit> {
    let ids = it.get("ids").unwrap_or(&Value::Null);
    let last = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    let mut work = Work {
        doi: text_field(it, "doi").and_then(find_doi),
        pmid: text_field(ids, "pmid").and_then(|text| parse_pmid(&last(text))),
        pmcid: text_field(ids, "pmcid").and_then(|text| parse_pmcid(&last(text))),
        kinds: text_field(it, "type").map(str::to_owned).into_iter().collect(),
        cited_by: count_field(it, "cited_by_count"),
        ..Work::default()
    };
    let people = it.get("authorships").and_then(Value::as_array).into_iter().flatten();
    work.authors = people
        .filter_map(|it| {
            it.pointer("/author/display_name")?.as_str().map(|text| truncate(text, 100))
        })
        .take(20)
        .collect();
    work.venue = it
        .pointer("/primary_location/source/display_name")
        .and_then(Value::as_str)
        .map(|text| truncate(text, 200));
    if it.get("is_retracted").and_then(Value::as_bool) == Some(true) {
        work.retracted = Some("retracted, as OpenAlex records".to_owned());
    }
    let open = [
        it.pointer("/best_oa_location/pdf_url"),
        it.pointer("/open_access/oa_url"),
        it.pointer("/primary_location/pdf_url"),
    ];
    for url in open.into_iter().flatten().filter_map(Value::as_str) {
        if !work.full_text.iter().any(|had| had == url) {
            work.full_text.push(url.to_owned());
        }
    }
    let page = it.pointer("/primary_location/landing_page_url").and_then(Value::as_str);
    let url = match &work.doi {
        Some(doi) => format!("https://doi.org/{doi}"),
        None => page.or(text_field(it, "id"))?.to_owned(),
    };
    let known = Work::from_url(page.unwrap_or_default());
    work.merge(&known);
    let text = abstract_of(it.get("abstract_inverted_index").unwrap_or(&Value::Null));
    let name =
        clean_title(text_field(it, "display_name").or(text_field(it, "title")).unwrap_or(&url));
    let mut hit = Hit::new("openalex", &url, &name, &truncate(&text, 600));
    hit.date = text_field(it, "publication_date").and_then(parse_date).or_else(|| {
        date_from_parts(it.get("publication_year").and_then(Value::as_i64), None, None)
    });
    hit.text = full_text(&text);
    hit.work = work;
    Some(hit)
}

/// Restores an abstract from the positions of its words.
fn abstract_of(index: &Value) -> String {
    // No abstract has so many words. Without the limit an answer could exhaust memory.
    const MAX_LIST_CHARS: u64 = 20_000;
    let mut placed: Vec<(u64, &str)> = Vec::new();
    for (word, places) in index.as_object().into_iter().flatten() {
        let places = places.as_array().into_iter().flatten().filter_map(Value::as_u64);
        placed.extend(
            places.filter(|place| *place < MAX_LIST_CHARS).map(|place| (place, word.as_str())),
        );
    }
    placed.sort_unstable();
    placed.dedup_by_key(|pair| pair.0);
    let words: Vec<&str> = placed.into_iter().map(|pair| pair.1).collect();
    words.join(" ")
}
